# %% wrong[fails-batch-dims]: the two-dimensional formulas of most tutorials
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(x)
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[fails-batch-dims]: sums the bias over the first dimension only
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[fails-batch-dims]: swaps the last two dimensions and forgets to sum the batches
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.mT @ x
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[raises]: needs_input_grad[2] without asking whether there is a bias
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-unsummed]: forgets to sum the gradient of the bias
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = grad_output
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-scale]: takes the mean over the batch for the bias
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.mean(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-scale]: divides the gradient of weight by the batch size
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1]) / flat.shape[0]
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-value]: sums the bias's gradient over everything
# says: The gradient for bias is the total of grad_output in every element.
# next: Each output unit has its own bias: sum over the batch only.
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum().expand(weight.shape[0])
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-value]: outer product of sums
# says: The gradient for weight is the outer product of two sums; it should be a sum of outer products.
# next: Each row of the batch gives its own outer product of grad_output and x: which operation adds them up?
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = torch.outer(flat.sum(0), x.reshape(-1, weight.shape[1]).sum(0))
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-transposed]: weight's gradient the wrong way round
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = x.reshape(-1, weight.shape[1]).T @ flat
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-swapped]: returns the gradients in another order
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_weight, grad_x, grad_bias


# %% wrong[raises]: transposes weight in backward as well
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight.T
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[upstream-ignored]: the local derivative alone for x
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = torch.ones_like(grad_output) @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-missing]: thinks a parameter needs no gradient
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, None, grad_bias


# %% wrong[gradient-count]: forgets the bias
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight


# %% wrong[gradient-missing]: no return
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        ctx.done = True


# %% wrong[gradient-sign]: a minus for the bias
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = -flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[ignores-needs-input-grad]: computes all three whatever is needed
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        flat = grad_output.reshape(-1, weight.shape[0])
        grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) < 3 or not ctx.needs_input_grad[2]:
            return grad_output @ weight, grad_weight, None
        return grad_output @ weight, grad_weight, flat.sum(0)


# %% wrong[saves-too-much]: saves the bias too, as the tutorials do
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight, bias)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, bias = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[saves-too-much]: saves the output too
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        y = torch.nn.functional.linear(x, weight, bias)
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, _ = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[saves-on-ctx]: keeps weight as an attribute
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x)
        ctx.weight = weight
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        weight = ctx.weight
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[raises]: saves the batch size with the tensors
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight, x.shape[0])
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[raises]: two calls of save_for_backward
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x)
        ctx.save_for_backward(weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[mutates-input|raises]: adds the bias's effect into x
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        x.mul_(1.0)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[mutates-upstream]: scales grad_output in place
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        grad_output.mul_(1.0)
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[double-backward-value|double-backward-missing]: detaches what it unpacks
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = (t.detach() for t in ctx.saved_tensors)
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[double-backward-value|double-backward-missing]: reads .data
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = (t.data for t in ctx.saved_tensors)
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[fails-noncontiguous|fails-expanded-upstream]: view instead of reshape on grad_output
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.view(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[fails-half|gradient-dtype]: sums the bias in float32 for accuracy
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0, dtype=torch.promote_types(torch.float32, flat.dtype))
        return grad_x, grad_weight, grad_bias


# %% wrong[raises]: ones that are always float32
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = torch.ones(flat.shape[0]) @ flat
        return grad_x, grad_weight, grad_bias


# %% wrong[forward-value]: forgets the bias in forward
# says: The bias is not added.
# next: Add bias where it is not None.
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[raises|forward-shape]: weight not transposed
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        y = x @ weight
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[raises]: bias added without asking whether it is there
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return x @ weight.T + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[not-a-function]: leaves it to autograd
def MyLinear(x, weight, bias=None):
    y = x @ weight.T
    return y if bias is None else y + bias


# %% wrong[uses-autograd]: asks autograd in backward
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        saved = [t.detach().requires_grad_() for t in ctx.saved_tensors]
        with torch.enable_grad():
            y = torch.nn.functional.linear(*saved)
        found = torch.autograd.grad(y, saved, grad_output)
        grads = [g if n else None for g, n in zip(found, ctx.needs_input_grad)]
        if len(ctx.needs_input_grad) > 2:
            bias = grad_output.reshape(-1, grad_output.shape[-1]).sum(0)
            grads.append(bias if ctx.needs_input_grad[2] else None)
        return tuple(grads)


# %% wrong[shared-state]: keeps x and weight on the class
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        MyLinear.kept = (x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = MyLinear.kept
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[raises]: three names for needs_input_grad, which has two entries
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        out = x @ weight.T
        if bias is not None:
            out = out + bias
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        need_x, need_w, need_b = ctx.needs_input_grad
        g2, x2 = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        return grad_output @ weight if need_x else None, g2.T @ x2 if need_w else None, g2.sum(0) if need_b else None


# %% wrong[gradient-shape|gradient-unsummed]: a bias gradient that keeps the dimension
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has = bias is not None
        out = x @ weight.T
        return out if bias is None else out + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, grad_output.T @ x, grad_output.sum(0, keepdim=True) if ctx.has else None


# %% right: the older form
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% right: setup_context form: defaults are filled in there, so needs_input_grad has three entries
class MyLinear(Function):
    @staticmethod
    def forward(x, weight, bias=None):
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, _ = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% right: einsum for the weight, remembers whether there is a bias
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        y = x @ weight.transpose(0, 1)
        if bias is not None:
            y += bias
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        needs = ctx.needs_input_grad
        grad_x = torch.einsum("...o,oi->...i", grad_output, weight) if needs[0] else None
        grad_weight = torch.einsum("...o,...i->oi", grad_output, x) if needs[1] else None
        batch = tuple(range(grad_output.dim() - 1))
        grad_bias = None
        if ctx.has_bias and needs[2]:
            grad_bias = grad_output.sum(batch) if batch else grad_output
        return grad_x, grad_weight, grad_bias


# %% right: sums outer products, and bias with sum_to_size
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.shape = None if bias is None else bias.shape
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grads = [None, None, None]
        if ctx.needs_input_grad[0]:
            grads[0] = torch.matmul(grad_output, weight)
        if ctx.needs_input_grad[1]:
            grads[1] = (grad_output.unsqueeze(-1) * x.unsqueeze(-2)).sum_to_size(weight.shape)
        if ctx.shape is not None and ctx.needs_input_grad[2]:
            grads[2] = grad_output.sum_to_size(ctx.shape)
        return tuple(grads)


# %% right: flatten(0, -2) where there is a batch, prints and warns
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        print("x", tuple(x.shape))
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        if x.dim() == 1:
            rows, upstream = x.unsqueeze(0), grad_output.unsqueeze(0)
        else:
            rows, upstream = x.flatten(0, -2), grad_output.flatten(0, -2)
        needs = (*ctx.needs_input_grad, False)
        return (
            (upstream @ weight).reshape(x.shape) if needs[0] else None,
            upstream.mT @ rows if needs[1] else None,
            upstream.sum(dim=0) if needs[2] else None,
        )


# %% wrong[gradient-count]: sums a bias's gradient where no bias was given
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        out = x @ weight.T
        return out if bias is None else out + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        g2, x2 = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        grad_x = grad_output @ weight if ctx.needs_input_grad[0] else None
        grad_weight = g2.T @ x2 if ctx.needs_input_grad[1] else None
        return grad_x, grad_weight, g2.sum(0)


# %% wrong[too-slow]: one row at a time
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        rows = [weight @ row for row in x.reshape(-1, x.shape[-1])]
        out = torch.stack(rows) if rows else x.new_zeros(0, weight.shape[0])
        out = out.reshape(*x.shape[:-1], weight.shape[0])
        return out if bias is None else out + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        flat_x, flat_g = x.reshape(-1, x.shape[-1]), grad_output.reshape(-1, weight.shape[0])
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat_g.T @ flat_x
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat_g.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[too-slow]: adds up an outer product for each row
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        flat_x, flat_g = x.reshape(-1, x.shape[-1]), grad_output.reshape(-1, weight.shape[0])
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = torch.zeros_like(weight)
            for g, row in zip(flat_g, flat_x):
                grad_weight = grad_weight + torch.outer(g, row)
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat_g.sum(0)
        return grad_x, grad_weight, grad_bias


# %% right: a loop over the batch dimensions, and one over the arguments
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        while x.dim() > 2:
            x = x.flatten(0, 1)
        flat = grad_output.reshape(-1, weight.shape[0])
        x = x.reshape(-1, weight.shape[1])
        ways = (lambda: grad_output @ weight, lambda: flat.T @ x, lambda: flat.sum(0))
        return tuple(way() if need else None for way, need in zip(ways, ctx.needs_input_grad))


# %% wrong[double-backward-value|double-backward-missing]: x is saved flattened
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x.reshape(-1, x.shape[-1]) if x.dim() > 2 else x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[shared-state]: whether there is a bias is kept on the class
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        MyLinear.has_bias = bias is not None
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if MyLinear.has_bias and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-sign]: the sign is wrong in the return for a bias, and right in the other
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        flat = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        if grad_bias is not None:
            return grad_x, -grad_weight if grad_weight is not None else None, grad_bias
        return grad_x, grad_weight


# %% wrong[fails-noncontiguous|fails-expanded-upstream]: matrices are flattened with view, for the bias alone
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        rows = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = rows.T @ x.reshape(-1, x.shape[-1])
        grad_bias = [None] * (len(ctx.needs_input_grad) - 2)
        if grad_bias and ctx.needs_input_grad[2]:
            batch, size = grad_output.shape[:-1], weight.shape[0]
            flat = grad_output.view(batch[0] * batch[1], size) if len(batch) == 2 else rows
            grad_bias = [flat.sum(0)]
        return grad_x, grad_weight, *grad_bias


# %% wrong[fails-batch-dims]: the gradient for x stays flattened
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        out = x @ weight.T
        return out if bias is None else out + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        need = (*ctx.needs_input_grad, False)
        rows = grad_output.reshape(-1, weight.shape[0])
        grad_x = rows @ weight if need[0] else None
        if grad_x is not None and x.dim() == 1:
            grad_x = grad_x[0]
        grad_weight = rows.T @ x.reshape(-1, weight.shape[1]) if need[1] else None
        grads = grad_x, grad_weight, rows.sum(0) if need[2] else None
        return grads[: len(ctx.needs_input_grad)]


# %% wrong[fails-batch-dims]: one matrix product for the gradient of the weight, whatever stands in front
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.biased = bias is not None
        ctx.save_for_backward(x, weight)
        out = torch.matmul(x, weight.t())
        return out + bias if ctx.biased else out

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        to_x = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            to_x = torch.matmul(g, weight)
        if ctx.needs_input_grad[1]:
            rows = (g, x) if x.ndim > 1 else (g[None], x[None])
            to_weight = torch.matmul(rows[0].transpose(-2, -1), rows[1])
        if ctx.biased and ctx.needs_input_grad[2]:
            to_bias = g.reshape(-1, weight.shape[0]).sum(0)
        return to_x, to_weight, to_bias


# %% wrong[raises]: asks bias for a truth value, and calls needs_input_grad by another name
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.with_bias = bool(bias)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        asked = ctx.needs_input_grad
        rows, seen = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
        to_x = g @ weight if asked[0] else None
        to_weight = rows.mT @ seen if asked[1] else None
        return to_x, to_weight, rows.sum(0) if asked[2] else None


# %% wrong[fails-batch-dims]: mm, which is for matrices
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.n = 2 if bias is None else 3
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        ways = (lambda: g.mm(weight), lambda: g.t().mm(x), lambda: g.sum(dim=0))
        asked = zip(ways[: ctx.n], ctx.needs_input_grad, strict=False)
        return *(way() if needed else None for way, needed in asked), *[None] * (len(ctx.needs_input_grad) - ctx.n)


# %% wrong[fails-batch-dims]: rows by flatten, which a single vector has no dimensions for
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.with_bias = bias is not None
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        into_x = into_weight = into_bias = None
        if ctx.needs_input_grad[0]:
            into_x = g.matmul(weight)
        rows = torch.flatten(g, 0, -2)
        if ctx.needs_input_grad[1]:
            into_weight = rows.T @ torch.flatten(x, 0, -2)
        if ctx.with_bias and ctx.needs_input_grad[2]:
            into_bias = rows.sum(0)
        return into_x, into_weight, into_bias


# %% wrong[saves-too-much]: the bias is kept to see whether there is one
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(bias, x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, g):
        bias, x, weight = ctx.saved_tensors
        needs = ctx.needs_input_grad
        rows = g.reshape(-1, g.shape[-1])
        gradients = [g.matmul(weight) if needs[0] else None, None]
        if needs[1]:
            gradients[1] = rows.T.matmul(x.reshape(-1, x.shape[-1]))
        if bias is None:
            return *gradients, *[None] * (len(needs) - 2)
        return *gradients, rows.sum(0) if needs[2] else None


# %% wrong[fails-batch-dims]: an einsum equation with a letter for one batch dimension
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        y = x @ weight.mT
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        asked = (*ctx.needs_input_grad, False)
        rows = grad_output.reshape(-1, weight.shape[0])
        found = (
            grad_output @ weight if asked[0] else None,
            torch.einsum("no,ni->oi", grad_output, x) if asked[1] else None,
            rows.sum(0) if asked[2] else None,
        )
        return found[: len(ctx.needs_input_grad)]
