# %% wrong[random-state]: as admitted, nothing changed
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        rows = torch.rand(*grad_output.shape[:-1], 1, device=grad_output.device) >= ctx.p
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[random-state]: seeds before each of the two draws
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        torch.manual_seed(0)
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        torch.manual_seed(0)
        rows = torch.rand(*grad_output.shape[:-1], 1, device=grad_output.device) >= ctx.p
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[random-state]: draws again in a fork of the generator
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        with torch.random.fork_rng(devices=[]):
            rows = torch.rand(*grad_output.shape[:-1], 1, device=grad_output.device) >= ctx.p
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[random-state|gradient-value|shared-state]: the rows on the class
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        Case11.rows = rows
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        rows = Case11.rows
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[saves-on-ctx]: the rows as an attribute
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        ctx.rows = rows
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        rows = ctx.rows
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[forward-value|random-state]: elements in place of rows
# says: Single elements are dropped; a row is dropped or kept as a whole.
# next: One number decides for all elements of a row.
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand_like(x) >= p
        ctx.save_for_backward(rows)
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[forward-value]: one number for all rows
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(1, device=x.device) >= p
        ctx.save_for_backward(rows)
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[forward-value]: keeps with probability p
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) < p
        ctx.save_for_backward(rows)
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[forward-value]: never divides by 1 − p
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        ctx.save_for_backward(rows)
        return x * rows

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows, None


# %% wrong[gradient-scale|gradient-value]: divides by 1 − p in forward alone
# says: What is kept was divided by 1 − p in forward; its gradient is not.
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        ctx.save_for_backward(rows)
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows, None


# %% wrong[random-state|gradient-value]: the gradient of every row
# says: Rows that were dropped get a gradient, too: nothing of them is in the output.
# next: Where the output is 0 whatever x is, the gradient is 0.
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        ctx.save_for_backward(rows)
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output / (1 - ctx.p), None


# %% wrong[random-state|gradient-value]: the gradient of the rows that were dropped
# says: The dropped rows get the gradient, and the kept ones none: just the other way round.
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        ctx.save_for_backward(rows)
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * ~rows / (1 - ctx.p), None


# %% wrong[gradient-count]: no None for p
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        ctx.save_for_backward(rows)
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p)


# %% wrong[saves-too-much]: keeps the rows as large as x
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        ctx.save_for_backward(rows.expand_as(x).contiguous())
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[mutates-input]: drops in place
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        ctx.save_for_backward(rows)
        return x.mul_(rows) / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[random-state]: a generator of its own
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device, generator=torch.Generator(x.device)) >= p
        ctx.save_for_backward(rows)
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[fails-special-point]: reads the mask off the output, where a row of zeros was kept
class Case11(Function):
    """Each row of x is dropped with probability p, the others are divided by 1 − p."""

    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        y = x * rows / (1 - p)
        ctx.save_for_backward((y != 0).any(-1, keepdim=True))
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p), None


# %% right: bernoulli
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.empty(*x.shape[:-1], 1, device=x.device).bernoulli_(1 - p).bool()
        ctx.save_for_backward(rows)
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p), None


# %% right: keeps the state of the generator and draws again
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.save_for_backward(torch.get_rng_state())
        ctx.p = p
        return x * Case11.kept(x, p) / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.saved_tensors[0])
            kept = Case11.kept(grad_output, ctx.p)
        return grad_output * kept / (1 - ctx.p), None

    @staticmethod
    def kept(like, p):
        return (torch.rand(*like.shape[:-1], 1) >= p).to(like.device)


# %% right: torch.where
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        ctx.save_for_backward(rows)
        return torch.where(rows, x / (1 - p), 0.0)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return torch.where(rows, grad_output / (1 - ctx.p), 0.0), None


# %% wrong[forward-value]: one number for all rows of a matrix
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        rows = torch.rand(x.shape[0], *[1] * (x.dim() - 1), device=x.device) >= p
        ctx.save_for_backward(rows)
        ctx.p = p
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[forward-value]: the same rows of each matrix
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        rows = torch.rand(*x.shape[-2:-1], 1, device=x.device) >= p
        ctx.save_for_backward(rows)
        ctx.p = p
        return x * rows / (1 - p)

    @staticmethod
    def backward(ctx, grad_output):
        (rows,) = ctx.saved_tensors
        return grad_output * rows / (1 - ctx.p), None


# %% wrong[random-state]: draws again from forward's random state, and leaves it there
class Case11(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        ctx.save_for_backward(torch.get_rng_state())
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        return torch.where(rows, x / (1 - p), 0.0)

    @staticmethod
    def backward(ctx, grad_output):
        (state,) = ctx.saved_tensors
        torch.set_rng_state(state)
        rows = torch.rand(*grad_output.shape[:-1], 1, device=grad_output.device) >= ctx.p
        return torch.where(rows, grad_output / (1 - ctx.p), 0.0), None
