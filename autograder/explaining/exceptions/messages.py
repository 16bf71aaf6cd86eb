"""The messages of torch 2.13 to 2.15 and Python that learners meet, each with the code of its cause.

Named groups of a pattern are the facts of the sentence (``reporting/sentences/exceptions.md``). The first
that fits counts; what the learner's own line or the tensors that met tell is asked before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from autograder.explaining.causes.results import Reason
from autograder.explaining.exceptions import lines, tensors
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.observation import Failure
from autograder.observation.source import Place, Source
from autograder.running.containment import ENDLESS

_TUPLES = (
    r"unsupported operand type\(s\) for .*'tuple'|can't multiply sequence by non-int of type|"
    r"bad operand type for unary -: 'tuple'|'(?:tuple|torch\.Size)' object has no attribute|"
    r"must be Tensor, not tuple|only integer tensors of a single element can be converted to an index"
)

MESSAGES: tuple[tuple[str, str], ...] = (
    ("version", r"modified by an inplace operation"),
    ("freed", r"Trying to backward through the graph a second time"),
    ("saved-list", r"save_for_backward can only save variables, but argument \d+ is of type (?P<type>list|tuple)\b"),
    ("saved-value", r"save_for_backward can only save variables, but argument \d+ is of type (?P<type>[\w.]*\w)"),
    ("saved-assigned", r"attribute 'saved_tensors' of .* is not writable"),
    ("tuple", _TUPLES),
    ("ctx-attribute", r"'\w+Backward' object has no attribute '(?P<attribute>\w+)'"),
    ("ctx-in-forward", r"^missing a required argument: '(?P<argument>\w+)'"),
    ("signature-few", r"(?:\w+\.)?(?P<called>forward|backward)\(\) missing \d+ required positional arguments?: (?P<missing>.*)"),
    ("signature-many", r"(?:\w+\.)?(?P<called>forward|backward)\(\) takes (?P<takes>\d+) positional arguments? but (?P<given>\d+) (?:was|were) given"),
    ("signature", r"(?P<called>\w+)\(\) (?:takes|missing|got an unexpected)"),
    ("not-connected", r"element 0 of tensors does not require grad|One of the differentiated Tensors does not require"),
    ("nested", r"NestedTensorImpl doesn't support sizes"),
    ("shared-memory", r"more than one element of the written-to tensor refers to a single memory location"),
    ("writes-leaf", r"a leaf Variable that requires grad (?:is being|has been) used in an in-place operation"),
    ("calls-tuple", r"'tuple' object is not callable"),
    ("calls-module", r"'module' object is not callable"),
    ("tuple-index", r"^tuple index out of range$"),
    ("uncalled", r"operand type\(s\) for .*'(?:builtin_function_or_method|method|function)'|not (?:builtin_function_or_method|method)$"),
    ("rounds", r"type Tensor doesn't define __(?P<name>round|floor|ceil|trunc)__ method"),
    ("number-attribute", r"'(?P<type>float|int|bool)' object has no attribute '(?P<attribute>\w+)'"),
    ("numpy-attribute", r"'numpy\.\w+' object has no attribute '(?P<attribute>\w+)'"),
    ("numpy-number", r"expected np\.ndarray \(got numpy\.\w+\)"),
    ("numpy-bfloat16", r"ScalarType BFloat16"),
    ("numpy-grad", r"Can't call numpy\(\) on Tensor that requires grad"),
    ("unpack-hook", r"Output of saved tensor unpack_hook expected to be a Tensor but got result of type (?P<type>\w+)"),
    ("one-hook", r"saved_tensors_hooks.*missing 1 required positional argument: 'unpack_hook'"),
    ("upstream-shape", r"grad_output\[\d+\] has a shape of torch\.Size\(\[(?P<upstream>.*?)\]\) and output\[\d+\] has a shape of torch\.Size\(\[(?P<output>.*?)\]\)"),
    ("cannot-require", r"(?i)only Tensors of floating point (?:and complex )?dtype can require gradients"),
    ("integer-overflow", r"value cannot be converted to type (?P<dtype>u?int\d+)(?:_t)? without overflow"),
    ("index-shapes", r"indexing tensors could not be broadcast together with shapes \[(?P<shape>.*?)\], \[(?P<target>.*?)\]"),
    ("index-range", r"index (?P<index>-?\d+) is out of bounds for dimension (?P<dim>\d+) with size (?P<size>\d+)"),
    ("one-truth", r"Boolean value of Tensor with more than one value is ambiguous"),
    ("bool-minus", r"the `-` operator, (?:with|on) a bool tensor"),
    ("bits", r"bitwise_(?:and|or)_\w+. not implemented for"),
    ("one-number", r"only one element tensors can be converted to Python scalars|a Tensor with \d+ elements cannot be converted to Scalar"),
    ("expand", r"expanded size of the tensor .*Target sizes: \[(?P<target>.*?)\]\.  Tensor sizes: \[(?P<shape>.*?)\]"),
    ("expand-fewer", r"number of sizes provided \((?P<wanted>\d+)\) must be greater or equal to the number of dimensions in the tensor \((?P<count>\d+)\)"),
    ("dimension", r"Dimension out of range \(expected to be in range of \[(?P<low>-?\d+), (?P<high>-?\d+)\], but got (?P<got>-?\d+)\)"),
    ("index-dimensions", r"Index tensor must have the same number of dimensions as (?:self|src|input) tensor"),
    ("reshape", r"shape '\[(?P<target>.*?)\]' is invalid for input of size (?P<count>\d+)"),
    ("sum-to-size", r"size \{\[(?P<shape>.*?)\]\} is not expandable to size \{\[(?P<target>.*?)\]\}"),
    ("writes-rows", r"value tensor of shape \[(?P<shape>.*?)\] cannot be broadcast to indexing result of shape \[(?P<target>.*?)\]"),
    ("repeat", r"Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"),
    ("shape-wanted", r"argument 'size' \(position \d+\) must be tuple of \w+, not Tensor"),
    ("tensor-wanted", r"(?P<name>\w+)\(\): argument '\w+' \(position \d+\) must be Tensor, not (?P<type>int|float)"),
    ("no-rows", r"len\(\) of a 0-d tensor|iteration over a 0-d tensor"),
    ("view", r"view size is not compatible"),
    ("einsum", r"number of subscripts in the equation \((?P<named>\d+)\) does not match the number of dimensions \((?P<count>\d+)\) for operand (?P<operand>\d+)"),
    ("sizes", r"The size of tensor a \((?P<first>\d+)\) must match the size of tensor b \((?P<second>\d+)\) at non-singleton dimension (?P<dim>\d+)"),
    ("matrices", r"shapes cannot be multiplied \((?P<first>\d+x\d+) and (?P<second>\d+x\d+)\)"),
    ("vectors", r"1D tensors expected, but got (?P<count>\d+)D"),
    ("matrix", r"must be a matrix|t\(\) expects a tensor with <= 2|must be a 3D tensor|vector \+ matrix|2D tensors|expected 2D"),
    ("dtypes", r"(?i)expected .*(?:same dtype|scalar type|dtype).*(?:equal|but|got)|Expected self.dtype to be equal"),
    ("devices", r"Expected all tensors to be on the same device|expected device"),
    ("joined", r"can only concatenate (?P<first>\w+) \(not \"(?P<second>[\w.]+)\"\) to"),
    ("no-value", r"cannot access local variable '(?P<name>\w+)'|local variable '(?P<name2>\w+)' referenced before assignment"),
    ("pair", r"'torch\.return_types\.(?P<name>\w+)'"),
    ("implicit", r"grad can be implicitly created only for scalar outputs"),
    ("none-computed", r"unsupported operand type\(s\) for .*'NoneType'|bad operand type for unary .*'NoneType'"),
    ("none", r"'NoneType' object"),
    ("used-up", r"pop from (?:an )?empty"),
    ("no-derivative", r"derivative for (?:aten::)?(?P<name>\w+) is not implemented"),
    ("no-setup", r"In order to use an autograd.Function with functorch transforms .* it must override the setup_context"),
    ("no-vmap", r"You tried to vmap over \w+, but it does not have vmap support"),
    ("jvp-count", r"jvp returned an invalid number of forward gradients \(expected (?P<expected>\d+) but got (?P<count>\d+)\)"),
    ("no-formula", r"Trying to backward through [\w.]+ but no autograd formula was registered"),
    ("as-it-is", r"An input that has been returned as-is as output is being saved for backward"),
    ("gives-input", r"The output of this custom operator \(1\) must not also be an input"),
    ("no-driver", r"0 active drivers|Pointer argument \(at \d+\) cannot be accessed"),
    ("no-triton", r"triton is not installed here"),
    ("two-tritons", r"Cannot call @triton\.jit'd outside of the scope of a kernel"),
    ("not-a-module", r"is not a Module subclass"),
    ("unused", r"appears to not have been used in the graph"),
    ("endless-backward", ENDLESS),
    ("endless", r"maximum recursion depth exceeded"),
    ("reentrant", r"When use_reentrant=True, torch.utils.checkpoint is incompatible"),
)  # fmt: skip

KINDS = {
    "SystemExit": "exit", "KeyboardInterrupt": "interrupt", "RecursionError": "endless",
    "MemoryError": "memory", "ZeroDivisionError": "divides", "StopIteration": "used-up",
}  # fmt: skip


def cause_in_words(kind: str, message: str) -> Reason | None:
    """The first pattern that fits; None for words that nobody knows."""
    for code, pattern in MESSAGES:
        if found := re.search(pattern, message):
            facts = {n: _value(n, text) for n, text in found.groupdict().items() if text is not None}  # fmt: skip
            return Reason(f"stops/{code}", {n.rstrip("2"): value for n, value in facts.items()})
    return Reason(f"stops/{KINDS[kind]}") if kind in KINDS else None


def _value(name: str, text: str) -> Any:
    """A number as a number, the sizes of a shape as a shape, anything else as it is."""
    if name in ("shape", "target", "upstream", "output"):
        return f"({text}{',' * text.isdecimal()})"
    return int(text) if re.fullmatch(r"-?\d+", text) else text


# ---- why a call stopped: what the line, the names in it, the tensors that met and the words tell together

# The first that answers counts: the learner's own words, names, the line, the tensors, torch's words.
_ASKED: tuple[Callable[[Evidence, Finding, Failure], Reason | None], ...] = (
    lines.own_raise,
    lines.attribute,
    lines.undefined,
    lines.unpacks,
    lines.unset,
    lines.whole_tuple,
    lines.gradient_of_nothing,
    tensors.met,
    lines.outside_a_tuple,
)


def why_it_stopped(ev: Evidence, finding: Finding) -> Reason | None:
    """The cause of the error; None where nothing tells it."""
    failure = finding.pair.answer.failure if finding.pair is not None else None
    if failure is None:
        return None
    told = next(filter(None, (ask(ev, finding, failure) for ask in _ASKED)), None)
    told = told or cause_in_words(failure.kind, failure.words)
    # Where it is not the learner's line that asks, what backward gave has no graph: no more is known.
    if told is None or (told.code == "stops/not-connected" and not failure.own_frame):
        return None
    place = told.line
    if place is None and not finding.evidence.get("line") and told.code in _AFTER_FORWARD:
        place = _AFTER_FORWARD[told.code](ev.source)
    if place is None and told.code == "stops/writes-leaf":  # torch looks when forward has ended
        place = ev.source.writes_in_place("forward")
    return replace(told, line=place)


# torch looks when forward has ended: what it is that it then refuses.
_AFTER_FORWARD: dict[str, Callable[[Source], Place | None]] = {
    "stops/saved-value": Source.saves,
    "stops/saved-list": Source.saves,
    "stops/as-it-is": lambda source: source.returned("forward", {}),
}

CAUSES = {"stops/error": (why_it_stopped,), "start/no-method": (lines.missing_method,)}
