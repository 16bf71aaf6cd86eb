"""Small honest notebooks in the styles that learners have: cells above the answers, and the answers."""

from __future__ import annotations

from tests.grading.attacks.lesson import RIGHT

SQUARE = RIGHT["Square"]


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
}
