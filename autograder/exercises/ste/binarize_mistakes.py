# %% wrong[gradient-zero]: the true derivative, zeros
# says: The gradient is zero everywhere: the true derivative of a step, from which nothing learns.
# next: The gradient is that of the surrogate which the contract states.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)


# %% wrong[gradient-value]: passes everywhere
# says: The gradient passes everywhere: that is the plain estimator of SignSTE.
# next: Where |x| > 1 the clipped estimator stops it.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% wrong[gradient-value]: the mask inverted
# says: The gradient passes where |x| > 1 and stops inside: the mask is inverted.
# next: Read once more where the clipped estimator lets the gradient pass.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() > 1)


# %% wrong[gradient-value]: bounded above only
# says: The gradient stops above 1, but not below −1.
# next: The bound is one for |x|.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x <= 1)


# %% wrong[gradient-value]: bounded below only
# says: The gradient stops below −1, but not above 1.
# next: The bound is one for |x|.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x >= -1)


# %% wrong[gradient-value]: only between 0 and 1
# says: The gradient passes only where x lies between 0 and 1.
# next: The surrogate has the same slope for x and −x.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ((x >= 0) & (x <= 1))


# %% wrong[gradient-value|upstream-nonlinear]: clamps the gradient in place of the mask
# says: grad_output is clamped to ±1; it should stop where |x| is above 1, and pass unchanged elsewhere.
# next: Which tensor does the contract compare with 1?
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-1, 1)


# %% wrong[gradient-value|upstream-nonlinear]: the mask looks at the gradient
# says: The mask looks at grad_output; it should look at x.
# next: Where |x| > 1 the gradient stops, so backward has to know x, or a mask of it.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (grad_output.abs() <= 1)


# %% wrong[gradient-value]: masks with the output, which is always ±1
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (y.abs() <= 1)


# %% wrong[gradient-value]: multiplies by the sign too
# says: The gradient is multiplied by the output ±1.
# next: The slope of the surrogate is 1 inside, not the sign of x.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sign(x) * (x.abs() <= 1)


# %% wrong[gradient-value]: multiplies by the clamped x
# says: The gradient is multiplied by the clamped x.
# next: The slope of clamp is 1 inside and 0 outside, whatever its value.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.clamp(-1, 1)


# %% wrong[gradient-value]: the slope of tanh
# says: The gradient is multiplied by the slope of tanh, a smooth surrogate.
# next: That is a fair choice elsewhere. Here the contract is clamp: slope 1 inside, 0 outside.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - torch.tanh(x) ** 2)


# %% wrong[fails-special-point]: < where <= belongs
# says: At x = ±1 the gradient stops already, as with |x| < 1.
# next: Does the contract count ±1 as inside or outside?
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() < 1)


# %% wrong[fails-special-point]: torch.sign: 0 at 0
# says: x = 0 gives 0, the third value of torch.sign; it should give +1.
# next: Binarize has two values, and 0 belongs to +1.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[fails-special-point]: -1 at 0
# says: x = 0 gives −1; it should give +1.
# next: 0 belongs to +1, and so does −0.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[forward-value]: 0 or 1
# says: The output is 0 or 1, not −1 or +1.
# next: Which two values does the contract name?
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[forward-value]: the surrogate as forward
# says: The output is clamp(x, −1, 1): that is the surrogate, not the forward.
# next: Forward gives one of two values. Only backward pretends it was the clamp.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[forward-dtype]: torch.where with Python numbers gives float32
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[forward-dtype]: a bool
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x >= 0

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[gradient-sign]: a minus
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * (x.abs() <= 1)


# %% wrong[gradient-scale]: half of it
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1) / 2


# %% wrong[upstream-ignored]: the mask alone
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (x.abs() <= 1).to(x.dtype)


# %% wrong[gradient-missing]: forgets the return
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = grad_output * (x.abs() <= 1)


# %% wrong[saves-too-much]: x and the output
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[saves-on-ctx]: x as an attribute
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.x.abs() <= 1)


# %% wrong[shared-state]: the mask on the class
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        Binarize.mask = x.abs() <= 1
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * Binarize.mask


# %% wrong[mutates-upstream]: zeroes the upstream gradient in place
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x.abs() > 1] = 0
        return grad_output


# %% wrong[mutates-saved]: clamps the saved x in place
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = x.abs() <= 1
        x.clamp_(-1, 1)
        return grad_output * inside


# %% wrong[mutates-input]: clamps the weights in forward
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        x.data.clamp_(-1, 1)
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[fails-half|gradient-dtype|fails-float32]: the mask as a float
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1).double()


# %% wrong[fails-half]: the mask as a float32
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1).float()


# %% wrong[double-backward-missing]: .data of the upstream gradient
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.data * (x.abs() <= 1)


# %% wrong[double-backward-missing]: no_grad in backward
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        with torch.no_grad():
            (x,) = ctx.saved_tensors
            return grad_output * (x.abs() <= 1)


# %% wrong[uses-autograd]: autograd of the clamp
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            z = x.detach().requires_grad_()
            return torch.autograd.grad(z.clamp(-1, 1), z, grad_output)[0]


# %% wrong[raises]: saved_tensors not unpacked
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[raises]: and in place of &
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x >= -1 and x <= 1)


# %% wrong[fails-device]: ones made on the CPU
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        one = torch.ones(x.shape, dtype=x.dtype)
        return torch.where(x >= 0, one, -one)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[fails-empty]: asks for the largest value
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.all_inside = bool(x.abs().max() <= 1)
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output if ctx.all_inside else grad_output * (x.abs() <= 1)


# %% right: keeps x
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% right: keeps a bool mask
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.abs() <= 1)
        return 2 * (x >= 0).to(x.dtype) - 1

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0.0)


# %% right: masked_fill, two comparisons
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.masked_fill((x < -1) | (x > 1), 0)


# %% right: sign, mended at 0
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = torch.sign(x)
        y[y == 0] = 1
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.ge(-1) * x.le(1)


# %% right: setup_context form
class Binarize(Function):
    @staticmethod
    def forward(x):
        return torch.where(x < 0, -1.0, 1.0).to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1).to(grad_output.dtype)


# %% wrong[saves-on-ctx]: the mask as a private attribute
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.inside = x.abs() <= 1
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.inside


# %% right: hint 3, word for word
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x.abs() <= 1, grad_output, 0.0)


# %% wrong[forward-dtype]: whole numbers in torch.where give int64
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1, -1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


# %% wrong[fails-special-point|forward-value]: sign plus 1e-9
# says: Just below 0 the output is +1; it should be −1.
# next: Binarize has two values: +1 from x = 0 on, −1 below, however near.
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x + 1e-9)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.where(x.abs() <= 1, g, 0.0)


# %% wrong[double-backward-missing]: where everything passes, grad_output goes on without its history
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.abs() > 1)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (outside,) = ctx.saved_tensors
        if not outside.any():
            return grad_output.detach().clone()
        return grad_output.masked_fill(outside, 0)


# %% wrong[fails-special-point]: sign of x + eps, so that nothing is 0
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x + torch.finfo(x.dtype).eps).sign()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x.abs() <= 1, grad_output, 0)
