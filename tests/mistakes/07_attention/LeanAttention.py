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


# %% right: the sum over the keys in place of delta
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
