# %% wrong[upstream-ignored]: returns the local slope only
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 1 - y**2


# %% wrong[gradient-value]: the square is missing
# says: The gradient is that of 1 − y: the square is missing.
# next: The slope of tanh is an even function: it is the same at x and −x.
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y)


# %% wrong[gradient-value]: copied from the sigmoid
# says: The slope is taken to be y · (1 − y), which is that of the sigmoid.
# next: At x = 0 tanh rises with slope 1, and y · (1 − y) is 0 there.
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[gradient-value]: saves the input and squares that
# says: The gradient is that of 1 − x²: the formula of the output, applied to the input.
# next: In 1 − y², y is tanh(x), the output of forward.
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - x**2)


# %% wrong[upstream-nonlinear|gradient-value]: adds the upstream gradient
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output + (1 - y * y)


# %% wrong[gradient-value]: brackets forgotten, g·1 - y²
# says: The gradient is grad_output − y²: grad_output multiplies only the 1, not y².
# next: grad_output multiplies the whole slope, 1 − y².
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * 1 - y * y


# %% wrong[gradient-sign]: y² - 1
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (y * y - 1)


# %% wrong[gradient-scale]: half the slope
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 0.5 * grad_output * (1 - y * y)


# %% wrong[upstream-nonlinear]: uses the size of the upstream gradient only
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output.abs() * (1 - y * y)


# %% wrong[gradient-missing]: computes the gradient but returns nothing
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        grad_output * (1 - y * y)


# %% wrong[raises]: unpacks two tensors where one was saved
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong[raises]: a misspelt attribute
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensor
        return grad_output * (1 - y * y)


# %% wrong[raises]: forgets to save anything
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong[raises]: backward takes no upstream gradient
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx):
        (y,) = ctx.saved_tensors
        return 1 - y * y


# %% wrong[forward-value]: forward gives nothing back
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong[gradient-count]: a second gradient that no argument asked for
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        grad = grad_output * (1 - y * y)
        return grad, grad


# %% wrong[gradient-shape]: the mean of the gradient
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return (grad_output * (1 - y * y)).mean()


# %% wrong[forward-value]: 2σ(x) - 1 lacks the 2 inside
# says: The output is 2σ(x) − 1, which is tanh(x/2).
# next: tanh is twice as steep at 0: where is a 2 missing?
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = 2 * torch.sigmoid(x) - 1
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong[forward-value]: the wrong function
# says: The output is arctan x, not tanh x.
# next: tanh levels off at ±1; arctan levels off at ±π/2.
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.atan(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong[forward-unstable]: (eˣ - e⁻ˣ) / (eˣ + e⁻ˣ) is inf / inf at 1000
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        a, b = torch.exp(x), torch.exp(-x)
        y = (a - b) / (a + b)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong[gradient-unstable]: 1 - (sinh/cosh)² is inf / inf at 1000
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - (torch.sinh(x) / torch.cosh(x)) ** 2)


# %% wrong[forward-dtype|fails-float32]: a double result for every input
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x.to(torch.float64))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong[gradient-value|gradient-dtype|double-backward-value]: keeps the output in half precision to save memory
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y.half())
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        y = y.to(grad_output.dtype)
        return grad_output * (1 - y * y)


# %% wrong[gradient-dtype]: float32 however precise the input
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return (grad_output * (1 - y * y)).float()


# %% wrong[saves-too-much]: keeps input, output and slope
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(x, y, 1 - y * y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y, slope = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong[saves-on-ctx]: keeps the input as an attribute
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (1 - torch.tanh(ctx.x) ** 2)


# %% wrong[shared-state]: keeps the output in a global list
outputs = []


class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        outputs.append(torch.tanh(x))
        return outputs[-1]

    @staticmethod
    def backward(ctx, grad_output):
        y = outputs[-1]
        return grad_output * (1 - y * y)


# %% wrong[double-backward-missing|double-backward-value]: saves the slope, an intermediate
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(1 - y * y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


# %% wrong[double-backward-missing|double-backward-value]: a slope kept as an attribute
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.slope = 1 - y * y
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.slope


# %% wrong[double-backward-missing|double-backward-value]: detaches the saved output in backward
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y = ctx.saved_tensors[0].detach()
        return grad_output * (1 - y * y)


# %% wrong[double-backward-missing]: once_differentiable
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong[mutates-upstream]: multiplies grad_output in place
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output.mul_(1 - y * y)


# %% wrong[mutates-saved]: squares the saved output in place
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y.pow_(2))


# %% wrong[mutates-input]: tanh in place
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.tanh_()
        ctx.save_for_backward(y)
        return y.clone()

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong[fails-expanded-upstream|fails-noncontiguous]: view of the upstream gradient
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        g = grad_output.view(y.numel())
        return (g * (1 - y.flatten() ** 2)).view(y.shape)


# %% wrong[uses-autograd|uses-builtin]: torch's own backward kernel
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(grad_output, y)


# %% wrong[uses-autograd]: torch.func inside backward
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        _, pull_back = torch.func.vjp(torch.tanh, x)
        return pull_back(grad_output)[0]


# %% wrong[finite-differences]: a forward difference
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        eps = 1e-7
        return grad_output * (torch.tanh(x + eps) - torch.tanh(x - eps)) / (2 * eps)


# %% right: setup_context form
class MyTanh(Function):
    @staticmethod
    def forward(x):
        return x.tanh()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - grad_output * y**2


# %% right: keeps the input and computes tanh again
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - torch.tanh(x).square())


# %% right: through the sigmoid, and (1 - y)(1 + y)
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = 2 * torch.sigmoid(2 * x) - 1
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y) * (1 + y)


# %% right: a stable formula with expm1, sign and abs
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        e = torch.expm1(-2 * x.abs())
        y = -torch.sign(x) * e / (e + 2)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.addcmul(grad_output, grad_output * y, y, value=-1)


# %% right: prints, warns and returns a tuple
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        import warnings

        warnings.warn("tanh saturates", stacklevel=1)
        y = torch.tanh(x)
        print("y:", y.shape)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        print("g:", grad_output.shape)
        return (grad_output * (1 - y * y),)


# %% right: a bool mask for the saturated part
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        saturated = y.abs() == 1
        return torch.where(saturated, 0.0, grad_output * (1 - y * y))


# %% right: a wrapper, with names of its own
class TanhFunction(Function):
    @staticmethod
    def forward(ctx, values):
        y = torch.tanh(values)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, upstream):
        if not ctx.needs_input_grad[0]:
            return None
        (y,) = ctx.saved_tensors
        return upstream * (1 - y * y)


def MyTanh(x):
    return TanhFunction.apply(x)


# %% wrong[double-backward-value]: 1 / cosh² is 0 at 1000, and its derivative 0 · inf
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        return grad_output / torch.cosh(x).square()


# %% wrong[gradient-value]: the square belongs to y alone, not to 1 − y
# says: The slope is taken to be (1 − y)²: the square belongs to y alone.
# next: The slope of tanh is an even function: it is the same at x and −x.
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        rest = 1 - y
        return grad_output * rest.square()


# %% wrong[forward-value]: a two in front of the sigmoid, the one is never taken off
# says: The output is 2σ(2x): the 1 is never subtracted.
# next: tanh(0) is 0.
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = 2 * torch.sigmoid(2 * x)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        t = torch.tanh(x)
        return grad_output * (1 - t * t)


# %% wrong[mutates-saved]: spares a tensor by writing over the saved output
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.tanh()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        y *= -y
        return g + g * y


# %% wrong[double-backward-missing]: returns a contiguous copy and saves what it copied
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.tanh()
        ctx.save_for_backward(y)
        return y.contiguous()

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - grad_output * y * y
