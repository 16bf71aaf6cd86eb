# %% right: the formula as it stands
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% right: the Jacobian's two terms written apart
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y - y * (grad_output * y).sum(ctx.dim, keepdim=True), None


# %% right: recomputes from x
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(x)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        e = (x - x.amax(ctx.dim, keepdim=True)).exp()
        y = e / e.sum(ctx.dim, keepdim=True)
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% right: through logsumexp
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = (x - torch.logsumexp(x, dim, keepdim=True)).exp()
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% right: the setup_context form, needs_input_grad asked
class Softmax(Function):
    @staticmethod
    def forward(x, dim):
        e = torch.exp(x - x.max(dim, keepdim=True).values)
        return e / e.sum(dim, keepdim=True)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.dim = inputs
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        if not ctx.needs_input_grad[0]:
            return None, None
        (y,) = ctx.saved_tensors
        gy = g * y
        return gy - y * gy.sum(ctx.dim, keepdim=True), None


# %% right: the whole Jacobian, by einsum
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        y, g = y.movedim(ctx.dim, -1), grad_output.movedim(ctx.dim, -1)
        jacobian = torch.diag_embed(y) - y.unsqueeze(-1) * y.unsqueeze(-2)
        return torch.einsum("...i,...ij->...j", g, jacobian).movedim(-1, ctx.dim), None


# %% wrong[forward-unstable]: no maximum is subtracted
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = x.exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[forward-value]: dim is ignored in forward
# says: The softmax runs over the last dimension, whatever dim is.
# next: The elements along dim must add up to 1, whichever dimension that is.
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(-1, keepdim=True)).exp()
        y = e / e.sum(-1, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[forward-value]: normalised over everything
# says: The output is normalised over the whole tensor, not along dim: the sum runs over everything.
# next: Which elements have to add up to 1?
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum()
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[forward-value|raises|forward-shape]: the sum loses its dimension
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[forward-value]: not normalised
# says: The output is e^(x − max): it is not divided by the sum.
# next: The elements along dim must add up to 1.
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% right: torch.softmax in forward
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = torch.softmax(x, dim)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% right: exp of log_softmax
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = x.log_softmax(dim).exp()
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[uses-autograd]: torch's own softmax backward
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch._softmax_backward_data(grad_output, y, ctx.dim, y.dtype), None


# %% wrong[gradient-value]: the diagonal of the Jacobian only
# says: Only the diagonal of the Jacobian is there: y · (1 − y).
# next: Each output depends on the whole row, not only on its own input: which terms does that add?
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y), None


# %% wrong[gradient-value]: the sum is missing
# says: The gradient is grad_output · y: the sum is missing.
# next: Derive the product with the Jacobian once more on paper, for a row of two.
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y, None


# %% wrong[gradient-value]: sum of g instead of g times y
# says: Σ g is subtracted; it should be Σ g·y.
# next: Derive the product with the Jacobian once more on paper, for a row of two.
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - grad_output.sum(ctx.dim, keepdim=True)), None


# %% wrong[gradient-value]: brackets in the wrong place
# says: The factor y multiplies only the first term: y·g − Σ g·y.
# next: What should y multiply: one term, or the whole difference?
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * grad_output - (grad_output * y).sum(ctx.dim, keepdim=True), None


# %% wrong[gradient-value]: the sum runs over the whole tensor
# says: The sum Σ g·y runs over the whole tensor, not along dim.
# next: Each row along dim has a sum of its own.
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum()), None


# %% wrong[gradient-value]: the sum always runs over the last dimension
# says: The sum runs over the last dimension, whatever dim is.
# next: The rows that softmax normalises lie along dim: the sum runs along it too.
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(-1, keepdim=True)), None


# %% wrong[gradient-sign]: the sign is turned round
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * ((grad_output * y).sum(ctx.dim, keepdim=True) - grad_output), None


# %% wrong[gradient-value]: exp applied to the saved output once more
# says: Backward applies softmax to the saved output once more.
# next: The formula needs y, the softmax of x, and not the softmax of y.
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        e = y.exp()
        z = e / e.sum(ctx.dim, keepdim=True)
        return z * (grad_output - (grad_output * z).sum(ctx.dim, keepdim=True)), None


# %% wrong[gradient-count]: no None for dim
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True))


# %% wrong[gradient-zero|gradient-value|upstream-ignored]: grad_output left out: the columns of the Jacobian cancel
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (1 - y.sum(ctx.dim, keepdim=True)), None


# %% wrong[saves-too-much]: keeps x as well
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        _, y = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[saves-on-ctx]: the output on ctx
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.y = y
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y = ctx.y
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[double-backward-value|double-backward-missing]: saves a clone of the output
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y.clone())
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[double-backward-missing|double-backward-value]: detaches in backward
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y = ctx.saved_tensors[0].detach()
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[shared-state]: dim as a class attribute, the output in a global
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        Softmax.y = y.clone()
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y = Softmax.y
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[mutates-saved]: writes to the saved output
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        y.mul_(grad_output - (grad_output * y).sum(ctx.dim, keepdim=True))
        return y, None


# %% wrong[mutates-input]: subtracts the maximum in place
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = x.sub_(x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[forward-unstable]: one maximum of everything
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.max()).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[forward-value|fails-special-point|forward-unstable]: adds a small number to the sum
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / (e.sum(dim, keepdim=True) + 1e-4)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[fails-half|forward-dtype|fails-float32]: computes in float64
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y.double()

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[too-slow]: one row at a time
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        last = x.movedim(dim, -1)
        rows = [(row - row.amax()).exp() for row in last.reshape(-1, last.shape[-1])]
        rows = [e / e.sum() for e in rows]
        y = torch.stack(rows).reshape(last.shape).movedim(-1, dim) if rows else x.clone()
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[shared-state]: dim is kept on the class
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        Softmax.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(Softmax.dim, keepdim=True)), None


# %% wrong[forward-value]: the exponentials in float32, whatever x is
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = torch.exp((x - x.amax(dim, keepdim=True)).to(torch.float32))
        y = (e / e.sum(dim, keepdim=True)).to(x.dtype)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[gradient-value|gradient-scale]: the saved output is a little too small
class Softmax(Function):
    eps = 1e-6

    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / (Softmax.eps + e.sum(dim, keepdim=True))
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * grad_output - y * (grad_output * y).sum(ctx.dim, keepdim=True), None


# %% wrong[raises]: the weighted sum without its dimension
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        shares = x.softmax(dim)
        ctx.save_for_backward(shares)
        ctx.dim = dim
        return shares

    @staticmethod
    def backward(ctx, grad_output):
        (shares,) = ctx.saved_tensors
        mean = torch.sum(shares * grad_output, dim=ctx.dim)
        centred = grad_output - mean
        return centred * shares, None


# %% wrong[gradient-value]: a mean where the sum along dim belongs
# says: The sum is a mean: Σ g·y is divided by the size of dim.
# next: Derive it on paper: does anything divide by the size?
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).mean(ctx.dim, keepdim=True)), None


# %% wrong[forward-value]: divided by the mean of the exponentials
# says: The output is divided by the mean of the exponentials, not by their sum.
# next: The elements along dim must add up to 1.
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.mean(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None


# %% wrong[gradient-value]: what is kept is not divided by the sum yet
# says: e^(x − max) is used where y is needed: it is not divided by the sum.
# next: In the derivative y is the output of forward, whose elements add up to 1 along dim.
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(e)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(ctx.dim, keepdim=True)), None
