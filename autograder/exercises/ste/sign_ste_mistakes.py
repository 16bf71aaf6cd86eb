# %% wrong[gradient-zero]: the true derivative, zeros
# says: The gradient is zero everywhere: the true derivative of sign, from which nothing learns.
# next: The gradient is that of the surrogate which the contract states.
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)


# %% wrong[not-a-function]: lets torch differentiate its own op
class SignSTE:
    @staticmethod
    def apply(x):
        return torch.sign(x)


# %% wrong[not-a-function]: the one-liner with detach, without a Function
def SignSTE(x):
    return x + (torch.sign(x) - x).detach()


# %% wrong[gradient-zero]: multiplies by a derivative it believes in
# says: The gradient is zero everywhere: the true derivative of sign, from which nothing learns.
# next: The gradient is that of the surrogate which the contract states.
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 0


# %% wrong[gradient-missing]: returns None
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return None


# %% wrong[gradient-missing]: forgets the return
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        grad_x = grad_output


# %% wrong[forward-value]: returns x from forward
# says: The output is x itself: no sign is taken.
# next: Forward is torch.sign(x). Only backward pretends.
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[forward-value]: another function in forward
# says: The output is tanh(x), which is smooth.
# next: Forward is torch.sign(x).
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[forward-value|gradient-zero|gradient-value]: the forward trick inside forward, where grad mode is off
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sign(x)
        return y - x.detach() + x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[gradient-value]: clips by |x| as Binarize does
# says: The gradient passes only where |x| ≤ 1: that is the clipped estimator.
# next: SignSTE is the plain one. The clipped one is the next exercise, Binarize.
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[gradient-value]: multiplies by the output
# says: The gradient is multiplied by sign(x), the output.
# next: That reverses the gradient for every negative x. What is the slope of the surrogate?
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sign(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


# %% wrong[gradient-value]: multiplies by x
# says: The gradient is multiplied by x.
# next: The surrogate is y = x, and its slope is 1.
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x


# %% wrong[upstream-ignored]: a slope of 1 without the upstream gradient
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.ones_like(grad_output)


# %% wrong[upstream-nonlinear]: applies forward to the gradient too
# says: sign is applied to grad_output as well, so its size is lost.
# next: Only forward takes the sign; backward passes on what it gets.
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.sign(grad_output)


# %% wrong[upstream-nonlinear]: clamps the gradient to ±1
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-1, 1)


# %% wrong[gradient-sign]: a minus
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output


# %% wrong[gradient-scale]: half of it
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output / 2


# %% wrong[saves-too-much]: saves x, which nothing reads
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[saves-too-much]: saves the output, which nothing reads
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sign(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


# %% wrong[saves-on-ctx]: keeps x as an attribute
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.ones_like(ctx.x)


# %% wrong[double-backward-missing]: detaches the upstream gradient
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.detach()


# %% wrong[double-backward-missing]: .data of the upstream gradient
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.data.clone()


# %% wrong[double-backward-missing]: once_differentiable
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        return grad_output.clone()


# %% wrong[mutates-upstream]: multiplies the upstream gradient in place
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(1.0)


# %% wrong[mutates-input]: rounds x in place
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        x.data.sign_()
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[gradient-count]: a second gradient for no argument
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output


# %% wrong[raises]: reads a tensor that was not saved
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output


# %% wrong[gradient-dtype|fails-float32]: the gradient in double
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.double()


# %% wrong[gradient-dtype|fails-float32]: the gradient in float32
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.float()


# %% wrong[fails-noncontiguous|fails-expanded-upstream]: view of the upstream gradient
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.view(-1).view(grad_output.shape)


# %% wrong[gradient-shape|gradient-value|gradient-unsummed]: sums the gradient
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.sum()


# %% wrong[uses-autograd]: autograd of the surrogate inside backward
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            stand_in = x.detach().requires_grad_()
            return torch.autograd.grad(stand_in * 1, stand_in, grad_output)[0]


# %% right: passes the very tensor on
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% right: a clone
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


# %% right: times one, and an attribute that holds a number
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.slope = 1.0
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.slope * grad_output


# %% right: setup_context form
class SignSTE(Function):
    @staticmethod
    def forward(x):
        return torch.sign(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% right: asks needs_input_grad, returns a tuple
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        if not ctx.needs_input_grad[0]:
            return (None,)
        return (grad_output,)


# %% right: the sign of what is detached
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x.detach())

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% right: a wrapper function
class _Pass(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def vjp(ctx, grad_output):
        return grad_output


def SignSTE(x):
    return _Pass.apply(x)


# %% wrong[forward-value]: 0 or 1
# says: The output is 0 or 1, not −1 or 1.
# next: torch.sign gives −1, 0 and 1.
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[fails-special-point]: +1 at 0
# says: 0 counts as positive and gives 1; sign has a value of its own for it.
# next: A comparison has two results, but the sign has three values.
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[forward-dtype]: an integer sign
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x).long()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[forward-dtype]: torch.where with Python numbers gives float32
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x > 0, 1.0, torch.where(x < 0, -1.0, 0.0))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[fails-special-point]: x / |x| is nan at 0
# says: At x = 0 the output is nan: 0 / 0.
# next: sign has a value of its own at 0, and x / |x| has none.
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return x / x.abs()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% right: a difference of two masks
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return 1.0 * grad_output


# %% wrong[forward-unstable]: the detour x + (sign(x) - x), which rounds where x is large
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        step = x.sign() - x
        return x + step

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


# %% wrong[mutates-input]: detach is taken for a copy
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        values = x.detach()
        values[x > 0], values[x < 0] = 1, -1
        return values.clone()

    @staticmethod
    def backward(ctx, g):
        return g.clone()


# %% wrong[fails-special-point]: x / |x|, which has no value at infinity
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x == 0, 0.0, x / x.abs())

    @staticmethod
    def backward(ctx, g):
        return g.clone()
