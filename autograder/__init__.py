"""Checks a hand-written torch.autograd.Function and names the root cause of what is wrong."""

from autograder.explaining.pages import explain
from autograder.learner.checking import CheckFailed, assert_backward, check, evaluate, hint
from autograder.learner.name_help import install_name_help
from autograder.learner.progress import progress

install_name_help()

__all__ = ["CheckFailed", "assert_backward", "check", "evaluate", "explain", "hint", "progress"]
