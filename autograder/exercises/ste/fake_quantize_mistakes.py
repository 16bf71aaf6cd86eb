# %% wrong[gradient-zero]: the true derivative, zeros
# says: The gradient is zero everywhere: that is the true derivative of a staircase, and nothing learns from it.
# next: Rounding is passed straight through; only the clamp stops gradients.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output), None, None, None, None


# %% wrong[gradient-value]: passes everywhere
# says: The gradient passes everywhere, even where the value was clamped.
# next: Beyond the last step the output no longer follows x: there the gradient stops.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None, None, None


# %% wrong[gradient-value]: the mask before rounding
# says: The mask leaves out the rounding: it compares x / scale + zero_point with qmin and qmax.
# next: Half a step beyond an end still rounds to it: which value should the mask compare?
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = x / scale + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        q = torch.round(x / scale) + zero_point
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-value]: the mask without the zero point
# says: The zero point is missing in the mask.
# next: qmin and qmax are bounds for the step number: which value of forward is that?
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale)
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        q = q + zero_point
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-value]: the mask compares x with the ends
# says: The mask compares x, or the output, with qmin and qmax; they count steps.
# next: Which value of forward counts steps?
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((x >= qmin) & (x <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-value]: the mask after the clamp is always true
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        q = q.clamp(qmin, qmax)
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-value]: the ends excluded
# says: The ends are excluded: qmin < q < qmax.
# next: A value that rounds to an end has not been clamped: there the gradient passes.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q > qmin) & (q < qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-value]: the mask inverted
# says: The gradient passes outside the range and stops inside: the mask is inverted.
# next: Inside the range the output follows x.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q < qmin) | (q > qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-value]: only the upper end
# says: The gradient stops above the range, but not below it.
# next: A range has two ends, and beyond each of them the gradient stops.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward(q <= qmax)
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-scale]: multiplied by scale
# says: The gradient is multiplied by scale.
# next: Forward divides by scale and multiplies by it again: the two cancel.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        ctx.scale = scale
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside * ctx.scale, None, None, None, None


# %% wrong[gradient-scale]: divided by scale
# says: The gradient is divided by scale.
# next: Forward divides by scale and multiplies by it again: the two cancel.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        ctx.scale = scale
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside / ctx.scale, None, None, None, None


# %% wrong[upstream-ignored]: the mask alone
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return inside.to(grad_output.dtype), None, None, None, None


# %% wrong[gradient-sign]: a minus
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return -grad_output * inside, None, None, None, None


# %% wrong[upstream-nonlinear|gradient-value]: clamps the gradient to the range
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.ends = qmin, qmax
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(*ctx.ends), None, None, None, None


# %% wrong[gradient-count]: one value for five arguments
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside


# %% wrong[gradient-count]: a gradient for scale
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, grad_output.sum(), None, None, None


# %% wrong[forward-value]: returns the step, not the value
# says: The output is q itself, the number of the step: scale and zero point are not undone.
# next: Fake quantisation goes back to the scale of x: undo both steps.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return q.clamp(qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[forward-value]: the zero point is not subtracted
# says: The zero point is never subtracted again.
# next: What was added before the clamp has to come off after it.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return q.clamp(qmin, qmax) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[forward-value]: no zero point at all
# says: The clamp does not see the zero point.
# next: It shifts the range: add it before the clamp, subtract it afterwards.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return torch.round(x / scale).clamp(qmin, qmax) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[forward-value]: no clamp
# says: The clamp is missing.
# next: q has to stay between qmin and qmax.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[forward-value]: floor
# says: The output is rounded down to the grid, not to the nearest step.
# next: Which function goes to the nearest whole number?
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.floor(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[forward-value]: multiplies where it should divide
# says: x is multiplied by scale where it should be divided.
# next: scale is the width of a step: how many steps make x?
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x * scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) / scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[forward-value]: rounds nothing
# says: Nothing is rounded, only clamped.
# next: x / scale is rounded to a whole step, and the zero point is added to that.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = x / scale + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[forward-dtype]: an integer q makes float32 of float64
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point).to(torch.int32) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[fails-special-point]: floor(x + 0.5) rounds halves up
# says: Halves all go up, as with floor(x + 0.5); they should go to the even step.
# next: torch.round sends halves to the even neighbour: 0.5 to 0, 1.5 to 2.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.floor(x / scale + 0.5) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[saves-too-much]: x and the mask
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward(x, (q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        x, inside = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[saves-on-ctx]: x as an attribute
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        ctx.x = x
        ctx.grid = scale, zero_point, qmin, qmax
        q = torch.round(x / scale) + zero_point
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        scale, zero_point, qmin, qmax = ctx.grid
        q = torch.round(ctx.x / scale) + zero_point
        return grad_output * ((q >= qmin) & (q <= qmax)), None, None, None, None


# %% wrong[shared-state]: the mask in a global
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        global _inside
        q = torch.round(x / scale) + zero_point
        _inside = (q >= qmin) & (q <= qmax)
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * _inside, None, None, None, None


# %% wrong[mutates-input]: divides x in place
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        x.data.div_(scale)
        q = torch.round(x) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[mutates-upstream]: zeroes the upstream gradient in place
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        grad_output.mul_(inside)
        return grad_output, None, None, None, None


# %% wrong[double-backward-missing]: detach in backward
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output.detach() * inside, None, None, None, None


# %% wrong[fails-half]: the mask as float32
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward(((q >= qmin) & (q <= qmax)).float())
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[raises]: save_for_backward with numbers
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward(x, scale, zero_point, qmin, qmax)
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        x, scale, zero_point, qmin, qmax = ctx.saved_tensors
        return grad_output, None, None, None, None


# %% wrong[uses-builtin]: torch.fake_quantize_per_tensor_affine
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return torch.fake_quantize_per_tensor_affine(x.float(), scale, zero_point, qmin, qmax).to(
            x.dtype
        )

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% right: a mask
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% right: keeps x and computes q again
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        ctx.save_for_backward(x)
        ctx.grid = scale, zero_point, qmin, qmax
        q = torch.round(x / scale) + zero_point
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        scale, zero_point, qmin, qmax = ctx.grid
        q = torch.round(x / scale) + zero_point
        return grad_output * ((q >= qmin) & (q <= qmax)), None, None, None, None


# %% right: shifts the range, where
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        steps = torch.round(x / scale)
        low, high = qmin - zero_point, qmax - zero_point
        ctx.save_for_backward((steps < low) | (steps > high))
        return steps.clamp(low, high) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (outside,) = ctx.saved_tensors
        return torch.where(outside, 0.0, grad_output), None, None, None, None


# %% wrong[saves-on-ctx]: inside where the clamp changed nothing, the mask an attribute
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        clamped = torch.clamp(q, qmin, qmax)
        ctx.inside = q == clamped
        return (clamped - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.masked_fill(~ctx.inside, 0), None, None, None, None


# %% right: setup_context form
class FakeQuantize(Function):
    @staticmethod
    def forward(x, scale, zero_point, qmin, qmax):
        q = torch.clamp(torch.round(x / scale) + zero_point, qmin, qmax)
        return (q - zero_point) * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, scale, zero_point, qmin, qmax = inputs
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-value]: the mask compares the output with the ends
# says: The mask compares x, or the output, with qmin and qmax; they count steps.
# next: Which value of forward counts steps?
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        clamped = q.clamp(qmin, qmax)
        y = (clamped - zero_point) * scale
        ctx.save_for_backward((y >= qmin) & (y <= qmax))
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-value]: the mask compares x with the ends times scale, no zero point
# says: The mask compares x with qmin · scale and qmax · scale: no zero point, and no rounding.
# next: qmin and qmax are bounds for the step number: which value of forward is that?
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        clamped = q.clamp(qmin, qmax)
        y = (clamped - zero_point) * scale
        ctx.save_for_backward((x >= qmin * scale) & (x <= qmax * scale))
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-value]: the lower end excluded
# says: The lower end is excluded: qmin < q.
# next: A value that rounds to an end has not been clamped: there the gradient passes.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        clamped = q.clamp(qmin, qmax)
        y = (clamped - zero_point) * scale
        ctx.save_for_backward((q > qmin) & (q <= qmax))
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[gradient-value]: the upper end excluded
# says: The upper end is excluded: q < qmax.
# next: A value that rounds to an end has not been clamped: there the gradient passes.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        clamped = q.clamp(qmin, qmax)
        y = (clamped - zero_point) * scale
        ctx.save_for_backward((q >= qmin) & (q < qmax))
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[forward-value]: trunc
# says: The output is cut off towards zero, not rounded to the nearest step.
# next: Which function goes to the nearest whole number?
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = (x / scale).trunc() + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, g):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, g, 0.0), None, None, None, None


# %% wrong[fails-special-point]: the zero point is added before rounding
# says: Ties go to the other step where the zero point is odd: it is added before rounding.
# next: x / scale is rounded to a whole step first, and the zero point is added to that.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale + zero_point)
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, g):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, g, 0.0), None, None, None, None


# %% wrong[forward-value]: kept in int8, as a network on a phone does; 255 steps do not fit
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        stored = torch.clamp(q, qmin, qmax).to(torch.int8)
        return (stored.to(x.dtype) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None, None, None


# %% wrong[forward-value]: kept in uint8, which has no negative numbers
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        stored = q.clamp(qmin, qmax).to(torch.uint8)
        return (stored.to(x.dtype) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None


# %% wrong[forward-unstable]: whole numbers of 32 bits before the clamp
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = (x / scale).round().int() + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point).to(x.dtype) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None, None, None


# %% wrong[fails-special-point]: passes where the output is at most half a step away
# says: The mask asks whether x lies within half a step of the range: a tie there may round to a step outside.
# next: Compare the rounded step with qmin and qmax.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = (torch.round(x / scale) + zero_point).clamp(qmin, qmax)
        value = (q - zero_point) * scale
        ctx.save_for_backward(torch.abs(x - value) <= scale / 2)
        return value

    @staticmethod
    def backward(ctx, grad_output):
        (near,) = ctx.saved_tensors
        return torch.where(near, grad_output, 0), None, None, None, None


# %% wrong[fails-special-point]: the range in units of x, half a step wider at both ends
# says: The mask asks whether x lies within half a step of the range: a tie there may round to a step outside.
# next: Compare the rounded step with qmin and qmax.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        low, high = (qmin - zero_point - 0.5) * scale, (qmax - zero_point + 0.5) * scale
        ctx.save_for_backward((x >= low) & (x <= high))
        q = torch.round(x / scale) + zero_point
        return (q.clamp(qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None, None, None


# %% wrong[forward-value]: the zero point comes on top again at the end
# says: The zero point is added after the clamp; it should be subtracted.
# next: What was added before the clamp has to come off after it.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) + zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0.0), None, None, None, None


# %% wrong[forward-value]: the zero point comes in after the clamp
# says: The clamp does not see the zero point.
# next: It shifts the range: add it before the clamp, subtract it afterwards.
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        step = torch.round(x / scale)
        ctx.save_for_backward((step >= qmin) & (step <= qmax))
        stored = step.clamp(qmin, qmax) + zero_point
        return (stored - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0.0), None, None, None, None


# %% wrong[raises]: int8 before the clamp, with ends that int8 does not have
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        small = torch.clamp(q.to(torch.int8), qmin, qmax)
        return (small.to(x.dtype) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0.0), None, None, None, None
