"""Mutants of the attention exercises that compute the same, with the reason; see ``equivalent.py``."""

from __future__ import annotations

from tests.mistakes.equivalence import Equivalent

ATTENTION = (
    Equivalent("FlashAttention", "lists of tiles, put together by cat", "without queries no row of it is read", (
        "forward: lse = torch.cat(sums, -2) if sums else q.new_zeros(*q.shape[:-1], 1) → lse = torch.cat(sums, -2) if sums else q.new_zeros(*q.shape[:1], 1)",
    )),
    Equivalent("FlashAttention", "tiles of queries outside, tiles of keys inside", "a row of positions has one dimension, so 1 and -1 are the same", (
        "tile_scores: row = torch.arange(rows.start, rows.stop, device=q.device).unsqueeze(1) → row = torch.arange(rows.start, rows.stop, device=q.device).unsqueeze(-1)",
    )),
    Equivalent("FlashAttention", "tiles of queries outside, tiles of keys inside", "the first tile multiplies the sum by e^(−inf) = 0; without keys the output is 0 all the same", (
        "forward: total = torch.zeros_like(top) → total = torch.ones_like(top)",
    )),
    Equivalent("FlashAttention", "tiles of queries outside, tiles of keys inside", "a tile that is masked altogether is computed and adds 0", (
        "forward: if causal and cols.start >= rows.stop: → if causal and cols.start > rows.stop:",
        "backward: if ctx.causal and cols.start >= rows.stop: → if ctx.causal and cols.start > rows.stop:",
    )),
    Equivalent("FlashAttention", "tiles of queries outside, tiles of keys inside", "the sum is 0 only where the numerator is 0 too", (
        "forward: out[..., rows, :] = gathered / torch.where(total == 0, 1.0, total) → out[..., rows, :] = gathered / torch.where(total == 0, 2.0, total)",
        "forward: out[..., rows, :] = gathered / torch.where(total == 0, 1.0, total) → out[..., rows, :] = gathered / torch.where(total == 0, -1.0, total)",
    )),
    Equivalent("FlashAttention", "tiles of keys outside in backward, no tile skipped", "a row of positions has one dimension, so 1 and -1 are the same", (
        "tile_scores: row = torch.arange(rows.start, rows.stop, device=q.device).unsqueeze(1) → row = torch.arange(rows.start, rows.stop, device=q.device).unsqueeze(-1)",
    )),
    Equivalent("FlashAttention", "tiles of keys outside in backward, no tile skipped", "the first tile multiplies the sum by e^(−inf) = 0; without keys the output is 0 all the same", (
        "forward: total = torch.zeros_like(top) → total = torch.ones_like(top)",
    )),
    Equivalent("FlashAttention", "tiles of keys outside in backward, no tile skipped", "the sum is 0 only where the numerator is 0 too", (
        "forward: out[..., rows, :] = gathered / torch.where(total == 0, 1.0, total) → out[..., rows, :] = gathered / torch.where(total == 0, 2.0, total)",
        "forward: out[..., rows, :] = gathered / torch.where(total == 0, 1.0, total) → out[..., rows, :] = gathered / torch.where(total == 0, -1.0, total)",
    )),
    Equivalent("FlashAttention", "lists of tiles, put together by cat", "a row of positions has one dimension, so 1 and -1 are the same", (
        "tile_scores: row = torch.arange(rows.start, rows.stop, device=q.device).unsqueeze(1) → row = torch.arange(rows.start, rows.stop, device=q.device).unsqueeze(-1)",
    )),
    Equivalent("FlashAttention", "lists of tiles, put together by cat", "the first tile multiplies the sum by e^(−inf) = 0; without keys the output is 0 all the same", (
        "forward: total, gathered = (torch.zeros_like(top), torch.zeros_like(top)) → total, gathered = (torch.ones_like(top), torch.zeros_like(top))",
    )),
    Equivalent("FlashAttention", "lists of tiles, put together by cat", "without queries no row of it is read", (
        "forward: lse = torch.cat(sums, -2) if sums else q.new_zeros(*q.shape[:-1], 1) → lse = torch.cat(sums, -2) if sums else q.new_zeros(*q.shape[:-1], 2)",
        "forward: lse = torch.cat(sums, -2) if sums else q.new_zeros(*q.shape[:-1], 1) → lse = torch.cat(sums, -2) if sums else q.new_zeros(*q.shape[:-2], 1)",
        "forward: lse = torch.cat(sums, -2) if sums else q.new_zeros(*q.shape[:-1], 1) → lse = torch.cat(sums, -2) if sums else q.new_zeros(*q.shape[:--1], 1)",
    )),
    Equivalent("FlashAttention", "lists of tiles, put together by cat", "a tile that is masked altogether is computed and adds 0", (
        "forward: if causal and cols.start >= rows.stop: → if causal and cols.start > rows.stop:",
        "backward: if ctx.causal and cols.start >= rows.stop: → if ctx.causal and cols.start > rows.stop:",
    )),
    Equivalent("FlashAttention", "lists of tiles, put together by cat", "the sum is 0 only where the numerator is 0 too", (
        "forward: outs.append((gathered / total.masked_fill(empty, 1.0)).expand(*top.shape[:-1], v.shape[-1])) → outs.append((gathered / total.masked_fill(empty, 2.0)).expand(*top.shape[:-1], v.shape[-1]))",
        "forward: outs.append((gathered / total.masked_fill(empty, 1.0)).expand(*top.shape[:-1], v.shape[-1])) → outs.append((gathered / total.masked_fill(empty, -1.0)).expand(*top.shape[:-1], v.shape[-1]))",
    )),
    Equivalent("FlashAttention", "the setup_context form, prints on the way", "a row of positions has one dimension, so 1 and -1 are the same", (
        "tile_scores: row = torch.arange(rows.start, rows.stop, device=q.device).unsqueeze(1) → row = torch.arange(rows.start, rows.stop, device=q.device).unsqueeze(-1)",
    )),
    Equivalent("FlashAttention", "the setup_context form, prints on the way", "the first tile multiplies the sum by e^(−inf) = 0; without keys the output is 0 all the same", (
        "run: total, gathered = (torch.zeros_like(top), torch.zeros_like(out[..., rows, :])) → total, gathered = (torch.ones_like(top), torch.zeros_like(out[..., rows, :]))",
    )),
    Equivalent("FlashAttention", "the setup_context form, prints on the way", "a tile that is masked altogether is computed and adds 0", (
        "backward: if ctx.causal and cols.start >= rows.stop: → if ctx.causal and cols.start > rows.stop:",
    )),
    Equivalent("FlashAttention", "the setup_context form, prints on the way", "the largest score of a row adds e^0 = 1 to its sum, so only a sum of 0 is below 1", (
        "run: out[..., rows, :] = gathered / total.clamp(min=1e-30) → out[..., rows, :] = gathered / total.clamp(min=1.0)",
        "run: lse[..., rows, :] = top + total.clamp(min=1e-30).log() → lse[..., rows, :] = top + total.clamp(min=1.0).log()",
        "run: lse[..., rows, :] = top + total.clamp(min=1e-30).log() → lse[..., rows, :] = top + total.clamp(min=-1e-30).log()",
    )),
    Equivalent("LeanAttention", "weights recomputed from the logsumexp", "all scores of such a row are −inf: e^(−inf − c) is 0 for every finite c", (
        "forward: lse = torch.where(lse == -torch.inf, 0.0, lse) → lse = torch.where(lse == -torch.inf, 1.0, lse)",
        "forward: lse = torch.where(lse == -torch.inf, 0.0, lse) → lse = torch.where(lse == -torch.inf, 1, lse)",
    )),
    Equivalent("LeanAttention", "the sum over the keys in place of delta, the mask kept as an expanded view", "all scores of such a row are −inf: e^(−inf − c) is 0 for every finite c", (
        "forward: lse = torch.where(lse == -torch.inf, 0.0, lse) → lse = torch.where(lse == -torch.inf, 1.0, lse)",
        "forward: lse = torch.where(lse == -torch.inf, 0.0, lse) → lse = torch.where(lse == -torch.inf, 1, lse)",
    )),
    Equivalent("LeanAttention", "keeps only the inputs: right second derivatives", "a number subtracted from all scores of a row changes no weight, and so no derivative", (
        "backward: top = scores.detach() → top = scores",
    )),
    Equivalent("LeanAttention", "keeps only the inputs: right second derivatives", "all scores of such a row are −inf: e^(−inf − c) is 0 for every finite c", (
        "forward: lse = torch.where(lse == -torch.inf, 0.0, lse) → lse = torch.where(lse == -torch.inf, 1.0, lse)",
        "forward: lse = torch.where(lse == -torch.inf, 0.0, lse) → lse = torch.where(lse == -torch.inf, 1, lse)",
        "backward: e = (scores - torch.where(top == -torch.inf, 0.0, top)).exp() → e = (scores - torch.where(top == -torch.inf, 1.0, top)).exp()",
        "backward: e = (scores - torch.where(top == -torch.inf, 0.0, top)).exp() → e = (scores - torch.where(top == -torch.inf, 1, top)).exp()",
    )),
    Equivalent("LeanAttention", "keeps only the inputs: right second derivatives", "the sum is 0 only where the numerator is 0 too", (
        "backward: weights = e / torch.where(total == 0, 1.0, total) → weights = e / torch.where(total == 0, 2.0, total)",
        "backward: weights = e / torch.where(total == 0, 1.0, total) → weights = e / torch.where(total == 0, -1.0, total)",
    )),
    Equivalent("LeanAttention", "keeps the inverted mask and a flat logsumexp", "all scores of such a row are −inf: e^(−inf − c) is 0 for every finite c", (
        "forward: lse = torch.where(lse == -torch.inf, 0.0, lse) → lse = torch.where(lse == -torch.inf, 1.0, lse)",
        "forward: lse = torch.where(lse == -torch.inf, 0.0, lse) → lse = torch.where(lse == -torch.inf, 1, lse)",
    )),
    Equivalent("LeanAttention", "einsum, scaled queries, the setup_context form", "all scores of such a row are −inf: e^(−inf − c) is 0 for every finite c", (
        "backward: total = total.masked_fill(total.isinf(), 0.0).unsqueeze(-1) → total = total.masked_fill(total.isinf(), 1.0).unsqueeze(-1)",
        "backward: total = total.masked_fill(total.isinf(), 0.0).unsqueeze(-1) → total = total.masked_fill(total.isinf(), 1).unsqueeze(-1)",
    )),
    Equivalent("LeanAttention", "divides by √E, multiplies by its inverse in backward, and keeps the logsumexp in float32", "all scores of such a row are −inf: e^(−inf − c) is 0 for every finite c", (
        "forward: weights = (wide - lse.masked_fill(lse == -torch.inf, 0.0)).exp() → weights = (wide - lse.masked_fill(lse == -torch.inf, 1)).exp()",
        "forward: weights = (wide - lse.masked_fill(lse == -torch.inf, 0.0)).exp() → weights = (wide - lse.masked_fill(lse == -torch.inf, 1.0)).exp()",
        "backward: weights = (scores.to(lse.dtype) - lse.masked_fill(lse == -torch.inf, 0.0)).exp().to(q.dtype) → weights = (scores.to(lse.dtype) - lse.masked_fill(lse == -torch.inf, 1)).exp().to(q.dtype)",
        "backward: weights = (scores.to(lse.dtype) - lse.masked_fill(lse == -torch.inf, 0.0)).exp().to(q.dtype) → weights = (scores.to(lse.dtype) - lse.masked_fill(lse == -torch.inf, 1.0)).exp().to(q.dtype)",
    )),
    Equivalent("LeanAttention", "divides by √E, multiplies by its inverse in backward, and keeps the logsumexp in float32", "the logsumexp in the dtype of q, as others keep it; the wider one is a choice", (
        "forward: wide = scores.to(torch.promote_types(scores.dtype, torch.float32)) → wide = scores",
        "backward: weights = (scores.to(lse.dtype) - lse.masked_fill(lse == -torch.inf, 0.0)).exp().to(q.dtype) → weights = (scores - lse.masked_fill(lse == -torch.inf, 0.0)).exp().to(q.dtype)",
    )),
    Equivalent("ScaledDotProductAttention", "nothing saved but the inputs: right second derivatives", "the softmax of equal scores is the same whichever they are, and the row is set to 0 afterwards", (
        "backward: scores = scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0) → scores = scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 1.0)",
        "backward: scores = scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0) → scores = scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 1)",
    )),
    Equivalent("ScaledDotProductAttention", "a float mask of 0 and -inf is added, the weights by hand", "without keys the scores have no column, and with keys it is replaced", (
        "forward: top = torch.zeros_like(scores[..., :1]) → top = torch.ones_like(scores[..., :1])",
        "forward: top = torch.zeros_like(scores[..., :1]) → top = torch.zeros_like(scores[..., :2])",
        "forward: top = torch.zeros_like(scores[..., :1]) → top = torch.zeros_like(scores[..., :-1])",
    )),
    Equivalent("ScaledDotProductAttention", "a float mask of 0 and -inf is added, the weights by hand", "the sum is 0 only where the numerator is 0 too", (
        "forward: weights = e / torch.where(total == 0, 1.0, total) → weights = e / torch.where(total == 0, 2.0, total)",
        "forward: weights = e / torch.where(total == 0, 1.0, total) → weights = e / torch.where(total == 0, -1.0, total)",
    )),
    Equivalent("ScaledDotProductAttention", "a float mask of 0 and -inf is added, the weights by hand", "a number added to all scores of a row changes no weight", (
        "forward: scores = scores + torch.where(mask, 0.0, -torch.inf).to(scores) → scores = scores + torch.where(mask, 1.0, -torch.inf).to(scores)",
        "forward: scores = scores + torch.where(mask, 0.0, -torch.inf).to(scores) → scores = scores + torch.where(mask, 1, -torch.inf).to(scores)",
    )),
    Equivalent("ScaledDotProductAttention", "a float mask of 0 and -inf is added, the weights by hand", "all scores of such a row are −inf: e^(−inf − c) is 0 for every finite c", (
        "forward: e = (scores - top.nan_to_num(neginf=0.0)).exp() → e = (scores - top.nan_to_num(neginf=1.0)).exp()",
        "forward: e = (scores - top.nan_to_num(neginf=0.0)).exp() → e = (scores - top.nan_to_num(neginf=1)).exp()",
    )),
    Equivalent("ScaledDotProductAttention", "the learner's own Softmax inside", "forward runs without grad mode, so the inner Function has no backward", (
        "backward: return y * (g - (g * y).sum(-1, keepdim=True)) → …",
    )),
)  # fmt: skip
