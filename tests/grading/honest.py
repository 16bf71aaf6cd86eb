"""Small honest notebooks in the styles that learners have: cells above the answers, and the answers."""

from __future__ import annotations

from tests.grading.attacks.lesson import RIGHT

SQUARE = RIGHT["Square"]


# Operators and kernels are made by decorators that write code, so a person looks at each of these answers.
FOR_A_PERSON = {"sinc_op", "triton_softmax", "triton_attention"}


def hinted(hints: str, top: str = "") -> str:
    return top + SQUARE.replace("forward(ctx, x)", f"forward({hints})")


def with_factor(factor: str, top: str = "") -> str:
    return top + SQUARE.replace("2 * x", f"{factor} * x")


# By name: cells above, and the answer to Square.
NOTEBOOKS: dict[str, tuple[list[str], str]] = {
    # ---- cells that have nothing to do with the answer
    "pandas": (
        ["import pandas as pd\ndf = pd.DataFrame({'a': [1]})\ndf.eval('a + 1')\ndf"],
        SQUARE,
    ),
    "seaborn": (["import seaborn as sns\nsns.set_theme()\nsns.lineplot(x=[1], y=[2])"], SQUARE),
    "pathlib": (
        ["from pathlib import Path\nfor p in Path('.').glob('*'):\n    print(p.read_text())"],
        SQUARE,
    ),
    "Colab": (["from google.colab import drive\ndrive.mount('/content/drive')"], SQUARE),
    "Colab's files": (["from google.colab import files\nuploaded = files.upload()"], SQUARE),
    "Kaggle": (["import os\nfor d, _, f in os.walk('/kaggle/input'):\n    print(d, f)"], SQUARE),
    "an install": (["!pip install -q torch numpy\n%pip install einops"], SQUARE),
    "a shell cell": (["%%bash\nls -la\nnvidia-smi"], SQUARE),
    "a written file": (
        ["%%writefile notes.txt\nremember the chain rule", "open('notes.txt').read()"],
        SQUARE,
    ),
    "a run file": (["%run other.py"], SQUARE),
    "magics": (
        [
            "%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n%config InlineBackend.figure_format = 'svg'"
        ],
        SQUARE,
    ),
    "timings": (
        ["%timeit torch.ones(3)\n%time torch.ones(3)\nimport timeit\ntimeit.timeit('1 + 1')"],
        SQUARE,
    ),
    "a profile": (["import cProfile\ncProfile.run('1 + 1')\n%prun torch.ones(3)"], SQUARE),
    "plots": (
        [
            "import matplotlib.pyplot as plt\nplt.rcParams['figure.dpi'] = 90\nplt.plot([1, 2])\nplt.savefig('a.png')"
        ],
        SQUARE,
    ),
    "widgets": (["import ipywidgets as w\nw.interact(lambda a: a, a=3)"], SQUARE),
    "HTML": (
        ["from IPython.display import HTML, display\ndisplay(HTML('<script>alert(1)</script>'))"],
        SQUARE,
    ),
    "a breakpoint": (["import pdb\n# pdb.set_trace()\nbreakpoint"], SQUARE),
    "an endless loop": (["while True:\n    pass"], SQUARE),
    "a crash": (["import os\nos._exit(1)"], SQUARE),
    "no memory": (["torch.ones(10**13)"], SQUARE),
    "no Python": (["def unfinished(:\n    pass", "ls -la"], SQUARE),
    "a question": (["name = input('Name? ')\nprint(eval('1 + 1'), name)"], SQUARE),
    "an experiment with torch's inside": (
        ["print(torch._C._get_tracing_state())\ntorch.Tensor.double_it = lambda s: 2 * s"],
        SQUARE,
    ),
    "a look at the source": (
        ["import inspect\nprint(inspect.getsource(torch.autograd.gradcheck))"],
        SQUARE,
    ),
    "a garbage collection": (
        ["import gc\ngc.collect()\n[o for o in gc.get_objects() if torch.is_tensor(o)][:3]"],
        SQUARE,
    ),
    "a training loop": (
        [
            "net = torch.nn.Linear(1, 1)\nopt = torch.optim.SGD(net.parameters(), 0.1)\nfor _ in range(3):\n    opt.step()"
        ],
        SQUARE,
    ),
    "a data set": (
        ["from sklearn.datasets import load_iris\nX = load_iris().data", "import torchvision"],
        SQUARE,
    ),
    "a TensorBoard": (
        ["from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()"],
        SQUARE,
    ),
    "a compiled function": (
        ["@torch.compile\ndef f(x):\n    return x * x\n\nf(torch.ones(1))"],
        SQUARE,
    ),
    "tests of one's own": (
        [
            "import unittest\nclass T(unittest.TestCase):\n    pass\nunittest.main(argv=[''], exit=False)"
        ],
        SQUARE,
    ),
    "a later attempt at something else": (["class Scratch(Function):\n    forward = exec"], SQUARE),
    "VS Code's markers": (["# %%\nx = 1\n# %% [markdown]\n# ## text"], "# %%\n" + SQUARE),
    "prompts": ([">>> x = 1\n>>> print(x)\n1"], SQUARE),
    # ---- hints
    "a hint of ctx": (
        [],
        hinted(
            "ctx: FunctionCtx, x: torch.Tensor", "from torch.autograd.function import FunctionCtx\n"
        ),
    ),
    "a hint that is text": ([], hinted("ctx: 'FunctionCtx', x: 'Tensor'")),
    "hints of typing's": (
        [],
        hinted("ctx: Any, x: Tensor", "from typing import Any\nfrom torch import Tensor\n"),
    ),
    "hints of jaxtyping's": (
        [],
        hinted(
            'ctx, x: Float[Tensor, "n d"]',
            "from jaxtyping import Float\nfrom torch import Tensor\n",
        ),
    ),
    "NumPy's warnings are put off": (
        ["import numpy as np"],
        SQUARE.replace(
            "return 2 * x", "with np.errstate(divide='ignore', invalid='ignore'):\n            return 2 * x"
        ),
    ),
    "hints from the future": (
        [],
        hinted("ctx: FunctionCtx, x: Tensor | None", "from __future__ import annotations\n"),
    ),
    "a hinted name": (["from typing import Final\ntwo: Final[float] = 2.0"], with_factor("two")),
    # ---- ways to write the answer
    "a constant": (["FACTOR = 2"], with_factor("FACTOR")),
    "a table": (["TABLE = {}\nTABLE['square'] = 2\nprint(TABLE)"], with_factor("TABLE['square']")),
    "a list that grows": (["t = []\nfor i in range(3):\n    t.append(i)"], with_factor("t[2]")),
    "a helper": (["def twice(x):\n    return 2 * x"], with_factor("twice(1)")),
    "a lambda": (["twice = lambda x: 2 * x"], with_factor("twice(1)")),
    "a helper with a helper": (
        ["def one():\n    return 1", "def two():\n    return one() + one()"],
        with_factor("two()"),
    ),
    "a class of one's own": (
        [
            "class Config:\n    def __init__(self, factor=2):\n        self.factor = factor\n\ncfg = Config()"
        ],
        with_factor("cfg.factor"),
    ),
    "a simple namespace": (
        ["from types import SimpleNamespace\ncfg = SimpleNamespace(factor=2)"],
        with_factor("cfg.factor"),
    ),
    "math": (["import math, os, sys, seaborn_of_mine"], with_factor("math.sqrt(4)")),
    "numpy": (["import numpy as np"], with_factor("float(np.sqrt(4.0))")),
    "scipy": (["import scipy.special"], with_factor("scipy.special.gamma(3)")),
    "a partial function": (
        ["from functools import partial\nmul = partial(torch.mul, 2)"],
        SQUARE.replace("2 * x", "mul(x)"),
    ),
    "reduce": (
        ["import functools, operator"],
        SQUARE.replace("2 * x", "functools.reduce(operator.add, [x, x])"),
    ),
    "another name for a module": (
        ["Fn = torch.nn.functional"],
        SQUARE.replace("2 * x", "(x + x + 0 * Fn.relu(x))"),
    ),
    "a star": (["from math import *"], with_factor("sqrt(4)")),
    "a fallback": (
        [
            "try:\n    from torch import squared_of_mine\n    TWO = 2\nexcept ImportError:\n    TWO = 2"
        ],
        with_factor("TWO"),
    ),
    "attributes of ctx": (
        [],
        SQUARE.replace(
            "ctx.save_for",
            "ctx.shape, ctx.dim, ctx.kind = x.shape, x.dim(), 'a'\n        ctx.save_for",
        ),
    ),
    "attributes of its own objects and of tensors": (
        [
            "class Box:\n    calls = 0\n\nBOX = Box()\n\n"
            "def add(p):\n    p.grad = None\n    p.requires_grad = False\n    type(BOX).calls += 1"
        ],
        SQUARE.replace(
            "ctx.save_for",
            "ctx.box = box = Box()\n        ctx.box.dims = box.n = BOX.calls = x.dim()\n        y = x.detach()\n        y.seen = True\n        ctx.save_for",
        ),
    ),
    "an assertion": (
        [],
        SQUARE.replace(
            "return x * x",
            "assert isinstance(x, (torch.Tensor, int)), f'{type(x)}'\n        return x * x",
        ),
    ),
    "prints": (
        [],
        SQUARE.replace("return x * x", "print(f'{x.shape=} {type(x)}', x)\n        return x * x"),
    ),
    "an inner function": (
        [],
        SQUARE.replace("return x * x", "def f(t):\n            return t * t\n        return f(x)"),
    ),
    "a backward that is added": (
        [],
        SQUARE + "\nSquare.backward = staticmethod(lambda ctx, g: 2 * ctx.saved_tensors[0] * g)\n",
    ),
    "a decorator of one's own": (
        [
            "def loud(f):\n    def g(*a):\n        print('called')\n        return f(*a)\n    return g"
        ],
        SQUARE.replace(
            "@staticmethod\n    def forward", "@staticmethod\n    @loud\n    def forward"
        ),
    ),
    "once differentiable, and back": (
        ["from torch.autograd.function import once_differentiable"],
        SQUARE,
    ),
    "a base class of one's own": (
        ["class Base(Function):\n    @staticmethod\n    def slope(x):\n        return 2 * x"],
        SQUARE.replace("(Function)", "(Base)").replace("2 * x", "Base.slope(x)"),
    ),
    "a context manager": (
        [],
        SQUARE.replace(
            "return x * x", "with torch.no_grad():\n            y = x * x\n        return y"
        ),
    ),
    "getattr": (
        [],
        SQUARE.replace("(x,) = ctx.saved_tensors", "(x,) = getattr(ctx, 'saved_tensors')"),
    ),
    "a global counter": (
        ["calls = 0"],
        SQUARE.replace("ctx.save_for", "global calls\n        calls += 1\n        ctx.save_for"),
    ),
    "an answer in a timed cell": ([], "%%time\n" + SQUARE),
    "an answer with a magic": (
        [],
        "%matplotlib inline\n!ls\n" + SQUARE + "\nSquare?",
    ),
    "an answer beside a crash": ([], SQUARE + "\n1 / 0\n"),
    "an answer beside a plot": (
        [],
        SQUARE + "\nimport matplotlib.pyplot as plt\nplt.plot(Square.apply(torch.ones(3)))\n",
    ),
    **{
        name: ([cell], with_factor(factor))
        for name, (cell, factor) in {
            # ---- forms that are admitted in one place
            "a dataclass": ("from dataclasses import dataclass\n@dataclass\nclass C:\n    two: float = 2.0\nc = C()", "c.two"),
            "a dataclass with switches": ("import dataclasses\n@dataclasses.dataclass(frozen=True, slots=True)\nclass C:\n    two: 'float'\nc = C(2.0)", "c.two"),
            "a dataclass with more": (
                "from dataclasses import dataclass, field, replace, asdict, KW_ONLY\nfrom typing import ClassVar\n"
                "@dataclass\nclass C:\n    kinds: list[str] = field(default_factory=list)\n    _: KW_ONLY\n    one: float = 1.0\n"
                "    kind: ClassVar[str] = 'a'\n    def __post_init__(self):\n        self.kinds.append(self.kind)\n"
                "c = replace(C(), one=2.0)", "asdict(c)['one']"),
            "a dataclass with a variable for its beginning": (
                "from dataclasses import dataclass, InitVar\n@dataclass\nclass C:\n    one: InitVar[int] = 1\n    two: int = 0\n"
                "    def __post_init__(self, one):\n        self.two = 2 * one\nc = C()", "c.two"),
            "a named tuple": ("from collections import namedtuple\nC = namedtuple('C', 'two three', defaults=[3])\nc = C(2)", "c.two"),
            "a named tuple of a list": ("import collections\nC = collections.namedtuple('C', ['two'])\nc = C(two=1)._replace(two=2)", "c.two"),
            "a named tuple of typing's": ("from typing import NamedTuple\nclass C(NamedTuple):\n    two: float\n    three: int = 3\nc = C(2.0)", "c.two"),
            "an enumeration": ("from enum import Enum\nclass K(Enum):\n    TWO = 2\n    THREE = 3", "K.TWO.value"),
            "an enumeration that counts": ("import enum\n@enum.unique\nclass K(enum.IntEnum):\n    ONE = enum.auto()\n    TWO = enum.auto()", "int(K['TWO'])"),
            "an enumeration of texts": ("from enum import Enum\nclass K(str, Enum):\n    A = 'a'\n    B = 'b'\n    def two(self):\n        return 2 if self is K.A else 3", "K('a').two()"),
            "an abstract base": ("from abc import ABC, abstractmethod\nclass B(ABC):\n    @abstractmethod\n    def two(self):\n        ...\nclass C(B):\n    def two(self):\n        return 2", "C().two()"),
            "a match statement": ("def two(x):\n    match x:\n        case 1 | 2:\n            return 2\n        case _:\n            return 3", "two(1)"),
            "patterns of sequences": ("def two(x):\n    match x:\n        case [a, *rest] if rest:\n            return a\n        case {'two': t, **more}:\n            return t", "two([2, 3])"),
            "patterns of classes": ("def two(x):\n    match x:\n        case torch.Tensor(shape=s):\n            return 2\n        case int(n) | float(n):\n            return n", "two(x)"),
            "a pattern of one's own class": (
                "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n    b: int\ndef two(p):\n    match p:\n        case P(a, b=1):\n            return a", "two(P(2, 1))"),
            "a format": ("'{:.3f} of {n}'.format(2.0, n=3)", "float('{:.1f}'.format(2.0))"),
            "a format with a width": ("w = 3", "float('{0:>{1}}'.format(2, w))"),
            "format itself": ("import math", "float(format(2.0, '.3f'))"),
            "a decorator with wraps": (
                "import functools\ndef loud(f):\n    @functools.wraps(f)\n    def g(*a):\n        print(f.__name__, 'called')\n        return f(*a)\n    return g\n"
                "@loud\ndef two():\n    return 2", "two()"),
            "a decorator with arguments": (
                "from functools import wraps\ndef times(n):\n    def outer(f):\n        @wraps(f)\n        def g(*a, **k):\n            return n * f(*a, **k)\n"
                "        return g\n    return outer\n@times(2)\ndef one():\n    return 1", "one()"),
            "a class that decorates": ("class Twice:\n    def __init__(self, f):\n        self.f = f\n    def __call__(self):\n        return 2 * self.f()\n@Twice\ndef one():\n    return 1", "one()"),
            "a type's name": ("def two(y):\n    return 2 if type(y).__name__ == 'Tensor' else 3", "two(x)"),
            "a class's name": ("def two(y):\n    return 2 if y.__class__.__name__ == 'Tensor' else 3", "two(x)"),
            "a class's long name in a text": ("def two(y):\n    print(f'{y.__class__.__qualname__!r} {type(y).__name__}')\n    return 2", "two(x)"),
            "typing's extensions": ("from typing_extensions import override, Self\nclass A:\n    def two(self) -> Self:\n        return 3\nclass B(A):\n    @override\n    def two(self) -> Self:\n        return 2", "B().two()"),
            "a cast": ("from typing import cast, TYPE_CHECKING\nif TYPE_CHECKING:\n    from odd import Odd\ntwo = cast(float, 2.0)", "two"),
            "a constant that is final": ("from typing import Final\nTWO: Final = 2", "TWO"),
            "an alias of types": ("from typing import Optional, Union\nNumber = Union[int, float]\ndef two(x: Optional[Number]) -> Number:\n    return 2", "two(1)"),
            "torch's assertion": ("from torch.testing import assert_close\ndef two():\n    assert_close(torch.ones(2), torch.ones(2))\n    return 2", "two()"),
            "a logger": ("import logging\nlogger = logging.getLogger(__name__)\nlogger.setLevel(logging.INFO)\ndef two():\n    logger.debug('x %s', 1)\n    return 2", "two()"),
            "a property": ("class C:\n    @property\n    def two(self):\n        return 2", "C().two"),
            "slots": ("class C:\n    __slots__ = ('two',)\n    def __init__(self):\n        self.two = 2", "C().two"),
            "a generator": ("def numbers():\n    yield 2\n    yield from (3, 4)", "next(numbers())"),
            "a walrus": ("t = [n for k in range(4) if (n := k * 2) > 1]", "t[0]"),
            "a cached function": ("from functools import lru_cache\n@lru_cache(maxsize=None)\ndef two():\n    return 2", "two()"),
            "an own manager of contexts": ("from contextlib import contextmanager\n@contextmanager\ndef two():\n    yield 2\nwith two() as t:\n    pass", "t"),
            "stars": ("def f(*a, k=0, **m):\n    return a[0] + m['o']\na = [1]", "f(*a, **{'o': 1})"),
            "what is missing": ("def two(x=None):\n    try:\n        return x['two']\n    except (TypeError, KeyError) as error:\n        print(error)\n        return 2\n    finally:\n        pass", "two()"),
            "conditions and chains": ("two = 2 if 0 < 1 <= 2 else 3\nassert two, 'none'", "two"),
            "sets and tables": ("s = {1, 2} | {2}\nd = {k: v for k, v in zip('ab', (1, 2))}\nd |= {'c': 3}\nfirst, *rest = sorted(s)", "d['b']"),
        }.items()
    },
}  # fmt: skip
