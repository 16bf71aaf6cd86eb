# %% wrong[forward-unstable]: squares first, and overflows
# says: The squares are summed as they are: above 1.8 · 10¹⁹ a square is inf in float32.
# next: Divide each row by its largest size before you square, and multiply afterwards.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.square().sum(dim).sqrt()
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == 0, 1.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x / safe), None


# %% wrong[forward-unstable]: torch's own norm
# says: The squares are summed as they are: above 1.8 · 10¹⁹ a square is inf in float32.
# next: Divide each row by its largest size before you square, and multiply afterwards.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = torch.linalg.vector_norm(x, dim=dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == 0, 1.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x / safe), None


# %% wrong[fails-special-point]: nothing is done about rows of zeros
# says: In a row of zeros the gradient is 0 / 0, which is nan; it should be 0.
# next: Before the division, torch.where can put 1 in place of a norm of 0.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = (x / top).square().sum(dim).sqrt() * top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return grad_output.unsqueeze(ctx.dim) * (x / out.unsqueeze(ctx.dim)), None


# %% wrong[fails-special-point]: the row is divided by its largest size, which is 0 in a row of zeros
# says: In a row of zeros the value is 0 / 0, which is nan; it should be 0.
# next: A row of zeros has the largest size 0: put 1 in its place before you divide by it.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        out = (x / top).square().sum(dim).sqrt() * top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == 0, 1.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x / safe), None


# %% wrong[forward-value|fails-special-point]: a tiny number under the root
# says: Something is added to the sum of squares: the norm of a row of zeros is not 0.
# next: Nothing has to be added under the root. Only the division in backward needs care, and only where the norm is 0.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = ((x / top).square().sum(dim) + 1e-8).sqrt() * top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == 0, 1.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x / safe), None


# %% wrong[gradient-scale|gradient-value]: the gradient of the squared norm
# says: The gradient is 2 · x, that of the squared norm; the root is missing.
# next: The chain rule goes through the root, too: 1 / (2 · norm) times 2 · x.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        return (x / top).square().sum(dim).sqrt() * top.squeeze(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.unsqueeze(ctx.dim) * 2 * x, None


# %% wrong[gradient-scale]: half of the right gradient
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = (x / top).square().sum(dim).sqrt() * top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == 0, 1.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x / (2 * safe)), None


# %% wrong[forward-value]: the sum of squares, no root
# says: The output is the sum of the squares; the root is missing.
# next: The norm is the root of that sum.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.square().sum(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.unsqueeze(ctx.dim) * 2 * x, None


# %% wrong[forward-value]: the sum of sizes
# says: The output is the sum of the sizes |x|, the L1 norm; the L2 norm is meant.
# next: Square, sum, take the root.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.abs().sum(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.unsqueeze(ctx.dim) * x.sign(), None


# %% wrong[double-backward-value|double-backward-missing|saves-too-much]: the unit vectors are made in forward, and kept
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = (x / top).square().sum(dim).sqrt() * top.squeeze(dim)
        unit = x / torch.where(out == 0, 1.0, out).unsqueeze(dim)
        ctx.save_for_backward(unit)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (unit,) = ctx.saved_tensors
        return grad_output.unsqueeze(ctx.dim) * unit, None


# %% wrong[double-backward-value]: a norm that is not the output is kept
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        length = (x / top).square().sum(dim, keepdim=True).sqrt() * top
        ctx.save_for_backward(x, torch.where(length == 0, 1.0, length))
        ctx.dim = dim
        return length.squeeze(dim)

    @staticmethod
    def backward(ctx, grad_output):
        x, length = ctx.saved_tensors
        return grad_output.unsqueeze(ctx.dim) * (x / length), None


# %% wrong[raises|gradient-value|gradient-shape]: the lost dimension is not put back
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = (x / top).square().sum(dim).sqrt() * top.squeeze(dim)
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return grad_output * x / torch.where(out == 0, 1.0, out), None


# %% wrong[forward-shape]: the output keeps the dimension
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = (x / top).square().sum(dim, keepdim=True).sqrt() * top
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return grad_output * (x / torch.where(out == 0, 1.0, out)), None


# %% wrong[upstream-ignored]: the unit vector, without grad_output
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = (x / top).square().sum(dim).sqrt() * top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return x / torch.where(out == 0, 1.0, out).unsqueeze(ctx.dim), None


# %% wrong[gradient-unstable]: backward squares once more
# says: The value is right at 1e30. The gradient is not: backward divides by a square, which is inf in float32.
# next: Divide x by the norm before anything else: the quotient is never larger than 1.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = (x / top).square().sum(dim).sqrt() * top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == 0, 1.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x * safe / safe.square()), None


# %% wrong[fails-special-point]: every element that is 0 counts as a row of zeros
# says: In a row of zeros the gradient is 1 for each element; it should be 0.
# next: A row of zeros has no direction: leave its gradient at 0.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = (x / top).square().sum(dim).sqrt() * top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        wide = out.unsqueeze(ctx.dim)
        unit = torch.where(wide == 0, 1.0, x / torch.where(wide == 0, 1.0, wide))
        return grad_output.unsqueeze(ctx.dim) * unit, None


# %% wrong[gradient-unstable]: grad_output times x first, and then divided
# says: grad_output · x is computed before the division by the norm: it is inf in float32 where both are large.
# next: x divided by its norm is at most 1. Divide first, and multiply by grad_output then.
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True) if x.shape[dim] else x.new_ones(())
        top = top.clamp(max=torch.finfo(x.dtype).max).masked_fill(top == 0, 1)
        y = (top * (x / top).square().sum(dim, keepdim=True).sqrt()).squeeze(dim)
        ctx.save_for_backward(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        y = y.unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * x / y.masked_fill(y == 0, 1), None


# %% right: the largest size is taken out of the root
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.abs().amax(dim, keepdim=True) if x.shape[dim] else x.sum(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = (x / top).square().sum(dim).sqrt() * top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(out == 0, 1.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x / safe), None


# %% right: in float64, which has room for the squares
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = torch.linalg.vector_norm(x.double(), dim=dim).to(x.dtype)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        length = out.unsqueeze(ctx.dim)
        unit = torch.where(length > 0, x / length.masked_fill(length == 0, 1.0), 0.0)
        return unit * grad_output.unsqueeze(ctx.dim), None


# %% right: setup_context, and masked_fill in place of where
class Norm(Function):
    @staticmethod
    def forward(x, dim):
        largest = torch.linalg.vector_norm(x, float("inf"), dim, keepdim=True)
        largest = largest.masked_fill(largest == 0, 1.0)
        return (torch.linalg.vector_norm(x / largest, 2, dim, keepdim=True) * largest).squeeze(dim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.dim = inputs
        ctx.save_for_backward(x, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        length = out.masked_fill(out == 0, 1.0).unsqueeze(ctx.dim)
        return x / length * grad_output.unsqueeze(ctx.dim), None


# %% right: x alone is kept, and its norm computed again
class Norm(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return Norm.length(x, dim).squeeze(dim)

    @staticmethod
    def length(x, dim):
        top = x.detach().abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        squares = (x / top).square().sum(dim, keepdim=True)
        return top * torch.where(squares == 0, 1.0, squares).sqrt() * (squares != 0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        length = Norm.length(x, ctx.dim)
        safe = torch.where(length == 0, 1.0, length)
        return grad_output.unsqueeze(ctx.dim) * (x / safe), None
