# %% wrong[fails-special-point|gradient-unstable]: recovers σ as output / scale, which is 0/0 at scale 0
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = scale * torch.sigmoid(x)
        ctx.save_for_backward(y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        s = y / ctx.scale
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[fails-special-point|gradient-unstable]: y · (1 - y / scale), the same division
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = scale * torch.sigmoid(x)
        ctx.save_for_backward(y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y / ctx.scale), None


# %% wrong[gradient-value]: y · (1 - y) with the scaled output
# says: The slope is taken to be y · (1 − y), as it is for σ itself; but here y is scale · σ(x).
# next: That formula holds for σ itself: what does it become when y is scale · σ(x)?
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = scale * torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y), None


# %% wrong[gradient-value]: scale · y · (1 - y) with the scaled output
# says: The gradient is grad_output · scale · y · (1 − y), with the scaled output y in place of σ(x).
# next: The slope needs σ(x) itself; scale is 0 in some cases, and then the output does not give it back.
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = scale * torch.sigmoid(x)
        ctx.save_for_backward(y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * ctx.scale * y * (1 - y), None


# %% wrong[gradient-scale|gradient-value]: forgets the scale in backward
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * s * (1 - s), None


# %% wrong[gradient-scale|gradient-value]: divides by the scale
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output / ctx.scale * s * (1 - s), None


# %% wrong[gradient-scale|gradient-value]: the scale twice
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale**2 * s * (1 - s), None


# %% wrong[gradient-sign|gradient-value]: loses the sign of a negative scale
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * abs(ctx.scale) * s * (1 - s), None


# %% wrong[upstream-ignored]: the local slope only
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return ctx.scale * s * (1 - s), None


# %% wrong[gradient-value]: returns the output in place of the slope
# says: The gradient is grad_output · scale · σ(x), which is the output and not its slope.
# next: Differentiate σ as well.
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s, None


# %% wrong[gradient-count]: no answer for scale
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s * (1 - s)


# %% wrong[gradient-swapped|gradient-count|gradient-missing|raises]: the two answers in the wrong order
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return None, grad_output * ctx.scale * s * (1 - s)


# %% wrong[gradient-count|raises]: a gradient for the float
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s * (1 - s), (grad_output * s).sum()


# %% wrong[gradient-count|raises]: a leading None for ctx
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return None, grad_output * ctx.scale * s * (1 - s), None


# %% wrong[raises]: a float in save_for_backward
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * scale * s * (1 - s), None


# %% wrong[raises]: scale is not known in backward
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * scale * s * (1 - s), None


# %% wrong[raises]: backward expects scale as an argument
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output, scale):
        s = torch.sigmoid(ctx.saved_tensors[0])
        return grad_output * scale * s * (1 - s), None


# %% wrong[forward-value]: the scale went inside, σ(scale · x)
# says: The output is σ(scale · x): the scale belongs outside.
# next: ScaledSigmoid stretches the output, not the input.
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return torch.sigmoid(scale * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(ctx.scale * x)
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[forward-value]: forgets to scale in forward
# says: The output is σ(x), without the scale.
# next: Multiply by scale in forward.
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[forward-unstable]: eˣ / (1 + eˣ) overflows at 1000
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.exp(x) / (1 + torch.exp(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[gradient-unstable]: e⁻ˣ / (1 + e⁻ˣ)² is inf / inf at -1000
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        e = torch.exp(-x)
        return grad_output * ctx.scale * e / (1 + e) ** 2, None


# %% wrong[saves-too-much]: keeps input and output
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = scale * torch.sigmoid(x)
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[saves-too-much]: makes a tensor of the size of x out of the scale
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        scales = torch.full_like(x, scale)
        ctx.save_for_backward(x, scales)
        return scales * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        x, scales = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * scales * s * (1 - s), None


# %% wrong[saves-on-ctx]: the input as an attribute, next to the scale
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.x, ctx.scale = x, scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        s = torch.sigmoid(ctx.x)
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[shared-state]: the scale on the class
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ScaledSigmoid.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ScaledSigmoid.scale * s * (1 - s), None


# %% wrong[double-backward-missing|double-backward-value]: saves σ(x), an intermediate
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        s = torch.sigmoid(x)
        ctx.save_for_backward(s)
        ctx.scale = scale
        return scale * s

    @staticmethod
    def backward(ctx, grad_output):
        (s,) = ctx.saved_tensors
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[double-backward-missing|double-backward-value]: saves the finished slope
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        s = torch.sigmoid(x)
        ctx.save_for_backward(scale * s * (1 - s))
        return scale * s

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope, None


# %% wrong[double-backward-missing|double-backward-value]: detaches the saved input
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].detach()
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[mutates-upstream]: scales grad_output in place
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        grad_output *= ctx.scale
        return grad_output * s * (1 - s), None


# %% wrong[mutates-input]: scales, forgets that x is not its own
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        y = x.sigmoid_().mul(scale)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (s,) = ctx.saved_tensors
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[fails-special-point|fails-empty]: scales by the largest element first, for stability
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        top = x.abs().max()
        return scale * torch.sigmoid(x / (1 + 0 * top))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[uses-autograd]: differentiates with autograd
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            y = ctx.scale * torch.sigmoid(leaf)
        return torch.autograd.grad(y, leaf, grad_output)[0], None


# %% wrong[finite-differences]: a central difference
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        eps = 1e-6
        slope = (torch.sigmoid(x + eps) - torch.sigmoid(x - eps)) / (2 * eps)
        return grad_output * ctx.scale * slope, None


# %% right: refuses a tensor for scale
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        if isinstance(scale, torch.Tensor):
            raise TypeError("scale must be a Python number")
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        s = torch.sigmoid(ctx.saved_tensors[0])
        return grad_output * ctx.scale * s * (1 - s), None


# %% right: setup_context form
class ScaledSigmoid(Function):
    @staticmethod
    def forward(x, scale):
        return torch.sigmoid(x) * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.scale = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return ctx.scale * grad_output * torch.sigmoid(x) * torch.sigmoid(-x), None


# %% right: keeps the output, and treats scale 0 as a case of its own
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = scale * torch.sigmoid(x)
        ctx.save_for_backward(y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        if ctx.scale == 0:
            return torch.zeros_like(y), None
        return grad_output * y * (1 - y / ctx.scale), None


# %% right: through tanh, σ' = (1 - tanh²(x/2)) / 4
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        t = torch.tanh(x / 2)
        return grad_output * (ctx.scale / 4) * (1 - t * t), None


# %% right: prints and warns
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        import warnings

        warnings.warn("scale is " + str(scale), stacklevel=1)
        ctx.scale = scale
        ctx.save_for_backward(x)
        return torch.sigmoid(x).mul_(scale)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        print("scale in backward:", ctx.scale)
        s = torch.sigmoid(x)
        grad_x = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * ctx.scale * (s - s * s)
        return grad_x, None


# %% right: a bool mask picks the stable branch
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        small = torch.exp(-x.abs())
        mask = x >= 0
        return scale * torch.where(mask, 1 / (1 + small), small / (1 + small))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[raises]: stores one name and reads another
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.sacle * s * (1 - s), None


# %% wrong[fails-special-point]: takes a scale of 0 for a missing one
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        grad = grad_output * s * (1 - s)
        if ctx.scale:
            grad = grad * ctx.scale
        return grad, None


# %% wrong[fails-special-point|gradient-value]: divides by scale plus a small number
# says: For a very small scale the gradient is slightly off: something small is added to a divisor.
# next: What is divided by 0 is lost: the slope needs σ(x), not the output divided by scale.
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        y = torch.sigmoid(x).mul(scale)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        share = y / (ctx.scale + 1e-9)
        return grad_output * y * (1 - share), None


# %% wrong[fails-special-point]: None in place of zeros where scale is 0
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x.sigmoid()

    @staticmethod
    def backward(ctx, grad_output):
        if ctx.scale == 0:
            return None, None  # nothing arrives anyway
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return grad_output * ctx.scale * s * (1 - s), None


# %% wrong[gradient-count]: the slope is returned where scale stands
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        squashed = x.sigmoid()
        ctx.save_for_backward(squashed)
        ctx.factor = scale
        return scale * squashed

    @staticmethod
    def backward(ctx, upstream):
        squashed = ctx.saved_tensors[0]
        slope = squashed - squashed**2
        return None, ctx.factor * slope * upstream


# %% wrong[gradient-sign]: the size of the scale, without its sign
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.size = (scale * scale) ** 0.5
        return torch.sigmoid(x) * scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return ctx.size * s * (1 - s) * g, None


# %% wrong[double-backward-value]: y / scale is NaN at scale 0, and what puts it aside is not put aside in its derivative
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        out = torch.sigmoid(x).mul(scale)
        ctx.save_for_backward(out)
        ctx.factor = scale
        return out

    @staticmethod
    def backward(ctx, upstream):
        (out,) = ctx.saved_tensors
        sigma = out / ctx.factor
        sigma = torch.where(torch.isnan(sigma), 0.0, sigma)
        return upstream * out * (1 - sigma), None


# %% wrong[forward-value]: the scale as a float32 tensor, which has seven digits of it
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return torch.sigmoid(x) * torch.tensor(scale, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        s = torch.sigmoid(ctx.saved_tensors[0])
        return s * (1 - s) * grad_output * ctx.scale, None
