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
# says: A tensor that is saved twice is counted twice.
# next: The graph keeps references, not copies: count each storage once.
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
# says: The bytes of the tensor are counted, not those of the storage that it keeps alive.
# next: A view of one row keeps the whole matrix alive: ask the storage for its bytes.
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.data_ptr()] = t.numel() * t.element_size()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: elements are counted
# says: Elements are counted, not bytes.
# next: Which attribute of a storage knows its bytes?
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t.numel()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: four bytes an element
# says: Every element is counted as 4 bytes, whatever its dtype.
# next: A bool has 1 byte, a float64 has 8: ask the storage.
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = 4 * t.numel()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: leaves are left out
# says: Leaves are left out; every storage that the graph keeps counts.
# next: Count all that the pack hook is given, inputs and parameters too.
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
# says: No saved-tensor hooks are on while f runs: nothing is counted.
# next: Hooks only see what runs inside their with block.
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
# says: f runs with grad mode off, where nothing is saved.
# next: Nothing is saved for backward unless grad mode is on.
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t.detach()

    with torch.no_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: the number of tensors
# says: Tensors are counted, not bytes.
# next: Add up the bytes of each distinct storage.
def saved_bytes(f, *args):
    found = set()

    def pack(t):
        found.add(t.untyped_storage().data_ptr())
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return len(found)


# %% wrong[value]: the bytes of the arguments
# says: The bytes of the arguments are counted, not of what is saved.
# next: Count what the pack hook is given: some arguments may not be saved at all.
def saved_bytes(f, *args):
    f(*args)
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    return sum(t.untyped_storage().nbytes() for t in tensors)


# %% wrong[value]: a tensor comes back, not an int
# says: The result is a tensor; a number of bytes is an int.
# next: A number of bytes is a Python int.
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = torch.tensor(t.untyped_storage().nbytes())
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return torch.stack(list(found.values())).sum() if found else torch.tensor(0)


# %% wrong[value]: nothing is returned
# says: Nothing is returned; it should be a number of bytes.
# next: A number of bytes is a Python int.
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
# says: pack returns the tensor itself: an output and its node keep each other alive and are never freed.
# next: What pack returns must not lead back to the node that keeps it: a detached tensor has the same memory and no node.
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[saves-on-ctx]: a global list keeps every tensor
# says: A tensor of f stays in memory after the call: a list or dict that outlives the call holds it.
# next: What a call notes must end with it, and must not hold tensors.
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
# says: The bytes of every saved tensor are added up; a tensor that is saved twice counts twice.
# next: Storages are what stays alive: count each once, with all of its bytes.
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        found[len(found)] = t.nbytes
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[value]: only the result's own node is looked at
# says: Only what the last node saved is counted.
# next: Saved-tensor hooks see what every operation in f saves, not only the last one.
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
# says: Two views of one storage are counted twice.
# next: Views begin in different places of one memory: what is the same for all of them?
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
# says: A slice that was detached counts its own bytes only, but it keeps its whole storage alive.
# next: A detached view has the same memory as what it was made from: ask the storage.
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
# says: A walk over the result's graph misses indices, and what an unused branch saves.
# next: Saved-tensor hooks see everything that is saved while f runs.
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
# says: Storages of the same size count as one.
# next: Tell storages apart by where they are, not by how large they are.
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
# says: When f stops with an error, the hooks stay on and see everything that is saved from then on.
# next: The hooks have to go whatever happens while f runs, errors included.
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
# says: The result is a float; a number of bytes is an int.
# next: Bytes are counted in whole numbers: nothing has to be divided or rounded.
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
# says: Parameters are left out; every storage that the graph keeps counts.
# next: Count all that the pack hook is given, inputs and parameters too.
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
# says: Parameters and their views are left out; every storage that the graph keeps counts.
# next: Count all that the pack hook is given, inputs and parameters too.
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
# says: The result is in MiB instead of bytes.
# next: Bytes are counted in whole numbers: nothing has to be divided or rounded.
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
# says: The result is in KiB, rounded down, instead of bytes.
# next: Bytes are counted in whole numbers: nothing has to be divided or rounded.
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
# says: An argument that requires no grad was made to require it, so more is kept.
# next: f(*args) takes the arguments as they were passed.
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
# says: An argument that requires grad reaches f without requiring it.
# next: f(*args) takes the arguments as they were passed.
def saved_bytes(f, *args):
    noted = {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        noted[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*(a.detach() if isinstance(a, torch.Tensor) else a for a in args))
    return sum(noted.values())


# %% wrong[raises]: the star is forgotten
# says: f gets all its arguments as one tuple: f(args) instead of f(*args).
# next: The star takes them apart again: f(*args).
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
# says: Only the largest storage is counted.
# next: Add up the bytes of all distinct storages.
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
# says: The result of f is counted as well; nobody keeps it for backward.
# next: Count what the pack hook is given, and nothing else.
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
# says: No saved-tensor hooks are on while f runs: nothing is counted.
# next: Hooks only see what runs inside their with block.
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
# says: Tensors that require no grad are left out; every storage that the graph keeps counts.
# next: Masks, indices and data are saved as well: count all that the pack hook is given.
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
# says: .grad of the arguments is filled afterwards, and an optimiser would use that.
# next: Once f has run, pack has seen every tensor: count there, without a backward.
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
# says: Python objects are told apart, not storages: a tensor that is saved twice counts twice.
# next: Two tensors may share one storage: what tells storages apart?
def saved_bytes(f, *args):
    sizes, alive = {}, []

    def pack(saved):
        sizes[id(saved)] = saved.untyped_storage().nbytes()
        alive.append(saved)
        return saved.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(sizes.values())


# %% wrong[value]: a storage counts once for each dtype
def saved_bytes(f, *args):
    found, alive = {}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        found[storage.data_ptr(), tensor.dtype] = storage.nbytes()
        alive.append(tensor.detach())
        return alive[-1]

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# %% wrong[shared-state]: an error of f is swallowed
# says: An error of f disappears on the way: the caller gets a number for a call that failed.
# next: Let the error through. The with block takes the hooks off in any case.
def saved_bytes(f, *args):
    found = {}

    def pack(t):
        storage = t.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        try:
            f(*args)
        except Exception:
            pass
    return sum(found.values())
