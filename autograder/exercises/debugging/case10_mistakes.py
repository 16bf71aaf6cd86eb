# %% wrong[mutates-input]: as admitted, nothing changed
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        if x.requires_grad:
            x.register_hook(lambda gradient: alpha * gradient)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


# %% wrong[mutates-input]: a hook, and alpha in backward too
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        if x.requires_grad:
            x.register_hook(lambda gradient: alpha * gradient)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.alpha * grad_output, None


# %% wrong[mutates-input]: the hook of the call before is removed, the last one stays
class Case10(Function):
    hook = None

    @staticmethod
    def forward(ctx, x, alpha):
        if x.requires_grad:
            if Case10.hook is not None:
                Case10.hook.remove()
            Case10.hook = x.register_hook(lambda gradient: alpha * gradient)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


# %% wrong[gradient-value|upstream-ignored|gradient-scale]: no hook, and no alpha
# says: The gradient goes through as it came: alpha is left out.
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


# %% wrong[gradient-scale|gradient-value]: alpha twice
# says: The gradient is multiplied by alpha twice.
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.alpha**2 * grad_output, None


# %% wrong[gradient-value|gradient-scale|fails-special-point|gradient-unstable]: divides by alpha
# says: The gradient is divided by alpha; it should be multiplied.
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output / ctx.alpha, None


# %% wrong[gradient-sign]: alpha with a minus
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% wrong[gradient-count]: no None for alpha
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.alpha * grad_output


# %% wrong[forward-value]: scales forward, too
# says: The output is multiplied by alpha as well: forward should leave the values as they are.
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return alpha * x

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.alpha * grad_output, None


# %% wrong[shared-state]: alpha on the class
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        Case10.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return Case10.alpha * grad_output, None


# %% wrong[mutates-upstream]: scales in place
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(ctx.alpha), None


# %% wrong[saves-too-much]: keeps x
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.alpha * grad_output, None


# %% wrong[fails-special-point|gradient-missing]: no gradient for alpha = 0
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.alpha * grad_output if ctx.alpha else None, None


# %% wrong[upstream-ignored]: alpha alone
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.full_like(grad_output, ctx.alpha), None


# %% right: a view of x
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.alpha * grad_output, None


# %% right: the order of the factors
class Case10(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.mul(grad_output, ctx.alpha), None


# %% right: the setup_context form
class Case10(Function):
    @staticmethod
    def forward(x, alpha):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.alpha = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.alpha, None
