# %% wrong[double-backward-missing|double-backward-value]: saves 3x², an intermediate
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3 * x**2)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


# %% wrong[double-backward-missing|double-backward-value]: saves x detached
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.detach())
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


# %% wrong[double-backward-value]: saves x and x², the second derivative is half of it
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(x, square)
        return x * square

    @staticmethod
    def backward(ctx, grad_output):
        x, square = ctx.saved_tensors
        return grad_output * (square + 2 * x * x)


# %% wrong[double-backward-value]: detaches one factor in backward
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x * x.detach()


# %% wrong[double-backward-value|double-backward-missing]: .data in backward
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x.data**2


# %% wrong[double-backward-value|double-backward-missing]: once_differentiable
from torch.autograd.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


# %% wrong[double-backward-missing]: refuses the second derivative
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("only the first derivative is there")
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


# %% wrong[higher-derivative]: a second Function that keeps an intermediate: the third derivative is lost
class CubeSlope(Function):
    @staticmethod
    def forward(ctx, x, grad_output):
        ctx.save_for_backward(x, grad_output, 6 * x)
        return grad_output * 3 * x**2

    @staticmethod
    def backward(ctx, grad):
        x, grad_output, six_x = ctx.saved_tensors
        return grad * grad_output * six_x, grad * 3 * x**2


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return CubeSlope.apply(x, grad_output)


# %% wrong[higher-derivative]: a second Function that is differentiable once
from torch.autograd.function import once_differentiable


class CubeSlope(Function):
    @staticmethod
    def forward(ctx, x, grad_output):
        ctx.save_for_backward(x, grad_output)
        return grad_output * 3 * x**2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, grad_output = ctx.saved_tensors
        return grad * grad_output * 6 * x, grad * 3 * x**2


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return CubeSlope.apply(x, grad_output)


# %% wrong[gradient-value]: gives the second derivative at once
# says: The gradient is that of 6x: this is the second derivative already.
# next: backward gives the first derivative times grad_output; torch gets the second by differentiating that.
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 6 * x


# %% wrong[gradient-value]: the square is missing
# says: The gradient is 3x times grad_output: the square is missing.
# next: Which power of x is left when you differentiate x³?
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x


# %% wrong[gradient-scale]: the factor 3 is missing
# says: The gradient is that of x²: the factor 3 is missing.
# next: What becomes of the exponent when you differentiate xⁿ?
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x**2


# %% wrong[upstream-ignored]: grad_output is not multiplied in
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2


# %% wrong[saves-too-much]: x and the output, where x is enough
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, _ = ctx.saved_tensors
        return grad_output * 3 * x**2


# %% wrong[gradient-unstable|fails-special-point]: 3y/x, which is 0/0 at zero
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**3 / x


# %% wrong[saves-on-ctx]: x as an attribute
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 3 * ctx.x**2


# %% wrong[uses-autograd]: lets autograd do it
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            y = x**3
            return torch.autograd.grad(y, x, grad_output, create_graph=True)[0]


# %% wrong[raises]: the tuple is not unpacked
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors
        return grad_output * 3 * x**2


# %% right: as in the solution
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


# %% right: setup_context, products only
class Cube(Function):
    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (3 * grad_output * x * x,)


# %% right: a second Function for the slope, with a backward of its own
class CubeSlope(Function):
    @staticmethod
    def forward(ctx, x, grad_output):
        ctx.save_for_backward(x, grad_output)
        return grad_output * 3 * x**2

    @staticmethod
    def backward(ctx, grad):
        x, grad_output = ctx.saved_tensors
        return grad * grad_output * 6 * x, grad * 3 * x**2


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return CubeSlope.apply(x, grad_output)


# %% right: in-place on a tensor of its own
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.pow(x, 3)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        slope = x.square()
        slope = slope * 3
        if not ctx.needs_input_grad[0]:
            return None
        return slope.mul(grad_output)


# %% wrong[double-backward-value]: from the output, whose cube root has no slope at zero
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * 3 * y.abs() ** (2 / 3)


# %% wrong[double-backward-value]: √(y·x) has no slope at 0
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.pow(3)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return 3 * torch.sqrt(x * y) * grad_output


# %% wrong[gradient-value|gradient-unstable]: the square of a cube root that negative numbers have not
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x * x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 3 * grad_output * (y ** (1 / 3)) ** 2


# %% wrong[gradient-value|gradient-unstable]: a square root of the output, cubed root and all
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        cubed = x * x * x
        ctx.save_for_backward(cubed)
        return cubed

    @staticmethod
    def backward(ctx, grad_output):
        (cubed,) = ctx.saved_tensors
        return 3 * grad_output * cubed.pow(2 / 3)


# %% wrong[double-backward-value]: the slope is a Function whose own backward forgets a factor
class TripleSquare(Function):
    @staticmethod
    def forward(ctx, t, weight):
        ctx.save_for_backward(t)
        return 3 * t * t * weight

    @staticmethod
    def backward(ctx, again):
        (t,) = ctx.saved_tensors
        return 6 * t * again, 3 * t * t * again


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(3)

    @staticmethod
    def backward(ctx, grad_output):
        return TripleSquare.apply(*ctx.saved_tensors, grad_output)


# %% wrong[double-backward-missing]: contiguous before x is saved
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        dense = x.contiguous()
        ctx.save_for_backward(dense)
        return dense**3

    @staticmethod
    def backward(ctx, grad_output):
        (dense,) = ctx.saved_tensors
        return 3 * dense**2 * grad_output


# %% wrong[gradient-scale]: the 3 is squared as well
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(3)

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        return upstream * torch.square(x * 3)


# %% wrong[higher-derivative]: |x| · |x| for x²
# says: |x|·|x| is x², but to torch |x| has the slope 0 at x = 0: the third derivative is 0 there, where 6 is right.
# next: Write x² with x itself: every derivative of a product of x is right everywhere.
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x.abs() * x.abs()
