# %% wrong[shared-state]: as admitted, nothing changed
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        Case03.x = x
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        x = Case03.x
        return grad_output * (1 - x * x) / (1 + x * x) ** 2


# %% wrong[shared-state]: a dictionary on the class
class Case03(Function):
    kept = {}

    @staticmethod
    def forward(ctx, x):
        Case03.kept[tuple(x.shape)] = x
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        x = Case03.kept[tuple(grad_output.shape)]
        return grad_output * (1 - x * x) / (1 + x * x) ** 2


# %% wrong[gradient-value|shared-state]: a list, of which the first is taken
class Case03(Function):
    kept = []

    @staticmethod
    def forward(ctx, x):
        Case03.kept.append(x)
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        x = Case03.kept.pop(0)
        return grad_output * (1 - x * x) / (1 + x * x) ** 2


# %% wrong[saves-on-ctx]: x on ctx
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.x
        return grad_output * (1 - x * x) / (1 + x * x) ** 2


# %% wrong[shared-state]: a global variable
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        global kept_x
        kept_x = x
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        x = kept_x
        return grad_output * (1 - x * x) / (1 + x * x) ** 2


# %% wrong[shared-state|raises|saves-on-ctx]: what is on the class is dropped after use
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        Case03.x = x
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, Case03.x = Case03.x, None
        return grad_output * (1 - x * x) / (1 + x * x) ** 2


# %% wrong[shared-state]: the denominator on the class
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        Case03.denominator = 1 + x * x
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - x * x) / Case03.denominator**2


# %% wrong[gradient-value]: the square of the denominator is left out
# says: The denominator is 1 + x², and by the quotient rule it is the square of that.
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - x * x) / (1 + x * x)


# %% wrong[gradient-value]: a plus in the numerator
# says: The slope is taken to be 1 / (1 + x²), as if x stood in the numerator alone.
# next: x stands below the fraction bar as well: by the quotient rule the numerator is 1 − x².
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 + x * x) / (1 + x * x) ** 2


# %% wrong[gradient-value]: the output is saved, and read as x
# says: The slope is that at the output's value, not that at x.
# next: The formula is one of x.
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        y = x / (1 + x * x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - x * x) / (1 + x * x) ** 2


# %% wrong[double-backward-missing]: the slope is made in forward
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((1 - x * x) / (1 + x * x) ** 2)
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


# %% wrong[saves-too-much]: keeps the output as well
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        y = x / (1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, _ = ctx.saved_tensors
        return grad_output * (1 - x * x) / (1 + x * x) ** 2


# %% wrong[upstream-ignored]: the slope alone
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (1 - x * x) / (1 + x * x) ** 2 + 0 * grad_output


# %% right: by partial fractions
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        below = 1 / (1 + x * x)
        return grad_output * (2 * below * below - below)


# %% right: a slope from the output computed again
class Case03(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        y = x / (1 + x * x)
        return grad_output * (1 / (1 + x * x) - 2 * y * y)


# %% right: the setup_context form
class Case03(Function):
    @staticmethod
    def forward(x):
        return x / (x.square() + 1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        squares = ctx.saved_tensors[0].square()
        return (1 - squares) * grad_output / (1 + squares).square()
