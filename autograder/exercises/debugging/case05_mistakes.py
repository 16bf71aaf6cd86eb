# %% wrong[gradient-value]: as admitted, nothing changed
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = (y >= 0) & (y <= 1)
        return grad_output * inside / 6


# %% wrong[fails-special-point]: the bounds inside, asked of x
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x >= -3) & (x <= 3)
        return grad_output * inside / 6


# %% wrong[gradient-value]: the upper bound inside
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = (y > 0) & (y <= 1)
        return grad_output * inside / 6


# %% wrong[gradient-value]: the lower bound inside
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = (y >= 0) & (y < 1)
        return grad_output * inside / 6


# %% wrong[gradient-value]: bounds of the output, asked of x
# says: Only x between 0 and 1 has a gradient: those are the output's bounds.
# next: x/6 + 1/2 lies between 0 and 1 where x lies between −3 and 3.
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x > 0) & (x < 1)
        return grad_output * inside / 6


# %% wrong[gradient-value]: one bound alone
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = y > 0
        return grad_output * inside / 6


# %% wrong[gradient-value]: or where and is meant
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = (y > 0) | (y < 1)
        return grad_output * inside / 6


# %% wrong[gradient-scale]: forgets the sixth
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = (y > 0) & (y < 1)
        return grad_output * inside


# %% wrong[gradient-value]: inside and outside exchanged
# says: The gradient is 0 between the bounds, and passes beyond them: just the other way round.
# next: Between the bounds the output moves with x.
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = (y > 0) & (y < 1)
        return grad_output * ~inside / 6


# %% wrong[gradient-value]: the gradient where x is positive
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x > 0) & (x < 3)
        return grad_output * inside / 6


# %% wrong[saves-too-much]: keeps x and the output
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        _, y = ctx.saved_tensors
        inside = (y > 0) & (y < 1)
        return grad_output * inside / 6


# %% wrong[gradient-value]: the slope of a sigmoid
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = (y > 0) & (y < 1)
        return grad_output * inside * y * (1 - y)


# %% wrong[mutates-upstream]: zeros the upstream gradient in place
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = (y > 0) & (y < 1)
        grad_output[~inside] = 0
        return grad_output / 6


# %% right: asked of x
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = x.abs() < 3
        return grad_output * inside / 6


# %% right: a bool mask of what was not clamped
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x > -3).logical_and(x < 3))
        return torch.clamp((x + 3) / 6, 0, 1)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output / 6, 0.0)


# %% right: the product tells
class Case05(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = y * (1 - y) != 0
        return grad_output * inside / 6
