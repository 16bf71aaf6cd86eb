# %% wrong[double-backward-value|double-backward-missing]: saves a second exp(x), which is an intermediate
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(torch.exp(x))
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


# %% wrong[double-backward-value|double-backward-missing]: saves a clone of the output
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y.clone())
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


# %% wrong[double-backward-value|double-backward-missing]: saves y and returns a clone of it
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y.clone()

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


# %% wrong[double-backward-value|double-backward-missing]: detaches the saved output
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y = ctx.saved_tensors[0].detach()
        return grad_output * y


# %% wrong[saves-on-ctx]: the output as an attribute, a reference cycle
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = torch.exp(x)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.y


# %% wrong[gradient-value]: saves x and uses it as if it were y
# says: The gradient is grad_output · x: what was saved is the input, not the output.
# next: The slope of eˣ is eˣ itself: compare it with what multiplies grad_output.
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


# %% wrong[gradient-value]: exp of the output
# says: exp is applied twice: what was saved is y already.
# next: The slope needs the function applied to x once: the output is that already.
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.exp(x)


# %% wrong[gradient-value]: the power rule
# says: The gradient is that of x · eˣ⁻¹: the rule for xⁿ, applied to an exponential.
# next: In eˣ the variable is the exponent: its derivative is eˣ.
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x * torch.exp(x - 1)


# %% wrong[gradient-sign]: a minus that belongs to exp(-x)
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -grad_output * y


# %% wrong[forward-value]: exp(-x)
# says: The output is e⁻ˣ: the sign of the exponent is wrong.
# next: eˣ grows with x.
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(-x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -grad_output * y


# %% wrong[upstream-ignored]: returns y alone
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y


# %% wrong[saves-too-much]: input and output
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        _, y = ctx.saved_tensors
        return grad_output * y


# %% wrong[mutates-saved|mutates-upstream]: multiplies the saved output in place
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y.mul_(grad_output)


# %% wrong[mutates-upstream]: multiplies grad_output in place
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output.mul_(y)


# %% wrong[higher-derivative]: a second Function for the slope that keeps an intermediate
class Slope(Function):
    @staticmethod
    def forward(ctx, y, grad_output):
        slope = grad_output * y
        ctx.save_for_backward(y.clone(), grad_output.clone())
        return slope

    @staticmethod
    def backward(ctx, grad):
        y, grad_output = ctx.saved_tensors
        return grad * grad_output, grad * y


class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return Slope.apply(y, grad_output)


# %% right: the output is saved
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


# %% right: setup_context
class MyExp(Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * grad_output


# %% right: the input is saved and exp computed again
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.exp(x)


# %% right: backward calls MyExp itself
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * MyExp.apply(x)


# %% wrong[forward-value]: e typed from memory, with five digits
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.pow(torch.full_like(x, 2.7183), x)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (out,) = ctx.saved_tensors
        return out * grad_output


# %% wrong[double-backward-missing|double-backward-value]: flat inside, and only what is returned has a shape
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        flat = x.flatten().exp()
        ctx.save_for_backward(flat)
        return flat.view(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (flat,) = ctx.saved_tensors
        return flat.view(grad_output.shape) * grad_output


# %% wrong[double-backward-missing|double-backward-value]: a flat view of x is saved
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.reshape(-1))
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (flat,) = ctx.saved_tensors
        return grad_output * torch.exp(flat).reshape(grad_output.shape)


# %% wrong[forward-unstable]: expm1 + 1, which is 0 where e^x is tiny
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.expm1(x) + 1
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y
