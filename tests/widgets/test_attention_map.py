"""attention_map shows what torch computes: weights, mask and gradients of one head."""

import math

import pytest
import torch
from torch.autograd import Function
from torch.nn.functional import scaled_dot_product_attention

from widgets.attention import attention_map
from widgets.attention_head import run_head
from widgets.explorer import filled


def three(queries=4, keys=5, width=3):
    generator = torch.Generator().manual_seed(1)
    sizes = ((queries, width), (keys, width), (keys, 2))
    return [torch.randn(*size, generator=generator, dtype=torch.float64) for size in sizes]


MASK = torch.tensor([[1, 0, 0, 1, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]).bool()


def test_the_gradients_are_those_of_torchs_own_attention():
    q, k, v = three()
    upstream = torch.ones(4, 2, dtype=torch.float64)
    head = run_head("x", q, k, v, MASK, upstream)
    q.requires_grad_()
    output = scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=MASK)[0]
    (expected,) = torch.autograd.grad(output, q, upstream)
    assert torch.allclose(head.weights @ v, output.detach())
    assert torch.allclose(head.score_gradient @ k / math.sqrt(3), expected)
    assert torch.allclose(head.weight_gradient, upstream @ v.T)


def test_a_masked_key_has_neither_weight_nor_gradient():
    head = run_head("x", *three(), MASK)
    assert not head.weights[~MASK].any()
    assert not head.score_gradient[~MASK].any()
    assert torch.allclose(head.weights.sum(1), torch.ones(4, dtype=torch.float64))


def test_a_row_that_is_masked_entirely_is_zero_and_not_nan():
    mask = MASK.clone()
    mask[1] = False
    view = attention_map(*three(), mask=mask)
    head = run_head("x", *three(), mask)
    assert not head.weights[1].any()
    assert not head.score_gradient[1].any()
    assert head.score_gradient.isfinite().all()
    assert "every key is masked" in view.exploration.sweeps[0].said(1)


def test_the_table_has_a_row_of_numbers_for_each_key():
    q, k, v = three()
    view = attention_map(q, k, v, MASK, tokens="abcde")
    [sweep] = view.exploration.sweeps
    frame = sweep.frames[0]
    head = run_head("x", q, k, v, MASK)
    table = [[filled(cell, frame.words) for cell in row] for row in sweep.rows]
    assert [row[0] for row in table] == list("abcde")
    assert [row[1] for row in table] == ["✓ yes", "✕ no", "✕ no", "✓ yes", "✕ no"]
    shown = [float(row[3]) for row in table]
    assert shown == pytest.approx(head.weights[0].tolist(), abs=1e-3)
    assert [row[5] for row in table][1:3] == ["0", "0"]
    assert sweep.grids[0].texts[0][1] == "✕"
    assert (frame.row, frame.place) == (0, "query 0")


def test_by_default_none_and_causal_can_be_picked():
    view = attention_map()
    assert [s.name for s in view.exploration.sweeps] == ["no mask", "causal mask"]
    assert "5 masked, with weight and score gradient 0" in view.exploration.sweeps[1].said(0)
    assert "add up to 0" in view.exploration.sweeps[0].said(3)
    assert view.stand_in()["image/png"]


def test_the_learners_tensors_are_left_alone():
    q, k, v = (t.requires_grad_() for t in three())
    attention_map(q, k, v)
    assert (q.grad, k.grad, v.grad) == (None, None, None)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"q": torch.ones(4)}, "two dimensions"),
        ({"k": torch.ones(5, 7)}, "do not fit"),
        ({"q": torch.ones(13, 3)}, "room for"),
        ({"mask": torch.ones(4, 5)}, "boolean"),
        ({"grad_output": torch.ones(4, 3)}, "output's shape"),
        ({"tokens": "ab"}, "2 tokens for 5 keys"),
        ({"q": None}, "or none of them"),
    ],
)
def test_what_does_not_fit_is_refused(change, problem):
    arguments = dict(zip("qkv", three(), strict=True)) | change
    with pytest.raises(ValueError, match=problem):
        attention_map(**arguments)


class MyAttention(Function):
    """With a mask and a scale, as LeanAttention has them."""

    factor = 1.0

    @staticmethod
    def forward(ctx, q, k, v, mask, scale):
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(-1)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @classmethod
    def backward(cls, ctx, grad_output):
        q, k, v, weights = ctx.saved_tensors
        by_weights = grad_output @ v.transpose(-1, -2)
        by_scores = (
            weights * (by_weights - (by_weights * weights).sum(-1, keepdim=True)) * ctx.scale
        )
        by_scores = by_scores * cls.factor
        return (
            by_scores @ k,
            by_scores.transpose(-1, -2) @ q,
            weights.transpose(-1, -2) @ grad_output,
            None,
            None,
        )


class InTiles(MyAttention):
    """Called as FlashAttention is."""

    @staticmethod
    def forward(ctx, q, k, v, causal, block_size):
        mask = torch.ones(q.shape[-2], k.shape[-2]).tril().bool() if causal else None
        return MyAttention.forward(ctx, q, k, v, mask, q.shape[-1] ** -0.5)


@pytest.mark.parametrize("own", [MyAttention, MyAttention.apply, InTiles])
def test_a_learners_attention_shows_its_own_weights_and_gradients(own):
    plain, mine = attention_map(), attention_map(by=own)
    sweeps = [sweep for sweep in mine.exploration.sweeps if "tile" not in sweep.name]
    for right, got in zip(plain.exploration.sweeps, sweeps, strict=True):
        assert [grid.texts for grid in got.grids] == [grid.texts for grid in right.grids]
        assert [frame.words for frame in got.frames] == [frame.words for frame in right.frames]
    assert "by your" in mine.title


def test_a_wrong_gradient_is_its_own_and_said():
    class Doubled(MyAttention):
        factor = 2.0

    [first, *_] = attention_map(by=Doubled).exploration.sweeps
    told = first.said(0)
    assert "✗ The gradient at the score of key 0 is " in told
    got, wanted = told.split("✗")[1].split(" is ")[1].split(" here, and ")
    assert float(got) == pytest.approx(2 * float(wanted.split(" ")[0]), rel=1e-3)


def test_tiles_fill_the_weights_and_end_with_the_output():
    q, k, v = (
        torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(i))
        for i in range(3)
    )
    sweep = attention_map(q, k, v, by=InTiles).exploration.sweeps[1]
    assert sweep.name == "no mask, tile by tile"
    assert [frame.place for frame in sweep.frames][:4] == [
        "tile (0, 0)",
        "tile (0, 1)",
        "tile (0, 2)",
        "tile (1, 0)",
    ]
    seen, kept = sweep.frames[0].grids
    assert sum(text != "·" for row in seen.texts for text in row) == 4
    assert kept.texts[2] == ("·", "·", "·", "·")
    seen, kept = sweep.frames[-1].grids
    scores = q @ k.T / 2
    assert torch.allclose(
        torch.tensor(seen.values, dtype=torch.float64), scores.softmax(1), atol=1e-3
    )
    output = scores.softmax(1) @ v
    top = scores.max(1).values
    right = torch.stack([top, (scores - top[:, None]).exp().sum(1), *output.T[:2]], 1)
    assert torch.allclose(torch.tensor(kept.values, dtype=torch.float64), right, atol=1e-3)
    assert all(sweep.said(i) for i in range(9))


def test_an_attention_that_is_not_written_says_so():
    class LeanAttention(Function):
        @staticmethod
        def forward(ctx, q, k, v, mask, scale):
            raise NotImplementedError()

    said = attention_map(by=LeanAttention).exploration.sweeps[0].said(0)
    assert said.startswith("no mask, query 0: LeanAttention is not written yet")
