# %% wrong[fails-special-point]: lets the gradient pass at 0
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x >= 0)


# %% wrong[fails-special-point]: strikes out the negative ones only, so that 0 passes
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = grad_output.clone()
        grad_x[x < 0] = 0
        return grad_x


# %% wrong[fails-special-point]: half a gradient at 0
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.maximum(x, torch.zeros_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 + torch.sign(x)) / 2


# %% wrong[fails-special-point]: divides by x to get the mask, which is nan at 0
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x + x.abs()) / 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.clamp(min=0) / x).detach()


# %% wrong[mutates-upstream]: strikes out in grad_output itself
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x <= 0] = 0
        return grad_output


# %% wrong[mutates-upstream]: writes to grad_output under another name
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = grad_output
        grad_input.masked_fill_(x <= 0, 0)
        return grad_input


# %% wrong[gradient-value]: the mask the wrong way round
# says: The gradient passes where x is negative: the mask is the wrong way round.
# next: Where x is positive the output follows it; there the gradient passes.
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, 0, grad_output)


# %% wrong[gradient-value]: lets everything pass
# says: The gradient passes everywhere, even where x is negative.
# next: For a negative x the output is 0 whatever x does: what is its slope there?
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


# %% wrong[gradient-value]: multiplies by the output in place of the slope
# says: The gradient is multiplied by the output max(x, 0), not by the slope.
# next: Where x is positive the slope is 1, not x.
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


# %% wrong[gradient-value]: the slope of |x|
# says: The gradient is multiplied by sign(x): −1 where x is negative.
# next: That is the slope of |x|. What is the slope of max(x, 0) on the left?
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sign(x)


# %% wrong[gradient-value]: a leaky gradient
# says: The slope is 1 where x > 0 and 0.01 elsewhere: that of a leaky ReLU.
# next: For a negative x the output is 0 whatever x does: what is its slope there?
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, 0.01 * grad_output)


# %% wrong[upstream-nonlinear]: puts grad_output through the ReLU
# says: grad_output itself goes through the ReLU; x is not used.
# next: The mask asks for the sign of x, not for the sign of grad_output.
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(min=0)


# %% wrong[upstream-nonlinear]: asks grad_output for its sign as well
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where((x > 0) & (grad_output > 0), grad_output, 0)


# %% wrong[upstream-ignored]: returns the mask
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (x > 0).to(x.dtype)


# %% wrong[upstream-ignored]: 1 where x is positive, by torch.where
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, torch.ones_like(x), torch.zeros_like(x))


# %% wrong[gradient-dtype|upstream-ignored]: returns the mask as booleans
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return x > 0


# %% wrong[gradient-sign]: a minus too many
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * (x > 0)


# %% wrong[gradient-missing]: forgets to return
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = grad_output * (x > 0)


# %% wrong[gradient-zero]: a mask that is never true, since the output is never negative
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y < 0, grad_output, 0)


# %% wrong[gradient-value]: a mask that is always true, since the output is never negative
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y >= 0, grad_output, 0)


# %% wrong[gradient-shape]: keeps the positive entries only
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output[x > 0]


# %% wrong[gradient-count]: a gradient for the mask too
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0), x > 0


# %% wrong[forward-value]: a leaky ReLU
# says: The output is x where x > 0 and 0.01 · x elsewhere: a leaky ReLU.
# next: For a negative x the output is 0.
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.01 * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[forward-value]: cuts off the wrong half
# says: The output is min(x, 0): the wrong half is cut off.
# next: The output is the larger of x and 0: for a negative x it is 0.
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(max=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[forward-value]: returns the mask in forward
# says: The output is the mask, 1 where x is positive, and not x itself.
# next: Where x is positive the output is x.
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[forward-shape]: keeps the positive entries only, in forward
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x[x > 0]

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = torch.zeros_like(x)
        grad_x[x > 0] = grad_output
        return grad_x


# %% wrong[raises]: an if on a tensor
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        if x > 0:
            return x
        return 0

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output if x > 0 else 0


# %% wrong[raises]: max of a tensor and a number
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.max(x, 0.0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[raises]: calls itself
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return MyReLU.apply(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[raises]: a misspelt method of ctx
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backwards(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[raises]: no backward
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)


# %% wrong[raises|not-a-function]: the stub of forward, with backward written
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        # YOUR CODE HERE
        raise NotImplementedError()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[not-a-function]: torch's own
MyReLU = torch.relu


# %% wrong[not-a-function]: an instance of the class, made by hand
class _MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


def MyReLU(x):
    return torch.clamp(x, min=0)


# %% wrong[not-a-function]: marks its output as not differentiable
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x.clamp(min=0)
        ctx.mark_non_differentiable(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[mutates-input]: clamps the input in place
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(min=0)
        y = x.clone()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (y > 0)


# %% wrong[mutates-input]: writes zeros into the input
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(mask)
        x[~mask] = 0
        return x * 1

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


# %% wrong[mutates-saved]: makes the mask out of the saved input, in place
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x[x > 0] = 1
        x[x <= 0] = 0
        return grad_output * x


# %% wrong[saves-on-ctx]: the output as an attribute
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.clamp(min=0)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.y > 0, grad_output, 0)


# %% wrong[saves-on-ctx]: the input as an attribute
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.x > 0, grad_output, 0)


# %% wrong[shared-state]: the mask in a global
mask = None


class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        global mask
        mask = x > 0
        return x * mask

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * mask


# %% wrong[saves-too-much]: input, output and mask
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        y, mask = x.clamp(min=0), x > 0
        ctx.save_for_backward(x, y, mask)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y, mask = ctx.saved_tensors
        return grad_output * mask


# %% wrong[saves-too-much]: the input, and a mask as an attribute
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mask = x > 0
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.mask


# %% wrong[double-backward-missing]: detaches the upstream gradient
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output.detach(), 0)


# %% wrong[double-backward-missing]: backward in NumPy
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(grad_output.numpy() * (x.detach().numpy() > 0))


# %% wrong[double-backward-missing|fails-special-point]: heaviside, which torch cannot differentiate again
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x + x.abs()) / 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.heaviside(x, torch.zeros_like(x))


# %% wrong[uses-autograd]: torch's own backward kernel
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grad_output, x, 0)


# %% wrong[fails-half]: mask.float(), which makes a bfloat16 gradient float32
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0).float()


# %% wrong[fails-half|fails-device]: zeros in the default dtype, on the CPU
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, torch.zeros(x.shape))


# %% wrong[fails-device]: a zero on the CPU for each element
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.maximum(x, torch.zeros(x.shape, dtype=x.dtype))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[fails-noncontiguous]: view in backward
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        flat = torch.where(x.reshape(-1) > 0, grad_output.view(-1), 0)
        return flat.view(x.shape)


# %% wrong[fails-empty|fails-special-point]: a python loop over the elements
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        values = [v if v > 0 else v * 0 for v in x.reshape(-1)]
        return torch.stack(values).reshape(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[forward-unstable]: exp and log
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(torch.exp(x).clamp(min=1))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[forward-value]: makes room for the output and writes the positive numbers only
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        out = torch.empty_like(x)
        out[x > 0] = x[x > 0]
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% right: the input is saved
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.relu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% right: setup_context, and the output is saved
class MyReLU(Function):
    @staticmethod
    def forward(x):
        return torch.relu(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, grad_output, torch.zeros_like(grad_output))


# %% right: a mask by save_for_backward
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(mask)
        return torch.where(mask, x, 0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output.masked_fill(~mask, 0)


# %% wrong[saves-on-ctx|fails-special-point]: a private mask as an attribute
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.positive = x > 0
        return x * ctx.positive

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.positive


# %% right: a copy of grad_output, edited
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = grad_output.clone()
        grad_x[x <= 0] = 0
        return grad_x


# %% right: the mask as ones and zeros, in the dtype of x
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.gt(0).type_as(x)


# %% right: prints, warnings and a logger
import logging
import warnings


class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        warnings.warn("relu", UserWarning)
        logging.getLogger("relu").warning("forward of %s", tuple(x.shape))
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        print(grad_output)
        return grad_output * y.sign()


# %% right: apply, bound to the name
class _MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp_min(0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x.gt(0), grad_output, 0.0)


MyReLU = _MyReLU.apply


# %% wrong[saves-on-ctx]: a mask in a closure
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.back = lambda g: g * mask
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.back(grad_output)


# %% wrong[saves-on-ctx]: a mask in a dict
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = {"mask": x > 0}
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.kept["mask"]


# %% wrong[forward-shape]: the 0 in torch.max(x, 0) is a dimension
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        largest, _ = torch.max(x, 0)
        return largest

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[gradient-shape]: picks what passes out of grad_output
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, upstream):
        y = ctx.saved_tensors[0]
        return torch.masked_select(upstream, y > 0)


# %% wrong[gradient-value]: keeps in forward where the output is not negative
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.relu(x)
        passes = 0 <= out
        ctx.save_for_backward(passes)
        return out

    @staticmethod
    def backward(ctx, g):
        (passes,) = ctx.saved_tensors
        return torch.where(passes, g, 0.0)


# %% wrong[saves-too-much|fails-special-point]: the mask as whole numbers
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        passes = x.gt(0).to(torch.int64)
        ctx.save_for_backward(passes)
        return x * passes

    @staticmethod
    def backward(ctx, g):
        (passes,) = ctx.saved_tensors
        return passes * g


# %% wrong[mutates-input]: F.relu with inplace=True
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.nn.functional.relu(x, inplace=True)
        ctx.save_for_backward(out)
        return out.clone()

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g * out.sign()


# %% wrong[output-count]: the larger one of x and 0, which torch.max reads as a dimension
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.max(0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.gt(0)


# %% wrong[gradient-value]: asks the mean of x once
# says: The gradient passes as a whole or not at all: one condition decides for every element at once.
# next: Which elements pass is decided for each element by itself: compare tensors, not one number of them.
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp_min(0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.clone() if x.mean().item() > 0 else torch.zeros_like(x)


# %% wrong[gradient-shape]: flattened, and left so
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.flatten() > 0)
        return x.relu()

    @staticmethod
    def backward(ctx, g):
        return g.flatten() * ctx.saved_tensors[0]


# %% wrong[fails-special-point]: multiplies x by the mask, which gives nan at −inf
# says: At x = −inf the output is nan: −inf · 0 has no value.
# next: Multiplying by 0 does not remove an infinity: choose between values instead.
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


# %% wrong[fails-noncontiguous]: reads grad_output in the order in memory of x
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.as_strided(x.shape, x.stride()) * (x > 0)
