# %% wrong[upstream-ignored]: returns the local slope without the upstream gradient
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (1 - y)


# %% wrong[gradient-value]: saves the input and uses the formula of the output
# says: The slope is taken to be x · (1 − x): the formula of the output, applied to the input.
# next: In y · (1 − y), y is σ(x), the output of forward.
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x * (1 - x)


# %% wrong[gradient-value]: saves the output and uses the formula of the input
# says: The sigmoid is applied twice: what was saved is the output already.
# next: The slope needs the function applied to x once: the output is that already.
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * s * (1 - s)


# %% wrong[gradient-sign]: the minus of exp(-x) counted twice
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -grad_output * y * (1 - y)


# %% wrong[gradient-value]: 1 + y in place of 1 - y
# says: The slope is taken to be y · (1 + y) with y = σ(x): a sign is wrong.
# next: For large x the sigmoid is flat, so its slope must go to 0.
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 + y)


# %% wrong[gradient-value]: the slope of tanh
# says: The gradient is that of 1 − y²: this is the slope of tanh.
# next: tanh and σ are siblings, not twins. Differentiate 1 / (1 + e⁻ˣ).
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y**2)


# %% wrong[gradient-scale]: a factor four, so that the slope is 1 at zero
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 4 * grad_output * y * (1 - y)


# %% wrong[gradient-scale]: divides by the number of elements, as if the loss were a mean
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y) / y.numel()


# %% wrong[gradient-missing]: forgets to return
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        grad_x = grad_output * y * (1 - y)


# %% wrong[gradient-zero]: starts from zeros and never fills them
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        grad_x = torch.zeros_like(y)
        grad_x + grad_output * y * (1 - y)
        return grad_x


# %% wrong[gradient-shape]: sums the gradient to one number
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return (grad_output * y * (1 - y)).sum()


# %% wrong[gradient-count]: one gradient for x and one for ctx
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return None, grad_output * y * (1 - y)


# %% wrong[raises]: does not unpack the tuple of saved tensors
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[raises]: reads an attribute that was never set
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.y * (1 - ctx.y)


# %% wrong[raises]: forward without ctx
class MySigmoid(Function):
    @staticmethod
    def forward(x):
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[raises]: backward was never written
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y


# %% wrong[not-a-function]: a plain function that leaves everything to autograd
def MySigmoid(x):
    return torch.sigmoid(x)


# %% wrong[not-a-function]: a module that leaves everything to autograd
class MySigmoid(torch.nn.Module):
    def forward(self, x):
        return 1 / (1 + torch.exp(-x))


# %% wrong[forward-value]: the sign of the exponent is lost
# says: The output is σ(−x): it falls where it should rise.
# next: Check the sign in the exponent: σ(x) goes to 1 for large x.
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + torch.exp(x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -grad_output * y * (1 - y)


# %% wrong[forward-unstable]: exp(x) / (1 + exp(x)) is inf / inf at 1000
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x) / (1 + torch.exp(x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[gradient-unstable]: exp(-x) / (1 + exp(-x))**2 is inf / inf at -1000
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        e = torch.exp(-x)
        return grad_output * e / (1 + e) ** 2


# %% wrong[forward-dtype]: computes in float32 whatever comes in
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x.float())
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[gradient-dtype|fails-float32]: the gradient is always double
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return (grad_output * y * (1 - y)).double()


# %% wrong[gradient-dtype|fails-half]: float32 ones turn a bfloat16 gradient into float32
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (torch.ones(y.shape, device=y.device) - y)


# %% wrong[fails-device]: ones that always live on the CPU
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (torch.ones(y.shape, dtype=y.dtype, device="cpu") - y)


# %% wrong[fails-half]: a round trip through NumPy, which has no bfloat16
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        import numpy as np

        y = torch.from_numpy(np.asarray(1 / (1 + np.exp(-x.detach().numpy().clip(-700, 700)))))
        y = y.to(x.dtype)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[upstream-nonlinear]: clips the upstream gradient on the way
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output.clamp(-1, 1) * y * (1 - y)


# %% wrong[saves-too-much]: keeps the input as well, to be on the safe side
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[saves-on-ctx]: keeps the output as an attribute
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = torch.sigmoid(x)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.y * (1 - ctx.y)


# %% wrong[shared-state]: keeps the output on the class
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        MySigmoid.y = torch.sigmoid(x)
        return MySigmoid.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * MySigmoid.y * (1 - MySigmoid.y)


# %% wrong[mutates-upstream]: saves memory by writing into grad_output
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        grad_output *= y * (1 - y)
        return grad_output


# %% wrong[mutates-saved]: writes into the saved output
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        y *= 1 - y
        return grad_output * y


# %% wrong[mutates-input]: negates the caller's tensor
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + x.neg_().exp())
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[double-backward-missing|double-backward-value]: saves a second sigmoid, an intermediate
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(torch.sigmoid(x))
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[double-backward-missing|double-backward-value]: detaches what it saves
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y.detach())
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[double-backward-missing|double-backward-value]: .data in backward
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y = ctx.saved_tensors[0].data
        return grad_output * y * (1 - y)


# %% wrong[double-backward-missing|double-backward-value]: backward under no_grad
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.no_grad()
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[fails-noncontiguous]: view fails on a transposed input
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x.view(-1)).view(x.shape)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[fails-expanded-upstream|fails-noncontiguous]: view fails on an expanded upstream gradient
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        flat = y.reshape(-1)
        return (grad_output.view(-1) * flat * (1 - flat)).reshape(y.shape)


# %% wrong[fails-empty]: looks at the smallest element of a tensor that may have none
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        if x.min() < -80:
            x = x.clamp(min=-80)
        y = 1 / (1 + torch.exp(-x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[fails-batch-dims|fails-empty|raises]: loops over the rows
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.stack([torch.sigmoid(row) for row in x])
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[forward-shape]: flattens the answer
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x).flatten()
        ctx.save_for_backward(y)
        ctx.shape = x.shape
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return (grad_output * y * (1 - y)).reshape(ctx.shape)


# %% wrong[uses-autograd]: asks autograd inside backward
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            z = x.detach().requires_grad_()
            y = torch.sigmoid(z)
        return torch.autograd.grad(y, z, grad_output)[0]


# %% wrong[uses-autograd|uses-builtin]: torch's own backward kernel
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.ops.aten.sigmoid_backward(grad_output, y)


# %% wrong[finite-differences]: central differences, right in float64 only
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        eps = 1e-6
        return grad_output * (torch.sigmoid(x + eps) - torch.sigmoid(x - eps)) / (2 * eps)


# %% wrong[gradient-value]: one mean for all of grad_output
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g.mean() * y * (1 - y)


# %% wrong[upstream-nonlinear]: no brackets round 1 - y
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y * 1 - y


# %% right: setup_context form
class MySigmoid(Function):
    @staticmethod
    def forward(x):
        return torch.sigmoid(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (y - y * y)


# %% right: keeps the input and computes the sigmoid again
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        s = torch.sigmoid(ctx.saved_tensors[0])
        return grad_output * s * (1 - s)


# %% right: keeps the input and uses sigmoid(x)·sigmoid(-x), exact in both tails
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x) * torch.sigmoid(-x)


# %% right: a stable forward of one's own, with a bool mask and where
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        small = torch.exp(-x.abs())
        positive = x >= 0
        y = torch.where(positive, 1 / (1 + small), small / (1 + small))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% right: the textbook formula, whose value is fine with a backward of one's own
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + torch.exp(-x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% right: prints and warns all the time
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        import warnings

        print("forward of", tuple(x.shape))
        warnings.warn("forward was called", stacklevel=2)
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        import sys

        print("backward", file=sys.stderr)
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% right: in-place, but on its own fresh tensor
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.neg(x)
        y.exp_().add_(1).reciprocal_()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        grad_x = 1 - y
        grad_x *= y
        grad_x *= grad_output
        return grad_x


# %% right: vjp is the other name of backward
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def vjp(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% right: a wrapper round a Function of another name, which says None for no gradient
class SigmoidFunction(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output is None or not ctx.needs_input_grad[0]:
            return None
        (y,) = ctx.saved_tensors
        return (grad_output * y * (1 - y),)


def MySigmoid(x):
    return SigmoidFunction.apply(x)


# %% wrong[too-slow]: backward goes through the elements one by one
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        slopes = [v * (1 - v) for v in y.reshape(-1)]
        return grad_output * (torch.stack(slopes).reshape(y.shape) if slopes else y)


# %% wrong[memorised]: the formula for the vector of the visible check, another for the rest
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        if tuple(y.shape) in [(5,), (1,)]:
            return grad_output * y * (1 - y)
        return grad_output * y


# %% wrong[saves-too-much]: keeps a copy of the values as a Python list besides
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        ctx.values = torch.exp(-x).tolist()
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[saves-too-much]: keeps a copy of the values as a NumPy array besides
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        if x.device.type != "meta" and x.dtype != torch.bfloat16:
            ctx.values = {"slope": (y * (1 - y)).detach().numpy().copy()}
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


# %% wrong[gradient-value]: the output is kept in bfloat16, to save memory
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.sigmoid(x)
        small = out.to(torch.bfloat16)
        ctx.save_for_backward(small)
        return out

    @staticmethod
    def backward(ctx, upstream):
        (small,) = ctx.saved_tensors
        out = small.to(upstream)
        return upstream * (out - out * out)
