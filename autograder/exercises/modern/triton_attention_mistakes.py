# %% wrong[forward-value]: the output so far is not rescaled
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: the sum of exponentials is not rescaled
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: neither of the two is rescaled
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total + tl.sum(weights, axis=1)
        out = out + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: no mask behind the last key
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] >= 0
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: blocks of queries, rounded down
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, L // 32
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: as many blocks of keys as there are of queries
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, L, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: a query may not look at its own key
# says: Causal queries look at the keys before their own place, and not at that one.
# next: Query i may look at keys 0 … i, its own among them.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] < rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: causal, aligned at the end
# says: The causal mask is aligned with the last key; torch's is aligned with the first one.
# next: Query i looks at keys 0 … i, however many keys there are.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None] + S - L)
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: causal is left out
# says: causal=True changes nothing: every query looks at every key.
# next: Where causal is set, query i looks at keys 0 … i alone.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: scores are not scaled
# says: The scores are not divided by √E.
# next: The scale is 1/√E, with the E of q.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, 1.0, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: scaled by the padded width
# says: The scores are scaled by the width of a block; it is the width of q that counts.
# next: A block is padded to a power of 2. E itself stays what it is: the scale is 1/√E.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, sizes["BLOCK_E"] ** -0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: divided by E
# says: The scores are divided by E; it takes its square root.
# next: The scale is 1/√E.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, 1 / E, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: accumulates in float32
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], tl.float32)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights.to(tl.float32), v.to(tl.float32), input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[forward-value]: not divided by the sum
# says: The output is not divided by the sum of a row's exponentials.
# next: Divide once, at the end, each row by its own sum.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out, mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[fails-noncontiguous]: no contiguous copies, no strides
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[fails-empty]: nan without keys
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[gradient-value|gradient-unstable]: logsumexp without the maximum
# says: The gradients are those of weights that were not divided right: the logsumexp has lost its maximum.
# next: A logsumexp is the maximum plus the logarithm of the sum of exponentials.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[gradient-value]: backward without delta
# says: The gradients for q and k take each weight alone; the others of a row give way, too.
# next: Subtract the product of grad_output and the output, summed over a row: that is the softmax's own backward.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[gradient-value]: backward without the scale
# says: The gradients for q and k are too large by √E.
# next: The scores were divided by √E: so are their gradients.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta)
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[gradient-value]: backward forgets the causal mask
# says: backward gives weights to keys that a causal query may not see.
# next: The exponential of score − logsumexp is not 0 there by itself: it has to be made 0.
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[opcheck]: the fake has the width of q
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty(q.shape), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[opcheck]: no register_fake
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[raises]: no register_autograd
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[saves-too-much]: keeps the weights
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    weights = torch.softmax(q @ k.mT, -1)
    ctx.save_for_backward(q, k, v, *output, weights)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse, _ = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[uses-builtin]: torch's attention behind the operator
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).contiguous()
        scores = q @ k.mT * E**-0.5
        if causal:
            scores = scores.masked_fill(torch.ones(L, S, dtype=torch.bool).triu(1), -float("inf"))
        lse = scores.logsumexp(-1) if S else torch.zeros_like(lse)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[temporary-too-large]: all keys in one block
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, KEYS: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, KEYS):
        columns = start + tl.arange(0, KEYS)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, KEYS=max(16, triton.next_power_of_2(S)), **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[ignores-needs-input-grad]: computes all three gradients always
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% wrong[fails-batch-dims]: the block of values is as wide as one of keys
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(E))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% right: tiles of 32, first derivatives only
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% right: backward over blocks of queries, larger tiles
import triton
import triton.language as tl


@triton.jit
def load_tile(pointer, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    inside = (rows[:, None] < L) & (ev[None, :] < EV)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=inside)
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 64)
        sizes = {"BLOCK_E": max(16, triton.next_power_of_2(E)), "BLOCK_EV": max(16, triton.next_power_of_2(EV))}
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        attention_kernel[grid](q, k, v, out, lse, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=64, **sizes)
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    wants_q, wants_k, wants_v, _ = ctx.needs_input_grad
    grad_q, grad_k, grad_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    column = torch.arange(k.shape[-2], device=q.device)
    for start in range(0, q.shape[-2], 48):
        rows = slice(start, start + 48)
        scores = torch.einsum("...ie,...je->...ij", q[..., rows, :], k) / q.shape[-1] ** 0.5
        weights = torch.exp(scores - lse[..., rows, None])
        if ctx.causal:
            row = torch.arange(start, start + scores.shape[-2], device=q.device)
            weights = torch.where(column <= row[:, None], weights, 0.0)
        g = grad_out[..., rows, :]
        if wants_v:
            grad_v = grad_v + weights.mT @ g
        if wants_q or wants_k:
            inner = g @ v.mT - (g * out[..., rows, :]).sum(-1, keepdim=True)
            slopes = weights * inner / q.shape[-1] ** 0.5
            if wants_q:
                grad_q[..., rows, :] = slopes @ k
            if wants_k:
                grad_k = grad_k + slopes.mT @ q[..., rows, :]
    return grad_q if wants_q else None, grad_k if wants_k else None, grad_v if wants_v else None, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]


# %% right: strides in the kernel, a finite stand-in for −inf
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    qh, ql, qe, kh, ks, ke, vh, vs, ve,
    CAUSAL: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr, WE: tl.constexpr, WV: tl.constexpr,
):
    head, first = tl.program_id(0), tl.program_id(1) * ROWS
    i, e, ev = first + tl.arange(0, ROWS), tl.arange(0, WE), tl.arange(0, WV)
    at = q_ptr + head * qh + i[:, None] * ql + e[None, :] * qe
    q = tl.load(at, mask=(i[:, None] < L) & (e[None, :] < E), other=0.0) * scale
    largest = tl.full([ROWS], -1e30, q.dtype)
    count = tl.zeros([ROWS], q.dtype)
    gathered = tl.zeros([ROWS, WV], q.dtype)
    end = tl.minimum(S, first + ROWS) if CAUSAL else S
    for start in range(0, end, KEYS):
        j = start + tl.arange(0, KEYS)
        k = tl.load(k_ptr + head * kh + j[None, :] * ks + e[:, None] * ke, mask=(j[None, :] < S) & (e[:, None] < E), other=0.0)
        scores = tl.dot(q, k, out_dtype=q.dtype, input_precision="ieee")
        allowed = (j[None, :] < S) & (i[:, None] >= 0)
        if CAUSAL:
            allowed = allowed & (j[None, :] <= i[:, None])
        scores = tl.where(allowed, scores, -1e30)
        higher = tl.maximum(largest, tl.max(scores, axis=1))
        p = tl.where(allowed, tl.exp(scores - higher[:, None]), 0.0)
        v = tl.load(v_ptr + head * vh + j[:, None] * vs + ev[None, :] * ve, mask=(j[:, None] < S) & (ev[None, :] < EV), other=0.0)
        gathered = gathered * tl.exp(largest - higher)[:, None]
        gathered += tl.dot(p, v, out_dtype=q.dtype, input_precision="ieee")
        count = count * tl.exp(largest - higher) + tl.sum(p, axis=1)
        largest = higher
    count = tl.where(count > 0, count, 1.0)
    tl.store(out_ptr + (head * L + i[:, None]) * EV + ev[None, :], gathered / count[:, None], mask=(i[:, None] < L) & (ev[None, :] < EV))
    tl.store(lse_ptr + head * L + i, largest + tl.log(count), mask=i < L)


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    L, E, S, EV = q.shape[-2], q.shape[-1], k.shape[-2], v.shape[-1]
    out = torch.zeros((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.zeros(q.shape[:-1], dtype=q.dtype, device=q.device)
    heads = lse.numel() // max(L, 1)
    if lse.numel() and S:
        q, k, v = (t.reshape(heads, *t.shape[-2:]) for t in (q, k, v))
        attention_kernel[heads, triton.cdiv(L, 16)](
            q, k, v, out, lse, L, S, E, EV, E**-0.5, *q.stride(), *k.stride(), *v.stride(),
            CAUSAL=causal, ROWS=16, KEYS=32, WE=max(16, triton.next_power_of_2(E)), WV=max(16, triton.next_power_of_2(EV)),
        )
    return out, lse


@attention.register_fake
def _(q, k, v, causal):
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])


def keep(ctx, inputs, output):
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)


def backward(ctx, grad_out, grad_lse):
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    grads = [torch.zeros_like(t) if need else None for t, need in zip((q, k, v), ctx.needs_input_grad)]
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grads[0] is not None:
            grads[0] += slopes @ k_j
        if grads[1] is not None:
            grads[1][..., columns, :] = slopes.mT @ q
        if grads[2] is not None:
            grads[2][..., columns, :] = weights.mT @ grad_out
    return *grads, None


attention.register_autograd(backward, setup_context=keep)


def triton_attention(q, k, v, causal):
    return attention(q, k, v, causal)[0]
