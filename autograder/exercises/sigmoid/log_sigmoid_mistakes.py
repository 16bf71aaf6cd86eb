# %% wrong[forward-unstable]: the logarithm of the sigmoid, -inf at -1000
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(torch.sigmoid(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[forward-unstable]: -log(1 + e⁻ˣ) overflows at -1000
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return -torch.log(1 + torch.exp(-x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[forward-unstable]: x - log(1 + eˣ) is inf - inf at 1000
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x - torch.log1p(torch.exp(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[forward-unstable]: log-softmax of (x, 0), which is 0 from about 17 on
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log_softmax(torch.stack([x, torch.zeros_like(x)]), 0)[0]

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[forward-unstable]: x - logsumexp(x, 0), which is 0 from about 17 on
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x - torch.logsumexp(torch.stack([x, torch.zeros_like(x)]), 0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[forward-value|forward-unstable|fails-float32]: clamps the sigmoid before the logarithm
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(torch.sigmoid(x).clamp(min=1e-30))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[forward-value|forward-unstable|fails-float32]: clips the input to ±50
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return -torch.log1p(torch.exp(-x.clamp(-50, 50)))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[forward-value]: a small number inside the logarithm
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(torch.sigmoid(x) + 1e-6)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[forward-value]: softplus, the minus signs are missing
# says: The output is softplus(x) = log(1 + eˣ), not log σ(x).
# next: A logarithm of a number below 1 is never positive: check the signs at x = 0.
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.softplus(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x)


# %% wrong[forward-value]: log base 10
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x) / 2.302585

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x) / 2.302585


# %% wrong[forward-value]: min(x, 0) with the sign of the exponent lost
# says: The output is min(x, 0) + ln(1 + e^(−|x|)): the sign of the logarithm is wrong.
# next: Try x = 0, where the output is −ln 2, and x = 1000, where it is 0.
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.clamp(x, max=0) + torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[gradient-unstable]: e⁻ˣ / (1 + e⁻ˣ) is inf / inf at -1000
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        e = torch.exp(-x)
        return grad_output * e / (1 + e)


# %% wrong[gradient-unstable]: σ'(x) / σ(x) is 0 / 0 at -1000
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * s * (1 - s) / s


# %% wrong[gradient-unstable]: 1 - softmax of (x, 0), which is 0 from about 17 on
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - torch.softmax(torch.stack([x, torch.zeros_like(x)]), 0)[0])


# %% wrong[fails-special-point]: the softmax of (x, 0) itself, nan at inf
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.softmax(torch.stack([x, torch.zeros_like(x)]), 0)[1]


# %% wrong[gradient-value]: σ(x) in place of σ(-x)
# says: The gradient is grad_output · σ(x): that is the slope of softplus(x), and log σ(x) is −softplus(−x).
# next: For very negative x, log σ(x) is nearly x: there the slope must be 1, not 0.
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x)


# %% wrong[gradient-value]: x - σ(x), as found in print
# says: The gradient is that of x − σ(x), a formula found in print that is wrong.
# next: Differentiate −softplus(−x): softplus has the slope σ(x).
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x - torch.sigmoid(x))


# %% wrong[gradient-value]: the slope of the sigmoid, the logarithm is forgotten
# says: The gradient is that of σ: the logarithm is not differentiated.
# next: (log σ)′ = σ′ / σ, and in that quotient something cancels.
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * s * (1 - s)


# %% wrong[gradient-value]: 1/σ, the inner slope is forgotten
# says: The gradient is grad_output / σ(x): the inner derivative is missing.
# next: (log σ)′ = σ′ / σ by the chain rule.
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / torch.sigmoid(x).clamp(min=1e-6)


# %% wrong[gradient-value]: 1 - y as if y were σ
# says: The gradient is that of 1 − y, as if the saved y were σ(x).
# next: Here y = log σ(x), so σ(x) is e to the power of y.
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = F.logsigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y)


# %% wrong[gradient-value]: e^y in place of 1 - e^y
# says: The gradient is grad_output · σ(x): that is the slope of softplus(x), and log σ(x) is −softplus(−x).
# next: For very negative x, log σ(x) is nearly x: there the slope must be 1, not 0.
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = F.logsigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * torch.exp(y)


# %% wrong[gradient-sign]: -σ(-x)
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * torch.sigmoid(-x)


# %% wrong[gradient-sign]: expm1 without its minus
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = F.logsigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * torch.expm1(y)


# %% wrong[gradient-scale]: twice the slope
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * torch.sigmoid(-x)


# %% wrong[upstream-ignored]: the local slope only
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.sigmoid(-x)


# %% wrong[upstream-nonlinear]: the sign of the upstream gradient only
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.sign() * torch.sigmoid(-x)


# %% wrong[gradient-missing]: no return
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = grad_output * torch.sigmoid(-x)


# %% wrong[gradient-zero]: integer arithmetic rounds the slope away
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.floor(torch.sigmoid(-x))


# %% wrong[gradient-count]: two answers for one argument
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output, torch.sigmoid(-x)


# %% wrong[gradient-shape]: adds all gradients up
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (grad_output * torch.sigmoid(-x)).sum()


# %% wrong[raises]: an if on a tensor
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        if x > 0:
            return -torch.log1p(torch.exp(-x))
        return x - torch.log1p(torch.exp(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[raises]: math.log of a tensor
import math


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return -math.log(1 + math.exp(-x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[raises]: x is not known in backward
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.sigmoid(-x)


# %% wrong[raises]: reads saved_tensors in forward
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        (x,) = ctx.saved_tensors
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[saves-too-much]: input and output
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = F.logsigmoid(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[saves-on-ctx]: the output as an attribute
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = F.logsigmoid(x)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * -torch.expm1(ctx.y)


# %% wrong[shared-state]: a global for the input
import torch.nn.functional as F

last_input = None


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        global last_input
        last_input = x
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.sigmoid(-last_input)


# %% wrong[double-backward-missing|double-backward-value]: saves the slope σ(-x), an intermediate
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(torch.sigmoid(-x))
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


# %% wrong[double-backward-missing|double-backward-value]: saves -|x|, an intermediate, and a mask
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        minus_abs = -x.abs()
        ctx.save_for_backward(minus_abs)
        ctx.positive = None
        ctx.positive = x > 0
        return torch.clamp(x, max=0) - torch.log1p(torch.exp(minus_abs))

    @staticmethod
    def backward(ctx, grad_output):
        (minus_abs,) = ctx.saved_tensors
        small = torch.exp(minus_abs)
        return grad_output * torch.where(ctx.positive, small / (1 + small), 1 / (1 + small))


# %% wrong[double-backward-missing|double-backward-value]: .data of the saved input
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].data
        return grad_output * torch.sigmoid(-x)


# %% wrong[double-backward-missing]: once_differentiable
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[mutates-input]: negates the caller's tensor
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        x.neg_()
        ctx.save_for_backward(x)
        return -F.softplus(x)

    @staticmethod
    def backward(ctx, grad_output):
        (minus_x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(minus_x)


# %% wrong[mutates-saved]: negates the saved input in place
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x.neg_())


# %% wrong[mutates-upstream]: multiplies grad_output in place
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output.mul_(torch.sigmoid(-x))
        return grad_output


# %% wrong[fails-empty]: subtracts the largest element, as in logsumexp
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        top = torch.max((-x).max(), torch.zeros((), dtype=x.dtype, device=x.device))
        shifted = torch.exp(-top) + torch.exp(-x - top)
        return torch.where(top < 80, -top - torch.log(shifted), F.logsigmoid(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[fails-half|forward-dtype|gradient-dtype]: float32 zeros in forward
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        zero = torch.zeros(x.shape, device=x.device)
        return torch.minimum(x, zero) - torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[fails-noncontiguous]: fills a flat view
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = F.logsigmoid(x.view(-1))
        return y.view(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[uses-autograd|uses-builtin]: torch's own backward kernel
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.ops.aten.log_sigmoid_backward(grad_output, x, torch.exp(-x.abs()))


# %% wrong[uses-autograd]: torch.autograd.functional inside backward
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.autograd.functional.vjp(F.logsigmoid, x, grad_output)[1]


# %% wrong[finite-differences]: a central difference
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (F.logsigmoid(x + 1e-6) - F.logsigmoid(x - 1e-6)) / 2e-6


# %% right: keeps the output and uses expm1
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = F.logsigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * -torch.expm1(y)


# %% wrong[gradient-unstable]: the rewritten formula, and 1 - σ(x), which is 0 at x = 20
# says: 1 − σ(x) is 0 in float32 where σ(x) is rounded to 1: the gradient is lost for large x.
# next: Is there a way to write 1 − σ(x) without a subtraction?
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.clamp(x, max=0) - torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - torch.sigmoid(x))


# %% right: logaddexp
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return -torch.logaddexp(torch.zeros_like(x), -x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% right: setup_context form
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(x):
        return -F.softplus(-x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -grad_output * torch.expm1(y)


# %% wrong[double-backward-value]: two branches with |x|, whose slope at 0 is 0
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        tail = torch.log1p(torch.exp(-x.abs()))
        return torch.where(x > 0, -tail, x - tail)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        small = torch.exp(-x.abs())
        return grad_output * torch.where(x > 0, small / (1 + small), 1 / (1 + small))


# %% right: prints and warns
import torch.nn.functional as F


class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        import warnings

        warnings.warn("in the log domain", stacklevel=1)
        print("log sigmoid of", x.shape)
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        print('slope of', x.shape)
        return (grad_output * torch.sigmoid(-x),)


# %% wrong[forward-unstable]: softmax of (x, 0), which rounds a tiny value to 0
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        pair = torch.stack([x, torch.zeros_like(x)], dim=-1)
        return torch.log_softmax(pair, dim=-1)[..., 0]

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        pair = torch.stack([x, torch.zeros_like(x)], dim=-1)
        return grad_output * torch.softmax(pair, dim=-1)[..., 1]


# %% wrong[forward-value|forward-unstable|fails-float32]: tiny added to the sigmoid caps the output at log(tiny)
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        p = 1 / (1 + (-x).exp())
        return (p + 1e-12).log()

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        return grad_output * torch.sigmoid(-x)


# %% wrong[double-backward-value]: 1 / (1 + eˣ), whose second derivative is 0 · inf at 1000
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return -torch.logaddexp(torch.zeros_like(x), -x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (1 + torch.exp(x))


# %% wrong[forward-value]: max where min belongs
# says: The output is max(x, 0) − ln(1 + e^(−|x|)), with max instead of min.
# next: Try x = 0, where the output is −ln 2, and x = 1000, where it is 0.
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) - torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)


# %% wrong[fails-special-point]: two pieces, of which neither holds at 0 itself
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        t = torch.exp(-x.abs())
        slope = torch.relu(-x.sign()) + x.sign() * t / (1 + t)
        return grad_output * slope


# %% wrong[fails-special-point]: the slope as exp(y - x), which is inf - inf at -inf
class LogSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.logsigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.exp(torch.nn.functional.logsigmoid(x) - x)
