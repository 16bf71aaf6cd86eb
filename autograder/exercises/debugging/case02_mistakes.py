# %% wrong[gradient-shape]: as admitted, nothing changed
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * x).sum(-1)
        return grad_x, grad_weight


# %% wrong[gradient-unsummed|gradient-shape]: sums over the first dimension alone
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * x).sum(0)
        return grad_x, grad_weight


# %% wrong[gradient-unsummed|gradient-shape|gradient-value]: no sum at all
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output * x
        return grad_x, grad_weight


# %% wrong[gradient-shape|gradient-value]: one sum over everything
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * x).sum()
        return grad_x, grad_weight


# %% wrong[gradient-value]: the sum of everything for each channel
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * x).sum().expand_as(weight)
        return grad_x, grad_weight


# %% wrong[gradient-value|gradient-scale]: a mean in place of the sum
# says: The gradient for weight is a mean over the rows where their sum belongs.
# next: Each row adds its share: with twice as many rows the gradient is twice as large.
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * x).reshape(-1, weight.shape[0]).mean(0)
        return grad_x, grad_weight


# %% wrong[gradient-value]: sums the two factors apart
# says: grad_output and x are summed before they are multiplied: a product of sums is no sum of products.
# next: Multiply element by element first, and sum then.
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.sum_to_size(weight.shape) * x.sum_to_size(weight.shape)
        return grad_x, grad_weight


# %% wrong[gradient-value]: reshapes in place of a sum
# says: Neighbours in memory are summed where elements of one channel belong together.
# next: The channel is the last dimension: it moves fastest in memory, and has to stay.
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * x).reshape(weight.shape[0], -1).sum(-1)
        return grad_x, grad_weight


# %% wrong[gradient-value]: the weight where x belongs
# says: The gradient for weight is multiplied by weight; the other factor, x, belongs there.
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * weight).sum_to_size(weight.shape)
        return grad_x, grad_weight


# %% wrong[upstream-ignored|gradient-value]: x alone is summed
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = x.sum_to_size(weight.shape)
        return grad_x, grad_weight


# %% wrong[ignores-needs-input-grad]: weight's gradient, whoever asks
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        grad_weight = (grad_output * x).sum_to_size(weight.shape)
        return grad_x, grad_weight


# %% wrong[gradient-value]: a gradient for x without weight
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * x).sum_to_size(weight.shape)
        return grad_x, grad_weight


# %% right: rows, however many
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * x).reshape(-1, *weight.shape).sum(0)
        return grad_x, grad_weight


# %% right: einsum
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_weight = torch.einsum("...c,...c->c", grad_output, x)
        return grad_x, grad_weight


# %% right: a loop over the dimensions in front
class Case02(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return torch.mul(x, weight)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        needs_x, needs_weight = ctx.needs_input_grad
        grad_weight = grad_output * x if needs_weight else None
        while needs_weight and grad_weight.dim() > 1:
            grad_weight = grad_weight.sum(0)
        return grad_output * weight if needs_x else None, grad_weight
