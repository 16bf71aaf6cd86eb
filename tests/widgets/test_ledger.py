"""The ledger counts what is kept once, names who keeps it, and measures until when."""

import importlib

import pytest
import torch
from bs4 import BeautifulSoup
from torch.autograd import Function

from tests.widgets.functions import Largest, MySigmoid, Scaled, Square, Stub
from widgets.ledger import BACKWARD, COLLECTOR, GRAPH, saved_ledger


def facts(ledger):
    return [(e.keeper, e.held_as, e.what, e.counted, e.until) for e in ledger.entries]


def test_a_saved_output_is_kept_until_backward():
    ledger = saved_ledger(MySigmoid, torch.ones(1000))
    assert facts(ledger) == [("MySigmoid", "saved[0]", "the output", 4000, BACKWARD)]
    assert ledger.total == 4000


def test_a_saved_input_costs_nothing_besides():
    ledger = saved_ledger(Square.apply, torch.ones(1000))
    assert facts(ledger) == [("Square", "saved[0]", "the input x", 0, BACKWARD)]
    assert ledger.summary == "Square keeps 0 bytes for backward, besides its inputs."


def test_ctx_attributes_outlive_backward():
    entries = {e.held_as: e for e in saved_ledger(Scaled, torch.ones(4), 2.0).entries}
    assert entries["saved[1]"].until == BACKWARD
    assert entries["ctx.half"].until == GRAPH
    assert entries["ctx.half"].what == "made in between"


def test_a_reference_cycle_waits_for_the_collector():
    class Holder(Square):
        @staticmethod
        def forward(ctx, x):
            ctx.y = x * x
            return ctx.y

        @staticmethod
        def backward(ctx, g):
            return g

    assert facts(saved_ledger(Holder, torch.ones(4))) == [
        ("Holder", "ctx.y", "the output", 16, COLLECTOR)
    ]


def test_torchs_own_nodes_are_keepers_too():
    ledger = saved_ledger(lambda x: 1 / (1 + torch.exp(-x)), torch.ones(1000))
    assert ledger.total == 8000 + 8  # torch keeps the number 1 of `1 / …` as a tensor
    assert [e.keeper for e in ledger.entries] == ["Exp", "Reciprocal", "Mul"]
    assert {e.until for e in ledger.entries} == {BACKWARD}


def test_what_two_keep_is_counted_once():
    weight = torch.ones(4, 4, requires_grad=True)
    ledger = saved_ledger(lambda x: MySigmoid.apply(x) @ weight, torch.ones(4, 4))
    saved = [e for e in ledger.entries if e.keeper == "MySigmoid"]
    assert saved[0].counted == 64
    assert [e.counted for e in ledger.entries if e.keeper == "Mm"] == [0, 0]
    assert ledger.total == 64  # the output, and not the weight, which somebody has anyway


def test_the_learners_tensors_are_left_alone():
    x = torch.ones(3, requires_grad=True)
    saved_ledger(Square, x)
    assert x.grad is None


def test_an_unwritten_function_is_said_to_be_so():
    ledger = saved_ledger(Stub, torch.ones(2))
    assert ledger.entries == ()
    said = "Stub is not written yet (NotImplementedError). Run this cell again when it is."
    assert repr(ledger) == said
    assert said in ledger._repr_html_()


def test_an_exercise_that_it_needs_is_named_where_that_is_unwritten(tmp_path, monkeypatch):
    (tmp_path / "learners.py").write_text(
        "def hvp(f, x, v):\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    hvp = importlib.import_module("learners").hvp

    def curvature(x):
        return hvp(torch.sum, x, x)

    ledger = saved_ledger(curvature, torch.ones(2))
    assert ledger.summary.startswith("curvature needs hvp, which is not written yet (")
    assert saved_ledger(hvp, torch.ones(2), 1, 2).summary.startswith("hvp is not written yet (")


def test_an_error_is_said_and_not_raised():
    ledger = saved_ledger(lambda x: x @ x, torch.ones(2, 3))
    assert ledger.summary.startswith("<lambda> stops with RuntimeError: ")


def test_an_output_of_indices_is_an_output():
    ledger = saved_ledger(Largest, torch.ones(4, 3), 1)
    assert facts(ledger) == [("Largest", "saved[0]", "the output 1", 32, BACKWARD)]


def test_nothing_kept_is_said():
    assert repr(saved_ledger(lambda x: x + 1, torch.ones(2))).endswith(
        "keeps no tensor for backward."
    )


@pytest.mark.parametrize("text", ["repr", "html"])
def test_all_columns_are_shown(text):
    ledger = saved_ledger(Scaled, torch.ones(4), 2.0)
    shown = repr(ledger)
    if text == "html":
        soup = BeautifulSoup(ledger._repr_html_(), "html.parser")
        assert soup.table.caption.string == "What Scaled keeps for backward"
        assert len(soup.find_all("th", scope="row")) == len(ledger.entries)
        shown = soup.get_text(" ")
    for word in ("kept by", "saved[0]", "the input x", "(4)", "float32", "16 bytes", GRAPH):
        assert word in shown


def test_a_modules_parameters_are_kept_by_the_module_anyway():
    layer = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Tanh())
    ledger = saved_ledger(layer, torch.randn(4, 6))
    weight = next(entry for entry in ledger.entries if entry.shape == (6, 6))
    assert (weight.what, weight.counted) == ("a parameter", 0)
    assert ledger.summary == (
        "Sequential keeps 96 bytes for backward, besides its inputs and parameters."
    )
    assert ledger.entries[0].what == "input 1"


def test_two_choices_stand_side_by_side_on_one_scale():
    """Between two linear layers the output is held by the next one anyway; the input is not."""
    first, second = (torch.randn(8, 8, requires_grad=True) for _ in range(2))

    class FromInput(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sigmoid(x)

        @staticmethod
        def backward(ctx, grad_output):
            y = torch.sigmoid(ctx.saved_tensors[0])
            return grad_output * y * (1 - y)

    def output_kept(x):
        return torch.sigmoid(x @ first) @ second

    def input_kept(x):
        return FromInput.apply(x @ first) @ second

    x = torch.randn(4, 8)
    both = saved_ledger([output_kept, input_kept], x)
    assert [one.total for one in both.every] == [128, 256]
    assert repr(both) == f"{saved_ledger(output_kept, x)}\n\n{saved_ledger(input_kept, x)}"
    page = BeautifulSoup(both._repr_html_(), "html.parser")
    assert len(page.find_all("table")) == 2
    widths = [bar["style"].split("%")[0] for bar in page.select("li > div")]
    assert {"width:0.0", "width:100.0"} == set(widths)
