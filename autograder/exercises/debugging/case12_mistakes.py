# %% wrong[double-backward-missing]: as admitted, nothing changed
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        with torch.no_grad():  # backward is not trained
            x, y = ctx.saved_tensors
            slope = x / y
        return grad_output * slope


# %% wrong[double-backward-value|double-backward-missing]: x and y are detached
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * x.detach() / y.detach()


# %% wrong[double-backward-value]: x is detached
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * x.detach() / y


# %% wrong[double-backward-value]: x.data
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * x.data / y


# %% wrong[double-backward-value]: the output is detached
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * x / y.detach()


# %% wrong[double-backward-missing]: no_grad around everything
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        with torch.no_grad():
            x, y = ctx.saved_tensors
            return grad_output * x / y


# %% wrong[double-backward-missing]: saves the slope
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x / y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


# %% wrong[double-backward-value]: an intermediate, the square
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        square = 1 + x * x
        y = torch.sqrt(square)
        ctx.save_for_backward(x, square)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, square = ctx.saved_tensors
        return grad_output * x / square.sqrt()


# %% wrong[double-backward-missing]: once_differentiable
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * x / y


# %% wrong[double-backward-missing]: refuses
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("no second derivative")
        x, y = ctx.saved_tensors
        return grad_output * x / y


# %% wrong[gradient-value]: the slope upside down
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * y / x


# %% wrong[gradient-value|gradient-scale]: the half of the root is kept
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * x / (2 * y)


# %% wrong[gradient-value]: divides by the square
# says: x is divided by 1 + x² where its root belongs.
# next: The derivative of √u is 1 / (2√u).
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * x / y**2


# %% wrong[saves-too-much]: keeps three tensors
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y, x * x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y, _ = ctx.saved_tensors
        return grad_output * x / y


# %% right: keeps x alone
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sqrt(1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x * torch.rsqrt(1 + x * x)


# %% right: enable_grad changes nothing
class Case12(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        slope = x / y
        return slope * grad_output


# %% right: the setup_context form
class Case12(Function):
    @staticmethod
    def forward(x):
        return (x * x + 1) ** 0.5

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return x / y * grad_output
