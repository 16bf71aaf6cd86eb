# %% wrong[raises]: no unsqueeze
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output
        return g.expand(ctx.shape), None, None


# %% wrong[gradient-shape|raises|gradient-unsummed]: unsqueezes although keepdim kept the dimension
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape), None, None


# %% wrong[raises|gradient-shape|gradient-unsummed]: does not expand
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g, None, None


# %% wrong[gradient-value]: the first element gets everything
# says: Only the first element of each sum gets a gradient; the others get 0.
# next: Every element that was added gets a gradient: stretch grad_output to the shape of x.
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        gradient = torch.zeros(ctx.shape, dtype=g.dtype, device=g.device)
        gradient.narrow(ctx.dim, 0, 1).copy_(g)
        return gradient, None, None


# %% wrong[gradient-value|saves-too-much]: multiplies by x
# says: The gradient is multiplied by x. A sum is linear: its derivative does not depend on x.
# next: When one element grows by 1, the sum grows by 1, however large the element is.
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.save_for_backward(x)
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) * ctx.saved_tensors[0], None, None


# %% wrong[saves-too-much]: keeps x for its shape
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.save_for_backward(x)
        ctx.dim, ctx.keepdim = dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(x.shape), None, None


# %% wrong[saves-on-ctx|saves-too-much]: keeps x on ctx for its shape
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.x, ctx.dim, ctx.keepdim = x, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.x.shape), None, None


# %% wrong[saves-too-much]: keeps a tensor of ones
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.save_for_backward(torch.ones_like(x))
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g * ctx.saved_tensors[0], None, None


# %% wrong[gradient-count]: one gradient only
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape)


# %% wrong[upstream-ignored]: ones
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return torch.ones_like(g).expand(ctx.shape), None, None


# %% wrong[gradient-sign]: a minus
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return -g.expand(ctx.shape), None, None


# %% wrong[forward-shape]: keepdim is ignored
# says: keepdim is ignored: the output is always the one for keepdim=False.
# next: With keepdim=True the output has as many dimensions as x: each reduced one has size 1.
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape), None, None


# %% wrong[forward-shape|raises|forward-value]: sums everything
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum()

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape), None, None


# %% wrong[forward-value]: a mean
# says: The output is the mean, not the sum.
# next: When one element grows by 1 the sum grows by 1: nothing is divided.
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape), None, None


# %% wrong[gradient-scale]: divides as a mean does
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[raises|fails-float32|gradient-dtype]: an expanded tensor that is always float32
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return (torch.ones(ctx.shape) * g.float()), None, None


# %% wrong[fails-device]: ones on the CPU
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return (g * torch.ones(ctx.shape, dtype=g.dtype, device="cpu")), None, None


# %% wrong[raises]: an int among the saved tensors
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.save_for_backward(dim)
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape), None, None


# %% wrong[double-backward-missing|double-backward-value]: a constant for second derivatives
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output.detach() if ctx.keepdim else grad_output.detach().unsqueeze(ctx.dim)
        return g.expand(ctx.shape), None, None


# %% wrong[mutates-upstream|raises|gradient-shape]: resizes and scales grad_output in place
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        grad_output.mul_(1.0)
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape), None, None


# %% wrong[gradient-missing]: returns None for x
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return None, None, None


# %% right: attributes
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape), None, None


# %% right: setup_context form
class Sum(Function):
    @staticmethod
    def forward(x, dim, keepdim=False):
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.dim, ctx.keepdim = inputs
        ctx.shape = x.shape

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape), None, None


# %% right: multiplies with ones of the right dtype
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        ones = grad_output.new_ones(ctx.shape)
        if not ctx.keepdim:
            grad_output = grad_output.unsqueeze(ctx.dim)
        return ones * grad_output, None, None


# %% right: repeat_interleave makes a real copy
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output
        if not ctx.keepdim:
            g = g.unsqueeze(ctx.dim)
        return g.repeat_interleave(ctx.shape[ctx.dim], ctx.dim), None, None


# %% right: shape kept in another attribute, list indexing
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.meta = {"shape": tuple(x.shape), "dim": dim % x.dim(), "keep": bool(keepdim)}
        return torch.sum(x, dim, keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        shape, dim = ctx.meta["shape"], ctx.meta["dim"]
        kept = list(shape)
        kept[dim] = 1
        g = grad_output.reshape(kept)
        return g.expand(shape), None, None


# %% wrong[raises]: expands without giving the dimension back
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape = x.shape
        return torch.sum(x, dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.expand(ctx.shape), None, None


# %% wrong[raises]: gives the dimension back at the end of a shape that has not got so many
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return torch.sum(x, dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(len(ctx.shape))
        return g.expand(ctx.shape), None, None


# %% wrong[fails-half|gradient-dtype]: spreads the gradient with a float32 tensor of ones
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim=None, keepdim=False):
        ctx.size, ctx.dim, ctx.kept = x.shape, dim, keepdim
        return x.sum() if dim is None else x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        if ctx.dim is not None and not ctx.kept:
            grad_output = grad_output.unsqueeze(ctx.dim)
        spread = grad_output * torch.ones(ctx.size)
        return spread, None, None


# %% wrong[raises]: a 1 inserted into the list of sizes, which for a negative dim is the place before
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.note = tuple(x.shape), dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        full, dim, kept = ctx.note
        sizes = [*grad_output.shape]
        if not kept:
            sizes.insert(dim, 1)
        return grad_output.reshape(sizes).expand(full), None, None


# %% wrong[forward-shape]: `dim or None` turns dimension 0 into no dimension
# says: dim=0 is taken for no dim at all: the output is the one for dim=None.
# next: 0 counts as false in Python: ask whether dim is None.
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.full, ctx.dim, ctx.kept = x.shape, dim, keepdim
        return torch.sum(x, dim or None, keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        wide = grad_output if ctx.kept else grad_output.unsqueeze(ctx.dim)
        return wide.expand(ctx.full), None, None


# %% wrong[forward-shape]: keepdim the wrong way round
# says: keepdim is reversed: True gives the output for False, and False the one for True.
# next: With keepdim=True the reduced dimensions stay, with size 1.
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.full, ctx.dim, ctx.kept = x.shape, dim, keepdim
        total = x.sum(dim, keepdim=True)
        return total.squeeze(dim) if keepdim else total

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.reshape(ctx.full), None, None


# %% wrong[raises]: the size 1 is put between two slices, of which the second begins at dim + 1
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim=None, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum() if dim is None else x.sum(dim, keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        if ctx.dim is not None and not ctx.keepdim:
            before, after = ctx.shape[: ctx.dim], ctx.shape[ctx.dim + 1 :]
            grad_output = grad_output.reshape(*before, 1, *after)
        return grad_output.expand(ctx.shape), None, None


# %% wrong[raises]: a negative dim is made positive with the dimensions of grad_output
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.like, ctx.place, ctx.kept = x.shape, dim, keepdim
        return torch.sum(x, dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, g):
        place = ctx.place
        if place < 0:
            place += g.ndim
        wide = g if ctx.kept else torch.unsqueeze(g, place)
        return wide.broadcast_to(ctx.like), None, None


# %% wrong[raises]: unsqueezes where the dimension was kept
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.memo = (x.shape, dim, keepdim)
        return x.sum(dim=dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, upstream):
        shape, dim, kept = ctx.memo
        wide = upstream.unsqueeze(dim) if kept else upstream
        return wide.expand(shape), None, None


# %% wrong[raises]: forward cuts the shape in two behind dim, which for -1 begins at the front again
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.ahead, ctx.behind, ctx.whole = x.shape[:dim], x.shape[dim + 1 :], x.shape
        return x.sum(dim=dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, g):
        column = g.view(*ctx.ahead, 1, *ctx.behind)
        return column.expand(ctx.whole), None, None


# %% wrong[raises]: never asks for keepdim
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.size, ctx.axis = x.size(), dim
        return torch.sum(x, dim, keepdim)

    @staticmethod
    def backward(ctx, g):
        return torch.unsqueeze(g, ctx.axis).expand(ctx.size), None, None
