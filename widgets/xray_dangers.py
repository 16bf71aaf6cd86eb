"""What in a recorded run will hurt later, a sentence each; the run itself may have gone well."""

from collections.abc import Iterator, Sequence
from typing import Any

from widgets.trace import Application, Backward, Saved, Snapshot
from widgets.wording import shape, size

MUCH_MORE = 4  # a view that keeps this many times its own bytes alive is worth a sentence


def of_saving(app: Application, names: Sequence[str]) -> list[str]:
    """Dangers of what forward kept."""
    return [
        *(words for saved in app.saved for words in _of_saved(saved, names)),
        *(words for held in app.attributes for words in _of_attribute(held)),
    ]


def _of_saved(saved: Saved, names: Sequence[str]) -> Iterator[str]:
    shot = saved.snapshot
    if shot is None:
        return
    # A mask or an index is a constant almost everywhere, so a second derivative loses nothing by it.
    if saved.who == "intermediate" and _has_derivative(saved):
        yield (
            f"`{saved.holder}` is an intermediate: {size(shot.storage_bytes)} that nothing else needs, "
            "and a constant to a second derivative."
        )
    if shot.bytes and shot.storage_bytes > MUCH_MORE * shot.bytes:
        yield (
            f"`{saved.holder}` has {size(shot.bytes)} but keeps alive the {size(shot.storage_bytes)} "
            "it is a view of."
        )


def _of_attribute(held: Saved) -> Iterator[str]:
    if "output" in held.who:
        yield (
            f"`{held.holder}` holds the output, which holds this node: a reference cycle that only "
            "Python's garbage collector can free. Use `save_for_backward`."
        )
    elif held.who != "intermediate" or _has_derivative(held):
        yield (
            f"`{held.holder}` holds a tensor. Torch does not notice when it is changed, no hook sees "
            "it, and backward does not free it. Use `save_for_backward`."
        )


def _has_derivative(held: Saved) -> bool:
    """Whether it is of numbers; a mask, an index or a random state is a constant anyway."""
    shot = held.snapshot
    return shot is not None and shot.dtype.startswith(("float", "bfloat", "complex"))


def of_forward(app: Application, names: Sequence[str]) -> list[str]:
    """Dangers of what forward wrote into."""
    if app.marked_dirty:
        return []
    return [
        f"forward wrote into its input `{name_at(names, position)}` without `ctx.mark_dirty`."
        for position in app.inputs_changed
    ]


def of_backward(call: Backward, app: Application, names: Sequence[str]) -> list[str]:
    """Dangers of one call of backward."""
    found = [
        "backward wrote into its `grad_output`, which others may read as well."
        for _ in call.upstream_changed
    ]
    found += [
        f"backward wrote into `{app.saved[place].holder}`, which it saved: another backward through "
        "this graph would read what it wrote."
        for place in call.saved_changed
        if place < len(app.saved)
    ]
    for position, (given, wanted) in enumerate(zip(call.returned or (), call.needs, strict=False)):
        name = name_at(names, position)
        if wanted and given is None:
            found.append(f"`{name}` wants a gradient and gets `None`, which counts as zero.")
        if not wanted and isinstance(given, Snapshot):
            found.append(f"`{name}` wants no gradient; the one returned for it is thrown away.")
    return found


def repairs(returned: Sequence[Any], sent: Sequence[Any], names: Sequence[str]) -> list[str]:
    """What torch changed between what backward returned and what it handed on."""
    found = []
    for position, (given, got) in enumerate(zip(returned, sent, strict=False)):
        if not isinstance(given, Snapshot) or not isinstance(got, Snapshot):
            continue
        changes = []
        if given.shape != got.shape:
            changes.append(f"sums it from shape {shape(given)} to {shape(got)}")
        if given.dtype != got.dtype:
            changes.append(f"casts it from {given.dtype} to {got.dtype}")
        if given.device != got.device:
            changes.append(f"moves it from {given.device} to {got.device}")
        if changes:
            found.append(f"`{name_at(names, position)}`: torch {' and '.join(changes)}")
    return found


def name_at(names: Sequence[str], position: int) -> str:
    """The name of an argument, or its position where forward takes *args."""
    return names[position] if position < len(names) else f"argument {position}"
