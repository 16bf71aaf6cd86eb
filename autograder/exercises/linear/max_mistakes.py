# %% wrong[raises]: zeros in float32
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = torch.zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[raises]: backward takes one upstream gradient only
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[output-count]: returns the values only
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values

    @staticmethod
    def backward(ctx, grad_values):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[output-count]: returns them the wrong way round
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return indices, values

    @staticmethod
    def backward(ctx, grad_indices, grad_values):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[forward-dtype]: indices as floats
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        floats = indices.to(x.dtype)
        ctx.mark_non_differentiable(floats)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, floats

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[gradient-value]: every element gets the gradient
# says: Every element of a row gets the gradient, not only the largest.
# next: The maximum does not change when a smaller element does.
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_values.unsqueeze(ctx.dim).expand(ctx.shape)
        return grad_x, None


# %% wrong[gradient-zero]: scatter is not in place, and its result is dropped
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[raises]: no unsqueeze
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices, grad_values)
        return grad_x, None


# %% wrong[gradient-value|raises]: always the first element
# says: The gradient always goes to the first element along dim.
# next: It belongs to the element that forward chose: which tensor knows that?
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(
            ctx.dim, torch.zeros_like(indices).unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim)
        )
        return grad_x, None


# %% wrong[fails-special-point|saves-too-much]: a mask of all elements that equal the maximum
# says: Where several elements tie for the largest, each gets the whole gradient; only the one at the index should.
# next: forward's indices name one element each: how can backward know them?
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(x == values.unsqueeze(dim))
        ctx.dim = dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (mask,) = ctx.saved_tensors
        return grad_values.unsqueeze(ctx.dim) * mask, None


# %% wrong[fails-special-point]: shares the gradient between equal elements
# says: Elements that tie for the largest share the gradient; the one at the index should get all of it.
# next: forward's indices name one element each: how can backward know them?
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(x == values.unsqueeze(dim))
        ctx.dim = dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (mask,) = ctx.saved_tensors
        share = grad_values.unsqueeze(ctx.dim) / mask.sum(ctx.dim, keepdim=True)
        return share * mask, None


# %% wrong[fails-special-point|forward-value]: the last of equal elements
# says: Of elements that tie for the largest, the last gets the gradient; torch.max names the first.
# next: torch.max names one element, the first of those that tie: does the index say the same one, and does backward follow it?
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        flipped, places = torch.max(x.flip(dim), dim)
        indices = x.shape[dim] - 1 - places
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return flipped, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[saves-too-much]: saves x too
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(x, indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        x, indices = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[saves-too-much]: saves the values too
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(values, indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        values, indices = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[saves-on-ctx]: indices as an attribute
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.indices = indices
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        indices = ctx.indices
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[gradient-count]: one gradient only
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x


# %% wrong[raises|gradient-value|gradient-zero]: uses the gradient of the indices
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(
            ctx.dim, indices.unsqueeze(ctx.dim), grad_indices.unsqueeze(ctx.dim)
        )
        return grad_x, None


# %% wrong[forward-value]: min
# says: The output is the smallest element.
# next: max, not min.
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.min(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[not-a-function]: marks the values as non-differentiable
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(values, indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[mutates-upstream]: in place on grad_values
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_values.mul_(1.0)
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% wrong[double-backward-missing|double-backward-value]: detaches
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(
            ctx.dim, indices.unsqueeze(ctx.dim), grad_values.detach().unsqueeze(ctx.dim)
        )
        return grad_x, None


# %% wrong[upstream-ignored]: scatters ones
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(
            ctx.dim, indices.unsqueeze(ctx.dim), torch.ones_like(grad_values).unsqueeze(ctx.dim)
        )
        return grad_x, None


# %% wrong[gradient-value|fails-batch-dims|raises]: one_hot always appends the classes at the end
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        chosen = torch.nn.functional.one_hot(indices, ctx.shape[ctx.dim]).to(grad_values.dtype)
        return (chosen * grad_values.unsqueeze(-1)).reshape(ctx.shape), None


# %% wrong[raises]: picks whole rows by their indices
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_output, _):
        indices, = ctx.saved_tensors
        grad = grad_output.new_zeros(ctx.shape)
        grad[indices] = grad_output
        return grad, None


# %% wrong[raises]: float32 zeros to scatter into
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_output, _):
        indices, = ctx.saved_tensors
        return torch.zeros(ctx.shape).scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_output.unsqueeze(ctx.dim)), None


# %% right: scatter
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% right: setup_context form
class Max(Function):
    @staticmethod
    def forward(x, dim):
        values, indices = x.max(dim)
        return values, indices

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.dim = inputs
        ctx.shape = x.shape
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad_values, _):
        (indices,) = ctx.saved_tensors
        zeros = torch.zeros(ctx.shape, dtype=grad_values.dtype, device=grad_values.device)
        places, values = indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim)
        return zeros.scatter_(ctx.dim, places, values), None


# %% right: set_materialize_grads(False)
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.set_materialize_grads(False)
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        if grad_values is None:
            return None, None
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% right: argmax and gather, a comparison with arange as the mask
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        indices = x.argmax(dim)
        values = x.gather(dim, indices.unsqueeze(dim)).squeeze(dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        dim = ctx.dim % len(ctx.shape)
        places = torch.arange(ctx.shape[dim], device=indices.device)
        places = places.reshape([-1 if i == dim else 1 for i in range(len(ctx.shape))])
        chosen = indices.unsqueeze(dim) == places
        return torch.where(chosen, grad_values.unsqueeze(dim), 0.0), None


# %% right: an integer output needs no mark: torch sees that it cannot be differentiated
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        grad_x = grad_x.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim))
        return grad_x, None


# %% right: index_add on moved dimensions is not needed: one_hot, moved back
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        dim = ctx.dim % len(ctx.shape)
        chosen = torch.nn.functional.one_hot(indices, ctx.shape[dim]).movedim(-1, dim)
        return chosen * grad_values.unsqueeze(dim), None


# %% wrong[raises]: scatters indices of too few dimensions
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.save_for_backward(indices)
        ctx.mark_non_differentiable(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        zeros = grad_values.new_zeros(ctx.shape)
        return zeros.scatter(ctx.dim, indices, grad_values), None


# %% wrong[raises]: gives the dimension back twice
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim, keepdim=True)
        ctx.save_for_backward(indices)
        ctx.mark_non_differentiable(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values.squeeze(dim), indices.squeeze(dim)

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        zeros = grad_values.new_zeros(ctx.shape)
        wide = grad_values.unsqueeze(ctx.dim).unsqueeze(ctx.dim)
        return zeros.scatter(ctx.dim, indices, wide), None


# %% wrong[output-count]: a list in place of a tuple
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return [values, indices]

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        zeros = grad_values.new_zeros(ctx.shape)
        return zeros.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim)), None


# %% wrong[raises]: the dimension is put back by slices of the shape, which a negative dim breaks
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        grad_x = grad_values.new_zeros(ctx.shape)
        kept = [*ctx.shape[: ctx.dim], 1, *ctx.shape[ctx.dim + 1 :]]
        grad_x = grad_x.scatter(ctx.dim, indices.reshape(kept), grad_values.reshape(kept))
        return grad_x, None


# %% wrong[gradient-value]: one byte an index is enough for three rows, and for no more than 256
# says: The indices are kept in a byte: from 256 on the gradient goes to another element.
# next: An index may be as large as the tensor: keep the indices as torch.max gives them.
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = x.max(dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices.byte())
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        indices = ctx.saved_tensors[0].to(torch.int64).unsqueeze(ctx.dim)
        zeros = torch.zeros(ctx.shape, dtype=grad_values.dtype, device=grad_values.device)
        return zeros.scatter(ctx.dim, indices, grad_values.unsqueeze(ctx.dim)), None


# %% wrong[fails-half]: indices as numbers of x's dtype, which are whole up to 256 only in bfloat16
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = x.max(dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices.type_as(x))
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        indices = ctx.saved_tensors[0].to(torch.int64).unsqueeze(ctx.dim)
        zeros = torch.zeros(ctx.shape, dtype=grad_values.dtype, device=grad_values.device)
        return zeros.scatter(ctx.dim, indices, grad_values.unsqueeze(ctx.dim)), None


# %% wrong[forward-shape]: values and indices keep the dimension
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        best, where = x.max(dim, keepdim=True)
        ctx.mark_non_differentiable(where)
        ctx.save_for_backward(where)
        ctx.full, ctx.dim = x.shape, dim
        return best, where

    @staticmethod
    def backward(ctx, grad_best, _):
        (where,) = ctx.saved_tensors
        room = torch.zeros(ctx.full, dtype=grad_best.dtype, device=grad_best.device)
        return room.scatter(ctx.dim, where, grad_best), None


# %% wrong[gradient-transposed]: one mask for each place along dim, stacked at the end
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        best, where = torch.max(x, dim)
        ctx.mark_non_differentiable(where)
        ctx.save_for_backward(where)
        ctx.length = x.shape[dim]
        return best, where

    @staticmethod
    def backward(ctx, grad_best, _):
        (where,) = ctx.saved_tensors
        places = torch.arange(ctx.length, device=where.device)
        chosen = where.unsqueeze(-1) == places
        return chosen * grad_best.unsqueeze(-1), None


# %% wrong[forward-value]: indices that count from 1
# says: The values are right; the indices count from 1, not from 0.
# next: Places along dim are counted from 0, as torch.max does.
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = x.max(dim)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        places = indices + 1
        ctx.mark_non_differentiable(places)
        return values, places

    @staticmethod
    def backward(ctx, grad_values, _):
        (indices,) = ctx.saved_tensors
        zeros = grad_values.new_zeros(ctx.shape)
        return zeros.scatter(ctx.dim, indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim)), None


# %% wrong[not-a-function]: the values are marked, the indices were meant
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        largest, where = x.max(dim)
        ctx.save_for_backward(where)
        ctx.shape, ctx.dim = x.shape, dim
        ctx.mark_non_differentiable(largest)
        return largest, where

    @staticmethod
    def backward(ctx, grad_values, _):
        (where,) = ctx.saved_tensors
        zeros = grad_values.new_zeros(ctx.shape)
        return zeros.scatter(ctx.dim, where.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim)), None


# %% wrong[raises]: a place in each row, wherever dim is
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        best, where = x.max(dim)
        ctx.mark_non_differentiable(where)
        ctx.save_for_backward(where)
        ctx.sizes = tuple(x.shape)
        return best, where

    @staticmethod
    def backward(ctx, grad_best, _):
        where = ctx.saved_tensors[0]
        result = torch.zeros(ctx.sizes, dtype=grad_best.dtype, device=grad_best.device)
        rows = torch.arange(ctx.sizes[0], device=where.device)
        result[rows, where] += grad_best
        return result, None


# %% wrong[saves-too-much]: zeros to scatter into, made in forward
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        largest, place = torch.max(x, dim=dim)
        ctx.mark_non_differentiable(place)
        ctx.axis = dim
        blank = x.new_zeros(x.shape)
        ctx.save_for_backward(place, blank)
        return largest, place

    @staticmethod
    def backward(ctx, g, _g):
        place, blank = ctx.saved_tensors
        return blank.scatter(ctx.axis, place.unsqueeze(ctx.axis), g.unsqueeze(ctx.axis)), None


# %% wrong[gradient-value]: writes to the indices as if they counted all elements
# says: The indices are used as places in the flattened tensor; they count along dim.
# next: Each index belongs to one place of the reduced dimension: grad_output goes there, along dim.
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top, where = torch.max(x, dim)
        ctx.save_for_backward(where)
        ctx.size = x.shape
        ctx.mark_non_differentiable(where)
        return top, where

    @staticmethod
    def backward(ctx, g, _):
        (where,) = ctx.saved_tensors
        flat = g.new_zeros(ctx.size).flatten()
        for place, value in zip(where.flatten(), g.flatten()):
            flat[place] = value
        return flat.unflatten(0, ctx.size), None


# %% wrong[fails-special-point]: what reaches the maximum gets the gradient, however many there are
# says: Where several elements tie for the largest, each gets the whole gradient; only the one at the index should.
# next: forward's indices name one element each: how can backward know them?
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        top, where = torch.max(x, dim)
        ctx.mark_non_differentiable(where)
        ctx.save_for_backward(x.eq(top.unsqueeze(dim)))
        ctx.dim = dim
        return top, where

    @staticmethod
    def backward(ctx, grad_top, _):
        (chosen,) = ctx.saved_tensors
        return chosen * grad_top.unsqueeze(ctx.dim), None


# %% wrong[gradient-dtype|raises]: a blank of the default dtype to add into, and a gradient brought to it
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        largest, places = x.max(dim)
        ctx.save_for_backward(places)
        ctx.mark_non_differentiable(places)
        ctx.size, ctx.dim = x.size(), dim
        return largest, places

    @staticmethod
    def backward(ctx, grad_largest, _):
        (places,) = ctx.saved_tensors
        blank = torch.zeros(ctx.size, device=grad_largest.device)
        given = grad_largest.unsqueeze(ctx.dim).to(torch.float32)
        return blank.scatter_add(ctx.dim, places.unsqueeze(ctx.dim), given), None
