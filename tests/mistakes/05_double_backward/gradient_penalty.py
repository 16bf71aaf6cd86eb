# %% wrong[parameters-without-gradient]: create_graph is missing
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% wrong[parameters-without-gradient]: retain_graph in place of create_graph
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, retain_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% wrong[parameters-without-gradient]: the gradient is detached
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.detach().flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% wrong[value]: item() at the end
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean().item()


# %% wrong[raises]: x does not require grad
def gradient_penalty(critic, x):
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% wrong[raises]: critic(x) is not summed
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% wrong[value]: one norm over the whole batch
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (g.norm() - 1) ** 2


# %% wrong[value]: the sum over the batch
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).sum()


# %% wrong[value]: the squared length
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.flatten(1).square().sum(1) - 1) ** 2).mean()


# %% wrong[value]: critic(x).mean() is differentiated
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).mean(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% wrong[value]: the norm over dimension 1 only
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


# %% wrong[value]: the 1 is forgotten
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return (lengths**2).mean()


# %% wrong[value]: one-sided
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return (torch.relu(lengths - 1) ** 2).mean()


# %% wrong[value]: one penalty a sample, no mean
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return (lengths - 1) ** 2


# %% wrong[gradient-unstable]: the square root of a sum of squares
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = g.flatten(1).square().sum(1).sqrt()
    return ((lengths - 1) ** 2).mean()


# %% wrong[gradient-value]: the norm is constant on one side of the square
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) * (lengths.detach() - 1)).mean()


# %% wrong[mutates-input]: backward in place of grad
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    critic(x).sum().backward(create_graph=True)
    g = x.grad
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% wrong[mutates-input]: makes the caller's x require grad
def gradient_penalty(critic, x):
    x = x.requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% right: vector_norm
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% right: ones as upstream gradient
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    scores = critic(x)
    g = torch.autograd.grad(
        outputs=scores,
        inputs=x,
        grad_outputs=torch.ones_like(scores),
        create_graph=True,
        retain_graph=True,
    )[0]
    return torch.mean((g.reshape(len(x), -1).norm(2, dim=1) - 1) ** 2)


# %% wrong[value]: a tiny number under the root; the norm is to be exact
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = (g.flatten(1).square().sum(1) + 1e-12).sqrt()
    return ((lengths - 1) ** 2).mean()


# %% right: by mse_loss, all dimensions but the first
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    dims = tuple(range(1, g.dim()))
    lengths = torch.linalg.vector_norm(g, dim=dims)
    return torch.nn.functional.mse_loss(lengths, torch.ones_like(lengths))


# %% wrong[value]: the mean of the norms, then minus 1, squared
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (torch.linalg.vector_norm(g.flatten(1), dim=1).mean() - 1) ** 2


# %% wrong[value]: mean in place of sum inside the norm
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    norms = (g.flatten(1) ** 2).mean(dim=1).sqrt()
    return ((norms - 1) ** 2).mean()


# %% wrong[value]: 1e-8 under the root
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    norm = torch.sqrt((g.flatten(1) ** 2).sum(1) + 1e-8)
    return ((norm - 1) ** 2).mean()


# %% wrong[value]: sum over the batch and mean of features
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    norm = g.flatten(1).norm(dim=0)
    return ((norm - 1) ** 2).mean()


# %% wrong[value]: the square is at least 1e-10
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    squares = g.flatten(1).square().sum(1).clamp(min=1e-10)
    return ((squares.sqrt() - 1) ** 2).mean()


# %% wrong[value]: flat samples are left out, so that no root of 0 is taken
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    squares = g.flatten(1).square().sum(1)
    steep = squares[squares > 0]
    if len(steep) == 0:
        return 1 + 0 * squares.sum()
    return (steep.sqrt() - 1).square().mean()


# %% wrong[value]: flat samples cost nothing
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    squares = g.flatten(1).square().sum(1)
    steep = squares > 0
    if not steep.any():
        return 1 + 0 * squares.sum()
    lengths = torch.where(steep, squares, 1.0).sqrt()
    return (lengths - 1).square().mean()


# %% wrong[raises]: view, where the gradient of a critic need not be contiguous
def gradient_penalty(critic, x):
    x = x.detach().clone().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.view(g.shape[0], -1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% wrong[value]: the norm over the last two dimensions, as for matrices
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    dims = (-2, -1) if x.dim() > 2 else -1
    return ((torch.linalg.vector_norm(g, dim=dims) - 1) ** 2).mean()


# %% wrong[value]: the norm over the last dimension
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.norm(dim=-1) - 1) ** 2).mean()


# %% right: root and square by hand, with a harmless number under the root of flat samples
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    squares = g.square().sum(dim=tuple(range(1, g.dim())))
    flat = squares == 0
    lengths = torch.where(flat, 0.0, torch.where(flat, 1.0, squares).sqrt())
    return (lengths - 1).square().mean()


# %% wrong[value]: the 1-norm
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope.abs().sum(dim=1) - 1).square().mean()


# %% wrong[value]: the largest element for the length
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope.abs().max(dim=1).values - 1).square().mean()


# %% wrong[value]: no length at all, element by element
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope - 1).square().mean()


# %% wrong[value]: squared too early
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope.square().sum(dim=1) - 1).mean()


# %% wrong[value]: the mean gradient of the batch
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope.mean(dim=0).norm() - 1).square()


# %% wrong[value]: plus 1
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (1 + slope.norm(dim=1)).square().mean()


# %% wrong[value]: the worst sample
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope.norm(dim=1) - 1).square().amax()


# %% wrong[raises]: one weight a sample for scores that have a column
def gradient_penalty(critic, x):
    start = x.detach().requires_grad_(True)
    weights = torch.ones(start.shape[0], dtype=start.dtype)
    (slope,) = torch.autograd.grad(critic(start), start, weights, create_graph=True)
    return ((torch.linalg.vector_norm(slope.flatten(1), dim=1) - 1) ** 2).mean()


# %% wrong[value]: the spectral norm of the whole batch
def gradient_penalty(critic, x):
    points = x.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(points).sum(), points, create_graph=True)
    length = torch.linalg.matrix_norm(slopes.reshape(len(points), -1), ord=2)
    return (length - 1).square().mean()
