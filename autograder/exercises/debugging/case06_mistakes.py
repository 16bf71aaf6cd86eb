# %% wrong[gradient-missing]: as admitted, nothing changed
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if ctx.needs_input_grad[1] else None
        return grad_x, None, grad_centre


# %% wrong[gradient-missing|raises]: counts from 1, as people do
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if ctx.needs_input_grad[3] else None
        return grad_x, None, grad_centre


# %% wrong[gradient-missing|ignores-needs-input-grad]: all places one further on
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[2] else None
        grad_centre = -grad_output * slope if ctx.needs_input_grad[1] else None
        return grad_x, None, grad_centre


# %% wrong[ignores-needs-input-grad]: does not ask at all
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope
        return grad_x, None, grad_centre


# %% wrong[gradient-missing|ignores-needs-input-grad]: centre's only together with x
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if all(ctx.needs_input_grad[::2]) else None
        return grad_x, None, grad_centre


# %% wrong[ignores-needs-input-grad]: asks whether any is needed
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if any(ctx.needs_input_grad) else None
        return grad_x, None, grad_centre


# %% wrong[gradient-sign]: the sign of centre's
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = grad_output * slope if ctx.needs_input_grad[2] else None
        return grad_x, None, grad_centre


# %% wrong[gradient-count|gradient-swapped|gradient-missing]: centre's in the place of scale
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if ctx.needs_input_grad[2] else None
        return grad_x, grad_centre, None


# %% wrong[gradient-count]: no place for scale
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if ctx.needs_input_grad[2] else None
        return grad_x, grad_centre


# %% wrong[gradient-scale]: the 2 of the square is missing
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = - ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if ctx.needs_input_grad[2] else None
        return grad_x, None, grad_centre


# %% wrong[gradient-value|gradient-scale]: scale is left out of the slope
# says: The slope lacks the factor scale: the exponential brings it down with its exponent.
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if ctx.needs_input_grad[2] else None
        return grad_x, None, grad_centre


# %% wrong[gradient-value]: the distance is left out of the slope
# says: The slope lacks the factor x − centre: of a square there stays one factor.
# next: At its top the bump is flat: what must the slope be where x = centre?
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if ctx.needs_input_grad[2] else None
        return grad_x, None, grad_centre


# %% wrong[double-backward-value]: the exponential is saved on its own
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre, torch.exp(-scale * (x - centre) ** 2))
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre, bump = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * bump
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if ctx.needs_input_grad[2] else None
        return grad_x, None, grad_centre


# %% right: the output is kept
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        y = torch.exp(-scale * (x - centre) ** 2)
        ctx.save_for_backward(x, centre, y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, centre, y = ctx.saved_tensors
        grad_centre = 2 * ctx.scale * (x - centre) * y * grad_output
        needs_x, _, needs_centre = ctx.needs_input_grad
        return -grad_centre if needs_x else None, None, grad_centre if needs_centre else None


# %% right: counted from the end
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        grad_centre = -grad_output * slope if ctx.needs_input_grad[-1] else None
        return grad_x, None, grad_centre


# %% right: two ifs
class Case06(Function):
    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_centre = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * slope
        if ctx.needs_input_grad[2]:
            grad_centre = grad_output.neg() * slope
        return grad_x, None, grad_centre
