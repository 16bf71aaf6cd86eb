# %% wrong[fails-special-point]: strict comparisons
# says: Exactly on a bound the gradient stops, but it should pass there.
# next: Does the contract count the bounds themselves as inside?
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x > low) & (x < high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[fails-special-point]: the upper bound is left out
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x < high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None


# %% wrong[fails-special-point]: decides from the output, strictly
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = x.clamp(low, high)
        ctx.save_for_backward(y)
        ctx.low, ctx.high = low, high
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = (y > ctx.low) & (y < ctx.high)
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[gradient-value]: decides from the output, which is never outside
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = x.clamp(low, high)
        ctx.save_for_backward(y)
        ctx.low, ctx.high = low, high
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = (y >= ctx.low) & (y <= ctx.high)
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[gradient-value]: lets everything pass
# says: The gradient passes everywhere, outside the bounds too.
# next: Outside, the output is a bound, whatever x does. What is the slope of a constant?
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None


# %% wrong[gradient-value]: the mask inverted
# says: The gradient passes outside the bounds and stops inside: the mask is inverted.
# next: Inside, the output follows x. There the gradient passes.
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, 0, grad_output), None, None


# %% wrong[gradient-value]: looks at the lower bound only
# says: The gradient stops at one bound only: above high it still passes.
# next: A range has two ends, and beyond each of them the gradient stops.
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x >= low)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None


# %% wrong[gradient-value]: or in place of and
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) | (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None


# %% wrong[gradient-zero]: below low and above high at once
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x < low) & (x > high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None


# %% wrong[gradient-value]: multiplies by the output
# says: The gradient is multiplied by the clipped value.
# next: The slope inside is 1, not x.
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = x.clamp(low, high)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y, None, None


# %% wrong[upstream-nonlinear]: clamps the gradient in place of masking it
# says: grad_output is clamped to the bounds. They are bounds for x, not for the gradient.
# next: Where x is inside, grad_output passes unchanged, however large it is.
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(ctx.low, ctx.high), None, None


# %% wrong[upstream-nonlinear]: masks by grad_output
# says: The mask compares grad_output with the bounds; it should compare x with them.
# next: low and high are bounds for x. The size of grad_output does not matter.
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        inside = (grad_output >= ctx.low) & (grad_output <= ctx.high)
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[upstream-ignored]: the mask as the gradient
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x >= ctx.low) & (x <= ctx.high)
        return inside.to(x.dtype), None, None


# %% wrong[gradient-sign]: a minus too many
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return -grad_output * inside, None, None


# %% wrong[gradient-missing|gradient-count]: forgets to return
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        grad_x = torch.where(inside, grad_output, 0)


# %% wrong[gradient-missing]: None for everything, since clamp is flat outside
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        return None, None, None


# %% wrong[gradient-count]: only the gradient of x
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0)


# %% wrong[gradient-count]: a single None for two bounds
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None


# %% wrong[gradient-count]: zeros for the bounds
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        zero = grad_output.new_zeros(())
        return torch.where(inside, grad_output, 0), zero, zero


# %% wrong[gradient-count]: the bounds for the bounds
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x >= ctx.low) & (x <= ctx.high)
        return torch.where(inside, grad_output, 0), ctx.low, ctx.high


# %% wrong[gradient-count]: the gradient of x at the end
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return None, None, torch.where(inside, grad_output, 0)


# %% wrong[gradient-shape]: the gradient of the elements inside only
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output[inside], None, None


# %% wrong[raises]: numbers in save_for_backward
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        x, low, high = ctx.saved_tensors
        return grad_output * ((x >= low) & (x <= high)), None, None


# %% wrong[raises]: a chained comparison of a tensor
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = ctx.low <= x <= ctx.high
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[raises]: and in place of &
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x >= ctx.low) and (x <= ctx.high)
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[raises]: no brackets around the comparisons
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = x >= ctx.low & x <= ctx.high
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[raises]: the bounds are not on ctx
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x >= ctx.low) & (x <= ctx.high)
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[raises]: two saves, of which the last one wins
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x >= low)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        x, above = ctx.saved_tensors
        return grad_output * above * (x <= ctx.high), None, None


# %% wrong[forward-value]: zeros outside the bounds
# says: Values outside the bounds become 0; they should become the nearer bound.
# next: Work out by hand what becomes of one value below low.
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        inside = (x >= low) & (x <= high)
        ctx.save_for_backward(inside)
        return x * inside

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[forward-value]: the lower bound only
# says: Only the lower bound is applied.
# next: What should become of a value above high?
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(min=low)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[forward-value]: min and max crossed
# says: The bounds are mixed up: every value becomes one of them.
# next: Which bound is a minimum, and which a maximum?
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(max=low).clamp(min=high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[forward-value]: rescales into the bounds
# says: x is squeezed smoothly between the bounds with a sigmoid.
# next: Values between the bounds stay exactly as they are.
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return low + (high - low) * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[forward-shape]: drops what is outside
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        inside = (x >= low) & (x <= high)
        ctx.save_for_backward(inside)
        return x[inside]

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[forward-dtype]: float32 whatever comes
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.float().clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[mutates-input]: clamps in place
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp_(low, high).clone()

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[mutates-input]: writes the bounds into x
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        x[x < low] = low
        x[x > high] = high
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[mutates-upstream]: strikes out in grad_output
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x < ctx.low] = 0
        grad_output[x > ctx.high] = 0
        return grad_output, None, None


# %% wrong[saves-on-ctx]: x as an attribute
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.x, ctx.low, ctx.high = x, low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        inside = (ctx.x >= ctx.low) & (ctx.x <= ctx.high)
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[saves-on-ctx]: all arguments in a dictionary on ctx
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.arguments = {'x': x, 'low': low, 'high': high}
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        x, low, high = ctx.arguments.values()
        inside = (x >= low) & (x <= high)
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[shared-state]: the bounds as attributes of the class
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        Clip.low, Clip.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x >= Clip.low) & (x <= Clip.high)
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[shared-state|fails-device|gradient-value]: a memo by shape
memo = {}


class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        if x.shape not in memo:
            memo[x.shape] = (x >= low) & (x <= high)
        ctx.shape = x.shape
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(memo[ctx.shape], grad_output, 0), None, None


# %% wrong[saves-too-much]: x, the output and the mask
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y, inside = x.clamp(low, high), (x >= low) & (x <= high)
        ctx.save_for_backward(x, y, inside)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y, inside = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[saves-too-much]: tensors of bounds
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, torch.full_like(x, low), torch.full_like(x, high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        x, low, high = ctx.saved_tensors
        return torch.where((x >= low) & (x <= high), grad_output, 0), None, None


# %% wrong[double-backward-missing]: backward in NumPy
import numpy as np


class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.from_numpy(np.where(inside, grad_output, 0.0)), None, None


# %% wrong[double-backward-missing]: grad_output.data
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output.data, 0), None, None


# %% wrong[uses-autograd]: autograd inside backward
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            z = x.detach().requires_grad_()
            y = z.clamp(ctx.low, ctx.high)
        (grad_x,) = torch.autograd.grad(y, z, grad_output)
        return grad_x, None, None


# %% wrong[fails-half]: a mask of float32
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside.float(), None, None


# %% wrong[fails-empty]: asks the smallest and the largest element first
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        if x.min() >= low and x.max() <= high:
            return x.clone()
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[fails-noncontiguous]: view in forward
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.view(-1).clamp(low, high).view(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[fails-device|fails-half]: zeros on the CPU
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        zeros = torch.zeros(grad_output.shape, dtype=grad_output.dtype)
        return torch.where(inside, grad_output, zeros), None, None


# %% right: the input is saved, the bounds are attributes
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x >= ctx.low) & (x <= ctx.high)
        return grad_output * inside, None, None


# %% right: where the output equals the input
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = torch.clamp(x, low, high)
        ctx.save_for_backward(y == x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (same,) = ctx.saved_tensors
        return grad_output * same, None, None


# %% wrong[saves-on-ctx]: a private mask as an attribute, max and min
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.outside = (x < low) | (x > high)
        return torch.clamp(x.clamp(min=low), max=high)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.masked_fill(ctx.outside, 0.0), None, None


# %% right: where in where, and subtracting what is outside
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = (low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        low, high = ctx.bounds
        outside = x.lt(low) + x.gt(high)
        return grad_output - grad_output * outside, None, None


# %% right: a copy of grad_output, edited, and prints
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        print('clip', low, high)
        ctx.low, ctx.high = low, high
        ctx.save_for_backward(x)
        return x.clip(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = grad_output.clone()
        grad_x[x < ctx.low] = 0
        grad_x[x > ctx.high] = 0
        print(grad_x)
        return grad_x, None, None


# %% right: setup_context
class Clip(Function):
    @staticmethod
    def forward(x, low, high):
        return torch.clamp(x, low, high)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, low, high = inputs
        ctx.save_for_backward((x >= low) & (x <= high))

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None


# %% wrong[saves-too-much]: the mask is kept as float32, which is larger than a bfloat16 input
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(((x >= low) & (x <= high)).float())
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside.to(grad_output.dtype), None, None


# %% wrong[mutates-input]: x.float() is written to, which is x itself where x is float32
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        if x.dtype == torch.float64:
            return x.clamp(low, high)
        return x.float().clamp_(low, high).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None


# %% wrong[fails-special-point|forward-value]: a bound of 0 is taken for a missing one
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        low, high = low or -torch.inf, high or torch.inf
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None


# %% wrong[fails-special-point]: distance from the middle, which rounding makes too large on a bound
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        half = 0.5 * (high - low)
        ctx.save_for_backward((x - (low + half)).abs() <= half)
        return torch.clamp(x, low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output.masked_fill(~inside, 0), None, None


# %% wrong[fails-special-point]: isclose counts as on the bound
# says: Just beyond a bound the gradient still passes: the comparison has a tolerance.
# next: Compare x with the bounds themselves, without a tolerance.
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = x.clamp(low, high)
        ctx.save_for_backward(torch.isclose(x, y))
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (untouched,) = ctx.saved_tensors
        return torch.where(untouched, grad_output, 0), None, None


# %% wrong[fails-special-point]: a small tolerance around the bounds
# says: Just beyond a bound the gradient still passes: the comparison has a tolerance.
# next: Compare x with the bounds themselves, without a tolerance.
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x > low - 1e-7) & (x < high + 1e-7))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0], None, None


# %% wrong[fails-special-point]: the sign of a product of distances, 0 · inf for an infinite bound
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x - low) * (x - high) <= 0)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0], None, None


# %% wrong[double-backward-missing]: a copy without history where nothing was clipped
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        inside = (x >= low) & (x <= high)
        ctx.save_for_backward(inside)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        if bool(inside.all()):
            return grad_output.data.clone(), None, None
        return torch.where(inside, grad_output, 0), None, None


# %% right: the signs of both distances
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x - low >= 0) & (high - x >= 0))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.saved_tensors[0], grad_output, 0), None, None


# %% wrong[gradient-zero]: setup_context stores the bounds under each other's name
class Clip(Function):
    @staticmethod
    def forward(x, low, high):
        return x.clamp(low, high)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.high, ctx.low = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where((x >= ctx.low) & (x <= ctx.high), grad_output, 0.0), None, None


# %% wrong[fails-special-point]: keeps the bounds beside x, as tensors of the default dtype
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        bounds = torch.as_tensor([low, high], dtype=torch.get_default_dtype())
        ctx.save_for_backward(x, bounds)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, g):
        x, (low, high) = ctx.saved_tensors
        return torch.where(x.ge(low) & x.le(high), g, torch.zeros_like(g)), None, None


# %% wrong[fails-special-point]: an upper bound of 0 is no bound to `if high`
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = torch.clamp(x, min=low)
        if high:
            y = torch.clamp(y, max=high)
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        keep = (ctx.low <= x) & (x <= ctx.high)
        return g * keep, None, None


# %% wrong[gradient-count]: the bounds get gradients of their own
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        below, above = x < low, x > high
        ctx.save_for_backward(below, above)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, g):
        below, above = ctx.saved_tensors
        return g * ~(below | above), (g * below).sum(), (g * above).sum()


# %% wrong[gradient-value]: one radius for both bounds
# says: The gradient passes where |x| is at most the larger one of |low| and |high|.
# next: A range has two ends, and beyond each of them the gradient stops.
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.radius = max(abs(low), abs(high))
        ctx.save_for_backward(x)
        return torch.clamp(x, min=low, max=high)

    @staticmethod
    def backward(ctx, g):
        within = torch.abs(ctx.saved_tensors[0]) <= ctx.radius
        return torch.where(within, g, 0), None, None
