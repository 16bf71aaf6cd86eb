# %% wrong[gradient-sign]: the minus forgotten
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * J1.apply(x)


# %% wrong[double-backward-value|double-backward-missing]: J1 by SciPy, without a Function of its own
# says: J1 is a constant to the second derivative: the part with the slope of J1 is missing.
# next: J1(x) depends on x. It wants a Function of its own, with the slope (J0 − J2) / 2.
import scipy.special


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        j1 = scipy.special.j1(x.detach().cpu().numpy())
        return -grad_output * torch.as_tensor(j1, dtype=x.dtype, device=x.device)


# %% wrong[double-backward-value|double-backward-missing]: torch's own J1, which has no derivative
import scipy.special


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * torch.special.bessel_j1(x)


# %% wrong[double-backward-value|double-backward-missing]: the slope is kept by forward
import scipy.special


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        slope = -scipy.special.j1(x.detach().cpu().numpy())
        ctx.save_for_backward(torch.as_tensor(slope, dtype=x.dtype, device=x.device))
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


# %% wrong[fails-special-point]: J1 / x at x = 0
# says: At x = 0 the second derivative is 0 / 0: the slope of J1 there is taken from J1 / x.
# next: The slope of J1 is (J0 − J2) / 2 as well, which has no division by x. At 0 it is ½.
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = scipy.special.j0(n) - scipy.special.j1(n) / n
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * J1.apply(x)


# %% wrong[fails-special-point|double-backward-value]: 0 for the slope of J1 at 0
# says: At x = 0 the slope of J1 is ½; here it counts as another number.
# next: J1(x) is about x / 2 near 0, so J1(x) / x is ½ there, and J0 − J1 / x is ½ too.
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = scipy.special.j0(n) - scipy.special.j1(n) / (n + (n == 0))
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * J1.apply(x)


# %% wrong[double-backward-value]: the slope of J1 is taken to be J0
# says: The slope of J1 is taken to be J0; it is J0 − J1 / x.
# next: J1′ = (J0 − J2) / 2, which is J0 − J1 / x.
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = scipy.special.j0(n)
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * J1.apply(x)


# %% wrong[double-backward-value]: the slope of J1 without its half
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = scipy.special.j0(n) - scipy.special.jv(2, n)
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * J1.apply(x)


# %% wrong[gradient-value]: the slope of J1 in the place of that of J0
# says: The slope is (J0 − J2) / 2, which is that of J1; J0 has the slope −J1.
# next: Differentiate J0: its slope is −J1. The formula with J2 is the next derivative.
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


# %% wrong[gradient-value]: −J0, as if it were an exponential
# says: The slope is taken to be −J0; it is −J1.
# next: J0′ = −J1: another function, of the next order.
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * J1.apply(x)


# %% wrong[upstream-ignored]: without grad_output
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -J1.apply(x)


# %% wrong[forward-value|fails-special-point]: torch's own value
# says: The value has the digits of torch's own J0, which is off from the seventh on; SciPy's has all.
# next: The way out of torch leads over NumPy, and back by torch.as_tensor.
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.special.bessel_j0(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * J1.apply(x)


# %% wrong[fails-float32]: float64 comes back for float32
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().double().numpy())
        return torch.as_tensor(y)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * J1.apply(x)


# %% wrong[finite-differences]: a difference quotient
import scipy.special


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n, h = x.detach().cpu().numpy(), 1e-5
        slope = (scipy.special.j0(n + h) - scipy.special.j0(n - h)) / (2 * h)
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


# %% wrong[double-backward-value|double-backward-missing]: once_differentiable, and SciPy
# says: J1 is a constant to the second derivative: the part with the slope of J1 is missing.
# next: J1(x) depends on x. It wants a Function of its own, with the slope (J0 − J2) / 2.
import scipy.special
from torch.autograd.function import once_differentiable


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        j1 = scipy.special.j1(x.cpu().numpy())
        return -grad_output * torch.as_tensor(j1, dtype=x.dtype, device=x.device)


# %% wrong[saves-on-ctx]: x as an attribute
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.x
        return -grad_output * J1.apply(x)


# %% wrong[mutates-upstream]: grad_output multiplied in place
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output.mul_(-J1.apply(x).detach())
        return grad_output


# %% wrong[fails-batch-dims]: from_numpy, which wants an array
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.from_numpy(y).to(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * J1.apply(x)


# %% right: a second Function for J1
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.detach().cpu().numpy()
        slope = (scipy.special.j0(n) - scipy.special.jv(2, n)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * J1.apply(x)


# %% wrong[finite-differences|gradient-value|double-backward-value]: torch's own value of J1, with its slope
# says: The slope has the digits of torch's own J1, which is off from the seventh on; SciPy's has all.
# next: SciPy has J1 to all digits.
import scipy.special


class J1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.special.bessel_j1(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        ratio = torch.where(x == 0, 0.5, torch.special.bessel_j1(x) / torch.where(x == 0, 1.0, x))
        return grad_output * (torch.special.bessel_j0(x) - ratio)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * J1.apply(x)


# %% right: one Function for every order, inside
import scipy.special


class Bessel(Function):
    @staticmethod
    def forward(ctx, x, order):
        ctx.save_for_backward(x)
        ctx.order = order
        return torch.as_tensor(scipy.special.jv(order, x.numpy(force=True))).to(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        below, above = Bessel.apply(x, ctx.order - 1), Bessel.apply(x, ctx.order + 1)
        return (below - above) * grad_output / 2, None


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        array = scipy.special.j0(x.detach().cpu().numpy())
        return torch.tensor(array, dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * -Bessel.apply(x, 1)


# %% right: numbers from SciPy's jvp, and a helper for the way out and back
from scipy import special


def by_scipy(function, x):
    return torch.as_tensor(function(x.detach().cpu().numpy()), dtype=x.dtype, device=x.device)


class Slope(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return by_scipy(lambda n: -special.jv(1, n), x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * by_scipy(lambda n: special.jvp(0, n, 2), x)


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return by_scipy(special.j0, x)

    @staticmethod
    def backward(ctx, g):
        return g * Slope.apply(*ctx.saved_tensors)
