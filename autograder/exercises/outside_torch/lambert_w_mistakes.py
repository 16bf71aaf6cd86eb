# %% wrong[gradient-value]: the product rule forgotten
# says: The slope lacks the factor 1 / (1 + y): y·eʸ has two factors that depend on y.
# next: Differentiate y·eʸ by y as a product: eʸ + y·eʸ.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / torch.exp(y)


# %% wrong[gradient-value]: eʸ forgotten
# says: The slope lacks the factor 1 / eʸ.
# next: Differentiate y·eʸ by y as a product: eʸ + y·eʸ.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (1 + y)


# %% wrong[gradient-value]: the slope of y·eʸ, not of its solution
# says: The slope is that of y·eʸ; the solution y of y·eʸ = a has one over it.
# next: (eʸ + y·eʸ) · y′ = 1: solve that for y′.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * torch.exp(y) * (1 + y)


# %% wrong[gradient-value]: a in the place of y
# says: The formula for the slope is taken at a; it is a function of y.
# next: The slope of the solution is 1 / (eʸ (1 + y)), with y, the output.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(a)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (a,) = ctx.saved_tensors
        return grad_output / (torch.exp(a) * (1 + a))


# %% wrong[gradient-value]: a minus between the two terms
# says: The slope is 1 / (eʸ (1 − y)); the sign between the two terms is wrong.
# next: Differentiate y·eʸ by y as a product: eʸ + y·eʸ.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 - y))


# %% wrong[fails-special-point]: y / (a (1 + y)), 0 / 0 at 0
# says: At a = 0 the slope comes out as 0 / 0; it is 1 there.
# next: y / a is 1 / eʸ, because y·eʸ = a. Written with eʸ nothing is divided by 0.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(a)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (a,) = ctx.saved_tensors
        y = LambertW.apply(a)
        return grad_output * y / (a * (1 + y))


# %% wrong[fails-special-point]: 0 where a is 0
# says: At a = 0 the gradient is set to another number; the slope there is 1.
# next: At a = 0 the solution is y = 0, and 1 / (eʸ (1 + y)) is 1.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y == 0, 0.0, grad_output / (torch.exp(y) * (1 + y)))


# %% wrong[double-backward-value|double-backward-missing]: eʸ is kept by forward
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(torch.exp(y) + y * torch.exp(y))
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output / slope


# %% wrong[double-backward-value|double-backward-missing]: a copy of y is kept
# says: What is kept is not the output itself: for a second derivative it is a constant.
# next: Of the output itself torch knows how it depends on a; of a copy, or of a number found anew, it does not.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y.clone())
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


# %% wrong[double-backward-value|double-backward-missing]: the slope by NumPy
# says: The slope is a constant to the second derivative: torch does not know how it depends on a.
# next: Of the output itself torch knows how it depends on a. The slope is a function of it, by torch's exp.
import numpy as np
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        n = y.detach().cpu().numpy()
        slope = 1 / (np.exp(n) * (1 + n))
        return grad_output * torch.as_tensor(slope, dtype=y.dtype, device=y.device)


# %% wrong[double-backward-value|double-backward-missing]: y is solved for again, as a constant
# says: What is kept is not the output itself: for a second derivative it is a constant.
# next: Of the output itself torch knows how it depends on a; of a copy, or of a number found anew, it does not.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(a)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (a,) = ctx.saved_tensors
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        return grad_output / (torch.exp(y) * (1 + y))


# %% wrong[double-backward-missing|double-backward-value]: solved in float64, of which forward returns a cast
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = torch.as_tensor(scipy.special.lambertw(a.detach().double().cpu().numpy()).real).to(a.device)
        ctx.save_for_backward(y)
        return y.to(a.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return (grad_output / (torch.exp(y) * (1 + y))).to(grad_output.dtype)


# %% wrong[fails-float32]: float64 whatever comes
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


# %% wrong[forward-dtype]: complex numbers
# says: The output is complex: that is how SciPy's lambertw gives it. Its real part is meant.
# next: Take the real part of the array, and bring it to the dtype of a.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy())
        y = torch.as_tensor(y, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


# %% wrong[forward-value|forward-unstable]: the other branch
# says: The output is not the solution y ≥ 0: SciPy was asked for another branch.
# next: For a ≥ 0 the solution lies on the branch 0, which is the one that SciPy gives where none is named.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy(), k=-1).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


# %% wrong[forward-value]: log(1 + a), a first guess
# says: The output is log(1 + a): near the solution, but no solution of y·eʸ = a.
# next: Try it: y·eʸ is not a. SciPy solves the equation.
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.log1p(a.detach().cpu().numpy())
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


# %% wrong[upstream-ignored]: without grad_output
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 1 / (torch.exp(y) * (1 + y))


# %% wrong[saves-on-ctx]: y as an attribute
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y = ctx.y
        return grad_output / (torch.exp(y) * (1 + y))


# %% wrong[saves-too-much]: a and y are kept
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(a, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        a, y = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


# %% wrong[finite-differences|gradient-unstable]: a difference quotient
# says: The slope is a difference quotient: of its digits float32 leaves few, and at 1000 none.
# next: Compute it from the output: 1 / (eʸ (1 + y)).
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(a)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (a,) = ctx.saved_tensors
        n, h = a.detach().cpu().numpy(), 1e-5
        slope = scipy.special.lambertw(n + h).real - scipy.special.lambertw(n - h).real
        return grad_output * torch.as_tensor(slope / (2 * h), dtype=a.dtype, device=a.device)


# %% wrong[double-backward-missing]: gives back a view of what is saved
import scipy.special


class LambertW(Function):
    """The solution y ≥ 0 of y·eʸ = a, by SciPy, for a ≥ 0."""

    @staticmethod
    def forward(ctx, a):
        flat = a.detach().cpu().reshape(-1).numpy()
        y = torch.tensor(scipy.special.lambertw(flat).real, dtype=a.dtype, device=a.device)
        y = y.view(a.shape)
        ctx.save_for_backward(y)
        return y.view(a.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


# %% right: the output is kept
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


# %% right: a is kept, and the Function called again in backward
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(y, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(a)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (a,) = ctx.saved_tensors
        y = LambertW.apply(a)
        return grad_output * torch.exp(-y) / (1 + y)


# %% right: by the omega function of log a
import numpy as np
from scipy.special import wrightomega


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = wrightomega(a.detach().double().log().cpu().numpy())  # log 0 is −∞, and ω(−∞) is 0
        result = torch.from_numpy(np.asarray(y)).to(a)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (y.exp() + y * y.exp())


# %% right: the real part taken by torch
import scipy.special


class LambertW(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.special.lambertw(a.detach().cpu().numpy())
        y = torch.as_tensor(y, device=a.device).real.to(a.dtype)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))
