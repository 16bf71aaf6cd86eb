# %% wrong[raises]: no unsqueeze
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[gradient-shape|raises|gradient-unsummed]: unsqueezes although keepdim kept the dimension
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[raises|gradient-shape|gradient-unsummed]: does not expand
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g / ctx.shape[ctx.dim], None, None


# %% wrong[gradient-value]: the first element gets everything
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        gradient = torch.zeros(ctx.shape, dtype=g.dtype, device=g.device)
        gradient.narrow(ctx.dim, 0, 1).copy_(g / ctx.shape[ctx.dim])
        return gradient, None, None


# %% wrong[gradient-value|saves-too-much]: multiplies by x
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.save_for_backward(x)
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) * ctx.saved_tensors[0] / ctx.shape[ctx.dim], None, None


# %% wrong[saves-too-much]: keeps x for its shape
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.save_for_backward(x)
        ctx.dim, ctx.keepdim = dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(x.shape) / x.shape[ctx.dim], None, None


# %% wrong[saves-on-ctx|saves-too-much]: keeps x on ctx for its shape
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.x, ctx.dim, ctx.keepdim = x, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.x.shape) / ctx.x.shape[ctx.dim], None, None


# %% wrong[saves-too-much]: keeps a tensor of ones
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.save_for_backward(torch.ones_like(x))
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g * ctx.saved_tensors[0] / ctx.shape[ctx.dim], None, None


# %% wrong[gradient-count]: one gradient only
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim]


# %% wrong[upstream-ignored]: ones
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return torch.ones_like(g).expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[gradient-sign]: a minus
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return -g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[forward-shape]: keepdim is ignored
# says: keepdim is ignored: the output is always the one for keepdim=False.
# next: With keepdim=True the output has as many dimensions as x: each reduced one has size 1.
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[forward-shape|raises|forward-value]: sums everything
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean()

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[forward-value]: a sum
# says: The output is the sum: it is not divided by the size of dim.
# next: Divide by the size of the dimension.
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[gradient-scale]: the division is missing in backward
# says: The division is missing in backward: this is the gradient of the sum.
# next: When one element grows by 1, by how much does the mean grow?
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape), None, None


# %% wrong[gradient-scale]: divides by the number of all elements
# says: grad_output is divided by the number of all elements of x.
# next: Each mean is over one dimension only: how many elements go into it?
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape.numel(), None, None


# %% wrong[gradient-scale]: divides by the batch size
# says: grad_output is divided by the size of dimension 0, whatever dim is.
# next: Divide by the size of the dimension that was reduced.
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[0], None, None


# %% wrong[gradient-scale]: divides by the last size
# says: grad_output is divided by the size of the last dimension, whatever dim is.
# next: Divide by the size of the dimension that was reduced.
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[-1], None, None


# %% wrong[gradient-scale]: multiplies by the size
# says: grad_output is multiplied by the size of dim where it should be divided.
# next: When one element grows by 1, by how much does the mean grow?
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) * ctx.shape[ctx.dim], None, None


# %% wrong[raises|fails-float32|gradient-dtype]: an expanded tensor that is always float32
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return (torch.ones(ctx.shape) * g.float()) / ctx.shape[ctx.dim], None, None


# %% wrong[fails-device]: ones on the CPU
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return (
            (g * torch.ones(ctx.shape, dtype=g.dtype, device="cpu")) / ctx.shape[ctx.dim],
            None,
            None,
        )


# %% wrong[raises]: an int among the saved tensors
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.save_for_backward(dim)
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[double-backward-missing|double-backward-value]: a constant for second derivatives
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output.detach() if ctx.keepdim else grad_output.detach().unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[mutates-upstream|raises|gradient-shape]: resizes and scales grad_output in place
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        grad_output.mul_(1.0)
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[gradient-missing]: returns None for x
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return None, None, None


# %% wrong[raises]: repeats along one dimension
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.n = x.shape
        ctx.dim = dim
        return x.mean(dim=dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, g):
        return g.repeat(ctx.n[ctx.dim]) / ctx.n[ctx.dim], None, None


# %% wrong[gradient-count]: one value for two arguments
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.n = x.shape
        ctx.dim, ctx.k = dim, keepdim
        return x.mean(dim=dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, g):
        g = g if ctx.k else g.unsqueeze(ctx.dim)
        return g.expand(ctx.n) / ctx.n[ctx.dim]


# %% right: attributes
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% right: setup_context form
class Mean(Function):
    @staticmethod
    def forward(x, dim, keepdim=False):
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.dim, ctx.keepdim = inputs
        ctx.shape = x.shape

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% right: multiplies with ones of the right dtype
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        ones = grad_output.new_ones(ctx.shape)
        if not ctx.keepdim:
            grad_output = grad_output.unsqueeze(ctx.dim)
        return ones * grad_output / ctx.shape[ctx.dim], None, None


# %% right: repeat_interleave makes a real copy
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output
        if not ctx.keepdim:
            g = g.unsqueeze(ctx.dim)
        return g.repeat_interleave(ctx.shape[ctx.dim], ctx.dim) / ctx.shape[ctx.dim], None, None


# %% right: shape kept in another attribute, list indexing
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.meta = {"shape": tuple(x.shape), "dim": dim % x.dim(), "keep": bool(keepdim)}
        return torch.mean(x, dim, keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        shape, dim = ctx.meta["shape"], ctx.meta["dim"]
        kept = list(shape)
        kept[dim] = 1
        g = grad_output.reshape(kept) / shape[dim]
        return g.expand(shape), None, None


# %% wrong[raises]: expands without giving the dimension back
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim = x.shape, dim
        return torch.mean(x, dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.expand(ctx.shape) / ctx.shape[ctx.dim], None, None


# %% wrong[memorised]: a table of the counts it has seen
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        part = {2: 1 / 2, 3: 1 / 3, 4: 1 / 4, 5: 1 / 5}
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) * part[ctx.shape[ctx.dim]], None, None


# %% wrong[shared-state]: the divisor is kept on the class
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        Mean.count = x.shape[dim]
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / Mean.count, None, None


# %% right: the reciprocal as a Python number
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return torch.mean(x, dim, keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        share = 1.0 / ctx.shape[ctx.dim]
        wide = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return share * wide.expand(ctx.shape), None, None


# %% wrong[gradient-value|gradient-scale]: never divides by less than 2, for fear of 0 and 1
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return torch.mean(x, dim, keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        size = ctx.shape[ctx.dim]
        wide = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return wide.expand(ctx.shape) / (size if size > 1 else 2), None, None


# %% wrong[shared-state]: backward pops what forward noted
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.notes = [keepdim, dim, x.shape]
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        shape = ctx.notes.pop()
        dim = ctx.notes.pop()
        if not ctx.notes.pop():
            grad_output = grad_output.unsqueeze(dim)
        return grad_output.expand(shape) / shape[dim], None, None


# %% wrong[shared-state]: backward deletes what it has read
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        shape = ctx.shape
        del ctx.shape
        grad_output = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return grad_output.expand(shape) / shape[ctx.dim], None, None


# %% wrong[raises]: a negative dim is moved by one, which is right for the second to last only
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.sizes, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return torch.mean(x, dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        share = grad_output / ctx.sizes[ctx.dim]
        if not ctx.keepdim:
            sizes = list(share.shape)
            sizes.insert(ctx.dim if ctx.dim >= 0 else ctx.dim + 1, 1)
            share = share.reshape(sizes)
        return share.expand(ctx.sizes), None, None


# %% wrong[forward-shape]: keeps the dimension unless told not to
# says: Where keepdim is not passed, the output is the one for keepdim=True, not the one for keepdim=False.
# next: The contract says what holds when dim or keepdim is not passed.
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=None):
        ctx.sizes, ctx.dim = x.shape, dim
        ctx.gone = keepdim is False
        return torch.mean(x, dim, keepdim=not ctx.gone)

    @staticmethod
    def backward(ctx, grad_output):
        share = grad_output.unsqueeze(ctx.dim) if ctx.gone else grad_output
        return (share / ctx.sizes[ctx.dim]).expand(ctx.sizes), None, None


# %% wrong[gradient-scale]: divides by the number of means, not of what each is made of
# says: grad_output is divided by the number of outputs, not by the size of dim.
# next: When one element grows by 1, by how much does the mean grow?
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim, ctx.n = x.shape, dim, keepdim, 3
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, grad_output):
        g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) / max(grad_output.numel(), 1), None, None


# %% wrong[gradient-scale]: divides by the size that the reduced dimension has left
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        kept = x.mean(dim, keepdim=True)
        ctx.size, ctx.dim, ctx.squeezed = x.size(), dim, not keepdim
        return kept if keepdim else kept.squeeze(dim)

    @staticmethod
    def backward(ctx, g):
        if ctx.squeezed:
            g = g.unsqueeze(ctx.dim)
        share = g.div(g.size(ctx.dim))
        return share.expand(ctx.size), None, None


# %% wrong[gradient-zero]: one over the size, as a whole number
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.dims, ctx.dim, ctx.keep = x.shape, dim, keepdim
        return torch.mean(x, dim, keepdim)

    @staticmethod
    def backward(ctx, g):
        part = 1 // ctx.dims[ctx.dim]
        wide = g if ctx.keep else g.unsqueeze(ctx.dim)
        return part * wide.expand(ctx.dims), None, None


# %% right: one divided by the size
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.like, ctx.dim, ctx.kept = x.shape, dim, keepdim
        return torch.mean(x, dim=dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, g):
        share = 1 / ctx.like[ctx.dim]
        wide = g if ctx.kept else g.unsqueeze(ctx.dim)
        return share * wide.expand(ctx.like), None, None
