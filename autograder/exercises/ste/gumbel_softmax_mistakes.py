# %% wrong[gradient-value]: the identity, as printed tutorials have it
# says: grad_output is passed on as it is: the softmax and tau are left out of backward.
# next: The surrogate is the soft version, and softmax mixes the elements of a row.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None, None


# %% wrong[gradient-scale]: 1 / tau missing
# says: The gradient lacks the factor 1 / tau.
# next: softmax is given (logits + gumbels) / tau: what does the chain rule make of tau?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return p * (grad_output - (grad_output * p).sum(-1, keepdim=True)), None, None, None


# %% wrong[gradient-scale]: multiplied by tau
# says: The gradient is multiplied by tau where it should be divided.
# next: What is the derivative of (logits + gumbels) / tau by logits?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) * ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[gradient-value]: the diagonal only
# says: Only the diagonal of the softmax Jacobian is there: p · (1 − p).
# next: Each probability depends on all logits of its row: which terms does that add?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return grad_output * p * (1 - p) / ctx.tau, None, None, None


# %% wrong[gradient-value]: no sum
# says: The gradient is grad_output · p / tau: the sum over the row is missing.
# next: Each probability depends on all logits of its row: which terms does that add?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return grad_output * p / ctx.tau, None, None, None


# %% wrong[gradient-value]: the plain mean
# says: The plain mean of g is subtracted from each row, not the mean weighted by p.
# next: Derive the sum once more on paper: what is each g weighted with?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return p * (grad_output - grad_output.mean(-1, keepdim=True)) / ctx.tau, None, None, None


# %% wrong[gradient-value]: the sum without p
# says: Σ g is subtracted; it should be Σ g·p.
# next: Derive the sum once more on paper: what is each g weighted with?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return p * (grad_output - grad_output.sum(-1, keepdim=True)) / ctx.tau, None, None, None


# %% wrong[gradient-value]: no p in front
# says: The factor p in front is missing.
# next: Derive the product with the softmax Jacobian once more on paper.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau, None, None, None


# %% wrong[gradient-value]: the sum over everything
# says: The sum Σ g·p runs over the whole tensor, not over each row.
# next: Each row has a sum of its own: over which dimension?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return p * (grad_output - (grad_output * p).sum()) / ctx.tau, None, None, None


# %% wrong[gradient-value]: the sum over the first dimension
# says: The sum Σ g·p runs over the first dimension, not over each row.
# next: Each row has a sum of its own: over which dimension?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(0, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[gradient-zero]: fed with the one-hot output
# says: With hard=True the gradient is zero: the formula is fed with the one-hot output.
# next: The exercise asks for the gradient of the soft version, hard or not: which probabilities does that need?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        p = torch.softmax((logits + gumbels) / tau, -1)
        y = torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0) if hard else p
        ctx.save_for_backward(y)
        ctx.tau = tau
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return (
            y * (grad_output - (grad_output * y).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[gradient-value]: the noise forgotten in backward
# says: Backward computes the softmax without the noise.
# next: The probabilities of backward are those of forward: the softmax of (logits + gumbels) / tau.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax(logits / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[gradient-zero]: the derivative of a one-hot vector
# says: The gradient is zero everywhere: that is the true derivative of a one-hot vector.
# next: The exercise asks for the gradient of the soft version, hard or not.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output), None, None, None


# %% wrong[gradient-zero|gradient-value]: zero when hard
# says: With hard=True the gradient is zero: the formula is fed with the one-hot output.
# next: The exercise asks for the gradient of the soft version, hard or not: which probabilities does that need?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        ctx.hard = hard
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        if ctx.hard:
            return torch.zeros_like(p), None, None, None
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[gradient-sign]: a minus
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            -p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[upstream-ignored]: the local slope only
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return p * (1 - p) / ctx.tau, None, None, None


# %% wrong[gradient-value]: the noise gets the same gradient
# says: The noise gets a gradient; the contract always gives it None.
# next: gumbels is drawn, not learned. What does backward return in its place?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        grad_logits = p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau
        return grad_logits, grad_logits, None, None


# %% wrong[gradient-count]: one value for four arguments
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau


# %% wrong[gradient-missing]: returns it in the second place
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            None,
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
        )


# %% wrong[forward-value]: always soft
# says: The output is always soft; with hard=True it should be one-hot.
# next: With hard=True each row is 1 at its largest probability and 0 elsewhere.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        return p

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[forward-value]: always one-hot
# says: The output is always one-hot; with hard=False it should be soft.
# next: With hard=False the output is the softmax itself.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[forward-value]: no noise
# says: The noise is missing.
# next: The softmax is that of (logits + gumbels) / tau.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax(logits / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[forward-value]: no tau
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax(logits + gumbels, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[forward-value]: tau divides the noise only
# says: Only the noise is divided by tau, not the logits.
# next: The whole sum, logits + gumbels, is divided by tau.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax(logits + gumbels / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[forward-value]: times tau
# says: It multiplies by tau instead of dividing.
# next: A small tau should make the result harder.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) * tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[forward-value]: the first dimension
# says: softmax runs over the first dimension.
# next: The choices are along the last dimension.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, 0)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[forward-value]: draws noise of its own
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        gumbels = -torch.log(-torch.log(torch.rand_like(logits)))
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[forward-dtype]: one_hot gives integers
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        return torch.nn.functional.one_hot(p.argmax(-1), p.shape[-1]) if hard else p

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[forward-unstable]: exp without the maximum
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        e = torch.exp((logits + gumbels) / tau)
        p = e / e.sum(-1, keepdim=True)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[double-backward-value|double-backward-missing|saves-too-much]: saves the soft version, an intermediate when hard
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        p = torch.softmax((logits + gumbels) / tau, -1)
        ctx.save_for_backward(p)
        ctx.tau = tau
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        (p,) = ctx.saved_tensors
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[double-backward-value|double-backward-missing]: recomputes under no_grad
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        with torch.no_grad():
            p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[double-backward-value|double-backward-missing|saves-too-much]: saves the sum, an intermediate
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        z = (logits + gumbels) / tau
        ctx.save_for_backward(z)
        ctx.tau = tau
        p = torch.softmax(z, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        p = torch.softmax(z, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[saves-too-much]: saves the output as well
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        y = torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0) if hard else p
        ctx.save_for_backward(logits, gumbels, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels, _ = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[saves-on-ctx]: logits and noise as attributes
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.logits, ctx.gumbels, ctx.tau = logits, gumbels, tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        p = torch.softmax((ctx.logits + ctx.gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[shared-state]: tau on the class
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        GumbelSoftmax.noise = gumbels
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, _ = ctx.saved_tensors
        p = torch.softmax((logits + GumbelSoftmax.noise) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[mutates-input]: adds the noise in place
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        logits.data.add_(gumbels)
        p = torch.softmax(logits / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax(logits / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[mutates-upstream]: subtracts the sum in place
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        grad_output -= (grad_output * p).sum(-1, keepdim=True)
        return p * grad_output / ctx.tau, None, None, None


# %% wrong[uses-autograd]: autograd of the softmax
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        with torch.enable_grad():
            z = logits.detach().requires_grad_()
            p = torch.softmax((z + gumbels) / ctx.tau, -1)
            return torch.autograd.grad(p, z, grad_output)[0], None, None, None


# %% wrong[uses-autograd]: the backward kernel of torch
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return torch._softmax_backward_data(grad_output, p, -1, p.dtype) / ctx.tau, None, None, None


# %% wrong[raises]: saves the numbers too
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels, tau)
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels, tau = ctx.saved_tensors
        return grad_output, None, None, None


# %% right: computes the soft version again
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% right: one_hot in the dtype of the logits, exp written out
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        z = (logits + gumbels) / tau
        z = z - z.amax(-1, keepdim=True)
        e = torch.exp(z)
        p = e / e.sum(-1, keepdim=True)
        if hard:
            return torch.nn.functional.one_hot(p.argmax(-1), p.shape[-1]).to(p)
        return p

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        weighted = p * grad_output
        return (weighted - p * weighted.sum(-1, keepdim=True)) / ctx.tau, None, None, None


# %% right: the Jacobian as a matrix
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        jacobian = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        grad = (jacobian @ grad_output.unsqueeze(-1)).squeeze(-1)
        return grad / ctx.tau, None, None, None


# %% right: hard from the sum, not from the probabilities
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        z = logits + gumbels
        if hard:
            winner = z.argmax(-1, keepdim=True)
            return torch.zeros_like(z).scatter(-1, winner, torch.ones_like(z))
        return torch.softmax(z / tau, -1)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        if not ctx.needs_input_grad[0]:
            return None, None, None, None
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% right: setup_context form
class GumbelSoftmax(Function):
    @staticmethod
    def forward(logits, gumbels, tau, hard):
        soft = torch.softmax((logits + gumbels) / tau, dim=-1)
        if hard:
            return torch.zeros_like(soft).scatter(-1, soft.argmax(-1, keepdim=True), 1)
        return soft

    @staticmethod
    def setup_context(ctx, inputs, output):
        logits, gumbels, ctx.tau, _ = inputs
        ctx.save_for_backward(logits, gumbels)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        soft = torch.softmax((logits + gumbels) / ctx.tau, dim=-1)
        mean = (grad_output * soft).sum(-1, keepdim=True)
        return soft * (grad_output - mean) / ctx.tau, None, None, None


# %% wrong[forward-value]: the hard version takes the largest logit, without the noise
# says: The hard version takes the largest logit: the noise is left out there.
# next: The hard version belongs to the soft one: which values should it compare?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return p
        return torch.zeros_like(p).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        return (
            p * (grad_output - (grad_output * p).sum(-1, keepdim=True)) / ctx.tau,
            None,
            None,
            None,
        )


# %% wrong[fails-special-point]: a 1 at every probability that equals the largest
# says: Where several sums of a row tie for the largest, each gets a 1; a one-hot row has only one.
# next: Comparing with the maximum finds them all: which function picks one of several?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        soft = torch.softmax((logits + gumbels) / tau, dim=-1)
        if hard:
            return (soft >= soft.amax(-1, keepdim=True)).to(soft.dtype)
        return soft

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        soft = torch.softmax((logits + gumbels) / ctx.tau, dim=-1)
        inner = (soft * grad_output).sum(-1, keepdim=True)
        return soft * (grad_output - inner) / ctx.tau, None, None, None


# %% wrong[fails-special-point]: ties share the 1
# says: Where several sums of a row tie for the largest, they share the 1; a one-hot row has a single 1.
# next: Comparing with the maximum finds them all: which function picks one of several?
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        total = (logits + gumbels) / tau
        if not hard:
            return total.softmax(-1)
        winners = (total == total.max(-1, keepdim=True).values).to(total.dtype)
        return winners / winners.sum(-1, keepdim=True)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        soft = torch.softmax((logits + gumbels) / ctx.tau, dim=-1)
        inner = (soft * grad_output).sum(-1, keepdim=True)
        return soft * (grad_output - inner) / ctx.tau, None, None, None


# %% right: the last of equal winners
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        soft = torch.softmax((logits + gumbels) / tau, dim=-1)
        if not hard:
            return soft
        last = soft.shape[-1] - 1 - soft.flip(-1).argmax(-1, keepdim=True)
        return torch.zeros_like(soft).scatter(-1, last, 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        soft = torch.softmax((logits + gumbels) / ctx.tau, dim=-1)
        inner = (soft * grad_output).sum(-1, keepdim=True)
        return soft * (grad_output - inner) / ctx.tau, None, None, None


# %% wrong[raises]: a row's own sum has lost its dimension
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        soft = ((logits + gumbels) / tau).softmax(-1)
        if not hard:
            return soft
        return torch.zeros_like(soft).scatter(-1, soft.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        soft = ((logits + gumbels) / ctx.tau).softmax(-1)
        weighted = soft * grad_output
        total = torch.sum(weighted, -1)
        return (weighted - soft * total) / ctx.tau, None, None, None


# %% wrong[forward-value]: hard marks what has more than one half
# says: The hard version marks what is above ½: a row in which nothing has more than half gets no 1.
# next: With hard=True each row is 1 at its largest probability and 0 elsewhere.
class GumbelSoftmax(Function):
    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        p = torch.softmax((logits + gumbels) / tau, -1)
        return (p > 0.5).to(p.dtype) if hard else p

    @staticmethod
    def backward(ctx, grad_output):
        logits, gumbels = ctx.saved_tensors
        p = torch.softmax((logits + gumbels) / ctx.tau, -1)
        inner = (grad_output * p).sum(-1, keepdim=True)
        return p * (grad_output - inner) / ctx.tau, None, None, None
