# %% wrong[gradient-count]: no None for the number
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit)


# %% wrong[gradient-count]: a gradient for the number
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), grad_output


# %% wrong[gradient-count]: None in front
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output.clamp(-ctx.limit, ctx.limit), None


# %% wrong[gradient-count]: the wrong way round
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output.clamp(-ctx.limit, ctx.limit)


# %% wrong[gradient-missing|gradient-count]: forgets the return
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        grad_x = grad_output.clamp(-ctx.limit, ctx.limit)


# %% wrong[gradient-zero]: zeros
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output), None


# %% wrong[raises]: the number was never kept
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


# %% wrong[raises]: save_for_backward with a number
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(limit)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        (limit,) = ctx.saved_tensors
        return grad_output, None


# %% wrong[saves-too-much]: saves x, which nothing reads
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


# %% wrong[saves-on-ctx]: keeps x on ctx
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        ctx.x = x
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


# %% wrong[saves-too-much]: the number as a tensor of the shape of x
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.factor = torch.full_like(x, limit)
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit) + 0 * ctx.factor, None


# %% wrong[shared-state]: the number on the class
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ClipGradient.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ClipGradient.limit, ClipGradient.limit), None


# %% wrong[double-backward-missing]: .data of the upstream gradient
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.data.clamp(-ctx.limit, ctx.limit), None


# %% wrong[double-backward-missing]: once_differentiable
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


# %% wrong[gradient-dtype|fails-float32]: the gradient in float32
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return (grad_output.clamp(-ctx.limit, ctx.limit)).float(), None


# %% wrong[fails-expanded-upstream|fails-noncontiguous]: view of the upstream gradient
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return (grad_output.view(-1).clamp(-ctx.limit, ctx.limit)).view(grad_output.shape), None


# %% wrong[forward-value]: forward clamps too
# says: The output is clamped; the gradient should be.
# next: Forward passes x on as it is.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


# %% right: a view
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


# %% right: x itself
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


# %% right: a clone, asks needs_input_grad
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        if ctx.needs_input_grad[0]:
            return grad_output.clamp(-ctx.limit, ctx.limit), None
        return None, None


# %% right: setup_context form
class ClipGradient(Function):
    @staticmethod
    def forward(x, limit):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.limit = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


# %% wrong[gradient-value]: nothing clipped
# says: The gradient passes unchanged: nothing is clipped.
# next: That is the true derivative of forward; here the contract asks for another gradient.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


# %% wrong[gradient-value]: clipped above only
# says: Gradients above limit are clipped, but those below −limit are not.
# next: Gradients have two signs: is there a bound for each?
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(max=ctx.limit), None


# %% wrong[gradient-value]: clipped below only
# says: Gradients below −limit are clipped, but those above limit are not.
# next: Gradients have two signs: is there a bound for each?
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(min=-ctx.limit), None


# %% wrong[gradient-value]: 0 as the lower bound
# says: Negative gradients become 0: the lower bound is 0.
# next: Which is the smallest gradient that should come through?
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(0, ctx.limit), None


# %% wrong[gradient-value]: ±1 whatever the limit
# says: The gradient is clamped to ±1, whatever limit is.
# next: Every element is clamped to ±limit, whatever limit is.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-1, 1), None


# %% wrong[gradient-value]: large gradients become 0
# says: Gradients beyond the limit become 0; they should become ±limit.
# next: clamp keeps their sign and cuts their size.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (grad_output.abs() <= ctx.limit), None


# %% wrong[gradient-value]: clips by the norm
# says: The whole gradient is scaled so that its norm is at most limit.
# next: Here every element is clamped on its own.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        factor = (ctx.limit / grad_output.norm()).clamp(max=1.0)
        return grad_output * factor, None


# %% wrong[gradient-value]: the sign times the limit
# says: Every gradient becomes +limit or −limit, small ones too.
# next: Inside ±limit the gradient passes unchanged.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.limit * grad_output.sign(), None


# %% wrong[gradient-value|upstream-ignored]: the size is clamped, the sign lost
# says: The sign of the gradient is lost: its size is clamped.
# next: Clamp the gradient itself, not its size.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.abs().clamp(max=ctx.limit), None


# %% wrong[gradient-value]: the mask looks at x
# says: The gradient stops where |x| > limit: the mask looks at x.
# next: Here the size of grad_output counts; x does not matter in backward.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= ctx.limit), None


# %% wrong[upstream-ignored]: clamps x in backward
# says: x is clamped in backward, and grad_output is not used.
# next: Clamp grad_output.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return x.clamp(-ctx.limit, ctx.limit), None


# %% wrong[gradient-sign]: a minus
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output.clamp(-ctx.limit, ctx.limit), None


# %% wrong[gradient-scale|gradient-value]: clamped, then divided by the limit
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit) / ctx.limit, None


# %% wrong[mutates-upstream]: clamp_ in place
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp_(-ctx.limit, ctx.limit), None


# %% wrong[forward-value]: clips forward and not backward
# says: The output is clamped; the gradient should be.
# next: Forward passes x on as it is.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


# %% wrong[fails-special-point]: limit or 1.0: 0 counts as missing
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit or 1.0
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


# %% wrong[fails-empty]: looks for the largest gradient first
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output.abs().max() <= ctx.limit:
            return grad_output, None
        return grad_output.clamp(-ctx.limit, ctx.limit), None


# %% wrong[not-a-function]: a hook in place of a Function
def ClipGradient(x, limit):
    y = x.view_as(x)
    y.register_hook(lambda gradient: gradient.clamp(-limit, limit))
    return y


# %% right: two where
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        g = torch.where(grad_output > ctx.limit, ctx.limit, grad_output)
        return torch.where(g < -ctx.limit, -ctx.limit, g), None


# %% right: torch.clip with keywords
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.clip(grad_output, min=-ctx.limit, max=ctx.limit), None


# %% wrong[upstream-ignored]: the bounds of clamp the wrong way round
# says: The gradient is −limit everywhere, whatever grad_output is.
# next: The lower bound is −limit, the upper one is +limit.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.bounds = (limit, -limit)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        first, second = ctx.bounds
        return grad_output.clamp(min=first, max=second), None


# %% wrong[gradient-value]: the limit is taken off the size of each element
# says: limit is subtracted from the size of grad_output: smaller gradients become 0, all others shrink.
# next: A gradient inside the limits should come through unchanged.
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        rest = grad_output.abs() - ctx.limit
        return grad_output.sign() * rest.clamp(min=0), None


# %% wrong[raises]: the number in front
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, limit, x):
        ctx.limit = limit
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output.clamp(-ctx.limit, ctx.limit)


# %% wrong[fails-special-point]: scaled down to the limit, 0 / 0 where both are 0
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.limit / grad_output.abs()).clamp(max=1), None
