"""What people read: the report as text, HTML and JSON."""
