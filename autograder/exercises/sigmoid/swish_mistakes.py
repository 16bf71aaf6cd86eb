# %% wrong[gradient-unsummed]: beta gets a gradient of the shape of x
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = grad_output * x * x * s * (1 - s)
        return grad_x, grad_beta


# %% wrong[gradient-shape|gradient-unsummed|raises]: sums everything, which suits only a 0-d beta
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum()
        return grad_x, grad_beta


# %% wrong[gradient-shape|gradient-value|fails-batch-dims|raises]: sums over the first dimension, which suits only a beta per channel
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum(0)
        return grad_x, grad_beta


# %% wrong[gradient-value|gradient-scale]: the mean where the sum belongs
# says: The gradient for beta is a mean over what was broadcast; it should be the sum.
# next: Every element that beta multiplies adds its own part: nothing is divided.
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape) / (x.numel() / beta.numel())
        return grad_x, grad_beta


# %% wrong[gradient-value|gradient-unsummed]: expands the total sum back to beta's shape
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum().expand(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-swapped|gradient-shape|raises]: the two gradients in the wrong order
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_beta, grad_x


# %% wrong[gradient-value]: beta missing in the gradient of x
# says: In the gradient for x the inner derivative is missing: d(beta · x)/dx = beta.
# next: Differentiate σ(beta · x) by x: what does the chain rule add?
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-value]: x missing in the gradient of x
# says: In the gradient for x the second term lacks its factor x.
# next: Write both terms of the product rule for x · σ(beta · x).
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-value]: σ alone, x treated as a constant factor
# says: The gradient for x is grad_output · σ(beta · x): half of the product rule is missing.
# next: σ(beta · x) depends on x as well: which term does that add?
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * s
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-value]: one x too few in the gradient of beta
# says: In the gradient for beta a factor x is missing: x comes in outside σ and inside.
# next: Differentiate x · σ(beta · x) by beta, step by step: where does x come in?
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-value]: beta in its own gradient
# says: The gradient for beta has a factor beta instead of a factor x.
# next: What is the derivative of beta · x by beta?
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * beta * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-value]: the formula in terms of the output with beta forgotten, y + s(1 - y)
# says: In the gradient for x the inner derivative is missing: d(beta · x)/dx = beta.
# next: Differentiate σ(beta · x) by x: what does the chain rule add?
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (x * s + s * (1 - x * s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-value]: s saved as σ(x), without beta
# says: backward computes σ(x), without beta, where forward has σ(beta · x).
# next: With s for σ(beta · x) the output is x · s: differentiate that product.
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-sign]: the gradient of beta with a minus
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = -(grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-scale|gradient-value]: the gradient of x doubled
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = 2 * grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[upstream-ignored|gradient-value]: the gradient of beta without the upstream gradient
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[upstream-ignored]: both gradients without the upstream gradient
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = s + beta * x * s * (1 - s)
        if ctx.needs_input_grad[1]:
            grad_beta = (x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-value|gradient-unsummed]: multiplies by the upstream gradient after the sum
# says: In the gradient for beta, grad_output is summed before it is multiplied; the sum should come last.
# next: Every element that beta multiplies has its own upstream gradient: when may they be added up?
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (x * x * s * (1 - s)).sum_to_size(beta.shape) * grad_output.sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-missing]: no gradient for beta
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = None
        return grad_x, grad_beta


# %% wrong[gradient-zero|gradient-missing]: beta is treated as a constant and gets zeros
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = torch.zeros_like(beta)
        return grad_x, grad_beta


# %% wrong[gradient-missing|gradient-count]: the gradients are computed and not returned
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        grad_x, grad_beta


# %% wrong[gradient-count]: one gradient for two arguments
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x


# %% wrong[gradient-count]: None for ctx in front
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return None, grad_x, grad_beta


# %% wrong[raises]: two calls of save_for_backward, the last one wins
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.save_for_backward(beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[raises]: sum_to_size(*shape) has no arguments for a 0-d beta
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(*beta.shape)
        return grad_x, grad_beta


# %% wrong[raises]: unpacks in the wrong number
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta, s = ctx.saved_tensors
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[raises]: beta as a Python number works for one element only
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta.item()
        return x * torch.sigmoid(ctx.beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(ctx.beta * x)
        grad_x = grad_output * (s + ctx.beta * x * s * (1 - s))
        return grad_x, (grad_output * x * x * s * (1 - s)).sum()


# %% wrong[gradient-swapped|gradient-value|raises|gradient-shape]: unpacks in the wrong order
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        beta, x = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[forward-value]: beta outside, β·x·σ(x)
# says: The output is beta · x · σ(x): beta belongs inside σ.
# next: The output is x · σ(beta · x): beta comes in once, inside.
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return beta * x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[forward-value]: beta forgotten in forward
# says: The output is x · σ(x), without beta.
# next: The output is x · σ(beta · x): beta comes in once, inside.
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return torch.nn.functional.silu(x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[forward-unstable]: x·e^{βx} / (1 + e^{βx}) is inf / inf at 1000
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        e = torch.exp(beta * x)
        return x * e / (1 + e)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-unstable]: e / (1 + e)² in backward is inf / inf at -1000
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        e = torch.exp(-beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (1 / (1 + e) + beta * x * e / (1 + e) ** 2)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * e / (1 + e) ** 2).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[double-backward-value|saves-too-much]: saves σ(βx) as well, which also breaks the second derivative
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(x, beta, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, beta, s = ctx.saved_tensors
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[saves-too-much]: saves the output too
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        y = x * torch.sigmoid(beta * x)
        ctx.save_for_backward(x, beta, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, beta, y = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[double-backward-missing|double-backward-value|saves-too-much]: saves beta expanded to the shape of x, as a copy
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        wide = beta.expand(x.shape).contiguous()
        ctx.save_for_backward(x, wide, beta)
        return x * torch.sigmoid(wide * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, wide, narrow = ctx.saved_tensors
        s = torch.sigmoid(wide * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + wide * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(narrow.shape)
        return grad_x, grad_beta


# %% wrong[saves-on-ctx]: beta as an attribute
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,), beta = ctx.saved_tensors, ctx.beta
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[saves-on-ctx]: both inputs as attributes
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.x, ctx.beta = x, beta
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.x, ctx.beta
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[shared-state]: beta on the class
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        Swish.beta = beta
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,), beta = ctx.saved_tensors, Swish.beta
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[ignores-needs-input-grad]: always computes both gradients
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_output * (s + beta * x * s * (1 - s))
        grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[ignores-needs-input-grad]: asks for x, forgets to ask for beta
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        return grad_x, (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)


# %% wrong[gradient-missing|ignores-needs-input-grad]: the two flags mixed up
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[1]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[0]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[mutates-input]: multiplies x by beta in place
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x.clone(), beta)
        x *= beta
        return x / beta * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[mutates-saved]: multiplies the saved x in place
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + x.mul_(beta) * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x / beta**2 * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[mutates-upstream]: writes s(1 - s) into grad_output
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_output *= x * x * s * (1 - s)
            grad_beta = grad_output.sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[double-backward-value|double-backward-missing]: x detached in backward
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = (t.detach() for t in ctx.saved_tensors)
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[double-backward-value|double-backward-missing]: σ computed under no_grad, a constant for the second derivative
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        with torch.no_grad():
            s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[double-backward-value|double-backward-missing]: only beta detached, so that only its second derivative is wrong
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        beta = beta.detach()
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[saves-too-much|double-backward-value|double-backward-missing]: saves both finished slopes
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(s + beta * x * s * (1 - s), x * x * s * (1 - s), beta)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        by_x, by_beta, like_beta = ctx.saved_tensors
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * by_x
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * by_beta).sum_to_size(like_beta.shape)
        return grad_x, grad_beta


# %% wrong[double-backward-missing]: once_differentiable
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[upstream-nonlinear]: clips the upstream gradient
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_output = grad_output.clamp(-1, 1)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-dtype|fails-float32]: the gradient of beta in double
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape).double()
        return grad_x, grad_beta


# %% wrong[fails-expanded-upstream|fails-noncontiguous]: view of the upstream gradient
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output.view(x.shape.numel()) * (x * x * s * (1 - s)).reshape(-1)).reshape(x.shape).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[uses-autograd]: autograd inside backward
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        saved = [t.detach().requires_grad_() for t in ctx.saved_tensors]
        with torch.enable_grad():
            y = saved[0] * torch.sigmoid(saved[1] * saved[0])
        grads = torch.autograd.grad(y, saved, grad_output)
        return tuple(g if n else None for g, n in zip(grads, ctx.needs_input_grad))


# %% wrong[finite-differences]: central differences in both arguments
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        e = 1e-6
        f = lambda x, beta: x * torch.sigmoid(beta * x)
        grad_x = grad_output * (f(x + e, beta) - f(x - e, beta)) / (2 * e)
        grad_beta = (grad_output * (f(x, beta + e) - f(x, beta - e)) / (2 * e)).sum_to_size(beta.shape)
        return tuple(g if n else None for g, n in zip((grad_x, grad_beta), ctx.needs_input_grad))


# %% right: s is shared, the sum is written by hand
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for dim, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(dim, keepdim=True)
    return grad


class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = unbroadcast(grad_output * x * x * s * (1 - s), beta.shape)
        return grad_x, grad_beta


# %% right: setup_context form
class Swish(Function):
    @staticmethod
    def forward(x, beta):
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        inner = grad_output * x * s * (1 - s)
        grad_x = grad_output * s + beta * inner if ctx.needs_input_grad[0] else None
        grad_beta = (x * inner).sum_to_size(beta.shape) if ctx.needs_input_grad[1] else None
        return grad_x, grad_beta


# %% right: in terms of the recomputed output, y' = βy + s(1 - βy)
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        y = x * s
        grads = [None, None]
        if ctx.needs_input_grad[0]:
            grads[0] = grad_output * (beta * y + s * (1 - beta * y))
        if ctx.needs_input_grad[1]:
            grads[1] = (grad_output * y * (x - y)).sum_to_size(beta.size())
        return tuple(grads)


# %% right: prints, warns, and multiplies σ by σ(-βx)
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        import warnings

        warnings.warn("Swish", stacklevel=1)
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        z = beta * x
        print("z between", z.shape, beta.shape)
        slope = torch.sigmoid(z) * torch.sigmoid(-z)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (torch.sigmoid(z) + z * slope)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x**2 * slope).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[double-backward-value]: |beta x| for a stable σ, whose slope at 0 is 0
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        z = beta * x
        small = torch.exp(-z.abs())
        s = torch.where(z >= 0, 1 / (1 + small), small / (1 + small))
        slope = small / (1 + small) ** 2
        grad_x = grad_output * (s + z * slope) if ctx.needs_input_grad[0] else None
        grad_beta = None
        if ctx.needs_input_grad[1]:
            per_element = grad_output * x * x * slope
            extra = per_element.dim() - beta.dim()
            dims = list(range(extra)) + [i + extra for i, n in enumerate(beta.shape) if n == 1]
            grad_beta = per_element.sum(dims).reshape(beta.shape) if dims else per_element
        return grad_x, grad_beta


# %% right: addcmul, and set_materialize_grads(False)
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output is None:
            return None, None
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.addcmul(grad_output * s, grad_output * beta * x, s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.size())
        return grad_x, grad_beta


# %% wrong[gradient-shape|fails-batch-dims]: beta's gradient is summed over the first dimension, as in batches
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        gate = torch.sigmoid(x * beta)
        ctx.save_for_backward(x, beta)
        return gate * x

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        gate = torch.sigmoid(x * beta)
        bend = x * gate * (1 - gate)
        for_x = grad_output * (gate + beta * bend) if ctx.needs_input_grad[0] else None
        for_beta = torch.sum(grad_output * x * bend, dim=0) if ctx.needs_input_grad[1] else None
        return for_x, for_beta


# %% wrong[gradient-value]: beta in front of the whole slope by x
# says: The whole gradient for x is multiplied by beta; only the second term should be.
# next: With s for σ(beta · x) the output is x · s: differentiate that product.
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        ds = s * (1 - s)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * beta * (s + x * ds)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * ds).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% wrong[gradient-missing]: beta's gradient stands in the elif of x's
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x / (1 + torch.exp(-beta * x))

    @staticmethod
    def backward(ctx, upstream):
        x, beta = ctx.saved_tensors
        gate = torch.sigmoid(x * beta)
        dx = dbeta = None
        needs_x, needs_beta = ctx.needs_input_grad
        if needs_x:
            dx = upstream * gate * (1 + beta * x * (1 - gate))
        elif needs_beta:
            dbeta = (upstream * x**2 * gate * (1 - gate)).sum().reshape(beta.shape)
        return dx, dbeta


# %% wrong[raises]: beta belongs to the channels, as in nn.PReLU
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        per_channel = beta.view(1, -1) if beta.numel() > 1 else beta
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(per_channel * x)

    @staticmethod
    def backward(ctx, g):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        return g * (s + beta * x * s * (1 - s)), (g * x * x * s * (1 - s)).sum_to_size(beta.shape)


# %% wrong[gradient-value]: grad_output and the slope are summed each for itself
# says: In the gradient for beta, grad_output is summed before it is multiplied; the sum should come last.
# next: Every element that beta multiplies has its own upstream gradient: when may they be added up?
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, g):
        x, beta = ctx.saved_tensors
        up, down = torch.sigmoid(beta * x), torch.sigmoid(-beta * x)
        into_x = into_beta = None
        if ctx.needs_input_grad[0]:
            into_x = g * up * (1 + beta * x * down)
        if ctx.needs_input_grad[1]:
            slope = x * x * up * down
            into_beta = slope.sum_to_size(beta.shape) * g.sum_to_size(beta.shape)
        return into_x, into_beta
