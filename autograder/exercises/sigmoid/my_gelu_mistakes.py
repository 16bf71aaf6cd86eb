# %% wrong[forward-value]: the tanh approximation in forward, the exact slope in backward
# says: The output is the tanh approximation of GELU, which is off by up to 0.0005.
# next: The exercise asks for the exact GELU, with torch.erf.
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x, approximate="tanh")

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[forward-value]: the tanh approximation, both ways
# says: The output is the tanh approximation of GELU, which is off by up to 0.0005.
# next: The exercise asks for the exact GELU, with torch.erf.
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x, approximate="tanh")

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        k = math.sqrt(2 / math.pi)
        t = torch.tanh(k * (x + 0.044715 * x**3))
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x**2)
        return grad_output * slope


# %% wrong[forward-value]: x · σ(1.702 x)
# says: The output is x · σ(1.702 x), an approximation of GELU.
# next: The exercise asks for the exact GELU, with torch.erf.
class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(1.702 * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(1.702 * x)
        return grad_output * (s + 1.702 * x * s * (1 - s))


# %% wrong[forward-value]: erf(x) without the √2
# says: The output is that of erf(x): the √2 inside is missing.
# next: Write down Φ(x) with erf, and compare what is inside.
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 0.5 * (1 + torch.erf(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[forward-value]: 0.7 for 1/√2
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 0.5 * (1 + torch.erf(0.7 * x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[gradient-value]: the exact forward with the slope of the approximation
# says: The slope is that of the tanh approximation, forward is the exact GELU.
# next: The exact slope has erf and the normal density; the approximation is off by nearly a thousandth.
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        k = math.sqrt(2 / math.pi)
        t = torch.tanh(k * (x + 0.044715 * x**3))
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x**2)
        return grad_output * slope


# %% wrong[gradient-value]: half of the product rule, Φ(x) alone
# says: The gradient is grad_output · Φ(x): half of the product rule is missing.
# next: Φ depends on x as well: how many terms has the derivative of x · Φ(x)?
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * cdf


# %% wrong[gradient-value]: the other half, x · φ(x) alone
# says: The gradient is grad_output · x · φ(x): half of the product rule is missing.
# next: x itself depends on x as well: how many terms has the derivative of x · Φ(x)?
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * x * pdf


# %% wrong[gradient-value]: Φ + φ, the factor x is lost
# says: The gradient is that of Φ(x) + φ(x): a factor x is missing in the second term.
# next: Write both terms of the product rule for x · Φ(x).
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + pdf)


# %% wrong[gradient-value]: Φ - x·φ
# says: The gradient is that of Φ(x) − x · φ(x): a sign is wrong.
# next: Φ only ever rises: which sign does its derivative have?
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf - x * pdf)


# %% wrong[gradient-value]: the density without 1/2 in the exponent
# says: In the density the exponent is −x² instead of −x²/2.
# next: Look up the density of the standard normal distribution, and compare the exponent.
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[gradient-value]: the density without √(2π)
# says: In the density the factor 1/√(2π) is missing.
# next: A density has the integral 1: which factor makes it so?
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2)
        return grad_output * (cdf + x * pdf)


# %% wrong[gradient-value]: 3.14 for π
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * 3.14)
        return grad_output * (cdf + x * pdf)


# %% wrong[gradient-value]: Φ(x) without the one half
# says: The first term is 1 + erf(x/√2): its factor ½ is missing.
# next: Compare Φ(x) in backward with Φ(x) in forward.
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 1 + torch.erf(x / math.sqrt(2))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[gradient-value]: the derivative of relu, it looks so similar
# says: The slope is 1 where x > 0 and 0 elsewhere: that of a ReLU.
# next: GELU is smooth: its slope has two terms, by the product rule.
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (x > 0)


# %% wrong[upstream-ignored]: the local slope only
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return cdf + x * pdf


# %% wrong[gradient-sign]: a minus slipped in
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return -grad_output * (cdf + x * pdf)


# %% wrong[gradient-scale]: a factor of 2
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return 2 * grad_output * (cdf + x * pdf)


# %% wrong[gradient-missing]: returns None
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return None


# %% wrong[gradient-count]: two answers for one argument
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf), None, grad_output


# %% wrong[upstream-nonlinear]: clips the upstream gradient at 1
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output.clamp(max=1) * (cdf + x * pdf)


# %% wrong[raises]: math.erf of a tensor
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + math.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[raises]: math.exp of a tensor
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = math.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[raises]: save_for_backward never called
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[raises]: torch.pi times a misspelt function
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / torch.squareroot(2 * torch.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[gradient-unstable|fails-special-point]: logarithmic differentiation, y · (1/x + φ/Φ)
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * F.gelu(x) * (1 / x + pdf / cdf)


# %% wrong[gradient-unstable]: x·φ written as y·φ/Φ, 0/0 at -1000
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + F.gelu(x) * pdf / cdf)


# %% wrong[double-backward-value|saves-too-much]: input and Φ(x), an intermediate
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        ctx.save_for_backward(x, cdf)
        return x * cdf

    @staticmethod
    def backward(ctx, grad_output):
        x, cdf = ctx.saved_tensors
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[gradient-unstable|fails-special-point|saves-too-much]: Φ as output / input, 0/0 at zero
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        y = F.gelu(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (y / x + x * pdf)


# %% wrong[saves-too-much]: input and output, the output for nothing
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        y = F.gelu(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[saves-on-ctx]: the input as an attribute
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.x
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[shared-state]: the input in a module-level dictionary
import math

import torch.nn.functional as F

memory = {}


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        memory["x"] = x
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        x = memory["x"]
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[double-backward-missing|double-backward-value]: one saved tensor, but it is the finished slope
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        ctx.save_for_backward(cdf + x * pdf)
        return x * cdf

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


# %% wrong[double-backward-missing|double-backward-value]: detaches the input
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].detach()
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[double-backward-missing|double-backward-value]: the density of a detached input
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x.detach() ** 2 / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[double-backward-missing|double-backward-value]: once_differentiable
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[mutates-input]: multiplies x by Φ in place
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        return x.mul_(0.5 * (1 + torch.erf(x / math.sqrt(2)))).clone()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[mutates-saved]: squares the saved input in place
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        x_pdf = x * torch.exp(-x.pow_(2) / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x_pdf)


# %% wrong[mutates-upstream]: writes into grad_output
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        grad_output.mul_(cdf + x * pdf)
        return grad_output


# %% wrong[gradient-dtype|fails-float32]: a gradient that is always double
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return (grad_output * (cdf + x * pdf)).double()


# %% wrong[fails-half]: SciPy's erf through NumPy, which has no bfloat16
import math

import scipy.special


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        erf = scipy.special.erf(x.detach().numpy() / math.sqrt(2))
        return x * 0.5 * (1 + torch.as_tensor(erf, dtype=x.dtype))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[fails-noncontiguous]: flattens with view
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        flat = x.view(-1)
        return (flat * 0.5 * (1 + torch.erf(flat / math.sqrt(2)))).view(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad_output * (cdf + x * pdf)


# %% wrong[uses-autograd|uses-builtin]: torch's own backward kernel
import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.ops.aten.gelu_backward(grad_output, x)


# %% wrong[uses-autograd]: lets autograd differentiate F.gelu
import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            F.gelu(leaf).backward(grad_output)
        return leaf.grad


# %% wrong[finite-differences]: a central difference of F.gelu
import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (F.gelu(x + 1e-6) - F.gelu(x - 1e-6)) / 2e-6


# %% wrong[raises]: torch.sqrt of a number
class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 0.5 * (1 + torch.erf(x / torch.sqrt(2)))
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g


# %% wrong[raises]: math without an import
class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g


# %% right: erf written out, erfc in the tail
import math


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 0.5 * torch.erfc(-x * math.sqrt(0.5))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * torch.erfc(-x * math.sqrt(0.5))
        return grad_output * (cdf + x * torch.exp(-0.5 * x.square()) * (2 * math.pi) ** -0.5)


# %% right: setup_context form
import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(x):
        return F.gelu(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        cdf = torch.special.ndtr(x)
        pdf = torch.exp(-0.5 * x * x) / (2 * torch.pi) ** 0.5
        return grad_output * cdf + grad_output * x * pdf


# %% right: a normal distribution does the work
import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        normal = torch.distributions.Normal(0.0, 1.0, validate_args=False)
        return grad_output * (normal.cdf(x) + x * normal.log_prob(x).exp())


# %% right: a bool mask cuts the density where it is zero anyway
import math

import torch.nn.functional as F


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        near = x.abs() < 50
        pdf = torch.where(near, torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi), 0.0)
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        return grad_output * (cdf + x * pdf)


# %% right: prints, warns, and works in place on its own tensors
import math


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        import warnings

        warnings.warn("GELU of " + str(tuple(x.shape)), stacklevel=1)
        ctx.save_for_backward(x)
        y = torch.erf(x / math.sqrt(2))
        y += 1
        y *= x
        y *= 0.5
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        print("backward of", tuple(x.shape))
        slope = torch.erf(x / math.sqrt(2)).add_(1).mul_(0.5)
        slope = slope + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return slope * grad_output


# %% wrong[gradient-value]: the slope of the quick approximation, forward is exact
# says: The slope is that of the approximation x · σ(1.702 x); forward is the exact GELU.
# next: Differentiate the exact GELU: each forward has a backward of its own.
class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        gate = torch.sigmoid(1.702 * x)
        return grad_output * (gate + 1.702 * x * gate * (1 - gate))


# %% wrong[too-slow]: math.erf, one number after the other, in a function of its own
import math


def _normal_distribution(x):
    flat = x.flatten()
    found = torch.empty_like(flat)
    for place in range(flat.numel()):
        found[place] = (1 + math.erf(float(flat[place]) / math.sqrt(2))) / 2
    return found.view(x.shape)


class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * _normal_distribution(x.contiguous())

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        below = (1 + torch.erf(x / math.sqrt(2))) / 2
        return grad_output * (below + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi))


# %% wrong[fails-batch-dims]: a constant with brackets around it, which has a dimension
class MyGELU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        factor = torch.tensor([0.5], dtype=x.dtype, device=x.device).sqrt()
        return x * (1 + torch.erf(x * factor)) / 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        area = (1 + torch.erf(x * 0.5**0.5)) / 2
        return grad_output * (area + x * torch.exp(-x * x / 2) / (2 * torch.pi) ** 0.5)
