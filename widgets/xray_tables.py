"""What a Function was given, kept and returned, in the words and tables of xray."""

from collections.abc import Sequence
from typing import Any

from widgets.steps import Table
from widgets.trace import Application, Saved, Snapshot
from widgets.wording import numbers, shape, size
from widgets.xray_dangers import name_at

GETS = "What forward gets"


def values_table(caption: str, names: Sequence[str], values: Sequence[Any]) -> Table:
    """A row for each value: its numbers, shape, dtype and size; of what comes in, whether it wants a gradient."""
    rows: list[tuple[str, ...]] = []
    for position, value in enumerate(values):
        row: tuple[str, ...] = ("no tensor", "–", "–", "–")
        if isinstance(value, Snapshot):
            wants = "yes" if value.requires_grad else "no"
            row = (shape(value), value.dtype, size(value.bytes), wants)
        rows.append((name_at(names, position), numbers(value), *row))
    head: tuple[str, ...] = ("name", "values", "shape", "dtype", "size", "wants a gradient")
    if caption != GETS:  # only what comes in wants a gradient or not
        head, rows = head[:-1], [row[:-1] for row in rows]
    return Table(caption, head, tuple(rows))


def saved_words(app: Application, names: Sequence[str]) -> str:
    """What a Function saves, in a sentence."""
    tensors = [s for s in app.saved if s.snapshot is not None]
    own = {
        s.snapshot.storage: s.snapshot.storage_bytes
        for s in tensors
        if s.snapshot is not None and s.who == "intermediate"
    }
    if not tensors and not app.attributes:
        return f"{app.name} keeps no tensor for backward."
    listed = ", ".join(what(s.who, names, app) for s in tensors) or "nothing"
    extra = f" {size(sum(own.values()))} exist only for backward." if own else ""
    return f"{app.name} saves {listed}.{extra}"


def what(who: str, names: Sequence[str], app: Application) -> str:
    """ "input[0]" in words: "the input x"."""
    kind, _, rest = who.partition("[")
    if not rest:
        return "an intermediate" if who == "intermediate" else who
    position = int(rest.rstrip("]"))
    article = "a view of the" if kind.startswith("view of ") else "the"
    kind = kind.removeprefix("view of ")
    if kind == "input":
        return f"{article} input {name_at(names, position)}"
    return f"{article} output" + ("" if app.single else f" {position}")


def saved_tables(app: Application, names: Sequence[str]) -> tuple[Table, ...]:
    """The table of all that is kept on ctx; none where nothing is."""
    rows: list[tuple[str, ...]] = []
    seen: dict[int, str] = {}
    for held in (*app.saved, *app.attributes):
        rows.append(_saved_row(held, names, app, seen))
    for name, text in app.plain_attributes.items():
        rows.append((f"ctx.{name}", f"no tensor: {text}", "–", "–", "–", "–"))
    if not rows:
        return ()
    head = ("kept as", "is", "shape", "dtype", "size", "memory")
    return (Table("What is kept for backward", head, tuple(rows)),)


def _saved_row(
    held: Saved, names: Sequence[str], app: Application, seen: dict[int, str]
) -> tuple[str, ...]:
    shot = held.snapshot
    if shot is None:
        return (held.holder, "None", "–", "–", "–", "–")
    words = what(held.who, names, app)
    if shot.storage in seen:
        memory = f"shared with {seen[shot.storage]}"
    elif held.who == "intermediate":
        memory = "its own"
    else:
        memory = f"shared with {words.removeprefix('a view of ')}"
    seen.setdefault(shot.storage, held.holder)
    return (held.holder, words, shape(shot), shot.dtype, size(shot.bytes), memory)
