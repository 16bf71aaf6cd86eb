"""Which single edit of a learner's own code would make the check pass?

Where a finding says what is wrong and not why, small edits of the submission are tried, one at a time,
by the same questions. With which of them every check passes is the cause, measured.
"""

from autograder.repair.search import nothing_tried, with_cause

__all__ = ["nothing_tried", "with_cause"]
