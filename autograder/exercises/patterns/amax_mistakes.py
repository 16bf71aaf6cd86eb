# %% wrong[fails-special-point]: the first of the largest gets everything
# says: Of elements that tie for the largest, one gets the whole gradient; they should share it equally.
# next: This is torch.max with its index. Here nobody is chosen: count who equals the maximum, and divide.
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out, indices = x.max(dim)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (indices,) = ctx.saved_tensors
        grad_x = grad_output.new_zeros(ctx.shape)
        return grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_output.unsqueeze(ctx.dim)), None


# %% wrong[fails-special-point]: everybody who ties gets everything
# says: Elements that tie for the largest each get the whole gradient; they should share it.
# next: Count them along dim, and divide by the count.
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        mask = x == out.unsqueeze(ctx.dim)
        return mask * grad_output.unsqueeze(ctx.dim), None


# %% wrong[fails-special-point|gradient-scale|gradient-value]: divides by how many are largest in the whole tensor
# says: The gradient is divided by the number of largest elements in the whole tensor; those of its own row count.
# next: Count along dim alone: a sum over the mask takes dim, too.
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        mask = x == out.unsqueeze(ctx.dim)
        return mask * grad_output.unsqueeze(ctx.dim) / mask.sum(), None


# %% wrong[fails-special-point]: almost equal counts as equal
# says: Elements that are only almost the largest share the gradient.
# next: The maximum is one of the elements, exactly: compare with ==, no tolerance is needed.
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        mask = (x - out.unsqueeze(ctx.dim)).abs() < 1e-6
        return mask * (grad_output / mask.sum(ctx.dim)).unsqueeze(ctx.dim), None


# %% wrong[gradient-value]: every element gets a share
# says: Every element of a row gets an equal share, not only the largest.
# next: Only elements that equal the maximum have a share; who is smaller can grow without anybody noticing.
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.shape, ctx.dim = x.shape, dim
        return x.amax(dim)

    @staticmethod
    def backward(ctx, grad_output):
        share = grad_output / ctx.shape[ctx.dim]
        return share.unsqueeze(ctx.dim).expand(ctx.shape), None


# %% wrong[forward-value]: the smallest
# says: The output is the smallest element.
# next: amax, not amin.
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amin(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        mask = x == out.unsqueeze(ctx.dim)
        return mask * (grad_output / mask.sum(ctx.dim)).unsqueeze(ctx.dim), None


# %% wrong[output-count]: returns the indices too
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out, indices = x.max(dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out, indices

    @staticmethod
    def backward(ctx, grad_output, _):
        x, out = ctx.saved_tensors
        mask = x == out.unsqueeze(ctx.dim)
        return mask * (grad_output / mask.sum(ctx.dim)).unsqueeze(ctx.dim), None


# %% wrong[saves-too-much]: the mask is kept as numbers, beside x
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        mask = (x == out.unsqueeze(dim)).to(x.dtype)
        ctx.save_for_backward(x, mask)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, mask = ctx.saved_tensors
        return mask * (grad_output / mask.sum(ctx.dim)).unsqueeze(ctx.dim), None


# %% wrong[saves-too-much]: a copy of x is kept beside x
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x, out.unsqueeze(dim).expand_as(x).contiguous())
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, top = ctx.saved_tensors
        mask = x == top
        return mask * (grad_output / mask.sum(ctx.dim)).unsqueeze(ctx.dim), None


# %% wrong[saves-on-ctx]: the mask is an attribute of ctx
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.mask, ctx.dim = x == out.unsqueeze(dim), dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.mask * (grad_output / ctx.mask.sum(ctx.dim)).unsqueeze(ctx.dim), None


# %% wrong[raises]: the mask is negated to float by a minus
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x < out.unsqueeze(dim))
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (smaller,) = ctx.saved_tensors
        mask = 1 - smaller
        return mask * (grad_output / mask.sum(ctx.dim)).unsqueeze(ctx.dim), None


# %% wrong[raises|gradient-value|gradient-shape]: the lost dimension is not put back
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x == out.unsqueeze(dim))
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return mask * grad_output / mask.sum(ctx.dim), None


# %% wrong[upstream-ignored]: shares of 1
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x == out.unsqueeze(dim))
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return mask / mask.sum(ctx.dim, keepdim=True).to(grad_output.dtype), None


# %% wrong[gradient-count]: no None for dim
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x == out.unsqueeze(dim))
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return mask * (grad_output / mask.sum(ctx.dim)).unsqueeze(ctx.dim)


# %% wrong[double-backward-missing|double-backward-value]: grad_output is detached
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x == out.unsqueeze(dim))
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        share = grad_output.detach() / mask.sum(ctx.dim)
        return mask * share.unsqueeze(ctx.dim), None


# %% wrong[finite-differences]: the shares are float32, of a mask and whole numbers
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.axis = dim
        value = torch.amax(x, dim, keepdim=True)
        ctx.save_for_backward(torch.eq(x, value))
        return value.squeeze(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        share = mask / mask.sum(ctx.axis, keepdim=True)
        return (share * grad_output.unsqueeze(ctx.axis)).to(grad_output.dtype), None


# %% right: x and the output, compared in backward
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        mask = x == out.unsqueeze(ctx.dim)
        return mask * (grad_output / mask.sum(ctx.dim)).unsqueeze(ctx.dim), None


# %% right: a mask alone, one byte an element
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = torch.amax(x, dim, keepdim=True)
        ctx.save_for_backward(x.eq(out))
        ctx.dim = dim
        return out.squeeze(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (winners,) = ctx.saved_tensors
        count = winners.sum(ctx.dim, keepdim=True)
        return torch.where(winners, grad_output.unsqueeze(ctx.dim) / count, 0.0), None


# %% right: setup_context, and the maximum computed again
class Amax(Function):
    @staticmethod
    def forward(x, dim):
        return x.max(dim).values

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.dim = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        weights = (x == x.amax(ctx.dim, keepdim=True)).to(grad_output.dtype)
        weights = weights / weights.sum(ctx.dim, keepdim=True)
        return weights * grad_output.unsqueeze(ctx.dim), None


# %% right: who is smaller, turned round
class Amax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.amax(dim)
        ctx.save_for_backward(x < out.unsqueeze(dim))
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (smaller,) = ctx.saved_tensors
        count = (~smaller).sum(ctx.dim, keepdim=True)
        share = grad_output.unsqueeze(ctx.dim) / count
        return share.masked_fill(smaller, 0.0), None
