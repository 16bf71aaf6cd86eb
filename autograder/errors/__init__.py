"""Errors of Python and torch in the learner's words; the original message stays beside the translation."""
