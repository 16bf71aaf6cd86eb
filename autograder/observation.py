"""What was asked and what was seen: plain tensors and values, to and from bytes without pickle.

In a notebook questions and answers stay in one process. When submissions are graded they cross the
wall of the box as bytes: JSON for the structure, safetensors for the tensors. Nothing that is read
back can run code, and sizes are checked before anything is allocated.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Named
from autograder.schema import DEPTH_LIMIT, conform


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
    layout     contiguous, transposed (same values, other strides) or expanded (stride-0 upstream)
    visible    whether the visible check asks it
    more       what one kind alone needs (a second set of arguments, the name of a scenario, …)
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
    visible: bool = False
    more: dict[str, Any] = field(default_factory=dict)


@dataclass
class Failure:
    """An exception that came out of the learner's code, or out of torch because of it.

    stage   forward, backward (inside the learner's backward), engine (torch refused what backward
            returned), second, call
    """

    stage: str
    kind: str
    message: str
    line: int | None = None
    source: str = ""
    function: str = ""
    own_frame: bool = False
    is_runtime_error: bool = False
    depth: int = 0

    @property
    def raised_by_learner(self) -> bool:
        """Whether it comes from a raise statement of the learner's own."""
        return self.own_frame and self.source.strip().startswith("raise ")


@dataclass
class Kept:
    """One tensor that stays alive for backward. ``who`` says what it is: input[0], output[0], view of
    input[0], intermediate; ``holder`` says where: saved[0], ctx.mask, or "hidden"."""

    holder: str
    who: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    storage: int


@dataclass
class BackwardCall:
    """One call of the learner's backward, as the learner wrote it: before torch repairs anything."""

    returned: tuple[Any, ...] | None = None
    returned_type: str = "tuple"
    grad_mode: bool = False
    needs: tuple[bool, ...] = ()
    upstream_changed: tuple[int, ...] = ()
    saved_changed: tuple[int, ...] = ()


@dataclass
class Answer:
    """What was seen when one question was asked. Tensors are detached copies on the CPU."""

    outputs: tuple[Any, ...] | None = None
    single: bool = True
    requires_grad: tuple[bool, ...] = ()
    custom: bool = False
    raw: tuple[Any, ...] | None = None
    raw_count: int | None = None
    expected_count: int | None = None
    gradients: tuple[Tensor | None, ...] | None = None
    second: tuple[Tensor | None, ...] | None = None
    backward: tuple[BackwardCall, ...] = ()
    kept: tuple[Kept, ...] = ()
    inputs_changed: tuple[int, ...] = ()
    upstream_changed: bool = False
    forward_ops: tuple[str, ...] = ()
    backward_ops: tuple[str, ...] = ()
    failure: Failure | None = None
    interrupted: bool = False
    data: dict[str, Any] = field(default_factory=dict)


@dataclass
class Observation:
    """All answers by question id, and what was true of the submission as a whole."""

    answers: dict[str, Answer] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


_CLASSES = {
    c.__name__: c for c in (Question, Failure, Kept, BackwardCall, Answer, Observation, Named)
}
_DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip

_TEXT_LIMIT = 16 * 2**20  # bytes of JSON; the longest we know has 51 000


class Unreadable(ValueError):
    """Bytes that are no observation: damaged, forged or too large."""


def to_bytes(value: Any) -> bytes:
    """Pack plain data (None, numbers, strings, lists, tuples, dicts, tensors, our dataclasses)."""
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {}
    text = json.dumps(_flatten(value, tensors)).encode()
    return len(text).to_bytes(8, "little") + text + save(tensors)


def from_bytes(data: bytes, limit: int = 256 * 2**20, expect: type | None = None) -> Any:
    """The value that :func:`to_bytes` packed; Unreadable for anything else or above ``limit`` bytes.

    expect  the dataclass it must be. Whatever it is, every field of every dataclass in it holds what
            its annotation says.
    """
    from safetensors.torch import load

    if not 8 <= len(data) <= limit:
        raise Unreadable(f"{len(data)} bytes is not a readable observation (limit {limit})")
    size = int.from_bytes(data[:8], "little")
    if size > len(data) - 8:
        raise Unreadable("the observation is cut short")
    if size > _TEXT_LIMIT:
        raise Unreadable(f"{size} bytes of structure are more than any observation has")
    try:
        tree = json.loads(data[8 : 8 + size])
        tensors = load(data[8 + size :])
        value = _restore(tree, tensors)
        if expect is not None and type(value) is not expect:
            raise Unreadable(f"a {type(value).__name__} and not an {expect.__name__}")
        if isinstance(value, Observation):
            _check_facts(value.facts)
        return value
    except Unreadable:
        raise
    except Exception as error:  # whatever a forged message provokes, it means one thing here
        raise Unreadable(f"not an observation: {type(error).__name__}: {error}"[:500]) from error


def _check_facts(facts: dict[str, Any]) -> None:
    """What the judge reads of the facts has the type that the probe gives it."""
    for name, kind in (("printed", str), ("interrupted", bool), ("changed", list[str])):
        if name in facts:
            conform(facts[name], kind, name)


def _flatten(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return {"$": "float", "v": value.hex()}
    if isinstance(value, Tensor):
        if value.dtype not in _DTYPES or value.is_meta:
            raise TypeError(f"a {value.dtype} tensor on {value.device} cannot be packed")
        key = str(len(tensors))
        tensors[key] = value.detach().cpu().contiguous().clone()
        return {"$": "tensor", "v": key}
    if isinstance(value, list | tuple):
        return {"$": type(value).__name__, "v": [_flatten(v, tensors) for v in value]}
    if isinstance(value, dict):
        return {"$": "dict", "v": [[str(k), _flatten(v, tensors)] for k, v in value.items()]}
    if dataclasses.is_dataclass(value) and type(value).__name__ in _CLASSES:
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {"$": "class", "c": type(value).__name__, "v": _flatten(fields, tensors)}
    raise TypeError(f"{type(value).__name__} is not plain data")


def _restore(tree: Any, tensors: dict[str, Tensor], depth: int = 0) -> Any:
    if depth > DEPTH_LIMIT:
        raise Unreadable("nested too deeply")
    if not isinstance(tree, dict):
        if tree is None or isinstance(tree, bool | int | str):
            return tree
        raise Unreadable(f"a bare {type(tree).__name__}")
    kind, value = tree["$"], tree["v"]
    if kind == "float":
        return float.fromhex(value)
    if kind == "tensor":
        if tensors[value].dtype not in _DTYPES:
            raise Unreadable(f"a {tensors[value].dtype} tensor")
        return tensors[value]
    if kind in ("list", "tuple", "dict") and not isinstance(value, list):
        raise Unreadable(f"a {kind} that is none")
    if kind == "list":
        return [_restore(v, tensors, depth + 1) for v in value]
    if kind == "tuple":
        return tuple(_restore(v, tensors, depth + 1) for v in value)
    if kind == "dict":
        restored = {k: _restore(v, tensors, depth + 1) for k, v in value}
        if len(restored) != len(value) or not all(isinstance(k, str) for k in restored):
            raise Unreadable("a dict with keys that are no names, or twice the same")
        return restored
    if kind == "class":
        made = _CLASSES[tree["c"]](**_restore(value, tensors, depth))
        conform(made, type(made), tree["c"])
        return made
    raise Unreadable(f"unknown kind {kind!r}")
