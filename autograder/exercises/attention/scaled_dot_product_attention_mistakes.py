# %% right: weights saved, second derivative refused
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% right: nothing saved but the inputs: right second derivatives
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, mask)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        q, k, v, mask = ctx.saved_tensors
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is None:
            weights = torch.softmax(scores, -1)
        else:
            empty = ~mask.any(-1, keepdim=True)
            scores = scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0)
            weights = torch.softmax(scores, -1).masked_fill(empty, 0.0)
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% right: baddbmm-free einsum form
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = torch.einsum("...le,...se->...ls", q, k) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = torch.einsum("...ls,...lv->...sv", weights, grad_output)
        if need_q or need_k:
            grad_weights = torch.einsum("...lv,...sv->...ls", grad_output, v)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% right: a float mask of 0 and -inf is added, the weights by hand
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = scale * (q @ k.mT)
        if mask is not None:
            scores = scores + torch.where(mask, 0.0, -torch.inf).to(scores)
        top = torch.zeros_like(scores[..., :1])
        if scores.shape[-1]:
            top = scores.amax(-1, keepdim=True)
        e = (scores - top.nan_to_num(neginf=0.0)).exp()
        total = e.sum(-1, keepdim=True)
        weights = e / torch.where(total == 0, 1.0, total)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% right: the setup_context form, the weights made once more
class ScaledDotProductAttention(Function):
    @staticmethod
    def weigh(q, k, mask, scale):
        scores = (q @ k.mT) * (q.size(-1) ** -0.5 if scale is None else scale)
        if mask is None:
            return scores.softmax(-1)
        return scores.masked_fill(mask.logical_not(), float("-inf")).softmax(-1).nan_to_num(0.0)

    @staticmethod
    def forward(q, k, v, mask=None, scale=None):
        return ScaledDotProductAttention.weigh(q, k, mask, scale) @ v

    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, mask, scale = inputs
        weights = ScaledDotProductAttention.weigh(q, k, mask, scale)
        ctx.scale = q.size(-1) ** -0.5 if scale is None else scale
        ctx.save_for_backward(q, k, v, weights)

    @staticmethod
    def backward(ctx, g):
        if torch.is_grad_enabled():
            raise RuntimeError("ScaledDotProductAttention has no second derivative")
        q, k, v, w = ctx.saved_tensors
        need = ctx.needs_input_grad
        t = g @ v.mT
        ds = ctx.scale * w * (t - (t * w).sum(-1, True))
        grads = [ds @ k if need[0] else None, ds.mT @ q if need[1] else None]
        grads.append(w.mT @ g if need[2] else None)
        return (*grads, None, None)


# %% right: the learner's own Softmax inside
class RowSoftmax(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True))


class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = RowSoftmax.apply(scores)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[uses-builtin]: F.scaled_dot_product_attention in forward
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=scale)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point]: rows with nothing to attend to are NaN
# says: A query that may look at no key gives nan; its output should be 0.
# next: The softmax of a row of −inf is nan: which weights should such a row have?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point]: -1e9 for -inf: rows with nothing attend to everything
# says: A query that may look at no key gets the mean of all values; its output should be 0.
# next: A large negative number is a score like any other where a row has nothing else.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        weights = torch.softmax(scores, -1)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: masked scores become 0
# says: Masked scores become 0, which is a score like any other.
# next: e⁰ = 1, so a masked key still gets weight: which score gives the weight 0?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, 0.0)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: the mask is multiplied in after the softmax
# says: The mask is applied after the softmax: the remaining weights no longer add up to 1.
# next: Should the mask act on the weights, or on the scores?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            pass
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: softmax over the queries
# says: The softmax runs over the queries.
# next: The weights of one query over all keys add up to 1: which dimension is that?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -2)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: a bool mask is added
# says: The bool mask is added to the scores as 0 and 1.
# next: Adding is for float masks of 0 and −inf: what does a bool mask need?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores + mask
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: the softmax is left out of backward
# says: The softmax is left out of backward: the gradient of the weights is used for that of the scores.
# next: There is a softmax between the scores and the weights: differentiate it too.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = grad_weights * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: weights times grad_weights, without the sum
# says: The sum is missing in the softmax's backward: the gradient of the scores is weights · that of the weights.
# next: The weights of a row add up to 1, so each depends on all scores of its row: which terms does that add?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * grad_weights * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: the diagonal of the Jacobian only
# says: Only the diagonal of the softmax's Jacobian is there: weights · (1 − weights).
# next: Each weight depends on all scores of its row: which terms does that add?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (1 - weights) * grad_weights * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: the sum over the queries
# says: In the softmax's backward the sum runs over the queries; it should run over the keys.
# next: The softmax runs over the last dimension, the keys, and so does the sum of its backward.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-2, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: the sum is not weighted
# says: In the softmax's backward the plain sum of the weights' gradients is subtracted, not the sum weighted by the weights.
# next: Derive the softmax's backward once more on paper, for a row of two scores.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = grad_weights.sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value|gradient-shape|gradient-scale]: one sum of everything
# says: In the softmax's backward one sum runs over everything, all heads included; each query has its own.
# next: Derive the softmax's backward once more on paper, for a row of two scores.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum()
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: no scale
# says: The scale is missing.
# next: The scores are scale · q · kᵀ: compare them with the formula in the exercise.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) 
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: a scale of 0.0 or any other is ignored
# says: The given scale is ignored.
# next: 1/√E is only for scale=None.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point|forward-value]: `scale or 1/sqrt(E)`: scale=0.0 is taken for None
# says: scale=0.0 is taken for None: 1/√E is used instead.
# next: 0.0 counts as false in Python: ask whether scale is None.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = scale or q.shape[-1] ** -0.5
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: mask the wrong way round
# says: The mask is the wrong way round.
# next: In the contract True means attend: where the mask is False, the weight is 0.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: divides by the width of v
# says: The scores are divided by √Ev, the width of v.
# next: E is the width of q and k, not of v.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = v.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-scale]: the scale is missing in backward
# says: The scale is missing in the gradients.
# next: The scores are scale · q · kᵀ: what does that mean for the gradients of q and k?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total)
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-swapped|gradient-shape]: grad_k and grad_v in the wrong order
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_v, grad_k, None, None


# %% wrong[gradient-count]: three gradients where the mask and the scale are passed too
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v


# %% wrong[gradient-missing]: no gradient for v
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, None, None, None


# %% wrong[ignores-needs-input-grad]: computes every gradient
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q = need_k = need_v = True
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[raises|double-backward-value]: transposes with .T
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.T @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-batch-dims|raises]: transposes the first two dimensions
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(0, 1) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[mutates-upstream]: writes to grad_output
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        grad_output.mul_(1.0)
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[double-backward-value]: no guard: the saved weights are constants
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[double-backward-value]: the guard asks grad_output
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output.requires_grad:
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[refuses]: refuses with ValueError
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise ValueError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[saves-too-much]: keeps the scores as well
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights, scores)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights, scores = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[saves-on-ctx]: the inputs as attributes
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.q, ctx.k, ctx.v, ctx.weights = q, k, v, weights
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.q, ctx.k, ctx.v, ctx.weights
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[mutates-input]: scales q in place
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        q *= scale
        scores = q @ k.transpose(-1, -2)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-empty]: a maximum over no keys
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores - scores.amax(-1, keepdim=True).nan_to_num(neginf=0.0), -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[uses-autograd]: torch's softmax backward
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = torch._softmax_backward_data(grad_weights, weights, -1, weights.dtype) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[uses-autograd]: autograd in backward
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, mask)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask = ctx.saved_tensors
        with torch.enable_grad():
            copies = [t.detach().requires_grad_() for t in (q, k, v)]
            scores = copies[0] @ copies[1].transpose(-1, -2) * ctx.scale
            if mask is not None:
                empty = ~mask.any(-1, keepdim=True)
                scores = scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0)
            weights = torch.softmax(scores, -1)
            if mask is not None:
                weights = weights.masked_fill(empty, 0.0)
            out = weights @ copies[2]
        return (*torch.autograd.grad(out, copies, grad_output), None, None)


# %% wrong[not-a-function]: the output is detached
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        ctx.mark_non_differentiable(out := weights @ v)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[raises]: the stub
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        raise NotImplementedError()

    @staticmethod
    def backward(ctx, grad_output):
        raise NotImplementedError()


# %% wrong[double-backward-value]: once_differentiable is silent in sums
from torch.autograd.function import once_differentiable


class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[shared-state]: scale is kept on the class
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ScaledDotProductAttention.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ScaledDotProductAttention.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[double-backward-value]: second derivatives are refused only if q and k need a gradient
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled() and all(ctx.needs_input_grad[:2]):
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[ignores-needs-input-grad]: everything is computed, and returned only where it is asked for
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_v = weights.transpose(-1, -2) @ grad_output
        grad_weights = grad_output @ v.transpose(-1, -2)
        total = (grad_weights * weights).sum(-1, keepdim=True)
        grad_scores = weights * (grad_weights - total) * ctx.scale
        grad_q, grad_k = grad_scores @ k, grad_scores.transpose(-1, -2) @ q
        return grad_q if need_q else None, grad_k if need_k else None, grad_v if need_v else None, None, None


# %% wrong[fails-special-point]: -10000 for -inf: lower scores lose their weight to masked keys
# says: Where the allowed scores are very low, masked keys get weight: a large negative number is used as −inf.
# next: A large negative number is still a number: what is lower than every score?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores + (~mask).to(scores.dtype) * -10000
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.any(-1, keepdim=True)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point]: -1e4 for -inf, and rows without any True put to 0
# says: Where the allowed scores are very low, masked keys get weight: a large negative number is used as −inf.
# next: A large negative number is still a number: what is lower than every score?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e4)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.any(-1, keepdim=True)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point]: -1e9 for -inf, and rows without any True put to 0
# says: Where the allowed scores are very low, masked keys get weight: a large negative number is used as −inf.
# next: A large negative number is still a number: what is lower than every score?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.any(-1, keepdim=True)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[raises]: counts the dimensions from the front, for one batch dimension
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        ctx.scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = torch.matmul(q, k.swapaxes(1, 2)) * ctx.scale
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        weights = torch.nan_to_num(scores.softmax(-1))
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        raise RuntimeError("forward comes first")


# %% wrong[forward-value]: a scale comes on top of 1/sqrt(E)
# says: The given scale comes on top of 1/√E.
# next: 1/√E is only for scale=None: a given scale takes its place.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 * (1.0 if scale is None else scale)
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: softmax over dimension 1, counted from the front
# says: The softmax runs over dimension 1, counted from the front.
# next: With a batch, the keys are in another dimension: count from the end.
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, 1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            if need_q:
                grad_q = grad_scores @ k
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-scale]: the scale is in grad_q and not in grad_k
# says: The scale is missing in the gradient for k.
# next: The scores are scale · q · kᵀ: what does that mean for the gradients of q and k?
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return weights @ v

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - total)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[raises|fails-batch-dims]: bmm, which takes one batch dimension
class ScaledDotProductAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        ctx.factor = q.size(-1) ** -0.5 if scale is None else scale
        scores = torch.bmm(q, k.transpose(1, 2)) * ctx.factor
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -torch.inf)
        weights = torch.nan_to_num(torch.softmax(scores, -1))
        ctx.save_for_backward(q, k, v, weights)
        return torch.bmm(weights, v)

    @staticmethod
    def backward(ctx, g):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, w = ctx.saved_tensors
        inner = torch.bmm(g, v.transpose(1, 2))
        scores = w * (inner - (w * inner).sum(-1, keepdim=True)) * ctx.factor
        return torch.bmm(scores, k), torch.bmm(scores.mT, q), torch.bmm(w.mT, g), None, None
