"""Which cells wait for a person: hostile ones all, honest ones (nearly) never."""

import ast
import json
import re
from pathlib import Path

import pytest

from autograder.grading.policy.lists import ANY, KNOWN_NAMES, OURS, PACKAGES, PYTHON
from autograder.grading.policy.names import Names
from autograder.grading.policy.paths import not_to_be_allowed, refusal
from autograder.grading.policy.reading import MOST, Concern, names_a_line, read_cells
from tests.grading.hostile import HOSTILE
from tests.mistakes.gallery import answers

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(ROOT.glob("course/*/*.ipynb")) + sorted(ROOT.glob("solutions/*/*.ipynb"))
# Answers that wait for a person although they are honest, and why that is right.
WAITING = {
    # getattr with a name from dir() reaches any attribute there is.
    "saved_bytes-value-only-the-result-s-own-node-is-looked-at",
    "saved_bytes-value-a-walk-over-the-saved-attributes-of-the-graph",
}


def concerns(source: str) -> list[Concern]:
    return read_cells([("cell 1", source)])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_cell_waits_for_a_person(name: str):
    found = concerns(HOSTILE[name])
    assert found
    for concern in found:
        assert concern.cell == "cell 1"
        assert concern.why
    if not name.startswith("too "):  # for a reason, not because the reader gave up
        assert not any("cannot be read, perhaps" in c.why for c in found)


def test_honest_answers_do_not_wait():
    """Every right and wrong answer of the gallery."""
    waiting = {a.id: concerns(a.source) for a in answers()}
    assert len(waiting) > 1400
    assert {id: list(map(str, c)) for id, c in waiting.items() if c and id not in WAITING} == {}
    assert {id for id in WAITING if not waiting[id]} == set()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: "/".join(p.parts[-3:-1]))
def test_nothing_that_a_lesson_shows_waits(path: Path):
    """Demonstrations and solutions included: learners copy from them."""
    cells = [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]
    sources = [(f"cell {i}", "".join(cell["source"])) for i, cell in enumerate(cells)]
    assert list(map(str, read_cells(sources))) == []


def test_what_set_up_cells_bind_is_known():
    """Code may use the set-up cell's modules without importing them, so the reader must know them."""
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text())["cells"]:
            role = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
            if cell["cell_type"] != "code" or not role.startswith("setup"):
                continue
            names = Names({})
            names.read(ast.parse("".join(cell["source"])))
            bound = {
                name: value
                for name, bindings in names.notebook.names.items()
                for value, _ in bindings
                if isinstance(value, str) and refusal(value) is None
            }
            risky = {
                n: v for n, v in bound.items() if v.split(".")[0] not in ("autograder", "widgets")
            }
            assert {n: KNOWN_NAMES.get(n) for n in risky} == risky, path


HONEST = {
    "timing and plots": "%matplotlib inline\n%timeit -n 10 torch.ones(3).sum()\n%time y = torch.ones(2)",
    "a timed cell": "%%time\nclass MySquare(Function):\n    pass",
    "one line": "time.time() - 3",
    "one line that assigns": "run = 3",
    "one line that times": "timeit torch.ones(3)",
    "installing": "!pip install -q 'numpy>=1.20' > /dev/null\n%pip install einops\n!nvidia-smi",
    "commands of any kind": "!curl -sL https://example.org/a.txt -o a.txt\n!pip list | grep torch\n"
    "!wget -q x && unzip x.zip; rm -rf /\n!echo {__import__('os').system('id')} $HOME\n!!ls",
    "a command over lines": "!curl -s \\\n  https://example.org -o a.txt",
    "a command in a loop": "for name in ('a', 'b'):\n    !touch {name}",
    "the output of a command": "names = !ls *.csv | sort\nprint(names, names.n)",
    "a shell cell": "%%bash\ncd /tmp && ls > files.txt",
    "scripts": "%%script bash --bg\nls",
    "a script of another kind": "%%python3\nimport os\nos.system('ls')",
    "a command by its long name": "%system ls -l",
    "help": "torch.nn.functional.softmax?\nhelp(torch)\nprint(torch)\ndir(F)",
    "input": "x = input('name? ')",
    "a syntax error": "def f(:\n    import ctypes",
    "settings": "torch.set_default_dtype(torch.float64)\ntorch.manual_seed(0)\n"
    "torch.backends.cudnn.deterministic = True\nos.environ['KMP_DUPLICATE_LIB_OK'] = 'TRUE'",
    "plots": "import matplotlib.pyplot as plt\nplt.rcParams['figure.dpi'] = 100\n"
    "plt.rcParams.update({'font.size': 9})\nfig, ax = plt.subplots()\nax.plot([1])\nplt.savefig('x.png')",
    "names of classes": "print(type(y).__name__, y.__class__.__name__, MySquare.__name__)",
    "a copy of itself": "class A:\n    def again(self):\n        return self.__class__()",
    "a counter on the class": "class A:\n    n = 0\n    def f(self):\n        type(self).n += 1\n        A.n += 1",
    "on ctx": "class A(Function):\n    @staticmethod\n    def forward(ctx, x, dim):\n"
    "        ctx.dim, ctx.shape = dim, x.shape\n        ctx.mean = setattr(ctx, 'scale', 2)\n"
    "        return x.sum(dim)",
    "isinstance": "[a for a in args if isinstance(a, (torch.Tensor, int)) and not issubclass(int, Function)]",
    "tensors in hints and comparisons": "def f(x: tuple[torch.Tensor, int], y: list[torch.Tensor] | None = None):\n"
    "    if type(x) in (torch.Tensor, nn.Parameter):\n        x.grad = None\n    y.requires_grad = True",
    "classes in a list": "kinds = [nn.Linear, nn.ReLU]\nclass A:\n    pass\nclass B(A):\n"
    "    def forward(self, x):\n        self.scale = 1\n        return x",
    "a Function by type": "methods = {'forward': f, 'backward': b}\nX = type('X', (Function,), methods)",
    "a name for an attribute": "import operator\nsorted(a, key=operator.attrgetter('size'))",
    "a dispatch mode": "from torch.utils._python_dispatch import TorchDispatchMode\n"
    "class Count(TorchDispatchMode):\n    def __torch_dispatch__(self, func, types, args=(), kwargs=None):\n"
    "        return func(*args, **(kwargs or {}))\nwith Count():\n    torch.ones(3) * 2",
    "a dataclass": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    x: torch.Tensor\n"
    "    def __eq__(self, other):\n        return self.x == other.x",
    "a module": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.layers = nn.Sequential(*[kind(3, 3) for kind in (nn.Linear, nn.Linear)])\n"
    "        self.weight = nn.Parameter(torch.ones(3))\n    def forward(self, x):\n        return F.relu(x)",
    "a parameter called like a module": "def f(math, F):\n    F.x = 1\n    return math",
    "a variable called vars": "def f(ctx):\n    vars = ctx.saved_tensors\n    return vars[0]",
    "hooks": "def f():\n    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):\n        pass",
    "the graph": "y.grad_fn._saved_self\ny.grad_fn.next_functions[0][0].variable\nt._version, t._base",
    "wraps": "import functools\ndef d(f):\n    @functools.wraps(f)\n    def g(*a):\n        return f(*a)\n    return g",
    "an operation of aten": "torch.ops.aten._softmax_backward_data(g, y, -1, x.dtype)",
    "display": "from IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))",
    "tracebacks": "import traceback\ntry:\n    f()\nexcept (RuntimeError, torch.cuda.OutOfMemoryError) as e:\n"
    "    traceback.print_exc()",
    "text about it": "'''Uses __globals__ and eval: not really.'''\n# import ctypes\ndef f():\n"
    "    'not __code__'\n",
    "main": "if __name__ == '__main__':\n    print('hello')",
    "freeing memory": "import gc\ngc.collect()",
    "to stderr": "import sys\nprint('x', file=sys.stderr)\nsys.stdout.flush()",
    "a test of one's own": "import numpy as np\nnp.testing.assert_allclose(a, b)\ntorch.testing.assert_close(a, b)",
    "in-place and leaves": "x.grad = None\nx.data.mul_(2)\nx.requires_grad = True\ndel x.grad",
    "a table of functions": "table = {'relu': torch.relu, 'tanh': torch.tanh}\ntable['relu'] = F.relu\n"
    "for name, f in table.items():\n    f(x)",
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_cell_does_not_wait(name: str):
    assert list(map(str, concerns(HONEST[name]))) == []


def test_a_concern_names_the_cell_and_the_line():
    (concern,) = read_cells(
        [("cell 3 (MySigmoid)", "x = 1\n"), ("cell 7", "%%time\ny = 2\nimport ctypes")]
    )
    assert (concern.cell, concern.line, concern.source) == ("cell 7", 3, "import ctypes")
    assert str(concern).startswith("cell 7, line 3: `import ctypes`")


def test_cells_share_their_names():
    found = read_cells([("cell 1", "t = torch"), ("cell 2", "def f():\n    t.relu = None")])
    assert [(c.cell, c.line) for c in found] == [("cell 2", 2)]


USES_PANDAS = "import pandas as pd\nfrom pandas.plotting import scatter_matrix\npd.DataFrame({'a': [1]}).plot()"


def allowing(source: str, *allowed: str) -> list[str]:
    return [concern.what for concern in read_cells([("cell 1", source)], allowed)]


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        (USES_PANDAS, "pandas"),
        ("from sklearn.externals import x", "sklearn.externals.x"),
        ("torch.save(x, 'x.pt')", "torch.save"),
    ],
)
def test_a_class_may_be_allowed_more(source: str, allowed: str):
    assert concerns(source)
    assert allowing(source, allowed) == []
    assert allowing(source, allowed + "x") != []  # as a whole name
    assert allowing(source + "\nimport ctypes", allowed) == ["import ctypes"]


@pytest.mark.parametrize(
    "source",
    [
        "import pandas as pd\npd.io.common.os.system('ls')", "import pandas._libs",
        "from pandas.compat import pickle", "import pandas as pd\npd.__builtins__",
        "from pandas.io.common import os",
    ],
)  # fmt: skip
def test_what_is_allowed_is_no_way_to_the_rest(source: str):
    assert allowing(source, "pandas")


@pytest.mark.parametrize(
    "path", ["pandas", "seaborn", "torch.save", "sympy", "csv", "sklearn.externals"]
)
def test_what_can_be_allowed(path: str):
    assert not_to_be_allowed(path) is None


@pytest.mark.parametrize(
    "path",
    ["os", "sys", "ctypes", "inspect", "gc", "importlib", "pickle", "pdb", "IPython", "autograder",
     "builtins", "torch", "numpy", "torch._C", "pandas.io.common.os", "", "a b", "*", "pandas.*",
     "__main__"],
)  # fmt: skip
def test_what_can_change_the_checks_cannot_be_allowed(path: str):
    assert not_to_be_allowed(path)


def test_the_documentation_names_what_is_allowed():
    text = (ROOT / "docs/grading.md").read_text().partition("### Imports that wait for nobody")[2]
    text = text.partition("The lists are in")[0]
    packages, _, rest = text.partition("of\nPython's own")
    whole, _, some = rest.partition("of these only some names:")
    packages = packages.partition(", but for")[0]
    named = [set(re.findall(r"`([\w.]+)`", part)) for part in (packages, whole, some)]
    in_part = {name for name, names in (PYTHON | OURS).items() if names is not ANY}
    assert named == [set(PACKAGES), {*PYTHON, *OURS} - in_part, in_part]


def test_more_lines_than_are_named_are_counted():
    found = concerns("\n".join(f"import odd_{i}" for i in range(MOST + 3)))
    assert len(found) == MOST + 1
    assert str(found[-1]) == "Beyond these: 3 more – read the whole notebook."


def test_a_concern_can_be_told_from_other_reasons():
    for concern in concerns("\n".join(f"import odd_{i}" for i in range(MOST + 3))):
        assert names_a_line(str(concern))
    assert not names_a_line("There is no 02_sigmoid.ipynb in what was handed in.")
    assert not names_a_line("sigmoid-check is no check(…): a person grades it.")


def test_two_lines_that_begin_alike_are_two():
    long = "getattr(a, " + "x + " * 40
    assert [one.line for one in concerns(f"{long}1)\n{long}1)\n{long}2)")] == [1, 3]
