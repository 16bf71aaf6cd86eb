"""How it stands with a class, in words that can be read for 3,000 learners, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from autograder.grading.class_overview import (
    CHANGED,
    GRADED,
    UNGRADED,
    WAITS,
    Overview,
    Standing,
)
from autograder.grading.handed_in import Misplaced
from autograder.grading.words import counted, listed, printable

MOST_NAMED = 20  # students, or lines, of one kind


def in_words(look: Overview) -> str:
    """The standing of a class: counts by lesson, then everybody who is not done."""
    lines = _table(look) if look.found else ["Nothing was handed in."]
    both, graded = (*look.found, *look.gone), [o for o in look.found if not o.is_to_grade]
    for title, said in (
        ("A person has to look at these (in formgrader, under Manual Grading):", _waiting(both)),
        (
            "To be graded (`autograder grade` does it):",
            _each((one, one.state) for one in look.found if one.is_to_grade),
        ),
        *_misplaced(look.misplaced),
        (
            "Graded, and no longer in the folder of submissions:",
            _by_lesson(one for one in look.gone if one.is_final),
        ),
        ("In the gradebook, and handed nothing in:", _nothing(look.without)),
        ("Handed in late:", _each((one, one.lateness) for one in graded)),
        (
            "Whether these were handed in late cannot be said:",
            _each((one, one.unclear) for one in look.found),
        ),
        (
            "Handed in the course's own solution (solutions/), word for word:",
            _by_lesson(one for one in graded if one.copied),
        ),
        (
            "Accepted by a person (`autograder accept`):",
            _each((one, one.accepted) for one in graded),
        ),
    ):
        if said:
            lines += ["", title, *said]
    return "\n".join(printable(line) for line in lines)


def _each(those: Iterable[tuple[Standing, str]]) -> list[str]:
    """A line each for those of whom something is said."""
    return _some([f"  {one.student}, {one.lesson}: {words}" for one, words in those if words])


def _some(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_NAMED
    return [*lines[:MOST_NAMED], *([f"  … and {more} more (`--json` has all)"] if more > 0 else [])]


def _waiting(those: Sequence[Standing]) -> list[str]:
    """Who waits, and why; of many of them only how many wait for the same reason."""
    waiting = [one for one in those if one.state == WAITS]
    if len(waiting) <= MOST_NAMED:
        return [
            line
            for one in waiting
            for line in (f"  {one.student}, {one.title}", *(f"      {w}" for w in one.reasons))
        ]
    return _some(
        [
            f"  {len(names)}: {reason} ({listed(list(dict.fromkeys(names)), 3)})"
            for reason, names in by_reason(waiting)
        ]
    )


def by_reason(waiting: Iterable[Standing]) -> list[tuple[str, list[str]]]:
    """(why, students) of those who wait, the most common first; a line's place is left out of why."""
    why: dict[str, list[str]] = {}
    for one in waiting:
        for reason in dict.fromkeys(reason.rpartition(" – ")[2] for reason in one.reasons):
            why.setdefault(reason, []).append(one.student)
    return sorted(why.items(), key=lambda pair: -len(pair[1]))


def _nothing(without: Mapping[str, Sequence[str]]) -> list[str]:
    """Who handed nothing in, lesson by lesson; who never did at all only once."""
    lists = list(without.values())
    never = set(lists[0]).intersection(*lists) if len(lists) > 1 else set()
    lines = [f"  no lesson at all: {_counted(sorted(never))}"] if never else []
    for lesson, names in without.items():
        others = [name for name in names if name not in never]
        lines += [f"  {lesson}: {_counted(others)}"] if others else []
    return lines


def _by_lesson(those: Iterable[Standing]) -> list[str]:
    names: dict[str, list[str]] = {}
    for one in those:
        names.setdefault(one.lesson, []).append(one.student)
    return [f"  {lesson}: {_counted(students)}" for lesson, students in names.items()]


def _counted(names: Sequence[str]) -> str:
    return f"{len(names)} ({listed(names, MOST_NAMED)})"


def _misplaced(misplaced: Sequence[Misplaced]) -> Iterator[tuple[str, list[str]]]:
    for spare, words in (
        (False, "NOT read, since no notebook is looked for there (move them, then grade again):"),
        (True, "With the notebook that is graded lie others, which are not read:"),
    ):
        yield words, _some([f"  {one}" for one in misplaced if one.spare == spare])


def misplaced_in_words(misplaced: Sequence[Misplaced]) -> str:
    """Which notebooks nobody reads; "" where there are none."""
    found = [line for words, said in _misplaced(misplaced) if said for line in ("", words, *said)]
    return "\n".join(map(printable, found[1:]))


def _table(look: Overview) -> list[str]:
    heads = ("handed in", "graded", "waits", "to grade", "nothing")
    widths = (10, 8, 8, 10, 9)
    states = Counter((one.lesson, one.state) for one in look.found)
    lost = Counter(one.lesson for one in look.gone if one.state == WAITS)
    lines = [f"{'lesson':<28}" + "".join(f"{h:>{w}}" for h, w in zip(heads, widths, strict=True))]
    for lesson in dict.fromkeys(one.lesson for one in look.found):
        graded, waits, changed, new = (
            states[lesson, state] for state in (GRADED, WAITS, CHANGED, UNGRADED)
        )
        counts = (
            graded + waits + changed + new, graded, waits + lost[lesson], changed + new,
            len(look.without.get(lesson, ())),
        )  # fmt: skip
        lines.append(
            f"{lesson:<28}" + "".join(f"{c:>{w}}" for c, w in zip(counts, widths, strict=True))
        )
    return lines


def to_be_graded(count: int) -> str:
    """What to do about what is not graded yet."""
    are = counted(count, "submission is", "submissions are")
    return f"{are} still to be graded: run `autograder grade`, then this again."
