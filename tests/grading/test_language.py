"""What waits for a person: code that the language does not have, and (nearly) never honest work."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch.utils.benchmark
from nbformat import from_dict

from autograder.grading.policy import MOST, Concern, concerns_in, named, names_a_line, objects
from autograder.grading.policy.language import MODULES, NOT_READ, PLACES, SYNTAX
from autograder.grading.policy.objects import admitted, not_to_be_allowed, readable
from autograder.grading.policy.uses import is_dunder
from autograder.learner.lesson import read_lesson
from autograder.learner.slice import Slice, asked_of
from autograder.learner.submitted_notebook import restore
from autograder.running.program import Piece
from tests.conftest import of_today
from tests.grading.attacks.grading import graded
from tests.grading.attacks.lesson import FULL, RIGHT, handed_in
from tests.grading.attacks.lesson import lesson_files as two_exercises
from tests.grading.honest import FOR_A_PERSON, NOTEBOOKS
from tests.grading.hostile_cells import HOSTILE
from tests.grading.hostile_slices import AROUND
from tests.grading.one_verdict import LESSONS, lesson_files, solution
from tests.grading.scan import modules_behind, why_not
from tests.grading.walls import needs_walls
from tests.mistakes.gallery import answers

ROOT = Path(__file__).parents[2]
# What the lessons' set-up cells import: answers use it without a word.
SETUP = Piece("setup", """\
import math, os, sys, gc, time, weakref, warnings, copy
import numpy as np
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.autograd.function import once_differentiable
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from autograder import check, hint
""")  # fmt: skip
# Answers that wait for a person although they are honest, and why that is right.
WAITING = {
    # getattr with a name from dir() reaches any attribute there is.
    "saved_bytes-value-only-the-result-s-own-node-is-looked-at",
    "saved_bytes-value-a-walk-over-the-saved-attributes-of-the-graph",
    # A whole module that holds exec, and hooks that stay on.
    "Checkpoint-gradient-value-a-parameter-s-gradient-is-overwritten",
    "save_in_bfloat16-shared-state-the-hooks-stay-on-after-an-error",
}


def needing(*sources: str) -> Slice:
    """A slice of these cells, all of them needed."""
    own = [Piece(f"cell {number}", source) for number, source in enumerate(sources, 1)]
    return Slice((SETUP, *own), frozenset(piece.cell for piece in own))


def read_slices(slices: Iterable[Slice], allowed: Iterable[str] = ()) -> list[Concern]:
    return named(concern for one in slices for concern in concerns_in(one, allowed))


def concerns(source: str, *allowed: str) -> list[Concern]:
    return read_slices([needing(source)], allowed)


@pytest.mark.parametrize("name", [*HOSTILE, *AROUND])
def test_hostile_code_waits_for_a_person(name: str) -> None:
    found = concerns((HOSTILE | AROUND)[name])
    assert found
    for concern in found:
        assert concern.cell == "cell 1"
        assert concern.why
    if not name.startswith("too "):  # for a reason, not because the reader gave up
        assert not any("cannot be read, perhaps" in c.why for c in found)


def test_honest_answers_do_not_wait() -> None:
    """Every right and wrong answer of the gallery."""
    waiting = {a.id: concerns(a.source) for a in answers() if a.exercise not in FOR_A_PERSON}
    assert len(waiting) > 1400
    assert {id: list(map(str, c)) for id, c in waiting.items() if c and id not in WAITING} == {}
    assert {id for id in WAITING if not waiting[id]} == set()


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_courses_own_answers_do_not_wait(lesson: str) -> None:
    files = read_lesson(lesson_files(lesson))
    notebook = solution(lesson)
    restore(notebook, files)
    asked = asked_of(notebook, files)
    assert all(one.slice.pieces for one in asked)
    for one in asked:
        found = list(map(str, read_slices([one.slice])))
        assert bool(found) == (one.exercise in FOR_A_PERSON), found


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_an_honest_notebook_does_not_wait(name: str) -> None:
    before, answer = NOTEBOOKS[name]
    lesson = read_lesson(two_exercises())
    notebook = from_dict(handed_in(RIGHT | {"Square": answer}, before=before))
    restore(notebook, lesson)
    slices = [one.slice for one in asked_of(notebook, lesson)]
    assert list(map(str, read_slices(slices))) == []
    assert all(one.pieces for one in slices)


@needs_walls
def test_all_of_them_are_right() -> None:
    """Each in the notebook of a learner of its own; a third of them a day."""
    worth = {
        name: graded(handed_in(RIGHT | {"Square": answer}, before=before)).score
        for name, (before, answer) in of_today(list(NOTEBOOKS.items()), 3)
    }
    assert {name: score for name, score in worth.items() if score != FULL} == {}


def test_a_concern_names_the_cell_and_the_line() -> None:
    (concern,) = read_slices([needing("x = 1\n", "\ny = 2\nimport ctypes")])
    assert (concern.cell, concern.line, concern.source) == ("cell 2", 3, "import ctypes")
    assert str(concern).startswith("cell 2, line 3: `import ctypes`")


def test_cells_share_their_names() -> None:
    found = read_slices([needing("t = torch", "def f():\n    t.relu = None")])
    assert [(c.cell, c.line) for c in found] == [("cell 2", 2)]


def test_the_lessons_own_code_is_not_read() -> None:
    lesson = Piece("cell 1 (demo-x)", "import ctypes\ndef helper(x):\n    return eval('x')")
    one = Slice((SETUP, lesson, Piece("cell 2", "y = helper(1)")), frozenset({"cell 2"}))
    assert read_slices([one]) == []
    taken = Slice((SETUP, lesson, Piece("cell 2", "ctypes.CDLL('x')")), frozenset({"cell 2"}))
    assert read_slices([taken])


USES_PANDAS = "import pandas as pd\nfrom pandas.plotting import scatter_matrix\npd.DataFrame({'a': [1]}).plot()"


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        (USES_PANDAS, "pandas"),
        ("from sklearn.externals import x", "sklearn.externals.x"),
        ("torch.save(x, 'x.pt')", "torch.save"),
    ],
)
def test_a_class_may_be_allowed_more(source: str, allowed: str) -> None:
    assert concerns(source)
    assert concerns(source, allowed) == []
    assert concerns(source, allowed + "x") != []  # as a whole name
    assert [c.what for c in concerns(source + "\nimport ctypes", allowed)] == ["import ctypes"]


def test_a_package_is_remarked_on_where_it_is_imported() -> None:
    """So all who wait for one package can be accepted by its name; what no class can allow is named line by line."""
    used = "import pandas as pd\nmean = pd.Series([2.0]).rolling(2).mean()"
    assert [c.what for c in concerns(used)] == ["import pandas as pd"]
    hidden = ("pd.x.__globals__", "X.rolling", "pd = X\npd.rolling", "def f(pd):\n    pd.rolling")
    for more in hidden:
        assert len(concerns(f"import pandas as pd\n{more}")) == 2, more
    assert len(concerns("import os\nos.environ")) == 2
    assert concerns("plt.savefig('x')")  # which the lesson's set-up imports


@pytest.mark.parametrize(
    "source",
    [
        "import pandas as pd\npd.io.common.os.system('ls')", "import pandas._libs",
        "from pandas.compat import pickle", "import pandas as pd\npd.__builtins__",
        "from pandas.io.common import os",
    ],
)  # fmt: skip
def test_what_is_allowed_is_no_way_to_the_rest(source: str) -> None:
    assert concerns(source, "pandas")


@pytest.mark.parametrize(
    "path", ["pandas", "seaborn", "torch.save", "sympy", "csv", "sklearn.externals"]
)
def test_what_can_be_allowed(path: str) -> None:
    assert not_to_be_allowed(path) is None


@pytest.mark.parametrize(
    "path",
    ["os", "sys", "ctypes", "inspect", "gc", "importlib", "pickle", "pdb", "IPython", "autograder",
     "builtins", "torch", "numpy", "torch._C", "pandas.io.common.os", "", "a b", "*", "pandas.*",
     "__main__"],
)  # fmt: skip
def test_what_can_change_the_checks_cannot_be_allowed(path: str) -> None:
    assert not_to_be_allowed(path)


def test_the_documentation_names_what_is_allowed() -> None:
    text = (ROOT / "docs/grading.md").read_text().partition("### What waits for nobody")[2]
    text = text.partition("The whole list is")[0]
    assert set(re.findall(r"`([\w.]+)`", text)) == {name.partition(".")[0] for name in MODULES}


def test_more_lines_than_are_named_are_counted() -> None:
    found = concerns("\n".join(f"import odd_{i}" for i in range(MOST + 3)))
    assert len(found) == MOST + 1
    assert str(found[-1]) == "Beyond these: 3 more – read the whole notebook."


def test_a_concern_can_be_told_from_other_reasons() -> None:
    for concern in concerns("\n".join(f"import odd_{i}" for i in range(MOST + 3))):
        assert names_a_line(str(concern))
    assert not names_a_line("There is no 02_sigmoid.ipynb in what was handed in.")
    assert not names_a_line("sigmoid-check is no check(…): a person grades it.")


# ---- the list itself -------------------------------------------------------------------------

# Functions of torch's own that import one of torch's modules by a constant name, or have a method
# of a telling name that nobody can read; and catch_warnings, since no module can be handed to it.
HARMLESS = {
    "warnings.catch_warnings",
    "torch.nn.functional.max_pool3d_with_indices", "torch.nn.functional.local_response_norm",
    "torch.nn.functional.upsample", "torch.nn.functional.interpolate", "torch.nn.functional.pad",
    "torch.nn.functional.upsample_nearest", "torch.nn.functional.upsample_bilinear",
    "torch.nn.functional.multi_head_attention_forward", "torch.nn.Module",
}  # fmt: skip


def faults() -> dict[str, list[str]]:
    found = {path: list(why_not(one)) for path, one in admitted() if callable(one)}
    return {path: why for path, why in found.items() if why}


def test_nothing_that_is_admitted_takes_code_or_files() -> None:
    assert len(list(admitted())) > 1000
    assert set(faults()) == HARMLESS
    assert not [p for p, one in admitted() if isinstance(one, dict | list | set)]
    for name in readable():
        for kind in (torch.Tensor, str, list, dict):
            one = getattr(kind, name, None)
            assert one is None or not callable(one) or list(why_not(one)) == [], name


def by_another_name(name: str) -> bool:
    """Whether an answer may read such an attribute of anything, after it has given the name to a thing of its own."""
    return name not in objects.inside() | NOT_READ and not is_dunder(name)


def test_no_attribute_of_what_is_admitted_leads_to_a_module() -> None:
    assert list(modules_behind(admitted(), by_another_name)) == []
    planted = [("warnings.catch_warnings", warnings.catch_warnings)]
    found = modules_behind(planted, lambda name: name == "_module")
    assert list(found) == ["warnings.catch_warnings()._module"]


@pytest.mark.parametrize(
    "source",
    [
        "w = catch_warnings()\nw._module", "(w := catch_warnings())._module", "def f(w=catch_warnings()):\n    w._module",
        "with contextlib.nullcontext(catch_warnings()) as w:\n    w._module", "C = catch_warnings\nC()._module",
        "match catch_warnings():\n    case object(_module=m):\n        m", "getattr(catch_warnings(), '_module')",
        "class A(catch_warnings):\n    def f(self):\n        return self._module",
    ],
)  # fmt: skip
def test_what_holds_a_module_never_gives_it(source: str) -> None:
    own = "import contextlib\nfrom warnings import catch_warnings, simplefilter\nclass Own:\n    _module = None\n"
    assert concerns(own + source)
    assert (
        concerns(own + "with catch_warnings(record=True) as told:\n    simplefilter('always')\n")
        == []
    )


def test_no_operation_that_is_admitted_takes_a_file() -> None:
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace == "aten" and {"filename", "file"} & {a.name for a in schema.arguments}:
            assert concerns(f"torch.ops.aten.{name}('x')"), name


INDICES = {"indices", "index", "pivots", "offsets", "lengths", "batch_sizes"}


def test_no_operation_behind_torch_takes_indices() -> None:
    """What torch shows to nobody need not check what it is given: a view, a place in memory."""
    shown = {name for one in objects._NAMESPACES for name in dir(one)} | {*dir(torch.Tensor)}
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        behind = namespace == "aten" and (name not in shown or name.endswith("_backward"))
        if behind and INDICES & {a.name for a in schema.arguments}:
            assert concerns(f"torch.ops.aten.{name}(X)"), name


# What may stand in one place: of these the reader bounds what they are given.
PLACED = {
    "dataclass",
    "cached_property",
    "wraps",
    "Enum",
    "Flag",
    "IntEnum",
    "IntFlag",
    "StrEnum",
    "NamedTuple",
    "namedtuple",
    "ndarray",
    "SimpleNamespace",
}


def test_what_may_stand_in_one_place_may_stand_in_no_other() -> None:
    found = [path for modules in PLACES.values() for path, _ in admitted(modules)]
    assert {path.rpartition(".")[2] for path in found} == PLACED
    for path in found:
        module, _, name = path.rpartition(".")
        top = f"import {module}\nfrom {module} import {name}\n"
        assert concerns(top) == []
        for use in (
            "f = {}",
            "{}(X)",
            "print({})",
            "[{}]",
            "def f(x={}):\n    x(X)",
            "map({}, X)",
            "{}.x = 1",
        ):
            if use.startswith("print") and name == "ndarray":
                continue  # print only looks at a kind
            assert concerns(top + use.format(name)), use
            assert concerns(top + use.format(path)), use
        for place in ("@{}(X, X=X)\ndef f():\n    pass", "class C({}):\n    pass", "{}('x', X)"):
            others = concerns(top + place.format(path))
            assert others or path in (
                "typing.NamedTuple",
                "typing_extensions.NamedTuple",
            ), place


PLANTED: tuple[tuple[str, str], ...] = (
    ("functools", "singledispatch"), ("functools", "wraps"), ("collections", "namedtuple"),
    ("typing", "get_type_hints"), ("timeit", "timeit"), ("torch.utils.benchmark", "Timer"),
    ("torch", "load"), ("torch", "from_file"), ("numpy", "load"), ("numpy", "loadtxt"), ("numpy", "memmap"),
    ("builtins", "exec"), ("builtins", "eval"), ("builtins", "open"), ("importlib", "import_module"),
    ("runpy", "run_module"), ("contextlib", "chdir"), ("operator", "attrgetter"),
    ("dataclasses", "make_dataclass"), ("enum", "Enum"), ("logging", "FileHandler"),
    ("pkgutil", "resolve_name"),
)  # fmt: skip


@pytest.mark.parametrize(("module", "name"), PLANTED)
def test_the_scan_finds_what_is_planted(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    importlib.import_module(module)
    monkeypatch.setitem(MODULES, module, f"{MODULES.get(module, '')} {name}")
    assert f"{module}.{name}" in faults()


def test_what_is_reached_by_another_way_is_the_same() -> None:
    assert concerns("F.math.sqrt(2)\ntorch.nn.functional.torch.relu(2)") == []
    assert concerns("F.os.system('id')")
    assert objects.is_admitted(torch.relu)
    assert not objects.is_admitted(functools.wraps)


def test_the_language_is_one_that_python_has() -> None:
    assert all(hasattr(ast, name) for name in SYNTAX)


def test_what_the_notebook_showed_is_kept_as_text() -> None:
    made: Any = handed_in(RIGHT, before=["print(3)"])
    own = next(c for c in made["cells"] if c["source"] == "print(3)")
    html = {"text/html": "<script>alert(1)</script>", "text/plain": "a table", "application/x": {}}
    own["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": ["three\n"]},
        {"output_type": "display_data", "data": html, "metadata": {}},
        {"output_type": "error", "ename": "E", "evalue": "went wrong", "traceback": ["\x1b[31m<b>"]},
        "nothing", {"output_type": 3}, None,
    ]  # fmt: skip
    result = nbformat.reads(graded(made).notebook, as_version=4)
    (cell,) = [c for c in result.cells if c.source == "print(3)"]
    assert [o.text for o in cell.outputs] == ["three\n", "a table\n", "E: went wrong\n"]


def test_what_torch_wraps_later_is_still_itself() -> None:
    """Importing torch's compiler puts another manual_seed into torch."""
    source = "import torch\ntorch.manual_seed(0)\n"
    assert concerns(source) == []
    importlib.import_module("torch._dynamo")
    assert concerns(source) == []
