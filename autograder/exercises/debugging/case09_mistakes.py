# %% wrong[gradient-value]: as admitted, nothing changed
# says: The gradient of the second half is made with the output where the first half of x belongs.
# next: The output holds one gate already. Which factor belongs there, and is it still the first half when backward reads it?
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        return value.mul_(gate)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[gradient-value]: saves first, and multiplies the view in place
# says: The gradient of the second half is made with the output where the first half of x belongs.
# next: The output holds one gate already. Which factor belongs there, and is it still the first half when backward reads it?
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        value *= gate
        return value

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[gradient-value]: a clone of the output that was written
# says: The gradient of the second half is made with the output where the first half of x belongs.
# next: The output holds one gate already. Which factor belongs there, and is it still the first half when backward reads it?
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        return value.mul_(gate).clone()

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[gradient-value]: the gate is written over as well
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        out = value * gate
        gate.mul_(1 - gate)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[mutates-input]: no copy of x at all
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        return value * gate

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[gradient-value]: divides the output by the gate twice
# says: The slope of the sigmoid is taken to be 1 − σ: its factor σ is missing.
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        return value * gate

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[gradient-value]: the second half is kept before its sigmoid
# says: Backward takes the second half itself for its sigmoid: both gradients are made with it.
# next: The formulas with the gate want the sigmoid of the second half: keep that one, or apply it in backward too.
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.chunk(2, -1)
        ctx.save_for_backward(value.clone(), gate.clone())
        return value * torch.sigmoid(gate)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("no second derivatives")
        value, gate = ctx.saved_tensors
        return torch.cat([grad_output * gate, grad_output * value * gate * (1 - gate)], -1)


# %% wrong[gradient-value]: the slope of the sigmoid is left out
# says: The second half gets the gradient of its sigmoid: the slope σ(1 − σ) of the sigmoid itself is missing.
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        return value * gate

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[gradient-value]: the halves in the other order
# says: The gradients of the two halves stand in each other's place.
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        return value * gate

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_gate, grad_output * gate], -1)


# %% wrong[forward-value]: the sigmoid of the first half
# says: The first half is the one that goes through the sigmoid; it should be the second.
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        gate, value = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        return value * gate

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        gate, value = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[forward-value]: no sigmoid
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        ctx.save_for_backward(value, gate)
        return value * gate

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[forward-value|forward-shape|raises|fails-batch-dims]: cut along the first dimension
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, 0)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        return value * gate

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[double-backward-value]: no refusal
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        return value * gate

    @staticmethod
    def backward(ctx, grad_output):
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% wrong[saves-too-much]: keeps x as well
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate, x)
        return value * gate

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate, _ = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% right: saves after a product of its own
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        out = value.mul(gate)
        ctx.save_for_backward(value, gate)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% right: keeps x alone, and is right twice
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        value, gate = x.chunk(2, -1)
        return value * torch.sigmoid(gate)

    @staticmethod
    def backward(ctx, grad_output):
        value, gate = ctx.saved_tensors[0].chunk(2, -1)
        gate = torch.sigmoid(gate)
        return torch.cat((grad_output * gate, grad_output * value * gate * (1 - gate)), -1)


# %% right: saves a sigmoid of its own
class Case09(Function):
    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate = gate.sigmoid()
        ctx.save_for_backward(value, gate)
        return value * gate

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)
