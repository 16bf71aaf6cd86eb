# %% wrong[value]: the gradient, nothing more
# says: This is the gradient of f; v is not used.
# next: A second pass is missing: differentiate the gradient, weighted with v.
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    return torch.autograd.grad(f(x), x)[0]


# %% wrong[value]: the gradient times v
# says: This is the gradient times v, element by element.
# next: Close: what has to be differentiated once more?
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    return torch.autograd.grad(f(x), x)[0] * v


# %% wrong[value]: the Hessian times ones
# says: This is the Hessian times a vector of ones; v is not used.
# next: Where does v have to come in: before the second pass, or after it?
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(g.sum(), x, materialize_grads=True)[0]


# %% wrong[value]: the Hessian times ones, then times v
# says: This is the Hessian times a vector of ones; v is only multiplied in afterwards.
# next: v has to come in before the second pass, not after it.
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(g.sum(), x, materialize_grads=True)[0] * v


# %% wrong[value]: the identity that goes by the name
# says: This is x itself: a Function that passes x through does not give the product.
# next: Two calls of torch.autograd.grad do it; no Function is needed.
class HessianVectorProduct(Function):
    @staticmethod
    def forward(ctx, x, v):
        ctx.save_for_backward(x, v)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


def hvp(f, x, v):
    return HessianVectorProduct.apply(x, v)


# %% wrong[raises]: create_graph is missing
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x)
    return torch.autograd.grad((g * v).sum(), x)[0]


# %% wrong[raises]: x does not require grad
def hvp(f, x, v):
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v).sum(), x)[0]


# %% wrong[fails-special-point]: stops with an error for a linear f
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v).sum(), x)[0]


# %% wrong[fails-special-point]: zeros for a constant gradient, an error for a trainable one
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(g, x, v)[0]


# %% wrong[too-many-passes]: the Hessian, row by row
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    rows = [
        torch.autograd.grad(one, x, retain_graph=True, materialize_grads=True)[0].reshape(-1)
        for one in g.reshape(-1)
    ]
    return (torch.stack(rows) @ v.reshape(-1)).reshape(x.shape)


# %% wrong[uses-builtin|too-many-passes]: torch.autograd.functional.hessian
def hvp(f, x, v):
    n = x.numel()
    hessian = torch.autograd.functional.hessian(f, x.detach())
    return (hessian.reshape(n, n) @ v.reshape(n)).reshape(x.shape)


# %% wrong[uses-builtin]: torch.autograd.functional.hvp
def hvp(f, x, v):
    return torch.autograd.functional.hvp(f, x.detach(), v)[1]


# %% wrong[temporary-too-large]: torch.func.hessian
def hvp(f, x, v):
    n = x.numel()
    return (torch.func.hessian(f)(x.detach()).reshape(n, n) @ v.reshape(n)).reshape(x.shape)


# %% wrong[finite-differences]: a difference of gradients
def gradient(f, x):
    x = x.detach().requires_grad_(True)
    return torch.autograd.grad(f(x), x)[0]


def hvp(f, x, v):
    eps = 1e-5
    return (gradient(f, x + eps * v) - gradient(f, x - eps * v)) / (2 * eps)


# %% wrong[mutates-input]: two calls of backward leave .grad of the weights behind
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    f(x).backward(create_graph=True)
    g = x.grad
    x.grad = None
    if not g.requires_grad:
        return torch.zeros_like(x)
    (g * v).sum().backward()
    return torch.zeros_like(x) if x.grad is None else x.grad


# %% wrong[output-count|value]: returns the result and the gradient
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(g, x, v, materialize_grads=True)[0], g


# %% wrong[value]: half of it, as if the Hessian were of ½ f
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(g, x, v, materialize_grads=True)[0] / 2


# %% wrong[mutates-input]: makes the caller's x require grad
def hvp(f, x, v):
    x.requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(g, x, v, materialize_grads=True)[0]


# %% right: v as the upstream gradient of the second pass
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(g, x, v, materialize_grads=True)[0]


# %% right: the gradient of a weighted sum
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    (result,) = torch.autograd.grad((g * v).sum(), x, allow_unused=True)
    return torch.zeros_like(x) if result is None else result


# %% right: adds a zero that depends on x, so that linear needs no case
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    g = g + 0 * x
    return torch.autograd.grad(g, x, grad_outputs=v)[0].detach()


# %% right: forward over reverse
def hvp(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v,))[1]


# %% right: works on a flat copy, under enable_grad
def hvp(f, x, v):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        gradient = torch.autograd.grad(f(leaf), leaf, create_graph=True)[0]
        total = torch.vdot(gradient.reshape(-1), v.reshape(-1)) + 0.0 * leaf.sum()
        return torch.autograd.grad(total, leaf)[0]


# %% wrong[raises]: g @ v, which is the sum for vectors only
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    (result,) = torch.autograd.grad(g @ v, x, allow_unused=True, materialize_grads=True)
    return result


# %% wrong[raises]: torch.dot, for vectors only
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(torch.dot(g, v), x, allow_unused=True, materialize_grads=True)[0]


# %% wrong[fails-special-point]: allow_unused, but None is returned
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad((g * v).sum(), x, allow_unused=True)[0]


# %% wrong[value]: f(x) * v differentiated twice
# says: f(x) is multiplied by v; v belongs to the gradient instead.
# next: Differentiate f(x) alone first: v comes in later.
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad((f(x) * v).sum(), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(g.sum(), x, allow_unused=True, materialize_grads=True)[0]


# %% wrong[raises|value]: the matrix product with v transposed
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad((g @ v.T).sum(), x, allow_unused=True, materialize_grads=True)[0]


# %% wrong[too-many-passes]: forward mode made of two backward passes, and one more
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    weights = torch.zeros_like(x).requires_grad_(True)
    (linear,) = torch.autograd.grad(g, x, weights, create_graph=True, materialize_grads=True)
    if not linear.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(linear, weights, v, materialize_grads=True)[0]


# %% wrong[value]: in float32, to be quick
def hvp(f, x, v):
    leaf = x.detach().to(torch.float32).requires_grad_(True)
    (g,) = torch.autograd.grad(f(leaf.to(x.dtype)), leaf, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    (result,) = torch.autograd.grad(g, leaf, v.to(torch.float32), materialize_grads=True)
    return result.to(x.dtype)


# %% wrong[finite-differences|value]: x goes through float32 on its way
# says: f is evaluated at x rounded to float32, not at x itself.
# next: Stay in the dtype of x.
def hvp(f, x, v):
    x = x.detach().float().to(v.dtype).requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(g, x, v, materialize_grads=True)[0]


# %% wrong[raises]: the first pass keeps no graph
def hvp(f, x, v):
    start = x.detach().clone().requires_grad_()
    first = torch.autograd.grad(f(start), start, allow_unused=True)[0]
    if first is None:
        return torch.zeros_like(x)
    second = torch.autograd.grad(first, start, grad_outputs=v, allow_unused=True)[0]
    return torch.zeros_like(x) if second is None else second


# %% wrong[value]: vᵀHv, the curvature along v
# says: This is vᵀHv, a single number: the product with the Hessian is multiplied by v once more and summed.
# next: v is used once, as the weight of the gradient. What the second pass gives is the answer.
def hvp(f, x, v):
    point = x.detach().clone().requires_grad_()
    slope = torch.autograd.grad(f(point), point, create_graph=True)[0]
    if not slope.requires_grad:
        return torch.zeros_like(point)
    along = torch.autograd.grad(slope, point, v, allow_unused=True, materialize_grads=True)[0]
    return torch.sum(along * v)


# %% wrong[value]: the weight is x
# says: This is the Hessian times x: the gradient is multiplied by x, not by v.
# next: What is the gradient weighted with before the second pass?
def hvp(f, x, v):
    at = x.detach().requires_grad_(True)
    slope = torch.autograd.grad(f(at), at, create_graph=True)[0]
    return torch.autograd.grad((slope * x).sum(), at, allow_unused=True, materialize_grads=True)[0].detach()


# %% wrong[value]: x and v exchanged
# says: The Hessian at v is multiplied by x: the two are swapped.
# next: f is differentiated at x, and v is the weight of the gradient.
def hvp(f, x, v):
    at = v.detach().requires_grad_(True)
    slope = torch.autograd.grad(f(at), at, create_graph=True)[0]
    return torch.autograd.grad((slope * x).sum(), at, allow_unused=True, materialize_grads=True)[0].detach()


# %% wrong[value]: the point is moved by v
# says: The Hessian is the one at x + v, not the one at x.
# next: v is a direction; f is differentiated at x alone.
def hvp(f, x, v):
    at = (x + v).detach().requires_grad_(True)
    slope = torch.autograd.grad(f(at), at, create_graph=True)[0]
    return torch.autograd.grad((slope * v).sum(), at, allow_unused=True, materialize_grads=True)[0].detach()


# %% wrong[value]: the squared gradient
# says: This is the derivative of Σ g²: the gradient is multiplied by itself, not by v.
# next: What is the gradient weighted with before the second pass?
def hvp(f, x, v):
    at = x.detach().requires_grad_(True)
    slope = torch.autograd.grad(f(at), at, create_graph=True)[0]
    return torch.autograd.grad(slope.square().sum(), at, allow_unused=True, materialize_grads=True)[0].detach()


# %% wrong[value]: the mean for the sum
# says: The mean of the products g · v is differentiated, not their sum.
# next: Nothing in the product is divided by the number of elements.
def hvp(f, x, v):
    at = x.detach().requires_grad_(True)
    slope = torch.autograd.grad(f(at), at, create_graph=True)[0]
    return torch.autograd.grad((slope * v).mean(), at, allow_unused=True, materialize_grads=True)[0].detach()


# %% wrong[value]: v is made a unit vector
# says: v is divided by its length before the product is taken.
# next: The product belongs to v as it is passed, whatever its length.
def hvp(f, x, v):
    at = x.detach().requires_grad_(True)
    slope = torch.autograd.grad(f(at), at, create_graph=True)[0]
    return torch.autograd.grad((slope * v).sum() / v.norm(), at, allow_unused=True, materialize_grads=True)[0].detach()


# %% wrong[value]: .backward() twice, and .grad adds up
# says: This is the gradient plus the product with the Hessian.
# next: Gradients of two passes that are written to one place add up. torch.autograd.grad gives each alone.
def hvp(f, x, v):
    at = x.detach().requires_grad_(True)
    f(at).backward(create_graph=True)
    (at.grad * v).sum().backward()
    return at.grad.detach()


# %% wrong[value|finite-differences]: one more gradient, a step of a thousandth away
# says: The result is only right to a few digits: it is a difference quotient of gradients.
# next: The exact product needs one evaluation of f: differentiate the gradient once more.
def hvp(f, x, v, step=1e-3):
    def gradient(point):
        point = point.detach().requires_grad_(True)
        return torch.autograd.grad(f(point), point, materialize_grads=True)[0]

    return (gradient(x + step * v) - gradient(x - step * v)) / (2 * step)


# %% wrong[mutates-input]: the second pass is a .backward(), read from .grad
def hvp(f, x, v):
    here = x.clone().detach().requires_grad_()
    gradient = torch.autograd.grad(f(here), here, create_graph=True, materialize_grads=True)[0]
    if gradient.requires_grad:
        torch.dot(gradient.flatten(), v.flatten()).backward()
    return torch.zeros_like(x) if here.grad is None else here.grad


# %% wrong[fails-special-point]: x as it comes, which may be v as well
def hvp(f, x, v):
    x = x if x.requires_grad else x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not gradient.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad((gradient * v).sum(), x, materialize_grads=True)[0]
