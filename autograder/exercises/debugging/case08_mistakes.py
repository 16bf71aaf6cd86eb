# %% wrong[forward-value]: as admitted, nothing changed
# says: The weights are rounded to float32, whatever dtype x has; where terms cancel, that rounding is all that is left.
# next: A tensor that is made of plain numbers is float32 where no dtype is asked for. It should have that of x.
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        powers = [decay**k for k in range(x.shape[-1])]
        weights = torch.tensor(powers)
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% wrong[forward-value]: a float32 range, raised to its powers
# says: The weights are rounded to float32, whatever dtype x has; where terms cancel, that rounding is all that is left.
# next: A tensor that is made of plain numbers is float32 where no dtype is asked for. It should have that of x.
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = decay ** torch.arange(x.shape[-1], dtype=torch.float32)
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% wrong[forward-value]: rounded once, and cast back
# says: The weights are rounded to float32, whatever dtype x has; where terms cancel, that rounding is all that is left.
# next: A tensor that is made of plain numbers is float32 where no dtype is asked for. It should have that of x.
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = torch.tensor([decay**k for k in range(x.shape[-1])]).to(x)
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% wrong[forward-value]: computes in float32 and casts back
# says: The sum is computed in float32 and cast back: the digits are gone by then.
# next: Stay in the dtype of x from beginning to end.
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = x.new_tensor([decay**k for k in range(x.shape[-1])])
        ctx.save_for_backward(weights)
        return (x.float() * weights.float()).sum(-1).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% wrong[forward-dtype|fails-float32|fails-half]: everything in float64
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = torch.tensor([decay**k for k in range(x.shape[-1])], dtype=torch.float64)
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% wrong[fails-half|forward-dtype]: float64 where x is float64, else float32
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = torch.tensor([decay**k for k in range(x.shape[-1])], dtype=torch.float64 if x.dtype == torch.float64 else torch.float32)
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% wrong[forward-value]: begins with the first power
# says: The powers begin with the first: every term has one factor decay too many.
# next: The first element counts in full: decay⁰ = 1.
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = x.new_tensor([decay ** (k + 1) for k in range(x.shape[-1])])
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% wrong[forward-value]: discounts from the other end
# says: The discount runs from the last element to the first: the last one counts in full.
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = x.new_tensor([decay**k for k in reversed(range(x.shape[-1]))])
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% wrong[gradient-value|gradient-shape|raises]: every element gets the whole gradient
# says: Every element gets the upstream gradient in full: its discount is left out.
# next: xₖ counts decayᵏ times in the sum, so its gradient does as well.
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = x.new_tensor([decay**k for k in range(x.shape[-1])])
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1).expand(*grad_output.shape, len(weights)), None


# %% wrong[gradient-value]: discounted twice
# says: The gradient is discounted twice.
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = x.new_tensor([decay**k for k in range(x.shape[-1])])
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights**2, None


# %% wrong[raises|gradient-value|gradient-shape]: the upstream gradient is not unsqueezed
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = x.new_tensor([decay**k for k in range(x.shape[-1])])
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output * weights, None


# %% wrong[gradient-count]: no None for decay
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = x.new_tensor([decay**k for k in range(x.shape[-1])])
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights


# %% wrong[saves-too-much]: keeps x as well
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = x.new_tensor([decay**k for k in range(x.shape[-1])])
        ctx.save_for_backward(weights, x)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        weights, _ = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% wrong[fails-half]: float32 in backward alone
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = x.new_tensor([decay**k for k in range(x.shape[-1])])
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights.float(), None


# %% right: torch.tensor with the dtype of x
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = torch.tensor([decay**k for k in range(x.shape[-1])], dtype=x.dtype, device=x.device)
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% right: a range in the dtype of x
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        weights = decay ** torch.arange(x.shape[-1], dtype=x.dtype, device=x.device)
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% right: matmul, and the weights made again
class Case08(Function):
    @staticmethod
    def weights(decay, like):
        return torch.full_like(like, decay) ** torch.arange(like.shape[-1]).to(like)

    @staticmethod
    def forward(ctx, x, decay):
        ctx.decay, ctx.size = decay, x.shape[-1]
        return (x * Case08.weights(decay, x)).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        spread = grad_output.unsqueeze(-1).expand(*grad_output.shape, ctx.size)
        return spread * Case08.weights(ctx.decay, spread), None


# %% right: one step of the recursion after the other
class Case08(Function):
    @staticmethod
    def forward(ctx, x, decay):
        ctx.decay, ctx.size = decay, x.shape[-1]
        total = torch.zeros_like(x[..., 0])
        for k in reversed(range(ctx.size)):
            total = x[..., k] + decay * total
        return total

    @staticmethod
    def backward(ctx, grad_output):
        return torch.stack([grad_output * ctx.decay**k for k in range(ctx.size)], -1), None
