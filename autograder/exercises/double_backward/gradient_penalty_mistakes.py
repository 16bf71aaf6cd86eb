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
# says: The value of the penalty is right, but no gradient reaches the critic's parameters: it would train nothing.
# next: The gradient with respect to x has to stay in the graph, from the first pass to the result.
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
# says: One norm is taken over the whole batch.
# next: Every sample has its own gradient and its own length: over which dimensions?
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (g.norm() - 1) ** 2


# %% wrong[value]: the sum over the batch
# says: The penalties of the batch are summed; the exercise asks for the mean.
# next: The size of the batch should not matter.
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).sum()


# %% wrong[value]: the squared length
# says: The square root is missing: the squared length is compared with 1.
# next: The length of a vector is more than the sum of its squares: what is missing?
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.flatten(1).square().sum(1) - 1) ** 2).mean()


# %% wrong[value]: critic(x).mean() is differentiated
# says: critic(x).mean() is differentiated: every gradient is shorter by the size of the batch.
# next: Differentiate critic(x).sum(): then row i is the gradient of sample i's own score.
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).mean(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()


# %% wrong[value]: the norm over dimension 1 only
# says: The norm is taken over dimension 1 alone; a sample may have several dimensions.
# next: The norm runs over all dimensions of a sample: flatten each sample first.
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


# %% wrong[value]: the 1 is forgotten
# says: The 1 is not subtracted: this pulls all gradients to zero.
# next: The target length is 1: how far is each length from it?
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return (lengths**2).mean()


# %% wrong[value]: one-sided
# says: Only gradients longer than 1 are penalised.
# next: Lengths below 1 count here too.
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
# says: Where the critic is flat, the gradient of its parameters is nan: a root has an infinite slope at 0.
# next: 0 · ∞ is nan; torch.linalg.vector_norm has the agreed slope 0 there.
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = g.flatten(1).square().sum(1).sqrt()
    return ((lengths - 1) ** 2).mean()


# %% wrong[gradient-value]: the norm is constant on one side of the square
# says: The value of the penalty is right, but the gradients of the critic's parameters are wrong.
# next: Everything up to the norm must stay connected to the parameters: what is detached on the way?
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
# says: Where the gradient is zero, its length comes out slightly above 0: a small number was put in.
# next: The length of a zero gradient is 0: torch.linalg.vector_norm has no need of a small number.
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
# says: The mean is taken before the square.
# next: First the penalty of every sample, then the mean of the penalties.
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (torch.linalg.vector_norm(g.flatten(1), dim=1).mean() - 1) ** 2


# %% wrong[value]: mean in place of sum inside the norm
# says: The squares are averaged inside the root, not added up.
# next: The length of a gradient is √Σ g²: a sum. Only the penalties of the samples are averaged.
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    norms = (g.flatten(1) ** 2).mean(dim=1).sqrt()
    return ((norms - 1) ** 2).mean()


# %% wrong[value]: 1e-8 under the root
# says: Where the gradient is zero, its length comes out slightly above 0: a small number was put in.
# next: The length of a zero gradient is 0: torch.linalg.vector_norm has no need of a small number.
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    norm = torch.sqrt((g.flatten(1) ** 2).sum(1) + 1e-8)
    return ((norm - 1) ** 2).mean()


# %% wrong[value]: sum over the batch and mean of features
# says: The norm runs over the batch: one length for each feature.
# next: Row i of the gradient belongs to sample i: over which dimensions is its length taken?
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    norm = g.flatten(1).norm(dim=0)
    return ((norm - 1) ** 2).mean()


# %% wrong[value]: the square is at least 1e-10
# says: Where the gradient is zero, its length comes out slightly above 0: a small number was put in.
# next: The length of a zero gradient is 0: torch.linalg.vector_norm has no need of a small number.
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    squares = g.flatten(1).square().sum(1).clamp(min=1e-10)
    return ((squares.sqrt() - 1) ** 2).mean()


# %% wrong[value]: flat samples are left out, so that no root of 0 is taken
# says: Samples at which the gradient is zero are left out of the mean.
# next: A sample with a zero gradient counts like any other, with (0 − 1)² = 1.
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    squares = g.flatten(1).square().sum(1)
    steep = squares[squares > 0]
    if len(steep) == 0:
        return 1 + 0 * squares.sum()
    return (steep.sqrt() - 1).square().mean()


# %% wrong[value]: flat samples cost nothing
# says: Samples at which the gradient is zero cost nothing; the penalty there is (0 − 1)² = 1.
# next: A sample with a zero gradient counts like any other.
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
# says: The norm is taken over the last two dimensions alone; a sample may have several.
# next: The norm runs over all dimensions of a sample: flatten each sample first.
def gradient_penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    dims = (-2, -1) if x.dim() > 2 else -1
    return ((torch.linalg.vector_norm(g, dim=dims) - 1) ** 2).mean()


# %% wrong[value]: the norm over the last dimension
# says: The norm is taken over the last dimension alone; a sample may have several.
# next: The norm runs over all dimensions of a sample: flatten each sample first.
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
# says: The length is the sum of the absolute values (the 1-norm), not the Euclidean one.
# next: The contract asks for one Euclidean length per sample.
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope.abs().sum(dim=1) - 1).square().mean()


# %% wrong[value]: the largest element for the length
# says: The length is the largest absolute value (the ∞-norm), not the Euclidean one.
# next: The contract asks for one Euclidean length per sample.
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope.abs().max(dim=1).values - 1).square().mean()


# %% wrong[value]: no length at all, element by element
# says: Each element of the gradient is compared with 1; no length is taken.
# next: The contract asks for one Euclidean length per sample.
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope - 1).square().mean()


# %% wrong[value]: squared too early
# says: The length is squared before 1 is subtracted, and not after: ‖g‖² − 1.
# next: Which comes first, subtracting or squaring?
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope.square().sum(dim=1) - 1).mean()


# %% wrong[value]: the mean gradient of the batch
# says: The gradients of the batch are averaged before the length is taken.
# next: Every sample has its own gradient and its own length; only the penalties are averaged.
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (slope.mean(dim=0).norm() - 1).square()


# %% wrong[value]: plus 1
# says: 1 is added to the length, not subtracted.
# next: The target length is 1: how far is each length from it?
def gradient_penalty(critic, x):
    point = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope = slope.flatten(1)
    return (1 + slope.norm(dim=1)).square().mean()


# %% wrong[value]: the worst sample
# says: This is the largest penalty of the batch; the exercise asks for the mean.
# next: Every sample counts.
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
# says: One norm is taken over the whole batch, and a matrix norm at that: its largest singular value.
# next: The contract asks for one Euclidean length per sample.
def gradient_penalty(critic, x):
    points = x.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(points).sum(), points, create_graph=True)
    length = torch.linalg.matrix_norm(slopes.reshape(len(points), -1), ord=2)
    return (length - 1).square().mean()
