"""What we lean on in torch that it promises nobody: when one of these fails, a new torch has changed it.

Private names are found in our files, so there is no list to keep; what is no name stands below.
"""

import ast
import importlib
from functools import reduce
from inspect import getattr_static
from pathlib import Path

import pytest
import torch
from torch.autograd import Function
from torch.library import custom_op

from autograder.explaining.exceptions.messages import cause_in_words
from autograder.judging.rules import runs
from autograder.observation.syntax import registered
from autograder.running.function_classes import backwards_of, functions, of_operator

ROOT = Path(__file__).parents[2]
FOLDERS = ("autograder", "widgets", "lessons")


def private(name):
    first, *rest = name.split(".")
    return (
        first == "torch" and name.replace(".", "").isidentifier() and any(p[0] == "_" for p in rest)
    )


def names_in(tree):
    """The private names of torch's that a file imports or writes out: torch._C._functorch, …"""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node)


FILES = [
    file
    for folder in FOLDERS
    for file in sorted((ROOT / folder).rglob("*.py"))
    if not file.stem.endswith("_mistakes")
]
USED = {
    name: file.relative_to(ROOT)
    for file in FILES
    for name in names_in(ast.parse(file.read_text(encoding="utf-8")))
    if private(name)
}


def found(name):
    """What a name stands for; AttributeError where it stands for nothing."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return reduce(getattr, name.split(".")[1:], torch)


@pytest.mark.parametrize("name", USED)
def test_a_private_name_is_there(name):
    try:
        found(name)
    except AttributeError as error:
        pytest.fail(f"torch {torch.__version__} has no {name}, which {USED[name]} uses: {error}")


def test_names_are_found():
    assert "torch._C._functorch.peek_interpreter_stack" in USED
    with pytest.raises(AttributeError):
        found("torch._C._never_there")


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        assert ctx.to_save == (x,), "trace.py reads what is to be saved"
        assert ctx.dirty_tensors is None, "trace.py reads what was marked as dirty"
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


@custom_op("tests::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


double.register_fake(torch.empty_like)
double.register_autograd(lambda ctx, g: 2 * g)


def test_apply_is_inherited_and_ctx_is_the_node():
    assert getattr_static(Double, "apply") is getattr_static(Function, "apply")
    x = torch.ones(1, requires_grad=True)
    node = Double.apply(x).grad_fn
    assert isinstance(node, Double._backward_cls)
    assert node._forward_cls is Double
    assert callable(torch.autograd._engine_run_backward)


def test_the_formula_of_an_operator_is_found():
    double(torch.ones(1, requires_grad=True))  # its class is made by then
    [made] = [cls for cls in functions() if of_operator(cls) and "tests_double" in cls.__name__]
    [(holder, name, formula)] = backwards_of([made])
    assert (name, formula) == ("_backward_fn", registered(double)["backward"])
    assert holder is double


def of_backward(returned):
    """What torch says where a backward for two arguments returns this."""
    made = type("Made", (Function,), {
        "forward": staticmethod(lambda ctx, x, n: x * 1),
        "backward": staticmethod(lambda ctx, g: returned),
    })  # fmt: skip
    with pytest.raises(RuntimeError) as stopped:
        made.apply(torch.ones(2, requires_grad=True), 3).sum().backward()
    return str(stopped.value)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, runs._COUNT),
        ((torch.ones(3), None), runs._SHAPE),
        ((None, torch.ones(2)), runs._NON_TENSOR),
        ((1.0, None), runs._NOT_VARIABLE),
    ],
)
def test_what_torch_says_of_what_backward_returned(returned, said):
    assert said in of_backward(returned)


@pytest.mark.parametrize(
    ("stops", "cause"),
    [
        (lambda x: x @ torch.ones(3, 3), "matrices"),
        (lambda x: x + torch.ones(3), "sizes"),
        (lambda x: 1 - (x > 0), "bool-minus"),
        (lambda x: x & x, "bits"),
        (lambda x: bool(x > 0), "one-truth"),
        (lambda x: x.numpy(), "numpy-grad"),
        (lambda x: x.add_(1), "writes-leaf"),
        (lambda x: x.expand(4), "expand-fewer"),
        (lambda x: x.sum(5), "dimension"),
        (lambda x: x.T.reshape(5), "reshape"),
        (lambda x: x.t().view(-1), "view"),
        (lambda x: x.exp().backward(), "implicit"),
        (lambda x: torch.func.grad(lambda y: Double.apply(y).sum())(x), "no-setup"),
        (lambda x: torch.scatter(x, 1, torch.zeros(2, 2).long(), x.double()), "dtypes"),
        (lambda x: torch.special.airy_ai(x).sum().backward(), "not-connected"),
    ],
)
def test_what_torch_says_of_a_mistake(stops, cause):
    x = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(Exception) as stopped:
        stops(x)
    assert cause_in_words(stopped.typename, str(stopped.value)).code == f"stops/{cause}"
