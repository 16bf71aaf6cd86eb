# %% wrong[fails-special-point|raises]: divides the product by each factor
# says: The product is divided by each factor: where a factor is 0, that is 0 / 0.
# next: The gradient of a factor is the product of the others. Multiply those before it with those behind it.
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.prod(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return (grad_output * out).unsqueeze(ctx.dim) / x, None


# %% wrong[fails-special-point]: a tiny number is added before the division
# says: Where a factor is 0, its gradient comes out as 0.
# next: The product is 0 there, and yet it grows when that factor does: by the product of the others.
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.prod(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return (grad_output * out).unsqueeze(ctx.dim) / (x + 1e-12), None


# %% wrong[fails-special-point]: 0 wherever the division fails
# says: Where a factor is 0, its gradient comes out as 0.
# next: The product is 0 there, and yet it grows when that factor does: by the product of the others.
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.prod(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        safe = torch.where(x == 0, 1.0, x)
        others = torch.where(x == 0, 0.0, out.unsqueeze(ctx.dim) / safe)
        return grad_output.unsqueeze(ctx.dim) * others, None


# %% wrong[fails-special-point|double-backward-value]: one zero is treated apart, by a mask
# says: Values and first gradients are right; with a zero in the row the second derivative is not.
# next: A factor that is masked out is a constant to the second derivative. Multiply the others: no mask, no division.
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        zero = x == 0
        count = zero.sum(ctx.dim, keepdim=True)
        rest = torch.where(zero, 1.0, x).prod(ctx.dim, keepdim=True)
        divided = torch.where(count == 0, rest / torch.where(zero, 1.0, x), 0.0)
        others = torch.where(zero & (count == 1), rest, divided)
        return grad_output.unsqueeze(ctx.dim) * others, None


# %% wrong[fails-special-point]: every zero gets the product of what is not zero
# says: With two zeros in a row each of them gets the product of the others that are not 0; it should get 0.
# next: One of the others is the second zero, and it belongs to the product too.
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        zero = x == 0
        rest = torch.where(zero, 1.0, x).prod(ctx.dim, keepdim=True)
        some = zero.any(ctx.dim, keepdim=True)
        others = torch.where(some, torch.where(zero, rest, 0.0), rest / torch.where(zero, 1.0, x))
        return grad_output.unsqueeze(ctx.dim) * others, None


# %% wrong[gradient-value]: the whole product for everybody
# says: Every factor gets the whole product; it should get the product of the others.
# next: Differentiate x₁·x₂·x₃ in x₂ on paper: what is left?
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.prod(dim)
        ctx.save_for_backward(out)
        ctx.shape, ctx.dim = x.shape, dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (out,) = ctx.saved_tensors
        return (grad_output * out).unsqueeze(ctx.dim).expand(ctx.shape), None


# %% wrong[gradient-value]: cumprod includes the factor itself on the left
# says: A factor's own value is multiplied into its gradient.
# next: The product so far must stop before the element: shift it by one place, with 1 in front.
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].movedim(ctx.dim, -1)
        ones = torch.ones_like(x[..., :1])
        left = x.cumprod(-1)
        right = torch.cat([x[..., 1:], ones], -1).flip(-1).cumprod(-1).flip(-1)
        return (grad_output.unsqueeze(-1) * left * right).movedim(-1, ctx.dim), None


# %% wrong[gradient-value]: only the factors in front
# says: Each factor gets the product of those before it; those behind it are missing.
# next: The same once more from the other end: flip, cumprod, flip.
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].movedim(ctx.dim, -1)
        left = torch.cat([torch.ones_like(x[..., :1]), x[..., :-1]], -1).cumprod(-1)
        return (grad_output.unsqueeze(-1) * left).movedim(-1, ctx.dim), None


# %% wrong[gradient-value]: the row is turned round and not turned back
# says: The products of the factors behind are in the wrong order.
# next: What flip turned round before cumprod has to be flipped back after it.
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].movedim(ctx.dim, -1)
        ones = torch.ones_like(x[..., :1])
        left = torch.cat([ones, x[..., :-1]], -1).cumprod(-1)
        right = torch.cat([x[..., 1:], ones], -1).flip(-1).cumprod(-1)
        return (grad_output.unsqueeze(-1) * left * right).movedim(-1, ctx.dim), None


# %% wrong[forward-value|forward-unstable]: the sum of logarithms
# says: The logarithm of a negative number is nan, and so is the product that is made of it.
# next: Multiply the numbers themselves: torch.prod does.
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.log().sum(dim).exp()
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return (grad_output * out).unsqueeze(ctx.dim) / x, None


# %% wrong[upstream-ignored]: grad_output is forgotten
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].movedim(ctx.dim, -1)
        ones = torch.ones_like(x[..., :1])
        left = torch.cat([ones, x[..., :-1]], -1).cumprod(-1)
        right = torch.cat([x[..., 1:], ones], -1).flip(-1).cumprod(-1).flip(-1)
        return (left * right).movedim(-1, ctx.dim), None


# %% wrong[saves-too-much|double-backward-missing|double-backward-value]: the products of the others are made in forward, and kept
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim = dim
        moved = x.movedim(dim, -1)
        ones = torch.ones_like(moved[..., :1])
        left = torch.cat([ones, moved[..., :-1]], -1).cumprod(-1)
        right = torch.cat([moved[..., 1:], ones], -1).flip(-1).cumprod(-1).flip(-1)
        ctx.save_for_backward(left, right)
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        left, right = ctx.saved_tensors
        return (grad_output.unsqueeze(-1) * left * right).movedim(-1, ctx.dim), None


# %% wrong[gradient-count]: no None for dim
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].movedim(ctx.dim, -1)
        ones = torch.ones_like(x[..., :1])
        left = torch.cat([ones, x[..., :-1]], -1).cumprod(-1)
        right = torch.cat([x[..., 1:], ones], -1).flip(-1).cumprod(-1).flip(-1)
        return (grad_output.unsqueeze(-1) * left * right).movedim(-1, ctx.dim)


# %% wrong[raises|gradient-value|gradient-shape]: always along the last dimension
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        ones = torch.ones_like(x[..., :1])
        left = torch.cat([ones, x[..., :-1]], -1).cumprod(-1)
        right = torch.cat([x[..., 1:], ones], -1).flip(-1).cumprod(-1).flip(-1)
        return grad_output.unsqueeze(-1) * left * right, None


# %% wrong[double-backward-missing|double-backward-value]: a loop over the factors on detached values
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].detach().movedim(ctx.dim, -1)
        ones = torch.ones_like(x[..., :1])
        left = torch.cat([ones, x[..., :-1]], -1).cumprod(-1)
        right = torch.cat([x[..., 1:], ones], -1).flip(-1).cumprod(-1).flip(-1)
        return (grad_output.unsqueeze(-1) * left * right).movedim(-1, ctx.dim), None


# %% wrong[raises]: the product is written for rows of a matrix
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.prod(ctx.dim) / x, None


# %% wrong[fails-special-point]: divides where no factor is 0, infinite ones too
def others_of(x, dim):
    n = x.shape[dim]
    one = torch.ones_like(x.narrow(dim, 0, min(n, 1)))
    m = max(n - 1, 0)
    left = torch.cat([one, x.narrow(dim, 0, m)], dim).cumprod(dim)
    right = torch.cat([one, x.flip(dim).narrow(dim, 0, m)], dim).cumprod(dim).flip(dim)
    return left * right


class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = x.prod(dim)
        ctx.save_for_backward(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        dim = ctx.dim
        g = grad_output.unsqueeze(dim)
        if (x == 0).any():
            return g * others_of(x, dim), None
        return g * (y.unsqueeze(dim) / x), None


# %% wrong[fails-empty]: the leading 1 is cut out of x, which may be empty
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        dim = ctx.dim
        one = torch.ones_like(x.narrow(dim, 0, 1))
        left = torch.cat([one, x.narrow(dim, 0, x.shape[dim] - 1)], dim).cumprod(dim)
        right = torch.cat([x.narrow(dim, 1, x.shape[dim] - 1), one], dim).flip(dim).cumprod(dim).flip(dim)
        return grad_output.unsqueeze(dim) * left * right, None


# %% right: products before and behind, by cumprod
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].movedim(ctx.dim, -1)
        ones = torch.ones_like(x[..., :1])
        left = torch.cat([ones, x[..., :-1]], -1).cumprod(-1)
        right = torch.cat([x[..., 1:], ones], -1).flip(-1).cumprod(-1).flip(-1)
        return (grad_output.unsqueeze(-1) * left * right).movedim(-1, ctx.dim), None


# %% right: a matrix of copies with 1 on the diagonal, multiplied row by row
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return torch.prod(x, dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        rows = x.movedim(ctx.dim, -1)
        n = rows.shape[-1]
        own = torch.eye(n, dtype=torch.bool, device=x.device)
        others = torch.where(own, 1.0, rows.unsqueeze(-2)).prod(-1)
        return (grad_output.unsqueeze(-1) * others).movedim(-1, ctx.dim), None


# %% right: factor by factor, from both ends
class Prod(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        factors = list(x.unbind(ctx.dim))
        if not factors:
            return torch.zeros_like(x), None
        before, so_far = [], grad_output
        for factor in factors:
            before.append(so_far)
            so_far = so_far * factor
        found, behind = [], torch.ones_like(grad_output)
        for factor, left in zip(reversed(factors), reversed(before)):
            found.append(left * behind)
            behind = behind * factor
        return torch.stack(found[::-1], ctx.dim), None


# %% right: setup_context, slices at any dim
class Prod(Function):
    @staticmethod
    def forward(x, dim):
        return x.prod(dim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.dim = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        dim, n = ctx.dim, x.shape[ctx.dim]
        if n == 0:
            return torch.zeros_like(x), None
        one = torch.ones_like(x.narrow(dim, 0, 1))
        left = torch.cumprod(torch.cat((one, x.narrow(dim, 0, n - 1)), dim), dim)
        shifted = torch.cat((x.narrow(dim, 1, n - 1), one), dim)
        right = torch.flip(torch.cumprod(torch.flip(shifted, (dim,)), dim), (dim,))
        return left * right * grad_output.unsqueeze(dim), None
