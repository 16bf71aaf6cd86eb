# %% wrong[gradient-count]: two gradients for four arguments
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.w1 * grad_output, ctx.w2 * grad_output


# %% wrong[gradient-count]: a list in place of a tuple
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return [ctx.w1 * grad_output, ctx.w2 * grad_output, None, None]


# %% wrong[gradient-count]: gradients for the weights as well
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.save_for_backward(x1, x2)
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        x1, x2 = ctx.saved_tensors
        grad_w1 = (x1 * grad_output).sum()
        grad_w2 = (x2 * grad_output).sum()
        return ctx.w1 * grad_output, ctx.w2 * grad_output, grad_w1, grad_w2


# %% wrong[gradient-count]: the weights themselves in place of None
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.w1 * grad_output, ctx.w2 * grad_output, ctx.w1, ctx.w2


# %% wrong[gradient-count]: None for ctx in front
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return None, ctx.w1 * grad_output, ctx.w2 * grad_output, None, None


# %% wrong[gradient-swapped]: the two gradients in the wrong order
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x2, grad_x1, None, None


# %% wrong[upstream-ignored]: the weights alone
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return torch.full_like(grad_output, ctx.w1), torch.full_like(grad_output, ctx.w2), None, None


# %% wrong[gradient-scale]: passes grad_output on without the weights
# says: grad_output is passed on without the weights.
# next: When x1 grows by 1, by how much does the output grow?
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output, None, None


# %% wrong[gradient-scale|gradient-swapped]: w1 for both
# says: Both gradients use w1, but x2 has a weight of its own.
# next: When x2 grows by 1, by how much does the output grow?
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.w1 * grad_output, ctx.w1 * grad_output, None, None


# %% wrong[gradient-value]: multiplies by the tensors, which is the gradient of the weights
# says: The gradient is multiplied by the tensor, not by its weight.
# next: x1 · grad_output would be the gradient for w1. What multiplies x1 in forward?
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.save_for_backward(x1, x2)
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        x1, x2 = ctx.saved_tensors
        return x1 * grad_output, x2 * grad_output, None, None


# %% wrong[gradient-sign]: a minus for the second branch
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = -ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[gradient-missing]: None for the second tensor too
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1 = w1
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.w1 * grad_output, None, None, None


# %% wrong[gradient-missing]: asks needs_input_grad at the wrong places
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = grad_x2 = None
        if ctx.needs_input_grad[1]:
            grad_x1 = ctx.w1 * grad_output
        if ctx.needs_input_grad[2]:
            grad_x2 = ctx.w2 * grad_output
        return grad_x1, grad_x2, None, None


# %% wrong[ignores-needs-input-grad]: computes both gradients always
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.w1 * grad_output, ctx.w2 * grad_output, None, None


# %% wrong[ignores-needs-input-grad]: asks for both at once
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        if any(ctx.needs_input_grad):
            return ctx.w1 * grad_output, ctx.w2 * grad_output, None, None
        return None, None, None, None


# %% wrong[refuses]: takes tensors as weights
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[refuses]: looks at w1 only
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1):
            raise TypeError("the weight must be a number")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[refuses]: a ValueError
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise ValueError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[refuses]: an assert
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        assert not torch.is_tensor(w1) and not torch.is_tensor(w2)
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[refuses]: a TypeError that says nothing
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[refuses]: refuses only tensors that require a gradient
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        for w in (w1, w2):
            if isinstance(w, torch.Tensor) and w.requires_grad:
                raise TypeError("w1 and w2 get no gradient")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[refuses]: turns a tensor into a number, and cuts its gradient silently
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        ctx.w1, ctx.w2 = float(w1), float(w2)
        return ctx.w1 * x1 + ctx.w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[raises]: refuses whole numbers as well
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if not isinstance(w1, float) or not isinstance(w2, float):
            raise TypeError("w1 and w2 must be floats")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[raises]: asks a number whether it requires a gradient
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if w1.requires_grad or w2.requires_grad:
            raise TypeError("w1 and w2 get no gradient")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.w1 * grad_output, ctx.w2 * grad_output, None, None


# %% wrong[raises]: numbers in save_for_backward
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        ctx.save_for_backward(w1, w2)
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        w1, w2 = ctx.saved_tensors
        return w1 * grad_output, w2 * grad_output, None, None


# %% wrong[raises|refuses]: forgets one weight
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        ctx.w1 = w1
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.w1 * grad_output, ctx.w2 * grad_output, None, None


# %% wrong[raises|refuses]: backward with an argument for each tensor
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_x1, grad_x2):
        return ctx.w1 * grad_x1, ctx.w2 * grad_x2, None, None


# %% wrong[raises]: a stub in the middle, left behind
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        ctx.w1, ctx.w2 = w1, w2
        y = w1 * x1 + w2 * x2
        # YOUR CODE HERE
        raise NotImplementedError()
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.w1 * grad_output, ctx.w2 * grad_output, None, None


# %% wrong[saves-too-much]: saves both tensors out of habit
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.save_for_backward(x1, x2)
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        x1, x2 = ctx.saved_tensors
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[saves-too-much]: makes tensors of the weights to save them
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.save_for_backward(x1.new_tensor(w1), x1.new_tensor(w2))
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        w1, w2 = ctx.saved_tensors
        grad_x1 = w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[saves-on-ctx]: everything as attributes
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.x1, ctx.x2, ctx.w1, ctx.w2 = x1, x2, w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[shared-state]: the weights as attributes of the class
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        WeightedSum.w1, WeightedSum.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = WeightedSum.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = WeightedSum.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[mutates-upstream]: weights grad_output in place
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(ctx.w1), grad_output.mul_(ctx.w2), None, None


# %% wrong[mutates-input]: weights the inputs in place
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        x1 *= w1
        x2 *= w2
        return x1 + x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[forward-value]: the weights crossed
# says: The weights are swapped: the output is w2 · x1 + w1 · x2.
# next: Which weight belongs to which tensor?
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w2 * x1 + w1 * x2

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.w2 * grad_output, ctx.w1 * grad_output, None, None


# %% wrong[forward-value]: a mean
# says: The output is a weighted mean: it is divided by w1 + w2.
# next: The contract asks for the plain weighted sum, without a mean.
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return (w1 * x1 + w2 * x2) / (w1 + w2)

    @staticmethod
    def backward(ctx, grad_output):
        whole = ctx.w1 + ctx.w2
        return ctx.w1 / whole * grad_output, ctx.w2 / whole * grad_output, None, None


# %% wrong[forward-shape]: sums over the elements
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return (w1 * x1 + w2 * x2).sum()

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.w1 * grad_output, ctx.w2 * grad_output, None, None


# %% wrong[double-backward-missing]: detaches the upstream gradient
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad = grad_output.detach()
        grad_x1 = ctx.w1 * grad if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[upstream-nonlinear]: clips the gradients
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = (ctx.w1 * grad_output).clamp(-0.1, 0.1)
        grad_x2 = (ctx.w2 * grad_output).clamp(-0.1, 0.1)
        return grad_x1, grad_x2, None, None


# %% wrong[not-a-function]: a plain function
def WeightedSum(x1, x2, w1, w2):
    if torch.is_tensor(w1) or torch.is_tensor(w2):
        raise TypeError("w1 and w2 must be numbers")
    return w1 * x1 + w2 * x2


# %% wrong[fails-special-point]: takes a weight of 0 for a missing one
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1 or 1.0, w2 or 1.0
        return ctx.w1 * x1 + ctx.w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[fails-special-point]: divides by a weight
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("w1 and w2 must be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * (x1 + w2 / w1 * x2)

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[raises]: an assert that wants floats
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        assert isinstance(w1, float), "w1 must be a float"
        ctx.w = w1, w2
        return w1 * x1 + w2 * x2
    @staticmethod
    def backward(ctx, g):
        return ctx.w[0] * g, ctx.w[1] * g, None, None


# %% wrong[refuses]: a TypeError that says bad input
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("bad input")
        ctx.w = w1, w2
        return w1 * x1 + w2 * x2
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.needs_input_grad[:2]
        return ctx.w[0] * g if a else None, ctx.w[1] * g if b else None, None, None


# %% wrong[raises]: a bare TypeError for everything but floats
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if type(w1) != float or type(w2) != float:
            raise TypeError
        ctx.w = w1, w2
        return w1 * x1 + w2 * x2
    @staticmethod
    def backward(ctx, g):
        return ctx.w[0] * g, ctx.w[1] * g, None, None


# %% right: setup_context
class WeightedSum(Function):
    @staticmethod
    def forward(x1, x2, w1, w2):
        for w in (w1, w2):
            if isinstance(w, torch.Tensor):
                raise TypeError("a weight must be a Python number, not a tensor")
        return w1 * x1 + w2 * x2

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, _, ctx.w1, ctx.w2 = inputs

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = grad_x2 = None
        if ctx.needs_input_grad[0]:
            grad_x1 = grad_output * ctx.w1
        if ctx.needs_input_grad[1]:
            grad_x2 = grad_output * ctx.w2
        return grad_x1, grad_x2, None, None


# %% right: a list of weights on ctx, and a loop
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if not all(isinstance(w, (int, float)) for w in (w1, w2)):
            raise TypeError(f"expected two numbers, got {type(w1)} and {type(w2)}")
        ctx.weights = [w1, w2]
        return torch.add(w1 * x1, x2, alpha=w2)

    @staticmethod
    def backward(ctx, grad_output):
        both = zip(ctx.weights, ctx.needs_input_grad)
        gradients = [w * grad_output if needed else None for w, needed in both]
        return (*gradients, None, None)


# %% right: a check with numbers.Real in a helper, and prints
import numbers


def number(w):
    if not isinstance(w, numbers.Real):
        raise TypeError(f"{w!r} is no number")
    return w


class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        print("weights", w1, w2)
        ctx.w1, ctx.w2 = number(w1), number(w2)
        return x1 * w1 + x2 * w2

    @staticmethod
    def backward(ctx, grad_output):
        first, second, *_ = ctx.needs_input_grad
        return (
            grad_output * ctx.w1 if first else None,
            grad_output * ctx.w2 if second else None,
            None,
            None,
        )


# %% right: a wrapper checks the types
class _WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        ctx.w1, ctx.w2 = w1, w2
        return torch.lerp(w1 * x1, w1 * x1 + w2 * x2, 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


def WeightedSum(x1, x2, w1, w2):
    if torch.is_tensor(w1) or torch.is_tensor(w2):
        raise TypeError("w1 and w2 are numbers, they get no gradient")
    return _WeightedSum.apply(x1, x2, w1, w2)


# %% right: a weight of 1 passes grad_output on as it is
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1):
            raise TypeError("w1 must be a number")
        if torch.is_tensor(w2):
            raise TypeError("w2 must be a number")
        ctx.w1 = w1
        ctx.w2 = w2
        y = x1.clone()
        y *= w1
        y += w2 * x2
        return y

    @staticmethod
    def backward(ctx, grad_output):
        def weighted(weight):
            return grad_output if weight == 1 else weight * grad_output

        need1, need2 = ctx.needs_input_grad[:2]
        return weighted(ctx.w1) if need1 else None, weighted(ctx.w2) if need2 else None, None, None


# %% wrong[refuses]: a TypeError that says no
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("no")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[raises]: takes floats only, with an assert of the type
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        for w in (w1, w2):
            if not isinstance(w, float):
                raise TypeError(f"a weight must be a float, not {type(w).__name__}")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% right: a short sentence in the error
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("numbers only")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% right: the error in another language
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.is_tensor(w1) or torch.is_tensor(w2):
            raise TypeError("Die Gewichte müssen Zahlen sein")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None


# %% wrong[refuses]: type(w) is no tensor where w is a Parameter
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if torch.Tensor in (type(w1), type(w2)):
            raise TypeError("w1 and w2 are plain numbers here")
        ctx.weights = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grads = (
            w * grad_output if need else None
            for w, need in zip(ctx.weights, ctx.needs_input_grad)
        )
        return *grads, None, None


# %% wrong[refuses]: the message blames w1 for what w2 is
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        for w in (w1, w2):
            if isinstance(w, torch.Tensor):
                raise TypeError(f"w1 should be a float and not {type(w)}")
        ctx.weights = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        grads = (
            w * grad_output if need else None
            for w, need in zip(ctx.weights, ctx.needs_input_grad)
        )
        return *grads, None, None


# %% wrong[gradient-swapped]: the weights come back from ctx in the other order
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        for weight in (w1, w2):
            if isinstance(weight, torch.Tensor):
                raise TypeError("w1 and w2 are plain numbers, not tensors")
        ctx.weights = (w1, w2)
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        second, first = ctx.weights
        need = ctx.needs_input_grad
        grad_1 = grad_output * first if need[0] else None
        return grad_1, grad_output * second if need[1] else None, None, None


# %% wrong[ignores-needs-input-grad]: one flag is asked for both
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        for weight in (w1, w2):
            if isinstance(weight, torch.Tensor):
                raise TypeError("w1 and w2 are plain numbers, not tensors")
        ctx.weights = (w1, w2)
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad_output):
        w1, w2 = ctx.weights
        if not ctx.needs_input_grad[0]:
            return None, grad_output * w2, None, None
        return grad_output * w1, grad_output * w2, None, None


# %% wrong[gradient-missing]: returns at the top unless both tensors need a gradient
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        for weight in (w1, w2):
            if torch.is_tensor(weight):
                raise TypeError("a weight is a plain number")
        ctx.pair = w1, w2
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, grad):
        if not (ctx.needs_input_grad[0] and ctx.needs_input_grad[1]):
            return None, None, None, None
        w1, w2 = ctx.pair
        return w1 * grad, w2 * grad, None, None


# %% wrong[refuses]: refuses two tensors, and lets one pass
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if all(isinstance(w, torch.Tensor) for w in (w1, w2)):
            raise TypeError("the weights w1 and w2 have to be numbers")
        ctx.weights = w1, w2
        return x1 * w1 + x2 * w2

    @staticmethod
    def backward(ctx, grad_output):
        first, second = (
            grad_output * w if needed else None
            for w, needed in zip(ctx.weights, ctx.needs_input_grad)
        )
        return first, second, None, None
