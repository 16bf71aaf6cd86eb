"""What was handed in, made callable in one way, and what kind of thing it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch.autograd import Function

from autograder.containment import files_of
from autograder.returning import with_several_returns

FUNCTION_CLASS, OTHER_CLASS, INSTANCE, OTHER = "function-class", "class", "instance", "other"


@dataclass(frozen=True)
class Kind:
    """What kind of thing was handed in, as plain data.

    what  FUNCTION_CLASS, OTHER_CLASS, INSTANCE (of a Function) or OTHER (functions among them)
    """

    what: str
    callable: bool
    type_name: str


def kind_of(value: Any) -> Kind:
    """Looks at the type only: nothing of the submission runs."""
    if isinstance(value, Function):
        what = INSTANCE
    elif isinstance(value, type):
        what = FUNCTION_CLASS if issubclass(value, Function) else OTHER_CLASS
    else:
        what = OTHER
    return Kind(what, callable(value), type(value).__name__)


class Submission:
    """A Function class, or a callable that applies one, made callable in one way."""

    def __init__(self, value: Any):
        self.value = value
        self.is_class = isinstance(value, type) and issubclass(value, Function)
        owner = getattr(value, "__self__", None)
        if not self.is_class and isinstance(owner, type) and issubclass(owner, Function):
            value, self.is_class = owner, True  # MySigmoid.apply says as much as MySigmoid
        self.target = value
        self.files = files_of(value)
        self.several_returns = with_several_returns(value)

    def __call__(self, *args: Any) -> Any:
        return self.target.apply(*args) if self.is_class else self.target(*args)

    @property
    def classes(self) -> tuple[type, ...]:
        """The classes to trace; () means every Function there is (a wrapper may use any)."""
        return (self.target,) if self.is_class else ()
