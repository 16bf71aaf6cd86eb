# %% right: a dict of storages
def saved_bytes(f, *args):
    found = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        f(*args)
    return sum(found.values())


# %% right: a set of pairs, and the result held until the end
def saved_bytes(f, *args):
    found = set()

    def pack(t):
        found.add((t.untyped_storage()._cdata, t.untyped_storage().nbytes()))
        return t.detach()

    def unpack(t):
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        result = f(*args)
    del result
    return sum(size for _, size in found)


# %% right: a total and a list of what was seen
def saved_bytes(f, *args):
    total, seen = 0, []

    def pack(t):
        nonlocal total
        address = t.untyped_storage().data_ptr()
        if address not in seen:
            seen.append(address)
            total += t.untyped_storage().size()
        return t.data

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return total


# %% right: grad mode is switched on, a view is packed
def saved_bytes(f, *args):
    bytes_of = {}
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda t: (
            bytes_of.update({t.untyped_storage()._cdata: t.untyped_storage().nbytes()}),
            t.detach(),
        )[1],
        lambda t: t,
    )
    with torch.enable_grad(), hooks:
        _ = f(*args)
    return int(sum(bytes_of.values()))


# %% wrong[value]: a tensor that is saved twice counts twice
def saved_bytes(f, *args):
    total = 0

    def pack(t):
        nonlocal total
        total += t.untyped_storage().nbytes()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return total


# %% wrong[value]: elements times element size
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.data_ptr()] = t.numel() * t.element_size()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: elements are counted
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t.numel()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: four bytes an element
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = 4 * t.numel()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: leaves are left out
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        if not t.is_leaf:
            found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: f runs outside the hooks
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t.detach()

    result = f(*args)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        result.sum()
    return sum(found.values())


# %% wrong[value]: under no_grad nothing is saved
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t.detach()

    with torch.no_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: the number of tensors
def saved_bytes(f, *args):
    found = set()

    def pack(t):
        found.add(t.untyped_storage().data_ptr())
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return len(found)


# %% wrong[value]: the bytes of the arguments
def saved_bytes(f, *args):
    f(*args)
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    return sum(t.untyped_storage().nbytes() for t in tensors)


# %% wrong[value]: a tensor comes back, not an int
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = torch.tensor(t.untyped_storage().nbytes())
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return torch.stack(list(found.values())).sum() if found else torch.tensor(0)


# %% wrong[value]: nothing is returned
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    sum(found.values())


# %% wrong[value]: unpack gives nothing back
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: None):
        f(*args)
    return sum(found.values())


# %% wrong[saves-on-ctx]: pack returns the tensor itself
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[saves-on-ctx]: a global list keeps every tensor
KEPT = []


def saved_bytes(f, *args):
    first = len(KEPT)

    def pack(t):
        KEPT.append(t.detach())
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(
        {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in KEPT[first:]}.values()
    )


# %% wrong[value]: distinct by tensor, not by storage
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[len(found)] = t.nbytes
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: only the result's own node is looked at
def saved_bytes(f, *args):
    node = f(*args).grad_fn
    names = [n for n in dir(node) if n.startswith("_saved")]
    tensors = [getattr(node, n) for n in names]
    return sum(
        {
            t.data_ptr(): t.untyped_storage().nbytes()
            for t in tensors
            if isinstance(t, torch.Tensor)
        }.values()
    )


# %% wrong[raises]: only one hook is given
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack):
        f(*args)
    return sum(found.values())


# %% wrong[value]: distinct by the address of the first element
def saved_bytes(f, *args):
    found = {}

    def pack(tensor):
        found[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        result = f(*args)
    del result
    return sum(found.values())


# %% wrong[value]: the storage of _base: a detached slice counts its own bytes
def saved_bytes(f, *args):
    seen = {}

    def pack(t):
        b = t if t._base is None else t._base
        seen[b.data_ptr()] = b.numel() * b.element_size()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(seen.values())


# %% wrong[value]: a walk over the _saved_ attributes of the graph
def saved_bytes(f, *args):
    found, queue, seen = {}, [], set()
    result = f(*args)
    for t in result if isinstance(result, tuple) else (result,):
        queue.append(t.grad_fn)
    while queue:
        node = queue.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for name in dir(node):
            if name.startswith("_saved_"):
                t = getattr(node, name)
                if isinstance(t, torch.Tensor):
                    s = t.untyped_storage()
                    found[s.data_ptr()] = s.nbytes()
        queue += [below for below, _ in node.next_functions]
    return sum(found.values())


# %% wrong[value]: a set of sizes: two tensors of one size count once
def saved_bytes(f, *args):
    sizes = set()

    def pack(tensor):
        sizes.add(tensor.untyped_storage().nbytes())
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(sizes)


# %% wrong[value]: a dict that all calls share
def saved_bytes(f, *args, found={}):
    def pack(tensor):
        storage = tensor.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(found.values())


# %% wrong[shared-state]: the stack that takes the hooks off is closed by hand, and not after an error
def saved_bytes(f, *args):
    import contextlib

    found = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()

    stack = contextlib.ExitStack()
    stack.enter_context(torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept))
    result = f(*args)
    stack.close()
    del result
    return sum(found.values())


# %% wrong[value]: a float
def saved_bytes(f, *args):
    total, seen = 0.0, set()

    def pack(tensor):
        nonlocal total
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen:
            seen.add(storage.data_ptr())
            total += storage.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return total


# %% wrong[value]: parameters are there anyway, and not counted
def saved_bytes(f, *args):
    found = {}

    def pack(tensor):
        if not isinstance(tensor, torch.nn.Parameter):
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(found.values())


# %% wrong[value]: parameters and their views are not counted
def saved_bytes(f, *args):
    found = {}

    def pack(tensor):
        origin = tensor if tensor._base is None else tensor._base
        if not isinstance(origin, torch.nn.Parameter):
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(found.values())


# %% right: a stack of contexts, closed in finally
def saved_bytes(f, *args):
    import contextlib

    found = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()

    stack = contextlib.ExitStack()
    stack.enter_context(torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept))
    try:
        f(*args)
    finally:
        stack.close()
    return sum(found.values())


# %% wrong[value]: mebibytes
def saved_bytes(f, *args):
    noted = {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        noted[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(noted.values()) / 1024**2


# %% wrong[value]: kibibytes, without a rest
def saved_bytes(f, *args):
    noted = {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        noted[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(noted.values()) // 1024


# %% wrong[value]: every tensor is made to require grad
def saved_bytes(f, *args):
    noted = {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        noted[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*(a.detach().requires_grad_(a.is_floating_point()) if isinstance(a, torch.Tensor) else a for a in args))
    return sum(noted.values())


# %% wrong[value]: the arguments are detached first
def saved_bytes(f, *args):
    noted = {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        noted[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*(a.detach() if isinstance(a, torch.Tensor) else a for a in args))
    return sum(noted.values())


# %% wrong[value]: the star is forgotten
def saved_bytes(f, *args):
    noted = {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        noted[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(args)
    return sum(noted.values())


# %% wrong[value]: the largest storage alone
def saved_bytes(f, *args):
    noted = {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        noted[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return max(noted.values(), default=0)


# %% wrong[value]: the result is counted, too
def saved_bytes(f, *args):
    noted = {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        noted[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        result = f(*args)
    results = result if isinstance(result, tuple) else (result,)
    return sum(noted.values()) + sum(r.nbytes for r in results)


# %% wrong[value]: the hooks are made and never entered
def saved_bytes(f, *args):
    noted = {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        noted[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()

    torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept)
    f(*args)
    return sum(noted.values())


# %% wrong[value]: what requires no grad is not counted
def saved_bytes(f, *args):
    noted = {}

    def pack(tensor):
        if tensor.requires_grad:
            memory = tensor.untyped_storage()
            noted[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(noted.values())


# %% wrong[mutates-input]: counted in unpack, during a backward
def saved_bytes(f, *args):
    noted = {}

    def unpack(kept):
        memory = kept.untyped_storage()
        noted[memory.data_ptr()] = memory.nbytes()
        return kept

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), unpack):
        result = f(*args)
        for each in result if isinstance(result, tuple) else (result,):
            each.sum().backward(retain_graph=True)
    return sum(noted.values())


# %% wrong[value]: pack keeps no tensor, only its size
def saved_bytes(f, *args):
    sizes = {}

    def note(saved):
        memory = saved.untyped_storage()
        sizes[memory.data_ptr()] = memory.nbytes()

    with torch.autograd.graph.saved_tensors_hooks(note, lambda nothing: nothing):
        f(*args)
    return sum(sizes.values())


# %% wrong[value]: a default argument remembers earlier calls
def saved_bytes(f, *args, known=set()):
    new = []

    def pack(tensor):
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in known:
            known.add(memory.data_ptr())
            new.append(memory.nbytes())
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(new)


# %% wrong[value]: told apart by id
def saved_bytes(f, *args):
    sizes, alive = {}, []

    def pack(saved):
        sizes[id(saved)] = saved.untyped_storage().nbytes()
        alive.append(saved)
        return saved.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(sizes.values())
