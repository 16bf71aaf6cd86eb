# %% wrong[gradient-unsummed]: forgets the sum
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = grad_output * b
        if ctx.needs_input_grad[1]:
            grad_b = grad_output * a
        return grad_a, grad_b


# %% wrong[gradient-unsummed]: forgets the sum for b only
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = grad_output * a
        return grad_a, grad_b


# %% wrong[gradient-value|gradient-swapped]: each with its own factor
# says: Each factor's gradient is multiplied by the factor itself, not by the other one.
# next: When a grows by 1, by how much does a · b grow?
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * a).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * b).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[gradient-value]: the backward of a sum
# says: grad_output is passed on without the other factor: that is the backward of a + b.
# next: When a grows by 1, by how much does a · b grow?
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[gradient-value]: multiplies by the output
# says: The gradient for a is multiplied by the output a · b, not by the other factor.
# next: What is the derivative of a · b with respect to a?
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * a * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[gradient-swapped]: the wrong order
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_b, grad_a


# %% wrong[gradient-shape|gradient-unsummed]: sums over dimension 0 whatever the shape
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum(0)
        return grad_a, grad_b


# %% wrong[gradient-shape|gradient-value]: one total for everything
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum()
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum()
        return grad_a, grad_b


# %% wrong[gradient-value]: the total in every element
# says: Everything is summed to one number, and every element gets the total.
# next: Sum only over the dimensions that broadcasting made or stretched.
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum().expand(b.shape)
        return grad_a, grad_b


# %% wrong[gradient-value]: one copy of several
# says: For a factor that was broadcast, only one copy's gradient counts; the others are dropped.
# next: All copies are the same element: what happens to their gradients?
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        def first(g, shape):
            while g.dim() > len(shape):
                g = g[0]
            for i, size in enumerate(shape):
                if size == 1:
                    g = g.narrow(i, 0, 1)
            return g

        a, b = ctx.saved_tensors
        return (
            first(grad_output * b, a.shape) if ctx.needs_input_grad[0] else None,
            first(grad_output * a, b.shape) if ctx.needs_input_grad[1] else None,
        )


# %% wrong[ignores-needs-input-grad]: computes both always
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return (grad_output * b).sum_to_size(a.shape), (grad_output * a).sum_to_size(b.shape)


# %% wrong[gradient-count]: one gradient only
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a


# %% wrong[upstream-ignored]: forgets grad_output
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (torch.ones_like(grad_output) * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[upstream-nonlinear]: clips on the way
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output.clamp(-0.5, 0.5) * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[saves-too-much]: saves the output too
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        y = a * b
        ctx.save_for_backward(a, b, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        a, b, y = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[saves-too-much]: saves the expanded factors as new tensors
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        big_a, big_b = (t.contiguous().clone() for t in torch.broadcast_tensors(a, b))
        ctx.save_for_backward(a, b, big_a, big_b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b, *_ = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[saves-on-ctx]: factors as attributes
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.a, ctx.b = a, b
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.a, ctx.b
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[double-backward-value|double-backward-missing|gradient-value]: divides the output by the factor it wants to leave out, detached
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = (t.detach() for t in ctx.saved_tensors)
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[mutates-upstream]: in place on grad_output
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = grad_output.mul_(1).mul(b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[fails-empty|fails-special-point]: a mistaken test for stretched dimensions
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        def down(g, shape):
            while g.dim() > len(shape):
                g = g.sum(0)
            for i, size in enumerate(shape):
                if size == 1 and g.shape[i] > 1:
                    g = g.sum(i, keepdim=True)
            return g

        a, b = ctx.saved_tensors
        return (
            down(grad_output * b, a.shape) if ctx.needs_input_grad[0] else None,
            down(grad_output * a, b.shape) if ctx.needs_input_grad[1] else None,
        )


# %% wrong[forward-value|forward-shape]: adds
# says: The output is a + b.
# next: The contract is the product.
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a + b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[fails-special-point|gradient-unstable|gradient-value]: divides the output by the factor
# says: Where a factor is 0 the gradient is nan: a division was meant to recover the other factor.
# next: a · b divided by b does not give a back where b is 0: each gradient needs the other factor itself.
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        y = a * b
        ctx.save_for_backward(a, b)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * (a * b) / a).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[raises]: a transposed matrix product
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output @ b.T).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[raises]: unbroadcast, whose cell was not run
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return unbroadcast(g * b, a.shape), unbroadcast(g * a, b.shape)


# %% wrong[raises]: a tensor where a shape is wanted
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * b).sum_to_size(a), (g * a).sum_to_size(b)


# %% wrong[gradient-shape]: the shapes of the two crossed
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * b).sum_to_size(b.shape), (g * a).sum_to_size(a.shape)


# %% right: sum_to_size
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% right: setup_context form
class Multiply(Function):
    @staticmethod
    def forward(a, b):
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% right: loops of its own
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        def down(g, shape):
            while g.dim() > len(shape):
                g = g.sum(0)
            for i, size in enumerate(shape):
                if size == 1:
                    g = g.sum(i, keepdim=True)
            return g

        a, b = ctx.saved_tensors
        grad_a = down(grad_output * b, a.shape) if ctx.needs_input_grad[0] else None
        grad_b = None
        if ctx.needs_input_grad[1]:
            grad_b = down(a * grad_output, b.shape)
        return grad_a, grad_b


# %% right: saves only what is needed
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        needs_a, needs_b = ctx.needs_input_grad
        ctx.shapes = a.shape, b.shape
        ctx.save_for_backward(a if needs_b else None, b if needs_a else None)
        return torch.mul(a, b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        shape_a, shape_b = ctx.shapes
        return (
            None if b is None else (grad_output * b).sum_to_size(shape_a),
            None if a is None else (grad_output * a).sum_to_size(shape_b),
        )


# %% right: vjp, and a wrapper
class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a.mul(b)

    @staticmethod
    def vjp(ctx, grad_output):
        a, b = ctx.saved_tensors
        pairs = ((a, b, ctx.needs_input_grad[0]), (b, a, ctx.needs_input_grad[1]))
        return tuple(
            (grad_output * other).sum_to_size(own.shape) if needed else None
            for own, other, needed in pairs
        )


def Multiply(a, b):
    return Product.apply(a, b)


# %% wrong[ignores-needs-input-grad]: both products are computed, whichever is asked for
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = (grad_output * b).sum_to_size(a.shape)
        grad_b = (grad_output * a).sum_to_size(b.shape)
        need_a, need_b = ctx.needs_input_grad
        return grad_a if need_a else None, grad_b if need_b else None


# %% wrong[gradient-value]: backward works in float32 and casts its gradients back
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        grads = []
        for own, other, needed in zip(
            ctx.saved_tensors, reversed(ctx.saved_tensors), ctx.needs_input_grad
        ):
            product = grad_output.to(torch.float32) * other.to(torch.float32)
            grads.append(product.sum_to_size(own.shape).to(own) if needed else None)
        return tuple(grads)


# %% wrong[saves-on-ctx]: only what needs a gradient is saved, a frozen factor is an attribute
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        needed = ctx.needs_input_grad
        ctx.save_for_backward(*(t for t, need in zip((a, b), needed) if need))
        ctx.frozen = {i: t for i, (t, need) in enumerate(zip((a, b), needed)) if not need}
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        saved = iter(ctx.saved_tensors)
        a, b = (ctx.frozen[i] if i in ctx.frozen else next(saved) for i in range(2))
        need_a, need_b = ctx.needs_input_grad
        grad_a = (grad_output * b).sum_to_size(a.shape) if need_a else None
        grad_b = (grad_output * a).sum_to_size(b.shape) if need_b else None
        return grad_a, grad_b


# %% wrong[fails-noncontiguous]: for a row, flattens what lies in front of it with view
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1] and b.dim() == 1 and len(b) > 1:
            rows = grad_output.view(-1, len(b)) * a.expand_as(grad_output).reshape(-1, len(b))
            grad_b = rows.sum(0)
        elif ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% wrong[gradient-shape]: what arrives is summed down before it meets the other factor
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.mul(a, b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        results = [None, None]
        for place, (mine, other) in enumerate(((a, b), (b, a))):
            if ctx.needs_input_grad[place]:
                results[place] = other * grad_output.sum_to_size(mine.shape)
        return tuple(results)


# %% wrong[raises]: torch.matmul, because a and b are matrices
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        product = torch.matmul(a, b)
        return product

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return torch.matmul(grad_output, b.mT), torch.matmul(a.mT, grad_output)


# %% wrong[gradient-missing]: the two questions are crossed where they are unpacked
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        want_b, want_a = ctx.needs_input_grad
        for_a = for_b = None
        if want_a:
            for_a = (b * g).sum_to_size(a.shape)
        if want_b:
            for_b = (a * g).sum_to_size(b.shape)
        return for_a, for_b


# %% wrong[double-backward-missing|double-backward-value|saves-too-much]: both factors stretched before they are saved, under their own names
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        size = torch.broadcast_shapes(a.shape, b.shape)
        ctx.rows, ctx.cols = a.shape, b.shape
        a = a.expand(size)
        b = b.expand(size)
        ctx.save_for_backward(a, b)
        return a.mul(b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        need_a, need_b = ctx.needs_input_grad
        return (
            g.mul(b).sum_to_size(ctx.rows) if need_a else None,
            g.mul(a).sum_to_size(ctx.cols) if need_b else None,
        )


# %% wrong[gradient-value]: the upstream gradient is brought to the shape of the factor first
# says: grad_output is summed before it is multiplied by the other factor; the sum should come last.
# next: Every copy of an element has its own partner in the other factor: when may they be added up?
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a.mul(b)

    @staticmethod
    def backward(ctx, g):
        grads = [None, None]
        for i, (mine, other) in enumerate([ctx.saved_tensors, ctx.saved_tensors[::-1]]):
            if ctx.needs_input_grad[i]:
                grads[i] = g.sum_to_size(mine.size()).mul(other).sum_to_size(mine.size())
        return tuple(grads)


# %% wrong[raises]: the gradients are lined up with the factors from the left
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        needs_a, needs_b = ctx.needs_input_grad
        return (
            Multiply.shrink(g * b, a.shape) if needs_a else None,
            Multiply.shrink(g * a, b.shape) if needs_b else None,
        )

    @staticmethod
    def shrink(t, shape):
        want = list(shape) + [1] * (t.ndim - len(shape))
        for i, n in enumerate(want):
            t = t if t.shape[i] == n else t.sum(i, keepdim=True)
        return t.reshape(shape)


# %% wrong[ignores-needs-input-grad]: zeros where nobody asks
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        into_a, into_b = a.new_zeros(a.shape), b.new_zeros(b.shape)
        if ctx.needs_input_grad[0]:
            into_a = (g * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            into_b = (g * a).sum_to_size(b.shape)
        return into_a, into_b


# %% wrong[raises]: only the gradients that somebody needs are put into the tuple
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.mul(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        found = []
        if ctx.needs_input_grad[0]:
            found.append(g.mul(b).sum_to_size(a.shape))
        if ctx.needs_input_grad[1]:
            found.append(g.mul(a).sum_to_size(b.shape))
        return tuple(found)


# %% wrong[gradient-unsummed]: the dimensions in front are summed, those of size 1 are not
def fold(grad, like):
    ahead = tuple(range(grad.dim() - like.dim()))
    return grad.sum(ahead) if ahead else grad


class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        for_a, for_b = ctx.needs_input_grad
        return fold(grad_output * b, a) if for_a else None, fold(grad_output * a, b) if for_b else None


# %% wrong[double-backward-missing|double-backward-value|saves-too-much]: keeps what broadcast_tensors gives, a view where it stretches
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.sizes = a.shape, b.shape
        left, right = torch.broadcast_tensors(a, b)
        ctx.save_for_backward(left, right)
        return left.mul(right)

    @staticmethod
    def backward(ctx, g):
        kept = ctx.saved_tensors
        return tuple(
            g.mul(kept[1 - i]).sum_to_size(ctx.sizes[i]) if ctx.needs_input_grad[i] else None for i in (0, 1)
        )


# %% wrong[fails-special-point]: of a square the whole slope for each of the two arguments
class Multiply(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.slope = 2 if x is y else 1
        return x * y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        grad_x = grad_y = None
        if ctx.needs_input_grad[0]:
            grad_x = (ctx.slope * grad_output * y).sum_to_size(x.shape)
        if ctx.needs_input_grad[1]:
            grad_y = (ctx.slope * grad_output * x).sum_to_size(y.shape)
        return grad_x, grad_y


# %% wrong[fails-batch-dims|gradient-unsummed]: as many numbers as wanted, so nothing is summed
def down_to(grad, shape):
    if grad.numel() == shape.numel():
        return grad
    return grad.sum_to_size(shape)


class Multiply(Function):
    """a · b for any two shapes that broadcast. Keeps a and b."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = down_to(grad_output * b, a.shape) if ctx.needs_input_grad[0] else None
        grad_b = down_to(grad_output * a, b.shape) if ctx.needs_input_grad[1] else None
        return grad_a, grad_b
