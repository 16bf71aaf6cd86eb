"""Errors of Python and torch in the learner's words; the original message always stays beside them."""
