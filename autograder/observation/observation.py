"""What was asked and what was seen: plain tensors and values (``autograder.observation.packing``: as bytes)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

# An operation that is a derivative of torch's own.
KERNEL = re.compile(r"^aten\.\w*_(backward|jvp)")


@dataclass(frozen=True)
class Named:
    """A function argument (the ``f`` of ``hvp(f, x, v)``) by name, so that a question stays data.

    It is one of the functions of ``autograder.contract.functions``, which the learner's process may import.
    """

    name: str
    settings: tuple[float, ...] = ()


@dataclass
class Question:
    """One thing to ask of a submission.

    id         unique in a plan: "run:0", "second:0:mixed"
    kind       which procedure of the probe answers it
    case       words a learner reads
    role       the case's role (main, special, extreme, empty, batch)
    args       arguments in the dtype of the question; tensors contiguous, on the CPU
    wants      positions of the arguments that require grad
    upstream   one tensor (or None) an output; with layout "expanded" 0-d values to expand
    directions weights of the gradients in a second derivative, one for each position in ``wants``
    layout     contiguous, transposed (same values, other strides), consumer (the same of the upstream
               gradient alone) or expanded (stride-0 upstream)
    more       what one kind alone needs (a second set of arguments, the name of a scenario, …); ``same``: two positions
               that get one tensor; ``where_finite``: asked of every exercise at points that no
               case has: outputs and gradients that are not finite are not judged, and other answers not explained by it
    """

    id: str
    kind: str
    case: str = ""
    role: str = "main"
    args: tuple[Any, ...] = ()
    wants: tuple[int, ...] = ()
    upstream: tuple[Tensor | None, ...] = ()
    directions: tuple[Tensor | None, ...] = ()
    layout: str = "contiguous"
    variant: str = ""
    device: str = "cpu"
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def looked_for_writes(self) -> bool:
        """Whether writes to its tensors are looked for.

        x.float(), which copies a float64 tensor, is a float32 tensor itself. What runs the same code as another
        question is not looked at again.
        """
        looked = self.variant in ("", "transposed", "expanded", "float32")
        return looked and not self.more.get("same_code")


@dataclass
class Failure:
    """An exception that came out of the learner's code, or out of torch because of it.

    stage    forward, backward (inside the learner's backward), engine (torch refused what backward
             returned), second, mutate
    refused  a raise or an assert that stands in no code of torch's ended it
    """

    stage: str
    kind: str
    message: str
    line: int | None = None
    source: str = ""
    function: str = ""
    own_frame: bool = False
    is_runtime_error: bool = False
    refused: bool = False

    @property
    def words(self) -> str:
        """The message, as much of it as patterns are looked for in: torch's own are shorter."""
        return self.message[:1000]

    @property
    def place(self) -> tuple[int, str] | None:
        """The learner's own line, and its text; None where none is known."""
        return (self.line, self.source) if self.line and self.own_frame else None

    @property
    def original(self) -> str:
        """The error as Python ends a traceback with it, cut."""
        return f"{self.kind}: {self.message}"[:300]

    @property
    def raised_by_learner(self) -> bool:
        """Whether it comes from a raise or an assert statement of the learner's own."""
        beside = rf"if .*: *raise +(\w+\.)*{re.escape(self.kind)}\b"
        wrote = "raise |assert|" if self.kind == "AssertionError" else "raise |"
        return self.own_frame and re.match(wrote + beside, self.source.strip()) is not None

    @property
    def unwritten(self) -> bool:
        """Whether a stub or a missing method raised it. Torch raises the same kind for operations
        that it lacks, and since 2.14 for ``1 - mask``, at a line that raises nothing."""
        stub = not self.message or "raise " in self.source or "You must implement" in self.message
        return self.kind == "NotImplementedError" and stub


@dataclass
class Kept:
    """One tensor that stays alive for backward. ``who`` says what it is: input[0], output[0], view of
    input[0], intermediate; ``holder`` says where: saved[0], ctx.mask, or "hidden".

    like  what an intermediate has all numbers of: input[0], output[0], "mask" (zeros and ones), "mask of −inf" (zeros
          and −inf) or "zeros"
    """

    holder: str
    who: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    storage: int
    like: str = ""


@dataclass
class BackwardCall:
    """One call of the learner's backward, as the learner wrote it: before torch repairs anything.

    inputs  how many arguments its forward was given
    """

    inputs: int = 0
    returned: tuple[Any, ...] | None = None
    returned_type: str = "tuple"
    upstream_changed: tuple[int, ...] = ()
    saved_changed: tuple[int, ...] = ()


@dataclass
class Answer:
    """What was seen when one question was asked. Tensors are detached copies on the CPU.

    returned_at  the line in which a method ended, of those that have several return statements
    """

    outputs: tuple[Any, ...] | None = None
    single: bool = True
    requires_grad: tuple[bool, ...] = ()
    custom: bool = False
    raw: tuple[Any, ...] | None = None
    gradients: tuple[Tensor | None, ...] | None = None
    second: tuple[Tensor | None, ...] | None = None
    backward: tuple[BackwardCall, ...] = ()
    kept: tuple[Kept, ...] = ()
    inputs_changed: tuple[int, ...] = ()
    upstream_changed: bool = False
    forward_ops: tuple[str, ...] = ()
    backward_ops: tuple[str, ...] = ()
    returned_at: dict[str, int] = field(default_factory=dict)
    failure: Failure | None = None
    data: dict[str, Any] = field(default_factory=dict)


@dataclass
class Observation:
    """All answers by question id, and what was true of the submission as a whole."""

    answers: dict[str, Answer] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
