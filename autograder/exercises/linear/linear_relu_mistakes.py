# %% wrong[saves-too-much]: keeps the pre-activation
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, z)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, z = ctx.saved_tensors
        mask = z > 0
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[saves-too-much]: keeps the output, as torch.relu does
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        out = torch.nn.functional.linear(x, weight, bias).relu()
        ctx.save_for_backward(x, weight, out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, out = ctx.saved_tensors
        mask = out > 0
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[saves-too-much]: a float mask
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = (z > 0).to(z.dtype)
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[saves-too-much]: saves the bias as well
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, bias, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, bias, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[fails-half|gradient-dtype|raises|fails-float32]: mask.float() with float64 and bfloat16 tensors
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask.float()
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[raises]: casts everything to float32
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = (grad_output * mask).float()
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-value]: no mask at all
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-value]: the mask inverted
# says: The mask is the wrong way round: the gradient passes where the output is 0.
# next: Where the pre-activation is positive grad_output passes.
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * ~mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-value]: the mask is forgotten for the bias
# says: The gradient for bias is made from grad_output without the ReLU's mask; the gradients for x and weight have it.
# next: The mask belongs to all three gradients: apply it once, at the start.
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.reshape(-1, weight.shape[0]).sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-value]: the mask is forgotten for x
# says: The gradient for x is made from grad_output without the ReLU's mask; the gradients for weight and bias have it.
# next: The mask belongs to all three gradients: apply it once, at the start.
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-value|saves-too-much]: multiplies by the output
# says: grad_output is multiplied by the output, not by the mask.
# next: Where the pre-activation is positive the slope of the ReLU is 1.
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z.clamp(min=0)
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[fails-special-point]: passes the gradient at a pre-activation of 0
# says: Where the pre-activation is exactly 0, the gradient passes; it should stop.
# next: At 0 the contract asks for the gradient 0: where exactly does it begin to pass?
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z >= 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-unsummed]: bias not summed
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = g
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-scale]: bias averaged
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.mean(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[gradient-transposed]: weight's gradient transposed
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = x.reshape(-1, weight.shape[1]).T @ flat
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[fails-batch-dims]: two dimensions only
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = g.t() @ x
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[fails-noncontiguous|fails-expanded-upstream]: view
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output.view(-1, weight.shape[0]) * mask.view(-1, weight.shape[0])
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = (g @ weight).view(x.shape)
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[mutates-upstream]: writes the mask into grad_output
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        grad_output[~mask] = 0
        g = grad_output
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[forward-value]: no ReLU
# says: The ReLU is missing: the output has negative elements.
# next: Apply the ReLU after the linear part.
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[forward-value]: bias behind the ReLU
# says: The bias is added after the ReLU.
# next: The bias belongs inside: the ReLU sees the whole sum.
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0) + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[ignores-needs-input-grad]: computes all three
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        return g @ weight, flat.T @ x.reshape(-1, weight.shape[1]), flat.sum(0)


# %% wrong[gradient-count]: forgets the bias
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight


# %% wrong[saves-on-ctx]: weight on ctx
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, mask)
        ctx.weight = weight
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, mask = ctx.saved_tensors
        weight = ctx.weight
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[double-backward-value|double-backward-missing]: detached weight
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        weight = weight.detach()
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[upstream-nonlinear|gradient-value]: a ReLU on grad_output
# says: grad_output itself goes through the ReLU; the pre-activation is not used.
# next: Whose sign decides whether the ReLU lets a value through?
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output.clamp(min=0)
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% right: a bool mask
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% right: setup_context form, mask as a second look at the output
class LinearReLU(Function):
    @staticmethod
    def forward(x, weight, bias):
        return torch.relu(torch.nn.functional.linear(x, weight, bias))

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, _ = inputs
        ctx.save_for_backward(x, weight, output > 0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% right: torch.where, einsum
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        mask = z > 0
        ctx.save_for_backward(x, weight, mask)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        g = torch.where(mask, grad_output, 0.0)
        needs = ctx.needs_input_grad
        return (
            torch.einsum("...o,oi->...i", g, weight) if needs[0] else None,
            torch.einsum("...o,...i->oi", g, x) if needs[1] else None,
            g.reshape(-1, g.shape[-1]).sum(0) if needs[2] else None,
        )


# %% wrong[saves-too-much]: keeps the bias to compute the mask again, where the mask alone is asked for
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight, bias)
        return torch.nn.functional.linear(x, weight, bias).relu_()

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, bias = ctx.saved_tensors
        mask = torch.nn.functional.linear(x, weight, bias) > 0
        grad_x = grad_weight = grad_bias = None
        g = grad_output * mask
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[saves-on-ctx]: the mask as a private attribute, masked_fill
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = x @ weight.T + bias
        ctx.save_for_backward(x, weight)
        ctx.off = z <= 0
        return z.masked_fill(ctx.off, 0.0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        g = grad_output.masked_fill(ctx.off, 0.0)
        flat = g.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = g @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = flat.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = flat.sum(0)
        return grad_x, grad_weight, grad_bias


# %% wrong[saves-too-much]: in bfloat16 the pre-activation is kept in float32, which the mask was to spare
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        ctx.save_for_backward(x, weight, z.float() if z.dtype == torch.bfloat16 else z > 0)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, z = ctx.saved_tensors
        g = torch.where(z > 0, grad_output, 0.0)
        rows, need = g.reshape(-1, g.shape[-1]), ctx.needs_input_grad
        return (
            g @ weight if need[0] else None,
            rows.T @ x.reshape(-1, x.shape[-1]) if need[1] else None,
            rows.sum(0) if need[2] else None,
        )


# %% wrong[gradient-value]: the mask of the product alone, the bias left out of it
# says: The mask is that of x · weightᵀ: it is made before the bias is added.
# next: The ReLU sees the whole sum, bias included.
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        product = x @ weight.T
        ctx.save_for_backward(x, weight, product > 0)
        return (product + bias).clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        need = ctx.needs_input_grad
        g = grad_output * mask
        rows = g.reshape(-1, weight.shape[0])
        grad_x = g @ weight if need[0] else None
        grad_weight = rows.T @ x.reshape(-1, weight.shape[1]) if need[1] else None
        return grad_x, grad_weight, rows.sum(0) if need[2] else None


# %% wrong[forward-value]: the ReLU sits in front of the layer
# says: The ReLU is applied to x, before the linear part.
# next: The contract has the ReLU at the end.
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x.relu(), weight, bias)
        ctx.save_for_backward(x, weight, z > 0)
        return z

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        g = torch.where(mask, grad_output, 0.0)
        flat = g.reshape(-1, g.shape[-1])
        return g @ weight, flat.T @ x.reshape(-1, x.shape[-1]), flat.sum(0)


# %% wrong[gradient-value]: the mask asks whether the output is at least 0
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        result = (x @ weight.T + bias).relu()
        ctx.save_for_backward(x, weight, result)
        return result

    @staticmethod
    def backward(ctx, upstream):
        x, weight, result = ctx.saved_tensors
        upstream = upstream.masked_fill(~result.ge(0), 0)
        flat = upstream.flatten(0, -2)
        needs = ctx.needs_input_grad
        return (
            upstream @ weight if needs[0] else None,
            flat.T @ x.flatten(0, -2) if needs[1] else None,
            flat.sum(0) if needs[2] else None,
        )


# %% wrong[fails-special-point]: the slope of the ReLU is (1 + sign) / 2, which is a half at 0
# says: Where the pre-activation is exactly 0, half of the gradient passes; none of it should.
# next: At 0 the contract asks for the gradient 0: where exactly does it begin to pass?
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = x @ weight.T + bias
        ctx.save_for_backward(x, weight, z.sign().to(torch.int8))
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, side = ctx.saved_tensors
        g = grad_output * (1 + side) / 2
        rows, inputs = g.flatten(0, -2) if g.dim() > 1 else g[None], x.reshape(-1, x.shape[-1])
        grads = [None] * 3
        if ctx.needs_input_grad[0]:
            grads[0] = g @ weight
        if ctx.needs_input_grad[1]:
            grads[1] = rows.T @ inputs
        if ctx.needs_input_grad[2]:
            grads[2] = rows.sum(0)
        return tuple(grads)


# %% wrong[saves-too-much]: the pre-activation in place of the mask, where there are few elements
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        z = torch.nn.functional.linear(x, weight, bias)
        ctx.few = z.numel() <= 6
        ctx.save_for_backward(x, weight, z if ctx.few else z > 0)
        return z.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, kept = ctx.saved_tensors
        g = torch.where(kept > 0 if ctx.few else kept, grad_output, 0.0)
        needs, flat = ctx.needs_input_grad, g.reshape(-1, g.shape[-1])
        grad_x = g @ weight if needs[0] else None
        grad_weight = flat.T @ x.reshape(-1, x.shape[-1]) if needs[1] else None
        return grad_x, grad_weight, flat.sum(0) if needs[2] else None
