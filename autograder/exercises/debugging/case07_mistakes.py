# %% wrong[mutates-upstream]: as admitted, nothing changed
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x < 0] = 0
        return 2 * x.clamp(min=0) * grad_output


# %% wrong[mutates-upstream]: mul_ in place of the mask
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output.mul_(x > 0)


# %% wrong[mutates-upstream]: an operator in place
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output *= 2 * x.clamp(min=0)
        return grad_output


# %% wrong[mutates-upstream]: a view of it is written to
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        flat = grad_output.view(-1)
        flat[x.reshape(-1) < 0] = 0
        return 2 * x.clamp(min=0) * grad_output


# %% wrong[mutates-upstream]: detached, and the same memory
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output = grad_output.detach()
        grad_output[x < 0] = 0
        return 2 * x.clamp(min=0) * grad_output


# %% wrong[mutates-upstream]: put back afterwards
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        before = grad_output.clone()
        grad_output[x < 0] = 0
        gradient = 2 * x.clamp(min=0) * grad_output
        grad_output.copy_(before)
        return gradient


# %% wrong[mutates-upstream]: copies only what is not contiguous
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output = grad_output.contiguous()
        grad_output[x < 0] = 0
        return 2 * x.clamp(min=0) * grad_output


# %% wrong[mutates-saved|mutates-input]: x is cut off in place
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x.clamp_(min=0) * grad_output


# %% wrong[gradient-value]: no mask at all
# says: Negative x get the slope 2x, too: the square of max(x, 0) is flat there.
# next: Where x is negative the output is 0 and stays 0.
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[gradient-value]: the slope of the ReLU alone
# says: The slope is 1 where x is positive: that of max(x, 0), without its square.
# next: The square doubles and brings max(x, 0) down as a factor.
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (x > 0) * grad_output


# %% wrong[gradient-scale]: the 2 is missing
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return x.clamp(min=0) * grad_output


# %% wrong[gradient-value]: the mask is the wrong way round
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output * (x < 0)


# %% wrong[upstream-nonlinear]: masks by the sign of the upstream gradient
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output.clamp(min=0)


# %% right: a copy is masked in place
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output = grad_output.clone()
        grad_output[x < 0] = 0
        return 2 * x.clamp(min=0) * grad_output


# %% right: torch.where
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, 2 * x * grad_output, 0.0)


# %% right: masked_fill makes a new tensor
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output = grad_output.masked_fill(x < 0, 0)
        return 2 * x.clamp(min=0) * grad_output


# %% right: relu squared
class Case07(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.relu().square()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0].relu() * 2)
