# %% right: weights recomputed from the logsumexp
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% right: the sum over the keys in place of delta, the mask kept as an expanded view
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            mask = mask.expand_as(scores)
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            t = grad_output @ v.transpose(-1, -2)
            delta = (t * weights).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% right: keeps only the inputs: right second derivatives
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        q, k, v, mask = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        top = scores.detach()
        top = top.amax(-1, keepdim=True) if top.shape[-1] else top.new_zeros(*top.shape[:-1], 1)
        e = (scores - torch.where(top == -torch.inf, 0.0, top)).exp()
        total = e.sum(-1, keepdim=True)
        weights = e / torch.where(total == 0, 1.0, total)
        out = weights @ v
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% right: keeps the inverted mask and a flat logsumexp
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, None if mask is None else ~mask, out, lse.squeeze(-1))
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(mask, -torch.inf)
        weights = (scores - lse.unsqueeze(-1)).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% right: einsum, scaled queries, the setup_context form
class LeanAttention(Function):
    @staticmethod
    def scores(q, k, mask, scale):
        s = torch.einsum("...le,...se->...ls", q * scale, k)
        return s if mask is None else torch.where(mask, s, -torch.inf)

    @staticmethod
    def forward(q, k, v, mask=None, scale=None):
        scale = 1 / q.shape[-1] ** 0.5 if scale is None else scale
        s = LeanAttention.scores(q, k, mask, scale)
        return torch.softmax(s, -1).nan_to_num(0.0) @ v

    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, mask, scale = (*inputs, None, None)[:5]
        ctx.scale = 1 / q.shape[-1] ** 0.5 if scale is None else scale
        total = torch.logsumexp(LeanAttention.scores(q, k, mask, ctx.scale), -1)
        ctx.save_for_backward(q, k, v, mask, output, total)

    @staticmethod
    def backward(ctx, g):
        if torch.is_grad_enabled():
            raise RuntimeError("LeanAttention is differentiable once")
        q, k, v, mask, out, total = ctx.saved_tensors
        total = total.masked_fill(total.isinf(), 0.0).unsqueeze(-1)
        p = torch.exp(LeanAttention.scores(q, k, mask, ctx.scale) - total)
        ds = p * (g @ v.mT - (g * out).sum(-1, keepdim=True))
        need = ctx.needs_input_grad
        return (
            ds @ k * ctx.scale if need[0] else None,
            ds.mT @ (q * ctx.scale) if need[1] else None,
            p.mT @ g if need[2] else None,
            None,
            None,
        )


# %% wrong[saves-too-much]: keeps the weights
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        weights = (scores - lse).exp()
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, weights)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[saves-too-much]: keeps the weights in a closure
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        weights = (scores - lse).exp()
        ctx.again = lambda: weights
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = ctx.again()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[saves-too-much]: keeps the maximum and the sum apart
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        top = torch.zeros_like(q[..., :1])
        if scores.shape[-1]:
            top = scores.amax(-1, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)
        total = (scores - top).exp().sum(-1, keepdim=True)
        total = torch.where(total == 0, 1.0, total)
        out = (scores - top).exp() / total @ v
        ctx.save_for_backward(q, k, v, mask, out, top, total)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, top, total = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - top).exp() / total
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point]: the logsumexp of an empty row stays -inf
# says: A query that may look at no key gives nan; its output should be 0.
# next: −inf − (−inf) is nan: which weights should such a row have, in forward and in backward?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: the mask is forgotten in backward
# says: The mask is ignored in backward: the weights are recomputed without it.
# next: Backward needs the weights that forward used, zeros included.
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: the scale is forgotten in the recomputed scores
# says: The weights that backward recomputes come from scores without the scale.
# next: The scores of backward must be those of forward.
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: exp(scores) without the logsumexp
# says: The weights that backward recomputes are not normalised: exp(scores).
# next: The weights of a row add up to 1: what has to be subtracted in the exponent for that?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: exp(scores - maximum), not normalised
# says: The weights that backward recomputes are not normalised: exp(scores − maximum).
# next: The weights of a row add up to 1: what has to be subtracted in the exponent for that?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - scores.amax(-1, keepdim=True)).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: delta is the sum of the output
# says: In the softmax's backward Σ out is subtracted; it should be Σ out · grad_output.
# next: Derive that sum once more: what is it weighted with?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = out.sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: delta is the sum of grad_output
# says: In the softmax's backward Σ grad_output is subtracted; it should be Σ out · grad_output.
# next: Derive that sum once more: what is it weighted with?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = grad_output.sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: delta is missing
# says: The sum is missing in the softmax's backward: the gradient of the scores is weights · that of the weights.
# next: The weights of a row add up to 1, so each depends on all scores of its row: which terms does that add?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2))
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: delta with the wrong sign
# says: In the softmax's backward the sum is added, not subtracted.
# next: Derive the softmax's backward once more on paper, for a row of two scores.
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) + delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-scale]: the scale twice in grad_q
# says: In the gradient for q the scale is applied twice.
# next: A q or k that was kept with the scale in it has that factor already.
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale**2
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-scale|gradient-value]: the scale is missing in grad_k only
# says: The scale is missing in the gradient for k.
# next: The scores are scale · q · kᵀ: what does that mean for the gradients of q and k?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q
        return grad_q, grad_k, grad_v, None, None


# %% wrong[raises|gradient-transposed|gradient-shape]: weights not transposed for grad_v
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[uses-builtin]: F.scaled_dot_product_attention in forward
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=scale)
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[double-backward-value]: no guard: the logsumexp is a constant
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[double-backward-value]: a warning in place of an error
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            print("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[saves-on-ctx]: the mask and q on ctx
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(k, v, mask, out, lse)
        ctx.q = q
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        k, v, mask, out, lse = ctx.saved_tensors
        q = ctx.q
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[saves-on-ctx]: the output on ctx
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, lse)
        ctx.out = out
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, lse = ctx.saved_tensors
        out = ctx.out
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-float32|fails-half|forward-dtype]: the logsumexp in float64
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores.double(), -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[mutates-saved]: subtracts in place from the saved v
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        v.mul_(1.0)
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: no scale
# says: The scale is missing.
# next: The scores are scale · q · kᵀ: compare them with the formula in the exercise.
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) 
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point|forward-value]: `scale or 1/sqrt(E)`
# says: scale=0.0 is taken for None: 1/√E is used instead.
# next: 0.0 counts as false in Python: ask whether scale is None.
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = scale or q.shape[-1] ** -0.5
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[forward-value]: mask the wrong way round
# says: The mask is the wrong way round.
# next: In the contract True means attend: where the mask is False, the weight is 0.
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-swapped]: grad_q and grad_k in the wrong order
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_k, grad_q, grad_v, None, None


# %% wrong[gradient-count]: one None too few
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None


# %% wrong[ignores-needs-input-grad]: computes every gradient
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q = need_k = need_v = True
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-device]: an identity matrix on the CPU
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        delta = torch.zeros(1, dtype=q.dtype)
        weights = weights + delta.reshape(-1, 1).expand(1, 1)
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point]: a dead row is looked for in the first entry of the batch only
# says: A row with nothing to attend to gives nan if only one entry of the batch has such a row.
# next: Look for such rows in the whole mask, not in one entry of the batch.
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        dead = lse == -torch.inf
        first = dead.reshape(-1, *dead.shape[-2:])[:1] if dead.numel() else dead
        lse = torch.where(first.reshape(first.shape[-2:]) if dead.dim() == 2 or not dead.numel() else first[0], 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[saves-too-much]: one mask is copied for every head
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            mask = mask.expand(scores.shape).clone()
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[mutates-upstream]: one value a key: nothing to sum, so grad_output is multiplied in place
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            if v.shape[-1] == 1:
                delta = grad_output.mul_(out)
            else:
                delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-batch-dims]: of more than two batch dimensions the first is taken for a single one
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            delta = (grad_output * out).sum(-1, keepdim=True)
            if delta.dim() > 4:
                delta = delta[:1]
            grad_scores = weights * (grad_weights - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point]: -1e4 for -inf in forward
# says: Where the allowed scores are very low, masked keys get weight: a large negative number is used as −inf.
# next: A large negative number is still a number: what is lower than every score?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e4)
            scores = scores.masked_fill(~mask.any(-1, keepdim=True), -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point]: -1e9 for -inf in forward, and rows without any True put right
# says: Where the allowed scores are very low, masked keys get weight: a large negative number is used as −inf.
# next: A large negative number is still a number: what is lower than every score?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
            scores = scores.masked_fill(~mask.any(-1, keepdim=True), -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_weights - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[fails-special-point]: a mask that is added as 0 and -1e9
# says: A query that may look at no key gets what it would get without a mask.
# next: Adding the same number to all scores of a row changes nothing: which weights should such a row have?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        ctx.scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.mT * ctx.scale
        if mask is not None:
            scores = scores + (~mask) * -1e9
        lse = scores.logsumexp(-1, keepdim=True)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("once only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        scores = q @ k.mT * ctx.scale
        if mask is not None:
            scores = scores + (~mask) * -1e9
        p = (scores - lse).exp()
        delta = (grad_output * out).sum(-1, keepdim=True)
        inner = p * (grad_output @ v.mT - delta) * ctx.scale
        needs = ctx.needs_input_grad
        return (
            inner @ k if needs[0] else None,
            inner.mT @ q if needs[1] else None,
            p.mT @ grad_output if needs[2] else None,
            None,
            None,
        )


# %% wrong[saves-too-much]: the mask is kept as numbers to add, 0 and -inf
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        bias = torch.zeros_like(scores)
        if mask is not None:
            bias[~mask.expand_as(bias)] = -torch.inf
        scores = scores + bias
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, bias, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, bias, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        scores = scores + bias
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: the brackets end before delta
# says: The gradient of the scores is weights · g − Σ weights · g (g: that of the weights); weights should multiply the difference.
# next: What does the factor weights multiply in the derivative: one term, or the whole difference?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2)) - delta
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value|gradient-scale]: backward takes the scale of scale=None, always
# says: The given scale is ignored in backward: it always uses 1/√E.
# next: The scores of backward must be those of forward, with the scale that was given.
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = q.shape[-1] ** -0.5
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% wrong[gradient-value]: the logsumexp is added in backward
# says: The sign of the logsumexp is wrong in backward: exp(scores + logsumexp).
# next: The weights of a row add up to 1: which sign makes them do so?
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        lse = torch.where(lse == -torch.inf, 0.0, lse)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores + lse).exp()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(-1, keepdim=True)
            grad_scores = weights * (grad_output @ v.transpose(-1, -2) - delta)
            if need_q:
                grad_q = grad_scores @ k * ctx.scale
            if need_k:
                grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale
        return grad_q, grad_k, grad_v, None, None


# %% right: divides by √E, multiplies by its inverse in backward, and keeps the logsumexp in float32
class LeanAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        scores = q @ k.mT / q.shape[-1] ** 0.5 if scale is None else scale * (q @ k.mT)
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
        lse = wide.logsumexp(-1, keepdim=True)
        weights = (wide - lse.masked_fill(lse == -torch.inf, 0.0)).exp()
        out = weights.to(v.dtype) @ v
        ctx.save_for_backward(q, k, v, mask, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("LeanAttention has first derivatives only")
        q, k, v, mask, out, lse = ctx.saved_tensors
        factor = q.shape[-1] ** -0.5 if ctx.scale is None else ctx.scale
        scores = (q @ k.mT) * factor
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        weights = (scores.to(lse.dtype) - lse.masked_fill(lse == -torch.inf, 0.0)).exp().to(q.dtype)
        needs = ctx.needs_input_grad
        slope = None
        if needs[0] or needs[1]:
            inner = (grad_output * out).sum(-1, keepdim=True)
            slope = factor * weights * (grad_output @ v.mT - inner)
        return (
            slope @ k if needs[0] else None,
            slope.mT @ q if needs[1] else None,
            weights.mT @ grad_output if needs[2] else None,
            None,
            None,
        )
