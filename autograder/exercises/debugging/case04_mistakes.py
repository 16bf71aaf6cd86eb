# %% wrong[mutates-input]: as admitted, nothing changed
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x -= x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% wrong[mutates-input]: sub_, and added again at the end
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        top = x.amax(-1, keepdim=True)
        x.sub_(top)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        x.add_(top)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% wrong[mutates-input]: a view of x is written to
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x = x.view_as(x)
        x -= x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% wrong[mutates-input]: out=x
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x = torch.sub(x, x.amax(-1, keepdim=True), out=x)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% wrong[mutates-input]: x.data is written to
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x.data -= x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% wrong[forward-unstable]: the largest is not taken away
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% wrong[forward-unstable|forward-value]: the largest of all rows is taken away
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x = x - x.max()  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% wrong[forward-value]: forgets the logarithm
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x = x - x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% wrong[raises|mutates-input|gradient-value]: marks x as dirty and returns another tensor
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x -= x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% wrong[gradient-value]: forgets the sum of the upstream gradients
# says: Each element takes its own upstream gradient times its share away; the whole row's sum belongs there.
# next: One input moves all outputs of its row, through the sum of the exponentials.
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x = x - x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output


# %% wrong[gradient-value]: the output where its exponential belongs
# says: The sum is shared out by the logarithms of the shares, and not by the shares.
# next: The output is the logarithm of softmax: softmax is its exponential.
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x = x - x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y * grad_output.sum(-1, keepdim=True)


# %% wrong[gradient-value]: the gradient of softmax
# says: This is the gradient of softmax; the output is its logarithm.
# next: Write down the derivative of x − log Σ exp(x) in one place of the row.
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x = x - x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y.exp() * (grad_output - (grad_output * y.exp()).sum(-1, keepdim=True))


# %% wrong[saves-too-much]: keeps x and the output
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x = x - x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        _, y = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% wrong[double-backward-missing]: keeps softmax, an intermediate
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x = x - x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y.exp())
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y * grad_output.sum(-1, keepdim=True)


# %% right: logsumexp
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        y = x - x.logsumexp(-1, keepdim=True)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% right: on a copy, in place
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        x -= x.amax(-1, keepdim=True)  # no exponential overflows
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% right: keeps x and computes softmax again
class Case04(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log_softmax(x, -1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output - torch.softmax(x, -1) * grad_output.sum(-1, keepdim=True)
