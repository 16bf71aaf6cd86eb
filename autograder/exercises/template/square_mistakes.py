# %% wrong[upstream-ignored]: returns the local derivative only
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x


# %% wrong[gradient-scale]: forgets the factor 2
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return x * grad_output


# %% wrong[gradient-scale]: averages over the elements, as if the loss were a mean
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output / x.numel()


# %% wrong[gradient-value]: forgets x
# says: The gradient is 2 · grad_output: x is missing from it.
# next: The derivative of x² is not a constant: it grows with x.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


# %% wrong[gradient-value]: saves the output and uses it as if it were the input
# says: The gradient is 2 · x² · grad_output: the output is used instead of the input.
# next: The derivative of x² depends on x itself, not on its square.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[gradient-value]: takes x back from the output, and loses its sign
# says: The gradient is 2 · |x| · grad_output: the sign of x is lost.
# next: A square root of the output has lost the sign of x: the derivative needs x itself.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 2 * torch.sqrt(y) * grad_output


# %% wrong[gradient-value]: multiplies by the value in place of the derivative
# says: The gradient is x² · grad_output: that is the value, not the derivative.
# next: How fast does x² change when x does? Differentiate first, then multiply.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * grad_output


# %% wrong[gradient-value|upstream-nonlinear]: adds where the chain rule multiplies
# says: The gradient is 2 · x + grad_output: the chain rule multiplies, it does not add.
# next: How does the chain rule combine the upstream gradient with the local derivative?
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x + grad_output


# %% wrong[upstream-nonlinear]: clamps the upstream gradient "to keep it stable"
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output.clamp(-1, 1)


# %% wrong[upstream-nonlinear]: squares the upstream gradient as well
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output**2


# %% wrong[gradient-sign]: a minus too many
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -2 * x * grad_output


# %% wrong[gradient-missing]: forgets to return
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = 2 * x * grad_output


# %% wrong[gradient-zero]: returns the zeros it has made room with
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = torch.zeros_like(x)
        grad_x + 2 * x * grad_output
        return grad_x


# %% wrong[gradient-shape]: sums the gradient to one number
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (2 * x * grad_output).sum()


# %% wrong[gradient-dtype]: casts the gradient to float32
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (2 * x * grad_output).float()


# %% wrong[gradient-count]: returns a second gradient, for ctx
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return None, 2 * x * grad_output


# %% wrong[forward-value]: the derivative in forward
# says: The output is 2x: that is the derivative, not the value.
# next: forward computes x², backward uses the derivative.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[forward-value]: forgets to return in forward
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[forward-shape]: sums the squares
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[raises|forward-shape]: a matrix product in place of the element-wise one
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x @ x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[forward-dtype]: works in float32 whatever comes
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        x = x.float()
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[raises]: does not unpack the tuple
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[raises]: forgets to save
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[raises]: a name that does not exist on ctx
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.x * grad_output


# %% wrong[raises]: reads the tensor of forward without ctx
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * x * grad_output


# %% wrong[raises]: forward without ctx
class Square(Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[raises]: backward without grad_output
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx):
        (x,) = ctx.saved_tensors
        return 2 * x


# %% wrong[raises]: reads saved_tensors in forward
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        (x,) = ctx.saved_tensors
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[raises]: saves the exponent with the tensor
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, 2)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        x, n = ctx.saved_tensors
        return n * x * grad_output


# %% wrong[raises]: the stub, untouched
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        # YOUR CODE HERE
        raise NotImplementedError()

    @staticmethod
    def backward(ctx, grad_output):
        # YOUR CODE HERE
        raise NotImplementedError()


# %% wrong[raises]: backward left as it was
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        # YOUR CODE HERE
        raise NotImplementedError()


# %% wrong[not-a-function]: an ordinary function that autograd differentiates
def Square(x):
    return x * x


# %% wrong[not-a-function]: a module
class Square(torch.nn.Module):
    def forward(self, x):
        return x * x


# %% wrong[not-a-function]: a wrapper that calls forward and not apply
class _Square(Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


def Square(x):
    return _Square.forward(None, x)


# %% wrong[saves-on-ctx]: the input as an attribute
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.x * grad_output


# %% wrong[saves-on-ctx]: the input in a list on ctx
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.saved = [x]
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved[0] * grad_output


# %% wrong[shared-state]: the input as an attribute of the class
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        Square.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * Square.x * grad_output


# %% wrong[shared-state]: the input in a global variable
remembered = None


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        global remembered
        remembered = x
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * remembered * grad_output


# %% wrong[mutates-input]: squares in place
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        x *= x
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[mutates-upstream]: multiplies grad_output in place
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output *= 2 * x
        return grad_output


# %% wrong[mutates-saved]: doubles the saved tensor in place
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x *= 2
        return x * grad_output


# %% wrong[saves-too-much]: input and output
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[double-backward-missing|double-backward-value]: saves 2x, a constant to the second derivative
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(2 * x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return slope * grad_output


# %% wrong[double-backward-missing|double-backward-value]: a detached input
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.detach())
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[double-backward-missing|double-backward-value]: once_differentiable, although the formula is smooth
from torch.autograd.function import once_differentiable


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[saves-on-ctx|double-backward-missing|double-backward-value]: x.data hides from the version counter
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.data)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[uses-autograd]: lets autograd do it in backward
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            inside = x.detach().requires_grad_()
            y = inside * inside
        return torch.autograd.grad(y, inside, grad_output)[0]


# %% wrong[finite-differences]: a difference quotient in backward
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        step = 1e-6
        up, down = x + step, x - step
        return grad_output * (up * up - down * down) / (2 * step)


# %% wrong[fails-special-point]: divides by x, which is nan at 0
# says: At x = 0 the gradient is nan: a division by x gives 0 / 0.
# next: Whatever is divided by x is nan at 0. The slope needs no division.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * (x * x) / x * grad_output


# %% wrong[fails-noncontiguous]: flattens with view
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        flat = x.view(-1)
        return (flat * flat).view(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[fails-empty|fails-special-point]: scales by the largest element first
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        largest = x.abs().max()
        return (x / largest) ** 2 * largest**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[fails-float32]: a factor in float64, which makes every gradient float64
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        two = torch.full(x.shape, 2.0, dtype=torch.float64)
        return two * x * grad_output


# %% wrong[fails-half|fails-device]: squares with NumPy, which has no bfloat16
import numpy as np


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.asarray(x.detach().numpy() ** 2))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[fails-device]: makes a factor on the CPU
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        two = torch.full(x.shape, 2.0, dtype=x.dtype)
        return two * x * grad_output


# %% wrong[raises]: calls ctx.saved_tensors
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors()
        return 2 * x * grad_output


# %% wrong[mutates-saved]: writes to the .grad of x on the way
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        x.grad = 2 * x * grad_output
        return x.grad


# %% wrong[raises]: foward, a letter short
class Square(Function):
    @staticmethod
    def foward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[output-count]: a comma behind the output
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x,

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[raises]: asks the tensor to save itself
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        x.save_for_backward()
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return 2 * x * grad_output


# %% right: setup_context
class Square(Function):
    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% right: torch.square, and the sum x + x in place of 2x
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.square(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0] + ctx.saved_tensors[0])


# %% right: prints and warnings on the way
import warnings


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        print("forward", x.shape)
        warnings.warn("this is only a warning")
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        print("backward", grad_output)
        return 2 * x * grad_output


# %% right: vjp in place of backward
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def vjp(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% right: a wrapper with apply inside
class _Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(2)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.mul(grad_output, x.mul(2))


def Square(x):
    return _Square.apply(x)


# %% right: in place, on a tensor of its own
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x.clone()
        y *= x
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = grad_output.clone()
        grad_x = grad_x * x
        grad_x *= 2
        return grad_x


# %% right: helpers, type hints, needs_input_grad and a tuple with one entry
def slope(x: torch.Tensor) -> torch.Tensor:
    return 2.0 * x


class Square(Function):
    """The square."""

    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.shape = x.shape
        return x * x

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple[torch.Tensor | None]:
        if not ctx.needs_input_grad[0]:
            return (None,)
        (x,) = ctx.saved_tensors
        assert x.shape == ctx.shape
        return (slope(x) * grad_output,)


# %% wrong[raises]: save_for_backwards, with an s too many
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backwards(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[raises]: saved_tensor, without its s
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensor
        return 2 * x * grad_output


# %% wrong[raises]: writes to ctx.saved_tensors
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.saved_tensors = x
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[raises]: assigns to save_for_backward
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward = x
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# %% wrong[too-slow]: a list comprehension over the elements
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        squares = [v * v for v in x.reshape(-1)]
        return torch.stack(squares).reshape(x.shape) if squares else x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


# %% wrong[too-slow]: a loop over the elements in backward
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        factor = x.new_zeros(x.numel())
        for i in range(x.numel()):
            factor[i] = 2
        return grad_output * factor.reshape(x.shape) * x


# %% wrong[too-slow]: squares and adds in plain Python
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        total = 0.0
        for v in x.reshape(-1).tolist() if not x.is_meta else ():
            total += v * v
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


# %% wrong[memorised]: right for one shape only
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        if x.shape == (5,):
            return x * x
        return torch.zeros_like(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


# %% wrong[memorised]: right for the sizes of the checks
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        if x.numel() in (0, 1, 5, 6, 12, 24):
            return grad_output * 2 * x
        return grad_output * x


# %% wrong[memorised]: a table of known squares
class Square(Function):
    known = {0.0: 0.0, 1.0: 1.0, 2.0: 4.0, 3.0: 9.0}

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        values = [Square.known[v] for v in x.reshape(-1).tolist()]
        return torch.tensor(values, dtype=x.dtype).reshape(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


# %% wrong[gradient-value]: stops after sixteen elements
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        places = torch.arange(x.numel(), device=x.device).reshape(x.shape)
        return torch.where(places < 16, grad_output * 2 * x, 0)


# %% right: one shape has a formula of its own, as right as the other
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        if x.shape == (5,):
            return x**2
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


# %% right: in pieces of 64 elements
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.cat([part * part for part in x.reshape(-1).split(64)]).reshape(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        twice = x
        for _ in range(1):
            twice = twice + x
        return grad_output * twice


# %% wrong[raises]: one name for all saved tensors
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.pow(x, 2)

    @staticmethod
    def backward(ctx, upstream):
        saved_x = ctx.saved_tensors
        slope = 2 * saved_x
        return torch.mul(slope, upstream)


# %% wrong[raises]: NumPy squares, and makes a plain number of a single one
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        import numpy as np

        ctx.save_for_backward(x)
        squared = np.power(x.numpy(force=True), 2)
        return torch.from_numpy(squared)

    @staticmethod
    def backward(ctx, upstream):
        return upstream * ctx.saved_tensors[0] * 2
