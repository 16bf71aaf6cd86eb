"""Functions that the tests of xray and its relatives look at; some are wrong on purpose."""

import torch
from torch.autograd import Function


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


class MySigmoid(Function):
    """Wrong: the gradient is doubled."""

    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 2 * grad_output * y * (1 - y)


class Scaled(Function):
    """In the modern style, with a number, an intermediate and a tensor on ctx."""

    @staticmethod
    def forward(x, scale):
        return x * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.scale = inputs
        ctx.half = x / 2
        ctx.save_for_backward(x, torch.exp(x), output)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.scale, None


class Stretched(Function):
    """Leaves the summing to torch."""

    @staticmethod
    def forward(ctx, x):
        return x.expand(4, 3) * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


class Stub(Function):
    @staticmethod
    def forward(ctx, x):
        raise NotImplementedError()

    @staticmethod
    def backward(ctx, grad_output):
        raise NotImplementedError()


class Largest(Function):
    """Two outputs, the second of indices, which is what is saved."""

    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        places, values = (t.unsqueeze(ctx.dim) for t in (*ctx.saved_tensors, grad_values))
        return grad_values.new_zeros(ctx.shape).scatter(ctx.dim, places, values), None


class Masked(Function):
    """relu, with a mask and with an intermediate of floats."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0, torch.sign(x))
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.saved_tensors[0], grad_output, 0)
