"""A submission reaches nothing outside of itself; each reach works where the walls are gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import of_today
from tests.grading.attacks.boxes import run_relaxed, run_without, said_without
from tests.grading.attacks.confinement import LEAVINGS, NO_WALLS, REACHES, Leaves, Reach, cell
from tests.grading.attacks.grading import (
    assert_neighbour_unharmed,
    everything_in,
    graded,
    said_in_the_box,
)
from tests.grading.attacks.lesson import FULL, RIGHT, handed_in
from tests.grading.attacks.outside import Outside, has_ipv6, laid_out, victim
from tests.grading.walls import needs_walls

pytestmark = needs_walls


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    with laid_out(tmp_path_factory.mktemp("outside")) as found:
        yield found


def named(case: Reach | Leaves) -> str:
    return case.name


def said(outside: Outside, body: str) -> str:
    """What text prints behind all walls; in a cell of its own it is not even run."""
    source = cell(outside.filled_in(body))
    result = graded(handed_in(RIGHT, before=[source]))
    assert (result.score, result.reasons) == (FULL, ())
    found = said_in_the_box(source)
    assert outside.canary not in everything_in(result) + found
    return found


@pytest.mark.parametrize("reach", of_today(REACHES, 4), ids=named)
def test_nothing_outside_is_reached(reach: Reach, outside: Outside):
    if "<port6>" in reach.body and not has_ipv6():
        pytest.skip("NOT RUN: this machine has no IPv6")
    with victim(outside):
        shown = said_without(reach.without, cell(outside.filled_in(reach.body)))
    assert "REACHED" in shown, shown
    assert (outside.canary in shown) == reach.secret, shown
    (outside.root / "submitted/ben/spare.txt").write_text("spare")
    (outside.root / "planted").unlink(missing_ok=True)
    with victim(outside) as process:
        found = said(outside, reach.body)
        assert process.poll() is None
    assert "REACHED" not in found
    assert "REFUSED" in found or "NOTHING" in found or "was stopped" in found
    assert not (outside.root / "planted").exists()
    assert (outside.root / "submitted/ben/spare.txt").exists()
    assert_neighbour_unharmed()


@pytest.mark.parametrize("left", of_today(LEAVINGS, 4), ids=named)
def test_nothing_is_left_for_the_next_student(left: Leaves, outside: Outside):
    leave, look = (cell(outside.filled_in(text)) for text in (left.leave, left.look))
    said_without(left.without, leave)
    assert "REACHED" in said_without(left.without, look)
    said(outside, left.leave)
    found = said(outside, left.look)
    assert "REACHED" not in found
    assert "REFUSED" in found or "NOTHING" in found
    assert_neighbour_unharmed()


# Looks through all of its own memory. The pattern is no match for itself.
_SCAN = """\
import re
mine = "mine-canary-0123456789abcdef"
found = set()
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
    for line in maps:
        start, end = (int(n, 16) for n in line.split()[0].split("-"))
        if line.split()[1].startswith("rw") and "[v" not in line:
            try:
                memory.seek(start)
                found |= set(re.findall(rb"(mine|peer)[-]canary[-]([0-9a-f]{16})", memory.read(end - start)))
            except OSError:
                pass
print(sorted(found))
"""


def test_nothing_of_an_earlier_submission_is_left_in_memory():
    """Each reads its job itself: what forks it has never held another one's."""
    peer = "peer-canary-fedcba9876543210"
    assert peer in str(run_relaxed(f"held = [{peer!r}]\nprint(held)").said(1))
    found = str(run_relaxed(_SCAN).said(1))
    assert "mine" in found
    assert "peer" not in found


def test_no_method_of_a_tensor_is_replaced():
    """Its methods tell what it keeps: whoever asks them is told the truth."""
    source = "import torch\nx = torch.ones(2)\nx.note, x.data, x.grad = 1, torch.ones(2), None\n"
    assert said_without(NO_WALLS, source + "print(x.note)") == "1\n"
    for lie in (
        "x.untyped_storage = lambda: None",
        "x.numel = int",
        "setattr(x, 'detach', x.clone)",
    ):
        said = run_without(NO_WALLS, source + lie).said(1)
        assert said is not None
        assert (said.error, "is a method of every tensor" in said.message) == (
            "AttributeError",
            True,
        )
