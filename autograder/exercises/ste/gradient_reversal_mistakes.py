# %% wrong[gradient-count]: no None for the number
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output


# %% wrong[gradient-count]: a gradient for the number
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, grad_output


# %% wrong[gradient-count]: None in front
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return None, -ctx.alpha * grad_output, None


# %% wrong[gradient-count]: the wrong way round
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return None, -ctx.alpha * grad_output


# %% wrong[gradient-missing|gradient-count]: forgets the return
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        grad_x = -ctx.alpha * grad_output


# %% wrong[gradient-zero]: zeros
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output), None


# %% wrong[raises]: the number was never kept
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% wrong[raises]: save_for_backward with a number
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(alpha)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        (alpha,) = ctx.saved_tensors
        return grad_output, None


# %% wrong[saves-too-much]: saves x, which nothing reads
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% wrong[saves-on-ctx]: keeps x on ctx
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        ctx.x = x
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% wrong[saves-too-much]: the number as a tensor of the shape of x
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.factor = torch.full_like(x, alpha)
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output + 0 * ctx.factor, None


# %% wrong[shared-state]: the number on the class
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        GradientReversal.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -GradientReversal.alpha * grad_output, None


# %% wrong[double-backward-missing]: .data of the upstream gradient
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output.data, None


# %% wrong[double-backward-missing]: once_differentiable
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% wrong[gradient-dtype|fails-float32]: the gradient in float32
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return (-ctx.alpha * grad_output).float(), None


# %% wrong[fails-expanded-upstream|fails-noncontiguous]: view of the upstream gradient
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return (-ctx.alpha * grad_output.view(-1)).view(grad_output.shape), None


# %% wrong[fails-batch-dims|fails-device]: the number as a tensor of shape (1,)
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = torch.full((1,), float(alpha), dtype=x.dtype)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% right: a view
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% right: x itself
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% right: a clone, asks needs_input_grad
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        if ctx.needs_input_grad[0]:
            return -ctx.alpha * grad_output, None
        return None, None


# %% right: setup_context form
class GradientReversal(Function):
    @staticmethod
    def forward(x, alpha):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.alpha = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% wrong[gradient-sign]: no minus
# says: alpha is there, but the minus is missing: nothing is reversed.
# next: Reversed means another sign: where does it come in?
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.alpha * grad_output, None


# %% wrong[gradient-scale]: alpha forgotten
# says: The gradient is reversed, but alpha is missing.
# next: alpha sets how strong the reversal is: it is a factor of the gradient.
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output, None


# %% wrong[gradient-scale]: nothing reversed
# says: The gradient passes unchanged: nothing is reversed.
# next: That is the true derivative of forward; here the contract asks for another gradient.
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


# %% wrong[gradient-scale]: divides by alpha
# says: The gradient is divided by alpha.
# next: alpha is a factor: with alpha = 0 no gradient arrives.
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output / ctx.alpha, None


# %% wrong[gradient-scale|gradient-value]: alpha squared
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -(ctx.alpha**2) * grad_output, None


# %% wrong[upstream-ignored]: -alpha alone
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.full_like(grad_output, -ctx.alpha), None


# %% wrong[upstream-nonlinear]: -alpha times the size of the gradient
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output.abs(), None


# %% wrong[gradient-value]: multiplies by x
# says: The gradient is multiplied by x.
# next: Only alpha and grad_output matter in backward, not x.
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -ctx.alpha * x * grad_output, None


# %% wrong[gradient-value|upstream-nonlinear]: subtracts alpha
# says: alpha is subtracted from grad_output; it should multiply it.
# next: alpha is a factor, not a term.
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output - ctx.alpha, None


# %% wrong[forward-value]: reverses forward
# says: The output is −alpha · x: forward is reversed too.
# next: Forward passes x on as it is; only the gradient is reversed.
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return -alpha * x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% wrong[forward-value]: minus x
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return -x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% wrong[fails-special-point]: alpha or 1.0: 0 counts as missing
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha or 1.0
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% wrong[fails-special-point]: the size of alpha
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = abs(alpha)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% wrong[mutates-upstream]: multiplies in place
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(-ctx.alpha), None


# %% wrong[mutates-input]: writes to x and back
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        x.data.neg_()
        return -x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


# %% right: neg of a product
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x * 1

    @staticmethod
    def backward(ctx, grad_output):
        return (grad_output * ctx.alpha).neg(), None


# %% right: clone first, then in place
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        grad_x = grad_output.clone()
        grad_x = grad_x.mul_(-ctx.alpha)
        return grad_x, None


# %% wrong[forward-value]: the number in front
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, alpha, x):
        ctx.factor = -alpha
        return x.view_as(x) if torch.is_tensor(x) else x

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output * ctx.factor
