"""What an exercise asks: exercises, cases, and the questions and right answers made of them."""
