# %% wrong[gradient-value]: one step only
# says: The gradient goes through the last step alone: that z itself depends on x and weight is left out.
# next: z appears on both sides of the equation. Iterate v = grad_output + (v · (1 − z²)) weight first.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-value]: weight transposed in the adjoint
# says: The adjoint iteration multiplies by weight transposed; forward did that, and the way back has weight itself.
# next: A row z goes forward as z weightᵀ. The gradient of a row goes back through weight.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight.T
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-value]: the slope on the wrong side
# says: In the adjoint iteration the slope 1 − z² comes after weight; on the way back it comes before.
# next: Forward multiplies by weight first and bends then. Backward: first the slope, then weight.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v @ weight) * slope
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-value]: no slope in the adjoint
# says: The adjoint iteration leaves out the slope 1 − z² of tanh.
# next: v = grad_output + (v · (1 − z²)) weight: each round goes back through tanh too.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + v @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-value]: the slope at x
# says: The slope of tanh is taken at x; its argument is weight z + x.
# next: tanh(weight z + x) is z, so its slope is 1 − z².
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight, torch.tanh(x))
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight, t = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - t * t
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-value]: the adjoint itself is handed on
# says: The gradient for x lacks the slope 1 − z² of the last step.
# next: v is the gradient for z. x stands inside tanh: its gradient is v · (1 − z²).
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-zero|gradient-value]: grad_output is forgotten in each round
# says: The adjoint iteration adds no grad_output in a round, so the gradient shrinks to 0.
# next: v = grad_output + (v · (1 − z²)) weight: grad_output is added in each round, as x is in forward.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-value]: five rounds, whatever steps is
# says: The adjoint iteration stops too early: the gradient for x is that of a few rounds.
# next: Take as many rounds as forward took steps: then the adjoint is as good as z.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(5):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-sign|gradient-value]: a minus in the adjoint
# says: The adjoint iteration subtracts where it should add.
# next: dz = D (weight dz + …) has a plus, and so has its transpose: v = grad_output + (v · D) weight.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output - (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% right: None for z0, which says zero as well
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = None
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-value]: grad_output for z0
# says: z0 gets a gradient, though the solution does not depend on where the iteration began.
# next: The gradient for z0 is zero: torch.zeros_like.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = grad_output.clone()
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-transposed]: zᵀ h for weight
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = z.reshape(-1, n).T @ h.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-value]: x in the place of z for weight
# says: The gradient for weight is made with x; weight is multiplied by z.
# next: weight z + x: the factor beside weight is z, the solution.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight, x)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight, x = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ x.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-value|gradient-scale]: the mean over the batch for weight
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n) / max(1, z.numel() // n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[gradient-unsummed]: .mT on a batch
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.mT @ z
        return grad_z0, grad_x, grad_weight, None


# %% wrong[uses-autograd]: the loop again, by autograd
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(x, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        given = [t.detach().requires_grad_() for t in ctx.saved_tensors]
        with torch.enable_grad():
            z = torch.zeros_like(given[0])
            for _ in range(ctx.steps):
                z = torch.tanh(z @ given[1].T + given[0])
        grad_x, grad_weight = torch.autograd.grad(z, given, grad_output)
        return torch.zeros_like(grad_output), grad_x, grad_weight, None


# %% wrong[saves-too-much]: every z on the way is kept
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z, way = z0, []
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
            way.append(z)
        ctx.save_for_backward(weight, *way)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        weight, *way = ctx.saved_tensors
        z = way[-1]
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[saves-too-much]: x is kept as well
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, x, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, _, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[saves-on-ctx]: z as an attribute
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(weight)
        ctx.z = z
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        (weight,) = ctx.saved_tensors
        z = ctx.z
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[double-backward-value]: a copy of z is kept
# says: What is kept is not the output itself: for a second derivative z is a constant.
# next: Of the output itself torch knows how it depends on x and weight; of a copy it does not.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z.clone(), weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[ignores-needs-input-grad]: all three, whatever is needed
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if True:
            grad_z0 = torch.zeros_like(z)
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if True:
                grad_x = h
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[forward-value]: weight transposed
# says: Forward multiplies z by weight transposed.
# next: For a row z, weight z is z @ weight.T, as in lesson 03.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight.T
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[forward-value]: x outside of tanh
# says: x is added outside of tanh; in z = tanh(weight z + x) it stands inside.
# next: Add x to weight z first, and take tanh of the sum.
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T) + x
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[forward-value]: one step more
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps + 1):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[forward-value]: until nothing moves, whatever steps is
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(200):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% wrong[forward-value]: begins at 0
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = torch.zeros_like(z0)
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% right: z and weight are kept, the adjoint iterated
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        grad_z0 = grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_z0 = torch.zeros_like(z)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None


# %% right: the adjoint system is solved, not iterated
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        z = z0.clone()
        for _ in range(steps):
            z = (x + torch.einsum("ij,...j->...i", weight, z)).tanh()
        ctx.save_for_backward(z, weight)
        return z

    @staticmethod
    def backward(ctx, g):
        if torch.is_grad_enabled():
            raise RuntimeError("FixedPoint is differentiable once.")
        z, weight = ctx.saved_tensors
        _, for_x, for_weight, _ = ctx.needs_input_grad
        h = None
        if for_x or for_weight:
            wide = torch.promote_types(z.dtype, torch.float32)  # nothing is solved in bfloat16
            slope = (1 - z**2).unsqueeze(-1)
            system = torch.eye(len(weight), dtype=wide, device=z.device) - slope * weight
            v = torch.linalg.solve(system.mT, g.unsqueeze(-1).to(wide)).to(z.dtype)
            h = (v * slope).squeeze(-1)
        grad_weight = torch.einsum("...i,...j->ij", h, z) if for_weight else None
        zero = torch.zeros_like(g) if ctx.needs_input_grad[0] else None
        return zero, h if for_x else None, grad_weight, None


# %% right: the adjoint in terms of h, from 0
class FixedPoint(Function):
    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        for _ in range(steps):
            z0 = torch.tanh(torch.nn.functional.linear(z0, weight) + x)
        ctx.save_for_backward(z0, weight)
        ctx.rounds = steps + 1
        return z0

    @staticmethod
    def backward(ctx, grad_output):
        z, weight = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        grads = [torch.zeros_like(z) if wanted[0] else None, None, None, None]
        if not any(wanted[1:3]):
            return tuple(grads)
        h = torch.zeros_like(z)
        for _ in range(ctx.rounds):
            h = (grad_output + h @ weight) * (1 - z.square())
        if wanted[1]:
            grads[1] = h
        if wanted[2]:
            grads[2] = h.flatten(0, -2).mT @ z.flatten(0, -2) if z.dim() > 1 else torch.outer(h, z)
        return tuple(grads)
