# %% wrong[gradient-zero]: the true derivative, zeros
# says: The gradient is zero everywhere: the true derivative of a staircase, from which nothing learns.
# next: The gradient is that of the surrogate which the contract states.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)


# %% wrong[not-a-function]: lets torch differentiate its own op
class RoundSTE:
    @staticmethod
    def apply(x):
        return torch.round(x)


# %% wrong[not-a-function]: the one-liner with detach, without a Function
def RoundSTE(x):
    return x + (torch.round(x) - x).detach()


# %% wrong[gradient-zero]: multiplies by a derivative it believes in
# says: The gradient is zero everywhere: the true derivative of a staircase, from which nothing learns.
# next: The gradient is that of the surrogate which the contract states.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 0


# %% wrong[gradient-missing]: returns None
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return None


# %% wrong[gradient-missing]: forgets the return
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        grad_x = grad_output


# %% wrong[forward-value]: returns x from forward
# says: The output is x itself: nothing is rounded.
# next: Forward really rounds; only backward pretends.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[forward-value]: another function in forward
# says: The output is floor(x): always down.
# next: The exercise asks for the nearest whole number.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.floor(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[forward-value|gradient-zero|gradient-value]: the forward trick inside forward, where grad mode is off
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.round(x)
        return y - x.detach() + x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[gradient-value]: clips by |x| as Binarize does
# says: The gradient passes only where |x| ≤ 1, as in Binarize.
# next: Rounding has no range: every x can move to the next step.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[gradient-value]: multiplies by the output
# says: The gradient is multiplied by round(x), the output.
# next: The surrogate is y = x, and its slope is 1.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.round(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


# %% wrong[gradient-value]: multiplies by x
# says: The gradient is multiplied by x.
# next: The surrogate is y = x, and its slope is 1.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x


# %% wrong[upstream-ignored]: a slope of 1 without the upstream gradient
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.ones_like(grad_output)


# %% wrong[upstream-nonlinear]: applies forward to the gradient too
# says: The gradient is rounded as well.
# next: Only forward rounds; backward passes on what it gets.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.round(grad_output)


# %% wrong[upstream-nonlinear]: clamps the gradient to ±1
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-1, 1)


# %% wrong[gradient-sign]: a minus
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output


# %% wrong[gradient-scale]: half of it
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output / 2


# %% wrong[saves-too-much]: saves x, which nothing reads
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[saves-too-much]: saves the output, which nothing reads
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.round(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


# %% wrong[saves-on-ctx]: keeps x as an attribute
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.ones_like(ctx.x)


# %% wrong[double-backward-missing]: detaches the upstream gradient
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.detach()


# %% wrong[double-backward-missing]: .data of the upstream gradient
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.data.clone()


# %% wrong[double-backward-missing]: once_differentiable
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        return grad_output.clone()


# %% wrong[mutates-upstream]: multiplies the upstream gradient in place
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(1.0)


# %% wrong[mutates-input]: rounds x in place
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        x.data.round_()
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[gradient-count]: a second gradient for no argument
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output


# %% wrong[raises]: reads a tensor that was not saved
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output


# %% wrong[gradient-dtype|fails-float32]: the gradient in double
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.double()


# %% wrong[gradient-dtype|fails-float32]: the gradient in float32
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.float()


# %% wrong[fails-noncontiguous|fails-expanded-upstream]: view of the upstream gradient
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.view(-1).view(grad_output.shape)


# %% wrong[gradient-shape|gradient-value|gradient-unsummed]: sums the gradient
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.sum()


# %% wrong[uses-autograd]: autograd of the surrogate inside backward
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            stand_in = x.detach().requires_grad_()
            return torch.autograd.grad(stand_in * 1, stand_in, grad_output)[0]


# %% right: passes the very tensor on
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% right: a clone
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


# %% right: times one, and an attribute that holds a number
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.slope = 1.0
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.slope * grad_output


# %% right: setup_context form
class RoundSTE(Function):
    @staticmethod
    def forward(x):
        return torch.round(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% right: asks needs_input_grad, returns a tuple
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        if not ctx.needs_input_grad[0]:
            return (None,)
        return (grad_output,)


# %% right: forward with the detach idiom, value unchanged
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return x.detach() * 0 + torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% right: a wrapper function
class _Pass(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def vjp(ctx, grad_output):
        return grad_output


def RoundSTE(x):
    return _Pass.apply(x)


# %% wrong[fails-special-point]: floor(x + 0.5) rounds halves up
# says: Halves all go up, as with floor(x + 0.5); they should go to the even neighbour.
# next: torch.round sends halves to the even neighbour: 0.5 to 0, 1.5 to 2.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.floor(x + 0.5)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[forward-value]: cuts off towards zero
# says: The output is cut off towards zero (int() and trunc do that).
# next: The exercise asks for the nearest whole number.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.trunc(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[forward-value|forward-dtype]: int() and back
# says: The output is cut off towards zero (int() and trunc do that).
# next: The exercise asks for the nearest whole number.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return x.long().to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[forward-value]: one decimal too many
# says: The output is x rounded to one decimal.
# next: torch.round goes to whole numbers.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x, decimals=1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[forward-value]: always up
# says: The output is ceil(x): always up.
# next: The exercise asks for the nearest whole number.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.ceil(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% right: x minus its rounding error
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return x - (x - torch.round(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[gradient-value]: the slope of a smooth staircase
# says: The slope changes with x: that of another surrogate, a smooth staircase.
# next: The surrogate is y = x, and its slope is 1.
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(torch.sin(torch.pi * x))
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        (wave,) = ctx.saved_tensors
        return grad_output * (0.25 + 1.5 * wave * wave)


# %% wrong[forward-dtype]: whole numbers stay whole numbers
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return x.round().int()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


# %% wrong[fails-special-point]: no gradient where x lies between two whole numbers
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.middle = ((x - x.floor()) == 0.5).flatten().tolist()
        return x.round()

    @staticmethod
    def backward(ctx, g):
        stop = torch.tensor(ctx.middle, dtype=torch.bool, device=g.device).reshape(g.shape)
        return g.masked_fill(stop, 0)


# %% wrong[forward-unstable]: adds a number so large that the places behind the point are lost
class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        large = 1.5 / torch.finfo(x.dtype).eps
        return torch.where(x.abs() < large, (x + large) - large, x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
