"""Which single edit of a learner's own code would make the check pass?

Where a finding is a symptom, small edits of the submission are tried, one at a time, by the same
questions. What passes every check shows where the cause is, measured. How much of that is told, and
when, is the report's affair.
"""

from autograder.explaining.edits.search import nothing_tried, with_cause

__all__ = ["nothing_tried", "with_cause"]
