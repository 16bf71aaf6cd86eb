# %% wrong[value]: only the new leading dimensions
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    return grad


# %% wrong[value|raises]: only the stretched dimensions
def unbroadcast(grad, shape):
    for i, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(i, keepdim=True)
    return grad


# %% wrong[value|raises]: keepdim is forgotten
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and grad.shape[i] != 1:
            grad = grad.sum(i)
    return grad


# %% wrong[value]: a mean
# says: The result is a mean over the broadcast dimensions, not a sum.
# next: Each use of the tensor adds its own part to the gradient: parts are summed, not averaged.
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.mean(0)
    for i, size in enumerate(shape):
        if size == 1 and grad.shape[i] != 1:
            grad = grad.mean(i, keepdim=True)
    return grad


# %% wrong[value]: sums everything
# says: Everything is summed, and every element gets the total.
# next: Sum only over the dimensions that broadcasting made or stretched.
def unbroadcast(grad, shape):
    return grad.sum().expand(tuple(shape))


# %% wrong[value]: picks one copy
# says: One slice of grad is picked; the other copies are dropped.
# next: All copies count: sum over them.
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad[0]
    for i, size in enumerate(shape):
        if size == 1 and grad.shape[i] != 1:
            grad = grad.narrow(i, 0, 1)
    return grad


# %% wrong[value]: sums the last dimension instead of the first
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(-1)
    for i, size in enumerate(shape):
        if size == 1 and grad.shape[i] != 1:
            grad = grad.sum(i, keepdim=True)
    return grad


# %% wrong[value|raises]: reshapes
def unbroadcast(grad, shape):
    return grad.reshape(tuple(shape))


# %% wrong[value]: expands the wrong way
def unbroadcast(grad, shape):
    return grad


# %% wrong[value]: no return
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and grad.shape[i] != 1:
            grad = grad.sum(i, keepdim=True)
    pass


# %% wrong[gradient-missing|value]: detaches
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and grad.shape[i] != 1:
            grad = grad.sum(i, keepdim=True)
    return grad.detach()


# %% wrong[fails-empty]: looks for sizes that are larger than one
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and grad.shape[i] > 1:
            grad = grad.sum(i, keepdim=True)
    return grad


# %% wrong[raises|mutates-input]: writes into grad
def unbroadcast(grad, shape):
    grad.mul_(2)

    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and grad.shape[i] != 1:
            grad = grad.sum(i, keepdim=True)
    return grad


# %% wrong[raises]: concatenates a list and a tuple
def unbroadcast(grad, shape):
    full = (1,) * (grad.dim() - len(shape)) + shape
    dims = [i for i, size in enumerate(full) if size == 1 and grad.shape[i] != 1]
    return (grad.sum(dims, keepdim=True) if dims else grad).reshape(shape)


# %% wrong[value|raises|fails-special-point]: sum over an empty list of dimensions sums everything
def unbroadcast(grad, shape):
    extra = grad.dim() - len(shape)
    dims = list(range(extra)) + [
        i + extra for i, s in enumerate(shape) if s == 1 and grad.shape[i + extra] != 1
    ]
    return grad.sum(dims).reshape(tuple(shape))


# %% wrong[raises]: not started
def unbroadcast(grad, shape):
    raise NotImplementedError()


# %% wrong[raises]: calls itself until the shapes agree, which they never do
def unbroadcast(grad, shape):
    if grad.shape == shape:
        return grad
    grad = grad.sum(0)
    return unbroadcast(grad, shape)


# %% wrong[value]: the 1s first, at positions that are not yet right
def unbroadcast(grad, shape):
    for i, n in enumerate(shape):
        if n == 1:
            grad = grad.sum(i, keepdim=True)
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    return grad


# %% wrong[value]: sums the last dimensions away
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(-1)
    for i, n in enumerate(shape):
        if n == 1:
            grad = grad.sum(i, keepdim=True)
    return grad


# %% right: two loops
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and grad.shape[i] != 1:
            grad = grad.sum(i, keepdim=True)
    return grad


# %% right: torch's own
def unbroadcast(grad, shape):
    return grad.sum_to_size(tuple(shape))


# %% right: one sum over all dimensions at once
def unbroadcast(grad, shape):
    extra = grad.dim() - len(shape)
    stretched = [
        i + extra for i, size in enumerate(shape) if size == 1 and grad.shape[i + extra] != 1
    ]
    dims = tuple(range(extra)) + tuple(stretched)
    if not dims:
        return grad
    return grad.sum(dims, keepdim=True).reshape(tuple(shape))


# %% right: from the back, size 1 is always summed
def unbroadcast(grad, shape):
    for i in range(1, len(shape) + 1):
        if shape[-i] == 1:
            grad = grad.sum(-i, keepdim=True)
    for _ in range(grad.dim() - len(shape)):
        grad = grad.sum(dim=0)
    return grad


# %% right: recursive, copies
def unbroadcast(grad, shape):
    if grad.dim() > len(shape):
        return unbroadcast(grad.sum(0), shape)
    for i, size in enumerate(shape):
        if size != grad.shape[i]:
            return unbroadcast(grad.sum(i, keepdim=True), shape)
    return grad.clone()


# %% wrong[value]: adds up in float32, and casts back
def unbroadcast(grad, shape):
    total = torch.as_tensor(grad, dtype=torch.float32)
    while total.dim() > len(shape):
        total = total.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and total.shape[i] != 1:
            total = total.sum(i, keepdim=True)
    return total.type_as(grad)


# %% wrong[value]: one `if` for the dimensions in front
def unbroadcast(grad, shape):
    small = grad
    if len(small.shape) != len(shape):
        small = torch.sum(small, dim=0)
    for place in range(len(shape)):
        if shape[place] == 1:
            small = small.sum(place, keepdim=True)
    return small


# %% wrong[value|raises]: all in one sum, and nothing keeps its place
def unbroadcast(grad, shape):
    ahead = grad.dim() - len(shape)
    gone = [*range(ahead)]
    gone += [ahead + i for i, n in enumerate(shape) if n == 1 < grad.shape[ahead + i]]
    return grad.sum(gone) if gone else grad


# %% wrong[raises]: the dimensions in front as a tuple, which may be empty
def unbroadcast(grad, shape):
    in_front = tuple(range(len(grad.shape) - len(shape)))
    grad = torch.sum(grad, in_front)
    stretched = [i for i, n in enumerate(shape) if n == 1 and grad.size()[i] > 1]
    for i in stretched:
        grad = torch.sum(grad, i, keepdim=True)
    return grad


# %% wrong[fails-empty]: a dimension counts as stretched only where grad is larger than 1 there
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for place, size in enumerate(shape):
        if size == 1 and grad.shape[place] > 1:
            grad = grad.sum(place, keepdim=True)
    return grad


# %% wrong[value|forward-shape]: takes an equal number of elements for an equal shape
def unbroadcast(grad, shape):
    if grad.numel() and grad.numel() == torch.Size(shape).numel():
        return grad
    extra = grad.dim() - len(shape)
    grad = grad.sum(tuple(range(extra))) if extra else grad
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1)
    return grad.sum(stretched, keepdim=True) if stretched else grad


# %% wrong[fails-empty]: done as soon as there are no more elements than asked for
def unbroadcast(grad, shape):
    for _ in range(grad.ndim - len(shape)):
        grad = grad.sum(0)
    if grad.numel() <= torch.Size(shape).numel():
        return grad
    for i in range(grad.ndim):
        if shape[i] == 1:
            grad = grad.sum(i, keepdim=True)
    return grad


# %% wrong[raises]: one sum over a list of dimensions, which is empty where nothing was broadcast
def unbroadcast(grad, shape):
    ahead = grad.ndim - len(shape)
    over = [*range(ahead), *(ahead + k for k, n in enumerate(shape) if n == 1 and grad.shape[ahead + k] != 1)]
    small = torch.sum(grad, over, keepdim=True)
    return small.view(torch.Size(shape))


# %% wrong[raises]: counts on where the dimensions have moved up
def unbroadcast(grad, shape):
    for axis in range(grad.dim() - len(shape)):
        grad = torch.sum(grad, axis)
    return grad.sum_to_size(tuple(shape))


# %% wrong[raises]: ones are put behind shape, so that it is read from the left
def unbroadcast(grad, shape):
    want = [*shape, *[1] * (grad.ndim - len(shape))]
    for axis in range(grad.ndim):
        if want[axis] != grad.size(axis):
            grad = grad.sum(axis, keepdim=True)
    return torch.reshape(grad, tuple(shape))


# %% wrong[value]: every repeat is taken for a whole copy in front
def unbroadcast(grad, shape):
    size = torch.Size(shape)
    if size == grad.shape or not size.numel():
        return grad
    return grad.reshape(grad.numel() // size.numel(), *size).sum(dim=0)


# %% wrong[raises]: ones are joined to a shape that may be a list
def unbroadcast(grad, shape):
    filled = (grad.dim() - len(shape)) * (1,) + shape
    for axis in range(grad.dim()):
        if filled[axis] != grad.shape[axis]:
            grad = grad.sum(axis, True)
    return grad.view(shape)
