"""What autograd hands to a pack hook, and the right and the wrong ways to count its bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.causes.misconceptions import either
from autograder.trace import storage_of


@dataclass(frozen=True)
class Packed:
    """One tensor that a pack hook was given."""

    storage: int
    storage_bytes: int
    address: int
    elements: int
    element_bytes: int
    is_leaf: bool
    is_parameter: bool  # or a view of one
    dtype: str
    base: int  # the address of the tensor that torch knows as the origin of this view, or its own
    base_bytes: int
    shape: tuple[int, ...] = ()
    requires_grad: bool = False

    @property
    def own_bytes(self) -> int:
        return self.elements * self.element_bytes


def packed_by(f: Callable[..., Any], args: tuple[Any, ...]) -> list[Packed]:
    """What autograd hands to the pack hook during f(*args), in order."""
    found: list[Packed] = []

    def pack(tensor: Tensor) -> Tensor:
        key, size = storage_of(tensor)
        base = tensor if tensor._base is None else tensor._base
        found.append(
            Packed(
                key, size, tensor.data_ptr(), tensor.numel(), tensor.element_size(), tensor.is_leaf,
                isinstance(base, torch.nn.Parameter), str(tensor.dtype).removeprefix("torch."), base.data_ptr(), base.nbytes,
                tuple(tensor.shape), tensor.requires_grad,
            )
        )  # fmt: skip
        return tensor.detach()

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        result = f(*args)  # alive until all is counted, so that no storage comes back under one key
    del result
    return found


def distinct_bytes(packed: list[Packed]) -> int:
    """Bytes of distinct storage."""
    return sum({p.storage: p.storage_bytes for p in packed}.values())


# Wrong ways to count, recognised by their numbers: (count, message, hint).
SLIPS: tuple[tuple[Callable[[list[Packed]], int], str, str], ...] = (
    (
        lambda ps: sum({p.address: p.storage_bytes for p in ps}.values()),
        "Two views of one storage are counted twice.",
        "tensor.data_ptr() is the address of a tensor's first element, and id(tensor) that of a Python "
        "object. tensor.untyped_storage().data_ptr() is the same for all views of a storage.",
    ),
    (
        lambda ps: sum(p.storage_bytes for p in ps),
        "A tensor that is saved twice is counted twice.",
        "The graph keeps references, not copies: count each storage once "
        "(tensor.untyped_storage().data_ptr() says which one it is).",
    ),
    (  # before the sum over all tensors, which gives the same where each storage has one
        lambda ps: sum({p.storage: p.own_bytes for p in ps}.values()),
        "The bytes of the tensor are counted, not those of the storage it keeps alive.",
        "A view of a row keeps the whole matrix alive, and an expanded tensor has fewer bytes than "
        "elements suggest: tensor.untyped_storage().nbytes().",
    ),
    (
        lambda ps: sum(p.own_bytes for p in ps),
        "The bytes of every saved tensor are added, elements × size; what stays alive are storages.",
        "A view of a row keeps the whole matrix alive, and a tensor that is saved twice is there once: "
        "add up tensor.untyped_storage().nbytes() of the distinct storages.",
    ),
    (
        lambda ps: sum({p.base: p.base_bytes for p in ps}.values()),
        "A slice that was detached counts its own bytes only, but it keeps its whole storage alive.",
        "_base says what a view looks at only until somebody detaches the view. Its memory stays the "
        "same: tensor.untyped_storage() has data_ptr() and nbytes().",
    ),
    (
        lambda ps: sum({p.storage: p.elements for p in ps}.values()),
        "Elements are counted, not bytes.",
        "tensor.untyped_storage().nbytes() knows the bytes.",
    ),
    (
        lambda ps: len({p.storage for p in ps}),
        "Tensors are counted, not bytes.",
        "Add up tensor.untyped_storage().nbytes() of each distinct storage.",
    ),
    (
        lambda ps: sum({p.storage_bytes for p in ps}),
        "Storages of the same size count as one: a set, or a dict with the sizes as its keys, has each "
        "number once.",
        "Tell storages apart by where they are: found[storage.data_ptr()] = storage.nbytes().",
    ),
    (
        lambda ps: sum({p.storage: 4 * (p.storage_bytes // p.element_bytes) for p in ps}.values()),
        "Every element is counted as 4 bytes, whatever its dtype.",
        "A bool has 1 byte, an int64 and a float64 have 8: tensor.untyped_storage().nbytes() knows.",
    ),
    *(
        (
            count,
            "Parameters are left out; what is asked for is every storage that the graph keeps.",
            "Count what the pack hook is given, inputs and parameters too.",
        )
        for count in (
            lambda ps: distinct_bytes([p for p in ps if not (p.is_parameter and p.is_leaf)]),
            lambda ps: distinct_bytes([p for p in ps if not p.is_parameter]),
        )
    ),
)

# Ways that leave a lot out: several of them may give the same number.
_FEW: tuple[tuple[Callable[[list[Packed]], int], str, str], ...] = (
    (
        lambda ps: max((p.storage_bytes for p in ps), default=0),
        "Only the largest storage is counted.",
        "Add up the bytes of all distinct storages: sum(found.values()).",
    ),
    (
        lambda ps: ps[-1].storage_bytes if ps else 0,
        "Only the tensor that is saved last is counted.",
        "Every call of pack notes one more: a dict from address to bytes, or total += …",
    ),
    (
        lambda ps: ps[0].storage_bytes if ps else 0,
        "Only the tensor that is saved first is counted.",
        "Every call of pack notes one more: a dict from address to bytes, or total += …",
    ),
    (
        lambda ps: sum({p.shape: p.storage_bytes for p in ps}.values()),
        "Tensors of the same shape count as one.",
        "Tell storages apart by where they are: found[storage.data_ptr()] = storage.nbytes().",
    ),
)

# Ways by which nothing is counted, where an intermediate alone would be.
_NONE: tuple[tuple[Callable[[list[Packed]], int], str, str], ...] = (
    (
        lambda ps: distinct_bytes([p for p in ps if p.requires_grad]),
        "Tensors that require no grad are left out; what is asked for is every storage that the graph keeps.",
        "Count what the pack hook is given, masks, indices and data too.",
    ),
    (
        lambda ps: distinct_bytes([p for p in ps if not p.is_leaf]),
        "Leaves are left out; what is asked for is every storage that the graph keeps.",
        "Count what the pack hook is given, inputs and parameters too.",
    ),
)

_UNITS = (
    (1 / 2**10, "KiB", "1024"), (1 / 2**20, "MiB", "2**20"), (1 / 2**30, "GiB", "2**30"),
    (1e-3, "kB", "1000"), (1e-6, "MB", "10**6"), (1e-9, "GB", "10**9"),
)  # fmt: skip


def words_of_unit(found: int | float, right: int) -> str:
    """The unit in which a number is given; "" where it is none."""
    if found == 8 * right and right:
        return f"The result is in bits ({found} = 8 · {right}); bytes are asked for."
    for factor, unit, divisor in _UNITS:
        if (
            right
            and isinstance(found, float)
            and abs(found - right * factor) < 1e-3 * right * factor
        ):
            return (
                f"The result is in {unit} ({found:.4g} = {right} / {divisor}); bytes are asked for."
            )
    return ""


def result_bytes(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[int, int]:
    """Bytes of the distinct storages of what f gives, and of the tensors that it is given."""
    result = f(*args)
    results = result if isinstance(result, tuple | list) else (result,)
    found = [dict(storage_of(t) for t in ts if isinstance(t, Tensor)) for ts in (results, args)]
    return sum(found[0].values()), sum(found[1].values())


def words_of_slips(
    packed: list[Packed], around: tuple[int, int], found: int | float
) -> tuple[str, str] | None:
    """The wrong ways to count that give this number, those that the number does not tell apart; None where none does.

    around  bytes of the results of f, and of its arguments
    """
    if not found:
        return None
    fits = [(message, hint) for count, message, hint in SLIPS if found == count(packed)][:1]
    fits = fits or [(message, hint) for count, message, hint in _FEW if found == count(packed)]
    hint = "Count what the pack hook is given, and nothing else: results and arguments may not be kept at all."
    results, arguments = around
    for total, message in (
        (
            distinct_bytes(packed) + results,
            "The result of f is counted as well; it is not kept for backward.",
        ),
        (results, "The bytes of the result of f are counted, not those of what is kept."),
        (arguments, "The bytes of the arguments are counted, not those of what is kept."),
        (results + arguments, "Results and arguments of f are counted, not what is kept."),
    ):
        if found == total and not fits:
            fits.append((message, hint))
    return either(fits) if fits else None


INTERMEDIATE = 4000


def words_of_nothing(packed: list[Packed], intermediate: int | float) -> tuple[str, str] | None:
    """Why nothing is counted: (message, hint).

    intermediate  what is counted where a tensor of INTERMEDIATE bytes that is no leaf is saved alone
    """
    for divisor, unit in ((1024, "KiB"), (1000, "kB")):
        if intermediate == INTERMEDIATE // divisor:
            return (
                f"The result is in {unit}, rounded down: {INTERMEDIATE} bytes give {intermediate}. Bytes are asked "
                "for.",
                "Return the sum of nbytes() as it is, an int.",
            )
    fits = [(message, hint) for count, message, hint in _NONE if not count(packed)]
    return fits[0] if fits and intermediate == INTERMEDIATE else None


LEFT_OUT_HINT = (
    "Add up every storage that the pack hook is given. It gets all that is saved; the attributes of a "
    "node (_saved_…) are not all: indices are in a list there, and a Function's tensors elsewhere."
)
_SEARCHED = 12  # storages of which every choice is tried


def words_of_left_out(packed: list[Packed], found: int | float) -> str:
    """What a number says that is the bytes of some storages and not of all; "" where it is none."""
    kept = {p.storage: (p.storage_bytes, p.dtype) for p in packed}
    sizes = [size for size, _ in kept.values()]
    right = sum(sizes)
    sums = {0}
    for size in sizes[:_SEARCHED]:
        sums |= {total + size for total in sums}
    if not 0 < found < right or found not in sums:
        return ""
    words = f"{found} of {right} bytes are counted"
    alone = {dtype for size, dtype in kept.values() if size == right - found}
    if len(alone) == 1:
        return f"{words}: a storage of {right - found} bytes ({alone.pop()}) is left out."
    return f"{words}: not every storage is."
