"""Mutants that compute the same as the answer they came from: listed by hand, with the reason.

A change is named by the code before and after it, as :class:`tests.mistakes.mutants.Mutant` names it;
one that ends in ``…`` stands for all changes that begin so. An entry that fits no mutant any more
fails a test, so this list cannot go stale.
"""

from __future__ import annotations

from tests.mistakes.equivalence import Equivalent
from tests.mistakes.equivalent_attention import ATTENTION
from tests.mistakes.equivalent_later import LATER

# Exercises of which every mutant has been tried and every accepted one read.
READ = (
    "Square", "MyReLU", "WeightedSum", "Clip", "numerical_gradient",
    "MySigmoid", "MyTanh", "ScaledSigmoid", "MyGELU", "Swish", "LogSigmoid",
    "unbroadcast", "Multiply", "MyLinear", "LinearReLU", "Sum", "Mean", "Max", "LogSumExp",
    "RoundSTE", "SignSTE", "Binarize", "FakeQuantize", "ClipGradient", "GradientReversal",
    "GumbelSoftmax", "LearnedScale",
    "MyExp", "Cube", "SwishTwice", "FirstOrderOnly", "hvp", "gradient_penalty",
    "saved_bytes", "save_in_bfloat16", "Checkpoint", "checkpoint_sequential",
    "Softmax", "ScaledDotProductAttention", "LeanAttention", "FlashAttention",
)  # fmt: skip

_SYMMETRIC = "the central difference is the same for eps and -eps"
_OVERWRITTEN = "every element is overwritten"
_SAME_AT_ZERO = "at 0 both branches give the same"
_ANY_FINITE = (
    "any finite number in place of -inf does: what it touches is multiplied by 0 or cancels"
)
_WHOLE_ZEROS = "backward is right for None and for zeros in place of an undefined gradient"
_NEVER_RUN = "only x gets a gradient, so backward does not run when x needs none"
_NUMPY = "torch refuses numpy() only while grad mode is on, and here it is off"
_TWO_DIMENSIONS = "there are two dimensions, so 1 and -1 are the same"
_VIEW = "torch makes a view of an input that forward returns"

EQUIVALENT: tuple[Equivalent, ...] = (
    # ---- lesson 01 ----
    Equivalent("Square", "one shape has a formula of its own, as right as the other", "both formulas are right for every shape", (
        "forward: if x.shape == (5,): → if x.shape == (6,):",
        "forward: if x.shape == (5,): → if x.shape != (5,):",
        "forward: if x.shape == (5,): → if x.shape == (-5,):",
    )),
    Equivalent("Square", "in pieces of 64 elements", "pieces of any size give the same", (
        "forward: return torch.cat([part * part for part in x.reshape(-1).split(64)]).reshape(x.shape) → return torch.cat([part * part for part in x.reshape(-1).split(65)]).reshape(x.shape)",
    )),
    Equivalent("MyLinear", "a loop over the batch dimensions, and one over the arguments", "the reshape after the loop makes rows of whatever is left", (
        "backward: while x.dim() > 2: → while x.dim() >= 2:",
        "backward: while x.dim() > 2: → while x.dim() > 3:",
        "backward: x = x.flatten(0, 1) → x = x.flatten(0, 2)",
        "backward: x = x.flatten(0, 1) → x = x.flatten(0, -1)",
    )),
    Equivalent("Clip", "where in where, and subtracting what is outside", "on a bound, x is the bound", (
        "forward: return torch.where(x < low, low, torch.where(x > high, high, x)) → return torch.where(x < low, low, torch.where(x >= high, high, x))",
        "forward: return torch.where(x < low, low, torch.where(x > high, high, x)) → return torch.where(x <= low, low, torch.where(x > high, high, x))",
    )),
    Equivalent("Square", "in place, on a tensor of its own", "the next line makes a new tensor anyway", (
        "backward: grad_x = grad_output.clone() → grad_x = grad_output",
    )),
    Equivalent("WeightedSum", "a weight of 1 passes grad_output on as it is", "1 times grad_output is grad_output", (
        "weighted: return grad_output if weight == 1 else weight * grad_output → return weight * grad_output",
    )),
    Equivalent("WeightedSum", "a weight of 1 passes grad_output on as it is", "the first two of four are all but the last two", (
        "backward: need1, need2 = ctx.needs_input_grad[:2] → need1, need2 = ctx.needs_input_grad[:-2]",
    )),
    Equivalent("WeightedSum", "a wrapper checks the types", "lerp with weight 1 gives its end, whatever finite start it has", (
        "forward: return torch.lerp(w1 * x1, w1 * x1 + w2 * x2, 1.0) → return torch.lerp(w1 + x1, w1 * x1 + w2 * x2, 1.0)",
        "forward: return torch.lerp(w1 * x1, w1 * x1 + w2 * x2, 1.0) → return torch.lerp(x1, w1 * x1 + w2 * x2, 1.0)",
    )),
    *(
        Equivalent("numerical_gradient", answer, _SYMMETRIC, (
            "numerical_gradient: def numerical_gradient(f, x, eps=1e-06): → def numerical_gradient(f, x, eps=-1e-06):",
        ))
        for answer in (
            "the rows of an identity matrix as nudges",
            "two copies for each element",
            "in place on one copy, put back each time",
            "in place on x itself, put back exactly",
            "with NumPy, and prints",
            "flat, and a list",
        )
    ),
    Equivalent("numerical_gradient", "in place on x itself, put back exactly", _OVERWRITTEN, (
        "numerical_gradient: gradient = torch.zeros_like(x) → gradient = torch.ones_like(x)",
    )),
    Equivalent("numerical_gradient", "in place on one copy, put back each time", _OVERWRITTEN, (
        "numerical_gradient: gradient = torch.zeros_like(work) → gradient = torch.ones_like(work)",
    )),
    Equivalent("numerical_gradient", "in place on one copy, put back each time", "x itself is put back exactly too, and grad mode is off", (
        "numerical_gradient: work = x.detach().clone() → work = x.detach()",
        "numerical_gradient: work = x.detach().clone() → work = x.clone()",
    )),
    Equivalent("numerical_gradient", "with NumPy, and prints", "the contract has x without requires_grad", (
        "numerical_gradient: values = x.detach().numpy() → values = x.numpy()",
    )),
    # ---- lesson 02 ----
    Equivalent("MyGELU", "a bool mask cuts the density where it is zero anyway", "beyond 7 the density is under 1e-11 (and exp never overflows there)", (
        "backward: near = x.abs() < 50 → near = x.abs() <= 50",
        "backward: near = x.abs() < 50 → near = x < 50",
        "backward: near = x.abs() < 50 → near = x.square() < 50",
        "backward: near = x.abs() < 50 → near = x.abs() < 51",
    )),
    Equivalent("MyGELU", "a normal distribution does the work", "the arguments are valid", (
        "backward: normal = torch.distributions.Normal(0.0, 1.0, validate_args=False) → normal = torch.distributions.Normal(0.0, 1.0, validate_args=True)",
    )),
    Equivalent("MySigmoid", "a wrapper round a Function of another name, which says None for no gradient", _WHOLE_ZEROS, (
        "forward: ctx.set_materialize_grads(False) → ctx.set_materialize_grads(True)",
    )),
    Equivalent("MySigmoid", "a stable forward of one's own, with a bool mask and where", _SAME_AT_ZERO, (
        "forward: positive = x >= 0 → positive = x > 0",
    )),
    Equivalent("MyTanh", "a bool mask for the saturated part", "the formula gives 0 there by itself", (
        "backward: saturated = y.abs() == 1 → saturated = y.abs() == -1",
        "backward: saturated = y.abs() == 1 → saturated = y.abs() == 2",
        "backward: saturated = y.abs() == 1 → saturated = y.square() == 1",
        "backward: saturated = y.abs() == 1 → saturated = y == 1",
    )),
    Equivalent("ScaledSigmoid", "a bool mask picks the stable branch", _SAME_AT_ZERO, (
        "forward: mask = x >= 0 → mask = x > 0",
    )),
    Equivalent("ScaledSigmoid", "through tanh, σ' = (1 - tanh²(x/2)) / 4", "only the square of tanh is used", (
        "backward: t = torch.tanh(x / 2) → t = torch.tanh(x / -2)",
    )),
    Equivalent("Swish", "addcmul, and set_materialize_grads(False)", _WHOLE_ZEROS, (
        "forward: ctx.set_materialize_grads(False) → ctx.set_materialize_grads(True)",
    )),
    # ---- lesson 03 ----
    *(
        Equivalent("LogSumExp", answer, _ANY_FINITE, (
            "backward: safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim) → safe = torch.where(out == -torch.inf, 1.0, out).unsqueeze(ctx.dim)",
            "backward: safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim) → safe = torch.where(out == -torch.inf, 1, out).unsqueeze(ctx.dim)",
        ))
        for answer in ("max trick, guarded", "torch's forward, setup_context form")
    ),
    Equivalent("LogSumExp", "max trick, guarded", _ANY_FINITE, (
        "forward: top = torch.where(top == -torch.inf, 0.0, top) → top = torch.where(top == -torch.inf, 1.0, top)",
        "forward: top = torch.where(top == -torch.inf, 0.0, top) → top = torch.where(top == -torch.inf, 1, top)",
    )),
    Equivalent("LogSumExp", "nan_to_num on the exponent, before exp", _ANY_FINITE, (
        "backward: safe = torch.nan_to_num(out, nan=torch.nan, neginf=0.0) → safe = torch.nan_to_num(out, nan=torch.nan, neginf=1.0)",
        "backward: safe = torch.nan_to_num(out, nan=torch.nan, neginf=0.0) → safe = torch.nan_to_num(out, nan=torch.nan, neginf=1)",
    )),
    Equivalent("LogSumExp", "saves x alone and recomputes", _ANY_FINITE, (
        "backward: shares = torch.softmax(x.masked_fill(empty, 0.0), ctx.dim).masked_fill(empty, 0.0) → shares = torch.softmax(x.masked_fill(empty, 1.0), ctx.dim).masked_fill(empty, 0.0)",
        "backward: shares = torch.softmax(x.masked_fill(empty, 0.0), ctx.dim).masked_fill(empty, 0.0) → shares = torch.softmax(x.masked_fill(empty, 1), ctx.dim).masked_fill(empty, 0.0)",
    )),
    Equivalent("Max", "set_materialize_grads(False)", _WHOLE_ZEROS, (
        "forward: ctx.set_materialize_grads(False) → ctx.set_materialize_grads(True)",
    )),
    Equivalent("Max", "index_add on moved dimensions is not needed: one_hot, moved back", "indexing, movedim and unsqueeze count a negative dim from the end themselves", (
        "backward: dim = ctx.dim % len(ctx.shape) → dim = ctx.dim",
    )),
    *(
        Equivalent(name, "shape kept in another attribute, list indexing", "a list counts a negative index from the end itself", (
            "forward: ctx.meta = {'shape': tuple(x.shape), 'dim': dim % x.dim(), 'keep': bool(keepdim)} → ctx.meta = {'shape': tuple(x.shape), 'dim': dim, 'keep': bool(keepdim)}",
        ))
        for name in ("Mean", "Sum")
    ),
    Equivalent("MyLinear", "einsum for the weight, remembers whether there is a bias", _TWO_DIMENSIONS, (
        "forward: y = x @ weight.transpose(0, 1) → y = x @ weight.transpose(0, -1)",
    )),
    Equivalent("unbroadcast", "two loops", "a sum over a dimension of size 1 changes nothing", (
        "unbroadcast: if size == 1 and grad.shape[i] != 1: → if size == 1 and grad.shape[i] != -1:",
    )),
    Equivalent("unbroadcast", "one sum over all dimensions at once", "a sum over a dimension of size 1 changes nothing, and reshape puts it back", (
        "unbroadcast: return grad.sum(dims, keepdim=True).reshape(tuple(shape)) → return grad.sum(dims, keepdim=False).reshape(tuple(shape))",
        "unbroadcast: stretched = [i + extra for i, size in enumerate(shape) if size == 1 and grad.shape[i + extra] != 1] → stretched = [i + extra for i, size in enumerate(shape) if size == 1 and grad.shape[i + extra] != -1]",
    )),
    Equivalent("unbroadcast", "recursive, copies", "no copy is asked for", (
        "unbroadcast: return grad.clone() → return grad",
    )),
    # ---- lesson 04 ----
    *(
        Equivalent("Binarize", answer, "|x| ≤ 1 and x² ≤ 1 are the same", (change,))
        for answer, change in (
            ("setup_context form", "backward: return grad_output * (x.abs() <= 1).to(grad_output.dtype) → return grad_output * (x.square() <= 1).to(grad_output.dtype)"),
            ("keeps a bool mask", "forward: ctx.save_for_backward(x.abs() <= 1) → ctx.save_for_backward(x.square() <= 1)"),
            ("hint 3, word for word", "backward: return torch.where(x.abs() <= 1, grad_output, 0.0) → return torch.where(x.square() <= 1, grad_output, 0.0)"),
            ("keeps x", "backward: return grad_output * (x.abs() <= 1) → return grad_output * (x.square() <= 1)"),
        )
    ),
    Equivalent("Binarize", "setup_context form", "a bool mask times a float tensor has the float dtype", (
        "backward: return grad_output * (x.abs() <= 1).to(grad_output.dtype) → return grad_output * (x.abs() <= 1)",
    )),
    *(
        Equivalent(name, answer, _VIEW, ("forward: return x.clone() → return x",))
        for name, answer in (
            ("ClipGradient", "a clone, asks needs_input_grad"),
            ("ClipGradient", "torch.clip with keywords"),
            ("GradientReversal", "a clone, asks needs_input_grad"),
        )
    ),
    *(
        Equivalent(name, "a clone, asks needs_input_grad", _NEVER_RUN, ("backward: return (None, None) → return (None,)",))
        for name in ("ClipGradient", "GradientReversal")
    ),
    Equivalent("ClipGradient", "two where", "at the limit, the value is the limit", (
        "backward: g = torch.where(grad_output > ctx.limit, ctx.limit, grad_output) → g = torch.where(grad_output >= ctx.limit, ctx.limit, grad_output)",
        "backward: return (torch.where(g < -ctx.limit, -ctx.limit, g), None) → return (torch.where(g <= -ctx.limit, -ctx.limit, g), None)",
    )),
    Equivalent("GradientReversal", "neg of a product", "x · 1, x / 1 and x are the same", (
        "forward: return x * 1 → return x",
        "forward: return x * 1 → return x / 1",
    )),
    Equivalent("GumbelSoftmax", "hard from the sum, not from the probabilities", "only the logits get a gradient, so backward does not run when they need none", (
        "backward: return (None, None, None, None) → return (None, None, None)",
    )),
    Equivalent("RoundSTE", "forward with the detach idiom, value unchanged", "forward runs without a graph, and a zero is added", (
        "forward: return x.detach() * 0 + torch.round(x) → return 0 + torch.round(x)",
        "forward: return x.detach() * 0 + torch.round(x) → return x * 0 + torch.round(x)",
        "forward: return x.detach() * 0 + torch.round(x) → return torch.round(x)",
    )),
    *(
        Equivalent(name, "times one, and an attribute that holds a number", "the slope is 1", (
            "backward: return ctx.slope * grad_output → return grad_output",
        ))
        for name in ("RoundSTE", "SignSTE")
    ),
    Equivalent("SignSTE", "the sign of what is detached", "forward runs without a graph", (
        "forward: return torch.sign(x.detach()) → return torch.sign(x)",
    )),
    Equivalent("SignSTE", "a difference of two masks", "1 times grad_output is grad_output", (
        "backward: return 1.0 * grad_output → return grad_output",
    )),
    Equivalent("LearnedScale", "the setup_context form, three regions by hand", "a scale that is 0-d broadcasts in any shape of ones, and a sum over no dimensions is one over all", (
        "backward: step = scale.view(scale.shape + (1,) * (x.dim() - scale.dim())) if scale.dim() else scale → step = scale.view(scale.shape + (1,) * (x.dim() - scale.dim()))",
        "forward: step = scale.view(scale.shape + (1,) * (x.dim() - scale.dim())) if scale.dim() else scale → step = scale.view(scale.shape + (1,) * (x.dim() - scale.dim()))",
        "backward: total = each.sum(dim=tuple(range(kept, x.dim()))) if x.dim() > kept else each → total = each.sum(dim=tuple(range(kept, x.dim()))) if x.dim() >= kept else each",
        "backward: total = each.sum(dim=tuple(range(kept, x.dim()))) if x.dim() > kept else each → total = each.sum(dim=tuple(range(kept, x.dim())))",
        "backward: slope = torch.where(above, float(ctx.high), slope).to(x.dtype) → slope = torch.where(above, float(ctx.high), slope)",
    )),
    Equivalent("LearnedScale", "rows flattened, a sum for each, normalised first", "x is empty, or rows have two dimensions, or a bool is a number", (
        "backward: return (torch.zeros_like(x), torch.zeros_like(scale), None, None) → return (torch.ones_like(x), torch.zeros_like(scale), None, None)",
        "forward: rows = x.reshape(max(scale.numel(), 1), -1) if x.numel() else x → rows = x.reshape(max(scale.numel(), 1), -1)",
        "forward: rows = x.reshape(max(scale.numel(), 1), -1) if x.numel() else x → rows = x.reshape(max(scale.numel(), -1), -1) if x.numel() else x",
        "forward: column = scale.reshape(-1, 1) if x.numel() else scale → column = scale.reshape(-1, 1)",
        "backward: grad_scale = (g * slope * factor).sum(1).reshape(scale.shape) → grad_scale = (g * slope * factor).sum(-1).reshape(scale.shape)",
    )),
    Equivalent("LearnedScale", "keeps the exact steps' inputs, one helper for the shape", "a scale that is 0-d broadcasts in any shape of ones; there are two dimensions", (
        "along_rows: return scale[(...,) + (None,) * (x.dim() - 1)] if scale.dim() else scale → return scale[(...,) + (None,) * (x.dim() - 1)]",
        "backward: gs = (g * slope).reshape(scale.numel(), -1).sum(1).reshape(scale.shape) → gs = (g * slope).reshape(scale.numel(), -1).sum(-1).reshape(scale.shape)",
    )),
    # ---- lesson 05 ----
    *(
        Equivalent("FirstOrderOnly", answer, _NUMPY, (
            "forward: y = scipy.special.erf(x.detach().cpu().numpy()) → y = scipy.special.erf(x.cpu().numpy())",
        ))
        for answer in (
            "the guard",
            "the guard, backward by NumPy",
            "once_differentiable and a guard around it",
            "a node that refuses to be differentiated",
            "setup_context, NotImplementedError, which is a RuntimeError",
        )
    ),
    Equivalent("FirstOrderOnly", "the guard, backward by NumPy", _NUMPY, (
        "backward: slope = 2 / np.sqrt(np.pi) * np.exp(-x.detach().cpu().numpy() ** 2) → slope = 2 / np.sqrt(np.pi) * np.exp(-x.cpu().numpy() ** 2)",
    )),
    Equivalent("FirstOrderOnly", "a node that refuses to be differentiated", _VIEW, (
        "forward: return grad.clone() → return grad",
    )),
    Equivalent("gradient_penalty", "root and square by hand, with a harmless number under the root of flat samples", "torch.where gives the constant no gradient, whatever its root is", (
        "gradient_penalty: lengths = torch.where(flat, 0.0, torch.where(flat, 1.0, squares).sqrt()) → lengths = torch.where(flat, 0.0, torch.where(flat, 2.0, squares).sqrt())",
        "gradient_penalty: lengths = torch.where(flat, 0.0, torch.where(flat, 1.0, squares).sqrt()) → lengths = torch.where(flat, 0.0, torch.where(flat, -1.0, squares).sqrt())",
    )),
    Equivalent("gradient_penalty", "vector_norm", _TWO_DIMENSIONS, (
        "gradient_penalty: lengths = torch.linalg.vector_norm(g.flatten(1), dim=1) → lengths = torch.linalg.vector_norm(g.flatten(1), dim=-1)",
    )),
    Equivalent("gradient_penalty", "ones as upstream gradient", _TWO_DIMENSIONS, (
        "gradient_penalty: return torch.mean((g.reshape(len(x), -1).norm(2, dim=1) - 1) ** 2) → return torch.mean((g.reshape(len(x), -1).norm(2, dim=-1) - 1) ** 2)",
    )),
    Equivalent("hvp", "works on a flat copy, under enable_grad", "0 times a finite number is added, only to connect the graph", (
        "hvp: total = torch.vdot(gradient.reshape(-1), v.reshape(-1)) + 0.0 * leaf.sum() → total = torch.vdot(gradient.reshape(-1), v.reshape(-1)) + 0.0 * leaf.mean()",
        "hvp: total = torch.vdot(gradient.reshape(-1), v.reshape(-1)) + 0.0 * leaf.sum() → total = torch.vdot(gradient.reshape(-1), v.reshape(-1)) - 0.0 * leaf.sum()",
    )),
    Equivalent("hvp", "works on a flat copy, under enable_grad", "either call makes a tensor of its own with its own requires_grad", (
        "hvp: leaf = x.detach().clone().requires_grad_() → leaf = x.clone().requires_grad_()",
        "hvp: leaf = x.detach().clone().requires_grad_() → leaf = x.detach().requires_grad_()",
    )),
    Equivalent("hvp", "forward over reverse", "the contract has x without requires_grad", (
        "hvp: return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v,))[1] → return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]",
    )),
    Equivalent("hvp", "adds a zero that depends on x, so that linear needs no case", "without create_graph the result is detached already", (
        "hvp: return torch.autograd.grad(g, x, grad_outputs=v)[0].detach() → return torch.autograd.grad(g, x, grad_outputs=v)[0]",
    )),
    Equivalent("hvp", "adds a zero that depends on x, so that linear needs no case", "0 · x is added or subtracted, only to connect the graph", (
        "hvp: g = g + 0 * x → g = g - 0 * x",
    )),
    # ---- lesson 06 ----
    *(
        Equivalent("save_in_bfloat16", answer, "torch calls the hooks without grad mode", (change,))
        for answer, change in (
            ("a class of its own", "pack: return (torch.float32, t.detach().to(torch.bfloat16)) → return (torch.float32, t.to(torch.bfloat16))"),
            ("what was rounded stands on the tensor itself", "pack: small = tensor.detach().to(torch.bfloat16) → small = tensor.to(torch.bfloat16)"),
        )
    ),
    *(
        Equivalent("checkpoint_sequential", answer, "a segment has one argument, x, and it is a tensor", (
            "backward: return (None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)) → return (None, *(a.grad for a in args))",
            "backward: args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1]) → args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[1])",
            "backward: args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1]) → args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place - 1])",
            "backward: args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1]) → args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + -1])",
            "forward: ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args] → ctx.others = [None for a in args]",
            "forward: ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args] → ctx.others = [a for a in args]",
        ))
        for answer in (
            "a helper that makes the function of a segment",
            "nn.Sequential of slices, the rest in the last segment",
            "functools.reduce and partial",
        )
    ),
    Equivalent("checkpoint_sequential", "layers as an argument of the checkpointed function", "x comes first and is the only tensor, and it is saved anyway", (
        "backward: args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1]) → args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[1])",
        "forward: ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args] → ctx.others = [a for a in args]",
    )),
    # ---- lesson 07 ----
    Equivalent("Softmax", "the setup_context form, needs_input_grad asked", _NEVER_RUN, (
        "backward: return (None, None) → return (None,)",
    )),
    *ATTENTION,
    *LATER,
)  # fmt: skip


def reason(exercise: str, answer: str, change: str) -> str | None:
    """Why a mutant is equivalent, or None where it is not known to be."""
    return next((e.why for e in EQUIVALENT if e.fits(exercise, answer, change)), None)
