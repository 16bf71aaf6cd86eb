"""What was asked, what was seen and what was handed in: plain data, to and from bytes."""
