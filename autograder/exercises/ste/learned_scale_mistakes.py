# %% right: as the lesson has it
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% right: the setup_context form, three regions by hand
class LearnedScale(Function):
    @staticmethod
    def forward(x, scale, qmin, qmax):
        step = scale.view(scale.shape + (1,) * (x.dim() - scale.dim())) if scale.dim() else scale
        return torch.clamp(torch.round(x / step), qmin, qmax).mul(step)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, scale, ctx.low, ctx.high = inputs
        ctx.save_for_backward(x, scale)

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.view(scale.shape + (1,) * (x.dim() - scale.dim())) if scale.dim() else scale
        v = x / step
        below, above = v <= ctx.low, v >= ctx.high
        outside = below | above
        grad_x = grad_output.masked_fill(outside, 0.0) if ctx.needs_input_grad[0] else None
        if not ctx.needs_input_grad[1]:
            return grad_x, None, None, None
        slope = v.round() - v
        slope = torch.where(below, float(ctx.low), slope)
        slope = torch.where(above, float(ctx.high), slope).to(x.dtype)
        each = grad_output * slope
        kept = 1 if scale.dim() else 0
        total = each.sum(dim=tuple(range(kept, x.dim()))) if x.dim() > kept else each
        n = 1
        for size in x.shape[kept:]:
            n *= size
        grad_scale = total / max(n * ctx.high, 1) ** 0.5
        return grad_x, grad_scale, None, None


# %% right: rows flattened, a sum for each, normalised first
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        rows = x.reshape(max(scale.numel(), 1), -1) if x.numel() else x
        column = scale.reshape(-1, 1) if x.numel() else scale
        ctx.save_for_backward(x, scale)
        ctx.bounds = qmin, qmax
        return (torch.round(rows / column).clamp(qmin, qmax) * column).reshape(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        qmin, qmax = ctx.bounds
        if not x.numel():
            return torch.zeros_like(x), torch.zeros_like(scale), None, None
        rows, g = (t.reshape(scale.numel(), -1) for t in (x, grad_output))
        v = rows / scale.reshape(-1, 1)
        inside = (v > qmin) & (v < qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = (g * inside).reshape(x.shape)
        if ctx.needs_input_grad[1]:
            factor = 1 / (rows.shape[1] * qmax) ** 0.5
            slope = torch.round(v).clamp(qmin, qmax) - torch.where(inside, v, 0.0)
            grad_scale = (g * slope * factor).sum(1).reshape(scale.shape)
        return grad_x, grad_scale, None, None


# %% right: keeps the exact steps' inputs, one helper for the shape
def along_rows(scale, x):
    return scale[(...,) + (None,) * (x.dim() - 1)] if scale.dim() else scale


class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        s = along_rows(scale, x)
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        return torch.clamp(x / s, qmin, qmax).round() * s

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        v = x / along_rows(scale, x)
        c = v.clamp(ctx.qmin, ctx.qmax)
        out = (v <= ctx.qmin) | (v >= ctx.qmax)
        gx = g * ~out if ctx.needs_input_grad[0] else None
        gs = None
        if ctx.needs_input_grad[1]:
            slope = c.round() - torch.where(out, 0, c)
            gs = (g * slope).reshape(scale.numel(), -1).sum(1).reshape(scale.shape)
            n = x.numel() / scale.numel()
            gs = gs / (n * ctx.qmax) ** 0.5 if n else gs
        return gx, gs, None, None


# %% wrong[gradient-value]: the mask of FakeQuantize, of the rounded value
# says: The mask looks at the rounded value, as in FakeQuantize; here inside means qmin < x / scale < qmax, unrounded.
# next: An element just above qmax rounds to qmax. Is it inside before it is rounded?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        q = torch.round(exact)
        inside = (q >= ctx.qmin) & (q <= ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-scale|gradient-value]: no normalisation
# says: The gradient of scale is the whole sum: the division by √(n · qmax) is missing.
# next: How many elements share one scale? Divide the sum by the square root of that number times qmax.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total
        return grad_x, grad_scale, None, None


# %% wrong[gradient-scale|gradient-value]: divided by n · qmax without the root
# says: The gradient of scale is divided by n · qmax, not by its square root.
# next: Which power of n · qmax does the contract name?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax)
        return grad_x, grad_scale, None, None


# %% wrong[gradient-scale|gradient-value]: the mean over n
# says: The gradient of scale is the mean over n elements: divide the sum by √(n · qmax) instead.
# next: The contract names two numbers under a root. Where is qmax?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / n
        return grad_x, grad_scale, None, None


# %% wrong[gradient-scale|gradient-value]: the root of n alone
# says: The gradient of scale is divided by √n; qmax is missing under the root.
# next: Two numbers stand under the root: the number of elements that share a scale, and one more.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / n**0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-scale|gradient-value]: n counts every element though each channel has a scale
# says: n counts all elements of x, but only those of one channel share a scale.
# next: With a scale for each row of a (3, 4) matrix, how many elements share the first one?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-scale|gradient-value]: n is the number of channels
# says: n is the number of rows here; it should be the number of elements that share a scale.
# next: With a scale for each row of a (3, 4) matrix, how many elements share the first one?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = x.shape[0] if x.dim() and len(x) else 1
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-value]: nothing for scale outside
# says: Outside the range scale gets nothing, though the output there is qmin · scale or qmax · scale.
# next: What is the derivative of qmax · scale for scale?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, 0)
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-value]: the derivative of q times scale, with q held fixed
# says: Inside, scale gets round(x / scale) alone; the straight-through part − x / scale is missing.
# next: scale appears twice in forward: as a factor and below x. Differentiate both, rounding straight through.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.round(exact).clamp(ctx.qmin, ctx.qmax)
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-value]: only the part below x
# says: scale gets only what comes from the division x / scale; the factor scale behind the rounding is missing.
# next: scale appears twice in forward: as a factor and below x. Differentiate both, rounding straight through.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, -exact, 0)
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-value|gradient-sign]: the rounding error the other way round
# says: Inside, the gradient of scale has the wrong sign: it should be round(x / scale) − x / scale.
# next: Differentiate scale · round(x / scale) as a product. Which of the two terms has the minus?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, exact - torch.round(exact), exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-value]: not clamped outside
# says: Outside, scale gets round(x / scale); the step is clamped there, to qmin or qmax.
# next: What does forward multiply by scale beyond the last step?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, torch.round(exact))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-value]: the rounding error everywhere
# says: scale gets round(x / scale) − x / scale everywhere; outside the range it should be qmin or qmax.
# next: Beyond the last step the output is qmax · scale. What is its derivative for scale?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.round(exact) - exact
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-value]: the ends exchanged
# says: Outside, scale gets qmax below the range and qmin above it: the two ends are exchanged.
# next: Below the range the output is qmin · scale.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, torch.where(exact <= ctx.qmin, ctx.qmax, ctx.qmin))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-value]: the gradient for x passes everywhere
# says: The gradient for x passes everywhere, even where x / scale lies outside of [qmin, qmax].
# next: Beyond the ends the output no longer follows x: there its gradient is 0.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-scale|gradient-value]: the gradient for x divided by scale
# says: The gradient for x is divided by scale.
# next: Forward divides by scale and multiplies by it again: for x the two cancel.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0) / step
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[upstream-ignored|gradient-value]: the slope of scale without grad_output
# says: The gradient of scale leaves grad_output out: each element's slope must be multiplied by it before the sum.
# next: Which tensor comes from the loss? Multiply before you sum.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = slope.sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[upstream-ignored|gradient-value]: the sums multiplied instead of the products summed
# says: slope and grad_output are summed first and multiplied afterwards: the sum of products is meant.
# next: Each element has its own grad_output. Multiply element by element, then sum.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = slope.sum_to_size(step.shape).reshape(scale.shape) * grad_output.sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-shape|gradient-unsummed]: no sum at all
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = grad_output * slope
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-shape|gradient-unsummed|gradient-value]: one number for all channels
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum()
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-shape|gradient-unsummed]: the sum keeps its dimensions
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-missing|gradient-value|gradient-zero]: None for scale
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            grad_scale = None
        return grad_x, grad_scale, None, None


# %% wrong[raises|forward-value|forward-shape]: the scale of a channel along the last dimension
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[fails-special-point]: the ends are inside
# says: The ends count as inside: the contract has qmin < x / scale < qmax.
# next: On an end x gets 0, and scale gets qmin or qmax: an end counts as outside.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact >= ctx.qmin) & (exact <= ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[forward-value]: no clamp
# says: The steps are not clamped: forward never uses qmin and qmax.
# next: How many different values may the output have?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[forward-value]: whole steps, not multiplied by scale
# says: The output is the whole number of steps; it is not multiplied by scale.
# next: Fake quantisation goes back to the units of x: what is one step worth?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[forward-value]: rounds after the multiplication
# says: The rounding comes last, after the multiplication by scale.
# next: Which number is whole: the output, or the number of steps?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round((x / step).clamp(qmin, qmax) * step)

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[fails-special-point|forward-value]: floor(x + 0.5), which sends ties up
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.floor(x / step + 0.5).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.floor(exact + 0.5) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[fails-empty]: 0 / 0 for an empty batch
# says: With no elements the gradient of scale is 0 / √0, which is NaN; a sum over nothing is 0.
# next: What should n be at least?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = x.numel() // scale.numel()
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[ignores-needs-input-grad]: both gradients, whatever is asked
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = torch.where(inside, grad_output, 0)
        slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
        n = max(x.numel() // scale.numel(), 1)
        total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
        grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[saves-on-ctx]: x on ctx
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.x, ctx.scale = x, scale
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.x, ctx.scale
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[saves-too-much]: the exact steps, x and scale
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        ctx.save_for_backward(x, scale, x / step)
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale, exact = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-count]: only two gradients
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale


# %% wrong[gradient-zero]: the true derivative: nothing for x
# says: The gradient for x is zero everywhere: that is the true derivative of a staircase, and nothing learns from it.
# next: Rounding is passed straight through; only the clamp stops the gradient for x.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.zeros_like(grad_output)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-scale|gradient-value]: the root of n times the number of steps
# says: Under the root stands n times the number of steps; the contract has n · qmax.
# next: How large are the slopes of the elements above the range?
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * (ctx.qmax - ctx.qmin)) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-value]: nothing for scale above the range
# says: Below the range scale gets qmin, but above it nothing.
# next: Above the range the output is qmax · scale.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, torch.where(exact <= ctx.qmin, ctx.qmin, 0.0))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None


# %% wrong[gradient-value]: inside asks about the upper end alone
# says: Elements below the range count as inside: only the upper end is asked about.
# next: A range has two ends, and beyond each of them the gradient for x stops.
class LearnedScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = exact < ctx.qmax
        grad_x = grad_scale = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.where(inside, grad_output, 0)
        if ctx.needs_input_grad[1]:
            slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
            n = max(x.numel() // scale.numel(), 1)
            total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
            grad_scale = total / (n * ctx.qmax) ** 0.5
        return grad_x, grad_scale, None, None
