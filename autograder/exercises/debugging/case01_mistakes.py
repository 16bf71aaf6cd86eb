# %% wrong[gradient-count]: as admitted, nothing changed
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_b


# %% wrong[gradient-count]: None in the place of b, b in that of t
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_a, None, grad_b


# %% wrong[gradient-count]: a None for ctx as well
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return None, grad_a, grad_b, None


# %% wrong[gradient-swapped|gradient-value]: the two gradients in the other order
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_b, grad_a, None


# %% wrong[gradient-count]: a 0 for t
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_b, 0.0


# %% wrong[gradient-count]: a tensor for t
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_b, grad_output.sum()


# %% wrong[gradient-scale|gradient-value]: t where 1 − t belongs
# says: a gets t of the gradient, as b does; a counts for 1 − t of the output.
# next: At t = 0 the output is a: how much of the gradient belongs to a there?
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = ctx.t * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_b, None


# %% wrong[gradient-value|gradient-scale]: all of the gradient to a
# says: a gets the whole gradient: that a stands in the difference b − a as well is left out.
# next: a occurs twice in a + t · (b − a). Add what comes from both.
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_b, None


# %% wrong[gradient-sign|gradient-value|gradient-scale]: only the difference counts for a
# says: a gets −t of the gradient: that a stands in front of the sum as well is left out.
# next: a occurs twice in a + t · (b − a). Add what comes from both.
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = -ctx.t * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_b, None


# %% wrong[upstream-ignored]: the slopes alone
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = torch.full_like(grad_output, 1 - ctx.t) if ctx.needs_input_grad[0] else None
        grad_b = torch.full_like(grad_output, ctx.t) if ctx.needs_input_grad[1] else None
        return grad_a, grad_b, None


# %% wrong[saves-too-much]: keeps a and b
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        ctx.save_for_backward(a, b)
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_b, None


# %% wrong[gradient-missing|fails-special-point|ignores-needs-input-grad]: no gradient where t is 0 or 1
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_b if ctx.t < 1 else None, None


# %% wrong[ignores-needs-input-grad]: both gradients, whoever asks
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output
        grad_b = ctx.t * grad_output
        return grad_a, grad_b, None


# %% wrong[mutates-upstream]: scales the upstream gradient in place
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = grad_output.mul_(ctx.t) if ctx.needs_input_grad[1] else None
        return grad_a, grad_b, None


# %% right: grads in a list by place
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.shares = 1 - t, t
        return (1 - t) * a + t * b

    @staticmethod
    def backward(ctx, grad_output):
        asked = zip(ctx.shares, ctx.needs_input_grad, strict=False)
        return *(share * grad_output if needed else None for share, needed in asked), None


# %% right: torch.lerp, and what is left
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return torch.lerp(a, b, t)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = grad_b = None
        if ctx.needs_input_grad[1]:
            grad_b = grad_output * ctx.t
        if ctx.needs_input_grad[0]:
            grad_a = grad_output - grad_output * ctx.t
        return grad_a, grad_b, None


# %% right: the setup_context form
class Case01(Function):
    @staticmethod
    def forward(a, b, t):
        return a + t * (b - a)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.t = inputs[2]

    @staticmethod
    def backward(ctx, grad_output):
        needs_a, needs_b, _ = ctx.needs_input_grad
        return (1 - ctx.t) * grad_output if needs_a else None, ctx.t * grad_output if needs_b else None, None


# %% right: one None more than there are arguments
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_b, None, None
