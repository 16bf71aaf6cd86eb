"""Mutants of lessons 08 to 12 that compute the same, with the reason; see ``equivalent.py``.

Of these exercises a sample of the mutants was tried (docs/report-card.md), so they are not among the ones that were read to the end.
"""

from __future__ import annotations

from tests.mistakes.equivalence import Equivalent

_ONE_DIMENSION = "the mask has one dimension, so 1 and -1 are the same"
_NUMPY = "torch refuses numpy() only while grad mode is on, and here it is off"
_VIEW = "torch makes a view of an input that forward returns"
_ZERO_ROW = "a row of zeros divided by any number is a row of zeros"
_AT_ZERO = "at 0 the slope 2 · x is 0, whatever the mask says"

LATER = (
    # ---- lesson 08 ----
    *(
        Equivalent("Norm", answer, _ZERO_ROW, (change,))
        for answer, change in (
            ("the largest size is taken out of the root", "forward: top = torch.where(top == 0, 1.0, top) → top = torch.where(top == 0, 2.0, top)"),
            ("x alone is kept, and its norm computed again", "length: top = torch.where(top == 0, 1.0, top) → top = torch.where(top == 0, 2.0, top)"),
            ("setup_context, and masked_fill in place of where", "forward: largest = largest.masked_fill(largest == 0, 1.0) → largest = largest.masked_fill(largest == 0, -1.0)"),
            ("in float64, which has room for the squares", "backward: unit = torch.where(length > 0, x / length.masked_fill(length == 0, 1.0), 0.0) → unit = torch.where(length > 0, x / length.masked_fill(length == 0, 2.0), 0.0)"),
        )
    ),
    Equivalent("Embedding", "setup_context, scatter_add with indices as wide as the rows", _ONE_DIMENSION, (
        "backward: total = total * learns.unsqueeze(1) → total = total * learns.unsqueeze(-1)",
    )),
    Equivalent("Embedding", "index_add on flattened rows", _ONE_DIMENSION, (
        "backward: rows = rows * (flat != ctx.padding_idx).unsqueeze(1) → rows = rows * (flat != ctx.padding_idx).unsqueeze(-1)",
    )),
    Equivalent("Embedding", "a one-hot matrix, made in backward, times the gradient", _ONE_DIMENSION, (
        "backward: chosen = indices.reshape(1, -1) == names.unsqueeze(1) → chosen = indices.reshape(1, -1) == names.unsqueeze(-1)",
        "backward: chosen = chosen & (names != ctx.padding_idx).unsqueeze(1) → chosen = chosen & (names != ctx.padding_idx).unsqueeze(-1)",
    )),
    Equivalent("Embedding", "a one-hot matrix, made in backward, times the gradient", "only weight gets a gradient, so backward does not run when it needs none", (
        "backward: return (None, None, None) → return (None, None)",
    )),
    Equivalent("SoftRank", "setup_context, two sums written one after the other", "only the square of tanh is used", (
        "backward: t = torch.tanh((x.unsqueeze(-1) - x.unsqueeze(-2)) / (2 * ctx.temperature)) → t = torch.tanh((x.unsqueeze(-1) - x.unsqueeze(-2)) / (-2 * ctx.temperature))",
    )),
    # ---- lesson 09 ----
    *(
        Equivalent("Dropout", answer, _VIEW, ("forward: return x.clone() → return x",))
        for answer in ("torch.where, and a way of its own for each case", "a mask of bytes, drawn by rand_like")
    ),
    Equivalent("Dropout", "torch.where, and a way of its own for each case", "torch.where takes 0 at all places then, and no x / 0", (
        "forward: if p == 1: → if p == 2:",
    )),
    # ---- lesson 10 ----
    Equivalent("Case01", "one None more than there are arguments", "torch allows a None more, and as many as there are arguments", (
        "backward: return (grad_a, grad_b, None, None) → return (grad_a, grad_b, None)",
    )),
    Equivalent("Case07", "torch.where", _AT_ZERO, (
        "backward: return torch.where(x > 0, 2 * x * grad_output, 0.0) → return torch.where(x >= 0, 2 * x * grad_output, 0.0)",
    )),
    Equivalent("Case07", "a copy is masked in place", "the clamp in the next line cuts off the same elements", (
        "backward: grad_output[x < 0] = 0 → grad_output[x < 0] = 1",
        "backward: grad_output[x < 0] = 0 → grad_output[x <= 0] = 0",
    )),
    *(
        Equivalent("Case10", answer, _VIEW, ("forward: return x.clone() → return x",))
        for answer in ("the order of the factors", "the setup_context form")
    ),
    Equivalent("Case11", "torch.where", "a drawn number is p itself once in millions of times", (
        "forward: rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p → rows = torch.rand(*x.shape[:-1], 1, device=x.device) > p",
    )),
    # ---- lesson 11 ----
    *(
        Equivalent("LambertW", answer, _NUMPY, (change,))
        for answer, change in (
            ("the output is kept", "forward: y = scipy.special.lambertw(a.detach().cpu().numpy()).real → y = scipy.special.lambertw(a.cpu().numpy()).real"),
            ("the real part taken by torch", "forward: y = scipy.special.lambertw(a.detach().cpu().numpy()) → y = scipy.special.lambertw(a.cpu().numpy())"),
            ("by the omega function of log a", "forward: y = wrightomega(a.detach().double().log().cpu().numpy()) → y = wrightomega(a.double().log().cpu().numpy())"),
        )
    ),
    Equivalent("BesselJ0", "a second Function for J1", _NUMPY, (
        "forward: y = scipy.special.j1(x.detach().cpu().numpy()) → y = scipy.special.j1(x.cpu().numpy())",
    )),
    Equivalent("BesselJ0", "numbers from SciPy's jvp, and a helper for the way out and back", _NUMPY, (
        "by_scipy: return torch.as_tensor(function(x.detach().cpu().numpy()), dtype=x.dtype, device=x.device) → return torch.as_tensor(function(x.cpu().numpy()), dtype=x.dtype, device=x.device)",
    )),
    Equivalent("BesselJ0", "one Function for every order, inside", "SciPy keeps the dtype; that the device is another one only a GPU shows", (
        "forward: return torch.as_tensor(scipy.special.jv(order, x.numpy(force=True))).to(x) → return torch.as_tensor(scipy.special.jv(order, x.numpy(force=True)))",
    )),
    Equivalent("FixedPoint", "the adjoint in terms of h, from 0", "a round more after it stands still changes no digit", (
        "forward: ctx.rounds = steps + 1 → ctx.rounds = steps + 2",
    )),
    Equivalent("FixedPoint", "the adjoint in terms of h, from 0", "steps never needs a gradient", (
        "backward: if not any(wanted[1:3]): → if not any(wanted[1:4]):",
    )),
)  # fmt: skip
