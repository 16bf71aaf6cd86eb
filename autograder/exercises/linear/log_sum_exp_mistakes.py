# %% wrong[forward-unstable]: the formula as it stands
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.exp().sum(dim).log()
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[fails-special-point]: the usual max trick: NaN for a row of -inf
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[fails-special-point]: exp(x - out) without a thought for -inf
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = out.unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[fails-special-point]: softmax, which is NaN for a row of -inf
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return grad_output.unsqueeze(ctx.dim) * x.softmax(ctx.dim), None


# %% wrong[gradient-unstable|fails-special-point]: exp(x) / exp(x).sum() overflows
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        e = x.exp()
        shares = e / e.sum(ctx.dim, keepdim=True).clamp(
            min=1e-300 if x.dtype == torch.float64 else 1e-37
        )
        return grad_output.unsqueeze(ctx.dim) * shares, None


# %% wrong[double-backward-value|double-backward-missing]: saves the softmax, an intermediate
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = torch.logsumexp(x, dim)
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(dim)
        ctx.save_for_backward((x - safe).exp())
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (shares,) = ctx.saved_tensors
        return grad_output.unsqueeze(ctx.dim) * shares, None


# %% wrong[saves-too-much]: saves the softmax beside x
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = torch.logsumexp(x, dim)
        ctx.save_for_backward(x, out, (x - x.amax(dim, keepdim=True)).exp())
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out, _ = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[gradient-value]: not divided by the sum
# says: The gradient is grad_output · e^(x − max): it is not divided by the sum.
# next: The shares of a row add up to 1: what has to be subtracted in the exponent for that?
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - x.amax(ctx.dim, keepdim=True)).exp(), None


# %% wrong[gradient-value]: log-softmax
# says: The gradient is grad_output · (x − output), the logarithm of the share.
# next: That is log-softmax. Take its exponential.
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe), None


# %% wrong[gradient-value]: exp of x
# says: The gradient is grad_output · eˣ: it is not divided by the sum.
# next: The derivative of log s is s′ / s: what is s here?
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * x.exp(), None


# %% wrong[gradient-value]: the softmax is always over the last dimension
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return grad_output.unsqueeze(ctx.dim) * x.softmax(-1), None


# %% wrong[gradient-value]: evenly spread
# says: The gradient is spread evenly, as if this were a mean.
# next: Larger elements have a larger share: eˣ / Σ eˣ.
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * torch.ones_like(x) / x.shape[ctx.dim], None


# %% wrong[gradient-value]: a sum's backward
# says: Every element gets the whole grad_output, as if this were a sum.
# next: The shares of a row are eˣ / Σ eˣ and add up to 1.
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * torch.ones_like(x), None


# %% wrong[gradient-value]: the sign in the exponent
# says: The share is e^(output − x): the sign in the exponent is reversed.
# next: The largest element has the largest share.
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (safe - x).exp(), None


# %% wrong[raises]: no unsqueeze
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output * (x - safe).exp(), None


# %% wrong[upstream-ignored]: the softmax alone
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return (x - safe).exp(), None


# %% wrong[gradient-count]: one gradient only
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp()


# %% wrong[forward-value]: the maximum is not added again
# says: The output is log Σ e^(x − max): the maximum is not added back.
# next: Subtracting m inside the sum has to be made good outside: how?
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log()
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[forward-value]: no logarithm
# says: The output is Σ eˣ: the logarithm is missing.
# next: Take the logarithm of the sum.
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim) * top.squeeze(dim).exp()
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[forward-shape|forward-value]: keeps the dimension
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim, keepdim=True).log() + top
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[saves-on-ctx]: the output as an attribute
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x)
        ctx.out = out
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        out = ctx.out
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[saves-on-ctx|double-backward-value|double-backward-missing]: detaches
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = (t.detach() for t in ctx.saved_tensors)
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[mutates-upstream]: in place on grad_output
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        grad_output.mul_(1.0)
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[uses-autograd]: torch's own kernel
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        shares = torch.where(out.unsqueeze(ctx.dim) == -torch.inf, 0.0, x.softmax(ctx.dim))
        g = grad_output.unsqueeze(ctx.dim).expand_as(x)
        zero = torch.ops.aten._softmax_backward_data(g, torch.zeros_like(shares), ctx.dim, x.dtype)
        return g * (
            x - torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        ).exp() + zero, None


# %% right: max trick, guarded
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% right: torch's forward, setup_context form
class LogSumExp(Function):
    @staticmethod
    def forward(x, dim):
        return torch.logsumexp(x, dim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.dim = inputs
        ctx.save_for_backward(x, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% right: saves x alone and recomputes
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.logsumexp(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        empty = (x == -torch.inf).all(ctx.dim, keepdim=True)
        shares = torch.softmax(x.masked_fill(empty, 0.0), ctx.dim).masked_fill(empty, 0.0)
        return grad_output.unsqueeze(ctx.dim) * shares, None


# %% right: a clamped maximum instead of where
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True).clamp(min=torch.finfo(x.dtype).min)
        out = torch.log(torch.exp(x - top).sum(dim)) + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        floor = torch.finfo(x.dtype).min
        shares = torch.exp(x - out.clamp(min=floor).unsqueeze(ctx.dim))
        return shares * grad_output.unsqueeze(ctx.dim), None


# %% wrong[double-backward-value]: nan_to_num on the softmax of saved x
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = (x - top).exp().sum(dim).log() + top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        g = grad_output.unsqueeze(ctx.dim)
        return g * torch.nan_to_num(x.softmax(ctx.dim), nan=0.0), None


# %% wrong[double-backward-value]: torch.where around a NaN, which comes back in the second derivative
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = torch.logsumexp(x, dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        share = torch.exp(x - out.unsqueeze(ctx.dim))
        share = torch.where(x == -torch.inf, 0.0, share)
        return grad_output.unsqueeze(ctx.dim) * share, None


# %% wrong[double-backward-value]: nan_to_num on the share
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = torch.logsumexp(x, dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        share = torch.exp(x - out.unsqueeze(ctx.dim)).nan_to_num(nan=0.0)
        return grad_output.unsqueeze(ctx.dim) * share, None


# %% wrong[upstream-nonlinear]: nan_to_num on the gradient, which hides a NaN from upstream
# says: A NaN that arrives in grad_output leaves backward as an ordinary number.
# next: A NaN from upstream is a mistake somewhere else, and must stay visible.
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = torch.logsumexp(x, dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(torch.isinf(out), 0.0, out)
        share = torch.exp(x - safe.unsqueeze(ctx.dim))
        return (grad_output.unsqueeze(ctx.dim) * share).nan_to_num(nan=0.0), None


# %% right: nan_to_num on the exponent, before exp
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = torch.logsumexp(x, dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.nan_to_num(out, nan=torch.nan, neginf=0.0)
        return grad_output.unsqueeze(ctx.dim) * (x - safe.unsqueeze(ctx.dim)).exp(), None


# %% wrong[forward-shape|fails-special-point]: squeeze removes every dimension of size 1
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        out = ((x - top).exp().sum(dim, keepdim=True).log() + top).squeeze()
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x - safe).exp(), None


# %% wrong[saves-too-much]: where rows have to be mended, a mask of them on ctx
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.logsumexp(dim)
        ctx.dim, ctx.closed = dim, ()
        if (out == -torch.inf).any():
            ctx.closed = (out == -torch.inf,)
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        for closed in ctx.closed:
            out = torch.where(closed, 0.0, out)
        return grad_output.unsqueeze(ctx.dim) * (x - out.unsqueeze(ctx.dim)).exp(), None


# %% wrong[raises]: the saved output meets x without its dimension
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        result = x.logsumexp(dim)
        ctx.save_for_backward(x, result)
        ctx.dim = dim
        return result

    @staticmethod
    def backward(ctx, grad_output):
        x, result = ctx.saved_tensors
        finite = torch.where(result == -torch.inf, 0.0, result)
        return grad_output.unsqueeze(ctx.dim) * (x - finite).exp(), None


# %% wrong[forward-unstable]: the largest number of the whole tensor is taken out, not that of each row
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        biggest = torch.where(torch.isfinite(x), x, -1e30).max()
        out = biggest + (x - biggest).exp().sum(dim).log()
        ctx.dim = dim
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        out = out.masked_fill(torch.isneginf(out), 0).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * torch.exp(x - out), None


# %% wrong[fails-special-point]: one row of -inf, and no row gets a gradient
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.logsumexp(dim)
        ctx.dim = dim
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        if not torch.isfinite(out).all():
            return x * 0 if torch.isfinite(x).all() else x.new_zeros(x.shape), None
        share = (x - out.unsqueeze(ctx.dim)).exp()
        return share * grad_output.unsqueeze(ctx.dim), None


# %% wrong[gradient-value]: the exponentials are divided by their sum over everything
# says: The sum runs over the whole tensor, not over dim.
# next: The shares along dim add up to 1, so the sum below the fraction runs along dim.
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return torch.logsumexp(x, dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        powers = x.exp()
        return grad_output.unsqueeze(ctx.dim) * powers / powers.sum(), None


# %% wrong[fails-special-point]: −inf is raised to a large negative number first
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        x = x.clamp(min=-1e9)
        y = x.logsumexp(dim)
        ctx.save_for_backward(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        share = (x - y.unsqueeze(ctx.dim)).exp()
        return grad_output.unsqueeze(ctx.dim) * share, None


# %% wrong[fails-special-point]: a large negative number where −inf belongs
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        finite = torch.nan_to_num(x, neginf=-1e8)
        total = finite.logsumexp(dim)
        ctx.along = dim
        ctx.save_for_backward(x, total)
        return total

    @staticmethod
    def backward(ctx, upstream):
        x, total = ctx.saved_tensors
        share = (x - total.unsqueeze(ctx.along)).exp()
        return share * upstream.unsqueeze(ctx.along), None


# %% wrong[gradient-zero]: the backward of softmax, for the row that it came from
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        total = x.logsumexp(dim)
        ctx.save_for_backward(x, total)
        ctx.dim = dim
        return total

    @staticmethod
    def backward(ctx, g):
        x, total = ctx.saved_tensors
        p = (x - total.unsqueeze(ctx.dim)).exp()
        g = g.unsqueeze(ctx.dim)
        return p * g - p * (p * g).sum(ctx.dim, keepdim=True), None


# %% wrong[fails-special-point]: every −inf becomes 0 before the subtraction, in ordinary rows too
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        total = torch.logsumexp(x, dim)
        ctx.save_for_backward(x, total)
        ctx.along = dim
        return total

    @staticmethod
    def backward(ctx, grad_output):
        x, total = ctx.saved_tensors
        total, g = total.unsqueeze(ctx.along), grad_output.unsqueeze(ctx.along)
        nothing = torch.isneginf(total)
        exponent = torch.where(x.isneginf(), 0.0, x) - torch.where(nothing, 0.0, total)
        return g * exponent.exp().masked_fill(nothing, 0.0), None


# %% wrong[fails-special-point]: one −inf is enough for the mask of empty rows
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        value = x.logsumexp(dim)
        ctx.save_for_backward(x, value)
        ctx.dim = dim
        return value

    @staticmethod
    def backward(ctx, grad_output):
        x, value = (t if i == 0 else t.unsqueeze(ctx.dim) for i, t in enumerate(ctx.saved_tensors))
        empty = x.isneginf().any(ctx.dim, keepdim=True)
        share = torch.exp(x - value.masked_fill(value.isneginf(), 0.0)).masked_fill(empty, 0.0)
        return share * grad_output.unsqueeze(ctx.dim), None
