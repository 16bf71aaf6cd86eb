# %% wrong[opcheck]: no register_fake
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[opcheck]: the fake gives a shape turned round
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape[::-1])


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[opcheck]: the fake gives float32 whatever x is
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape, dtype=torch.float32)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[opcheck]: the fake keeps x's strides, the operator does not
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return torch.empty_like(x)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[opcheck]: the fake is contiguous, and NumPy keeps x's order
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.as_tensor(values, dtype=x.dtype, device=x.device)


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[opcheck]: the fake computes with NumPy
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return torch.from_numpy(np.sinc(x.numpy()))


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[raises]: no register_autograd
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[gradient-unstable|fails-special-point]: divides by x = 0
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = x
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * slope


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[double-backward-value|fails-special-point|gradient-unstable]: where after the division only
# says: At x = 0 the slope is taken to be 1; the curve is flat there.
# next: sinc is even, so its slope at 0 is 0.
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    slope = ((torch.pi * x).cos() - sinc_op(x)) / x
    return grad_output * slope.nan_to_num(1.0)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[gradient-value]: the derivative without π in the cosine
# says: The cosine in the slope is taken of x; the curve is that of πx.
# next: sinc′(x) = (cos(πx) − sinc(x)) / x.
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = (x.cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[gradient-value]: the derivative of sin x / x, by NumPy's habit
# says: The slope is that of sin(x) / x; NumPy's sinc has π in it.
# next: sinc(x) = sin(πx) / (πx): differentiate that.
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = (x.cos() - x.sin() / safe) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[gradient-sign]: the slope with its sign turned
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = (sinc_op(x) - (torch.pi * x).cos()) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[upstream-ignored]: the slope alone
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[vmap]: no register_vmap, so torch falls back
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


# %% wrong[vmap]: says that the batch is in front
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), 0


# %% wrong[saves-too-much]: keeps what backward could compute
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x, (torch.pi * x).cos(), x == 0)


def backward(ctx, grad_output):
    x, _, _ = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[forward-value|uses-builtin]: torch.sinc inside the operator
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = torch.sinc(x)
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[forward-value]: NumPy's sinc of πx
# says: NumPy's sinc has the π already: here it comes in twice.
# next: NumPy's sinc of x is sin(πx) / (πx).
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(np.pi * x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[fails-noncontiguous]: reads memory from the first element on
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.as_strided((x.numel(),), (1,)).numpy(force=True)).reshape(tuple(x.shape))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% wrong[mutates-input]: computes in place
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    array = x.numpy(force=True)
    values = np.sinc(array)
    array *= 0.5
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% right: the slope from cos and sinc
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% right: sine and cosine, no second call of the operator
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    angle = torch.pi * safe
    slope = (angle.cos() - angle.sin() / angle) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% right: the output is saved, and a contiguous copy is worked on
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    array = np.ascontiguousarray(x.detach().cpu().numpy())
    return torch.from_numpy(np.sinc(array).reshape(tuple(x.shape))).to(x)


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x, output)


def backward(ctx, grad_output):
    x, y = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - y) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]


# %% right: NumPy writes into new memory
import numpy as np


@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: torch.Tensor) -> torch.Tensor:
    out = x.new_empty(x.shape)
    np.copyto(out.numpy(), np.sinc(x.numpy()))
    return out


@sinc_op.register_fake
def _(x):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    at_zero = x == 0
    away = x.masked_fill(at_zero, 1)
    slope = (torch.cos(torch.pi * away) - sinc_op(away)) / away
    return slope.masked_fill(at_zero, 0) * grad_output


sinc_op.register_autograd(backward, setup_context=keep)


@sinc_op.register_vmap
def _(info, in_dims, x):
    return sinc_op(x), in_dims[0]
