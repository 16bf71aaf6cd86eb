"""The quizzes of the course, one module each, named after its lesson without the number."""
