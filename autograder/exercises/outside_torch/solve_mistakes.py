# %% wrong[gradient-value]: solves with A, not with its transpose
# says: Backward solves with A; the adjoint system has Aᵀ.
# next: Aᵀ u = grad_output. torch.linalg.lu_solve solves it with the same factors, where it is told that the adjoint is meant.
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[gradient-sign]: no minus for A
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[gradient-sign]: a minus for b too
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, -u if ctx.needs_input_grad[1] else None


# %% wrong[gradient-transposed]: x uᵀ
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -x @ u.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[gradient-value]: b in the place of the solution
# says: The gradient for A is made with b; it needs the solution x.
# next: A dx + dA x = db: dA is multiplied by x. Keep the solution.
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, b)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, b = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ b.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[gradient-value]: grad_output in the place of the adjoint solution
# says: The gradient for A is made with grad_output; it needs u, the solution of Aᵀ u = grad_output.
# next: Solve for u first. The gradient for A is −u xᵀ, with the same u that is the gradient for b.
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -grad_output @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[gradient-value]: grad_output is handed to b
# says: The gradient for b is grad_output as it came; it is the solution u of Aᵀ u = grad_output.
# next: x = A⁻¹ b, so the gradient for b goes through A⁻¹ transposed.
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, grad_output if ctx.needs_input_grad[1] else None


# %% wrong[too-slow]: by an inverse
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        inverse = torch.linalg.inv(A)
        x = inverse @ b
        ctx.save_for_backward(inverse, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        inverse, x = ctx.saved_tensors
        grad_A = None
        u = inverse.mT @ grad_output
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[too-slow]: by an inverse that the factors give
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        eye = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device).expand(A.shape)
        inverse = torch.linalg.lu_solve(LU, pivots, eye.contiguous())
        x = inverse @ b
        ctx.save_for_backward(inverse, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        inverse, x = ctx.saved_tensors
        grad_A = None
        u = inverse.mT @ grad_output
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[too-slow]: eliminates once more, by hand
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps A: it has no second derivative.")
        A, x = ctx.saved_tensors
        grad_A, n = None, A.shape[-1]
        rows = torch.cat([A.mT, grad_output], -1)
        for i in range(n):
            pivot = rows[..., i:, i].abs().argmax(-1, keepdim=True) + i
            order = torch.arange(n, device=A.device).expand(rows.shape[:-1]).clone()
            order[..., i : i + 1] = pivot
            order.scatter_(-1, pivot, i)
            rows = rows.gather(-2, order.unsqueeze(-1).expand(rows.shape))
            row = rows[..., i : i + 1, :] / rows[..., i : i + 1, i : i + 1]
            rest = rows - rows[..., i : i + 1] * row
            rows = torch.cat([rest[..., :i, :], row, rest[..., i + 1 :, :]], -2)
        u = rows[..., n:]
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[too-slow]: torch.linalg.solve in both directions
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        x = torch.linalg.solve(A, b)
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        A, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.solve(A.mT, grad_output)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[too-slow]: factorises, and solves with A all the same
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.solve(A, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[double-backward-value]: no word about second derivatives
# says: The factors are constants to a second derivative, and here it comes out wrong without a word.
# next: A RuntimeError, raised wherever torch.is_grad_enabled(), notices every loss; torch.autograd.function.once_differentiable alone does not.
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[double-backward-value]: once_differentiable alone
# says: The factors are constants to a second derivative, and here it comes out wrong without a word.
# next: A RuntimeError, raised wherever torch.is_grad_enabled(), notices every loss; torch.autograd.function.once_differentiable alone does not.
from torch.autograd.function import once_differentiable


class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[raises]: .T on a batch
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.T
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[forward-value]: the factors without their pivots
# says: The rows that the factorisation exchanged are not exchanged in b.
# next: torch.linalg.lu_factor gives pivots too: hand both to torch.linalg.lu_solve.
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        pivots = torch.arange(1, A.shape[-1] + 1, dtype=torch.int32, device=A.device)
        pivots = pivots.expand(A.shape[:-1]).contiguous()
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[forward-value]: the transposed system
# says: Forward solves Aᵀ x = b; A x = b is meant.
# next: The adjoint system belongs to backward.
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b, adjoint=True)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[forward-value]: multiplies
# says: The output is A b; the solution of A x = b is meant.
# next: Factorise A with torch.linalg.lu_factor, and solve with torch.linalg.lu_solve.
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = A @ b
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[saves-too-much]: b is kept as well
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x, A, b)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x, _, _ = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[saves-on-ctx]: the factors as attributes
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(x)
        ctx.factors = LU, pivots
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        (x,) = ctx.saved_tensors
        LU, pivots = ctx.factors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% wrong[ignores-needs-input-grad]: both, whatever is needed
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        return -u @ x.mT, u


# %% wrong[refuses]: a singular matrix is not noticed
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots, _ = torch.linalg.lu_factor_ex(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% right: the factors are kept, and a second derivative refused
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% right: A is kept too, and the second derivative goes through it
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x, A)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        LU, pivots, x, A = ctx.saved_tensors
        grad_A = None
        if torch.is_grad_enabled():
            u = Solve.apply(A.mT, grad_output)
        else:
            u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% right: says itself that A is singular, in two words
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        LU, pivots, info = torch.linalg.lu_factor_ex(A)
        if info.any():
            raise RuntimeError("singular matrix")
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        grad_A = None
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        if ctx.needs_input_grad[0]:
            grad_A = -u @ x.mT
        return grad_A, u if ctx.needs_input_grad[1] else None


# %% right: the factors taken apart, and triangular systems
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        P, L, U = torch.linalg.lu(A)
        if (U.diagonal(dim1=-2, dim2=-1) == 0).any():
            raise RuntimeError("A is singular.")
        y = torch.linalg.solve_triangular(L, P.mT @ b, upper=False, unitriangular=True)
        x = torch.linalg.solve_triangular(U, y, upper=True)
        ctx.save_for_backward(torch.tril(L, -1) + U, P.argmax(-2).int(), x)
        return x

    @staticmethod
    def backward(ctx, g):
        if torch.is_grad_enabled():
            raise RuntimeError("first derivatives only")
        LU, rows, x = ctx.saved_tensors
        y = torch.linalg.solve_triangular(LU.mT, g, upper=False)
        y = torch.linalg.solve_triangular(LU.mT, y, upper=True, unitriangular=True)
        place = rows.long().argsort(-1).unsqueeze(-1).expand(y.shape)
        u = y.gather(-2, place)
        wants = ctx.needs_input_grad
        return -(u @ x.mT) if wants[0] else None, u if wants[1] else None


# %% right: einsum, and the transposed solution by left=False
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        factors = torch.linalg.lu_factor(A)
        solution = torch.linalg.lu_solve(*factors, b)
        ctx.save_for_backward(solution, *factors)
        return solution

    @staticmethod
    def backward(ctx, grad):
        if torch.is_grad_enabled():
            raise RuntimeError("Solve is differentiable once.")
        solution, factors, pivots = ctx.saved_tensors
        rows = torch.linalg.lu_solve(factors, pivots, grad.mT, left=False)  # gradᵀ A⁻¹
        grad_A = None
        if ctx.needs_input_grad[0]:
            grad_A = torch.einsum("...ki,...jk->...ij", rows, solution).neg()
        return grad_A, rows.mT if ctx.needs_input_grad[1] else None
