# %% wrong[gradient-value]: only the rank of an element itself
# says: Only xᵢ's own rank is differentiated in xᵢ; it stands in the rank of everybody else, too.
# next: When xᵢ grows, the ranks of the others fall a little. Add that second sum, with a minus.
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        own = d.sum(-1) - d.diagonal(dim1=-2, dim2=-1)
        return grad_output * own, None


# %% wrong[gradient-value]: only the rank of an element itself, the pair with itself included
# says: Only xᵢ's own rank is differentiated in xᵢ, and σ(xᵢ − xᵢ) with it, which is ½ whatever xᵢ is.
# next: When xᵢ grows, the ranks of the others fall a little, and its pair with itself stays: take both off.
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        return grad_output * (s * (1 - s)).sum(-1) / ctx.temperature, None


# %% wrong[gradient-value]: only the ranks of the others
# says: Only the ranks of the others are differentiated in xᵢ; its own rank grows with it, too.
# next: Add Σⱼ dᵢⱼ times the upstream gradient of i itself.
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        d = d - torch.diag_embed(d.diagonal(dim1=-2, dim2=-1))
        return -(d * grad_output.unsqueeze(-2)).sum(-1), None


# %% wrong[gradient-value]: the two sums are added
# says: The two sums are added; when xᵢ grows, the ranks of the others fall, so theirs has a minus.
# next: Differentiate σ((xⱼ − xᵢ) / temperature) in xᵢ: which sign has the inner derivative?
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        d = d - torch.diag_embed(d.diagonal(dim1=-2, dim2=-1))
        g = grad_output
        return (d * (g.unsqueeze(-1) + g.unsqueeze(-2))).sum(-1), None


# %% wrong[gradient-scale|gradient-value]: the temperature is missing in the slope
# says: The gradient is not divided by the temperature.
# next: σ((xᵢ − xⱼ) / temperature): the inner derivative is 1 / temperature.
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s)
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1), None


# %% wrong[forward-value]: the pair of an element with itself is counted
# says: Every rank is ½ too large: the pair of an element with itself is counted, and σ(0) is ½.
# next: The sum goes over j ≠ i: take ½ off, or leave the diagonal out.
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 1 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1), None


# %% wrong[forward-value]: counts from 0
# says: The ranks count from 0; the smallest should have a rank near 1.
# next: 1 + the sum over the others.
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return s.sum(-1) - 0.5

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1), None


# %% wrong[forward-value]: the largest gets rank 1
# says: The ranks count from the largest down; the smallest should have a rank near 1.
# next: rankᵢ sums σ((xᵢ − xⱼ) / temperature): those that are smaller than xᵢ count, with nearly 1 each.
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-2) - x.unsqueeze(-1)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        g = grad_output
        return -(d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1), None


# %% wrong[forward-value]: multiplied by the temperature
# says: The differences are multiplied by the temperature; they should be divided by it.
# next: A small temperature makes steps of the sigmoids: it stands below the fraction bar.
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) * temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) * ctx.temperature)
        d = s * (1 - s) * ctx.temperature
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1), None


# %% wrong[gradient-sign]: the sign of the whole gradient
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-2), None


# %% wrong[saves-too-much|double-backward-missing]: the matrix of pairs is kept
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        ctx.save_for_backward(s)
        ctx.temperature = temperature
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (s,) = ctx.saved_tensors
        d = s * (1 - s) / ctx.temperature
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1), None


# %% wrong[saves-too-much]: the differences are kept beside x
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        differences = x.unsqueeze(-1) - x.unsqueeze(-2)
        ctx.save_for_backward(x, differences)
        ctx.temperature = temperature
        return 0.5 + torch.sigmoid(differences / temperature).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        x, differences = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1), None


# %% wrong[gradient-value|raises|gradient-zero]: the gradient is multiplied by it before the pairs are formed
# says: The upstream gradient of xᵢ alone is used; the ranks of the others bring their own.
# next: Each pair has two ranks in it, and so two upstream gradients: gᵢ − gⱼ.
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        return grad_output * (d.sum(-1) - d.sum(-2)), None


# %% wrong[raises|fails-batch-dims|forward-shape|forward-value]: written for a vector
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x[:, None] - x[None, :]) / temperature)
        return 0.5 + s.sum(1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x[:, None] - x[None, :]) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        return (d * (grad_output[:, None] - grad_output[None, :])).sum(1), None


# %% wrong[gradient-count]: no None for the temperature
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1)


# %% wrong[forward-unstable|gradient-unstable]: the sigmoid by its formula
# says: The sigmoid's slope is written with e^z, which is inf in float32 above z = 88.7: inf / inf is nan.
# next: torch.sigmoid gives s, and s · (1 − s) is its slope: nothing in it can overflow.
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        e = torch.exp((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = e / (1 + e) ** 2 / ctx.temperature
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1), None


# %% right: both sums in one, over all pairs at once
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1), None


# %% right: the Jacobian as a matrix, transposed, times the gradient
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.t = temperature
        n = x.shape[-1]
        pairs = torch.sigmoid((x[..., :, None] - x[..., None, :]) / temperature)
        own = torch.eye(n, dtype=torch.bool, device=x.device)
        return 1 + pairs.masked_fill(own, 0.0).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        z = (x[..., :, None] - x[..., None, :]) / ctx.t
        slope = torch.sigmoid(z) * torch.sigmoid(-z) / ctx.t
        jacobian = torch.diag_embed(slope.sum(-1)) - slope
        return (jacobian.mT @ grad_output.unsqueeze(-1)).squeeze(-1), None


# %% right: a loop over j, never more than a row of pairs at a time
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        ranks = torch.full_like(x, 0.5)
        for other in x.unbind(-1):
            ranks = ranks + torch.sigmoid((x - other.unsqueeze(-1)) / temperature)
        return ranks

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = torch.zeros_like(x)
        for other, upstream in zip(x.unbind(-1), grad_output.unbind(-1)):
            s = torch.sigmoid((x - other.unsqueeze(-1)) / ctx.temperature)
            slope = s * (1 - s) / ctx.temperature
            grad_x = grad_x + slope * (grad_output - upstream.unsqueeze(-1))
        return grad_x, None


# %% right: setup_context, two sums written one after the other
class SoftRank(Function):
    @staticmethod
    def forward(x, temperature):
        return 0.5 + torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature).sum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.temperature = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        t = torch.tanh((x.unsqueeze(-1) - x.unsqueeze(-2)) / (2 * ctx.temperature))
        slope = (1 - t * t) / (4 * ctx.temperature)
        grows = grad_output * slope.sum(-1)
        falls = (slope @ grad_output.unsqueeze(-1)).squeeze(-1)
        return grows - falls, None


# %% wrong[double-backward-value]: the slope as 1 / cosh², whose derivative is nan far out
class SoftRank(Function):
    @staticmethod
    def forward(ctx, x, temperature):
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        return torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature).sum(-1) + 0.5

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        half = (x.unsqueeze(-1) - x.unsqueeze(-2)) / (2 * ctx.temperature)
        slope = 1 / (4 * ctx.temperature * torch.cosh(half) ** 2)
        return (slope * (grad_output.unsqueeze(-1) - grad_output.unsqueeze(-2))).sum(-1), None
