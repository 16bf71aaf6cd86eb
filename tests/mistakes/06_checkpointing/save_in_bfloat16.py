# %% right: a pair says what was rounded
def save_in_bfloat16():
    def pack(t):
        belongs_to_caller = t.is_leaf or (t._is_view() and t._base.is_leaf)
        if t.dtype != torch.float32 or belongs_to_caller:
            return False, t.detach()
        return True, t.to(torch.bfloat16)

    def unpack(packed):
        rounded, t = packed
        return t.to(torch.float32) if rounded else t

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% right: a generator with contextmanager
import contextlib


@contextlib.contextmanager
def save_in_bfloat16():
    def pack(t):
        origin = t._base if t._is_view() else t
        if t.dtype is torch.float32 and not origin.is_leaf:
            return (t.bfloat16(),)
        return t.detach()

    def unpack(kept):
        return kept[0].float() if isinstance(kept, tuple) else kept

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        yield


# %% right: a class of its own
class save_in_bfloat16(torch.autograd.graph.saved_tensors_hooks):
    def __init__(self):
        super().__init__(self.pack, self.unpack)

    @staticmethod
    def pack(t):
        held = t.is_leaf or (t._base is not None and t._base.is_leaf)
        if held or t.dtype != torch.float32:
            return t.dtype, t.detach()
        return torch.float32, t.detach().to(torch.bfloat16)

    @staticmethod
    def unpack(pair):
        dtype, t = pair
        return t.to(dtype)


# %% right: a class with __enter__ and __exit__
class save_in_bfloat16:
    def __enter__(self):
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)
        self.hooks.__enter__()

    def __exit__(self, *error):
        self.hooks.__exit__(*error)

    def pack(self, t):
        leaf = (t if t._base is None else t._base).is_leaf
        small = t.dtype == torch.float32 and not leaf
        return {"small": small, "tensor": t.to(torch.bfloat16) if small else t.data}

    def unpack(self, entry):
        return entry["tensor"].to(torch.float32) if entry["small"] else entry["tensor"]


# %% wrong[saves-too-much]: nothing is rounded
def save_in_bfloat16():
    return torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t)


# %% wrong[saves-too-much]: leaves are rounded, intermediates are not
def save_in_bfloat16():
    def pack(t):
        rounded = t.is_leaf and t.dtype == torch.float32
        return (rounded, t.to(torch.bfloat16) if rounded else t.detach())

    return torch.autograd.graph.saved_tensors_hooks(
        pack, lambda p: p[1].to(torch.float32) if p[0] else p[1]
    )


# %% wrong[saves-too-much]: parameters and inputs are rounded, too
def save_in_bfloat16():
    def pack(t):
        rounded = t.dtype == torch.float32
        return (rounded, t.to(torch.bfloat16) if rounded else t.detach())

    return torch.autograd.graph.saved_tensors_hooks(
        pack, lambda p: p[1].to(torch.float32) if p[0] else p[1]
    )


# %% wrong[saves-too-much]: only nn.Parameter is left alone
def save_in_bfloat16():
    def pack(t):
        rounded = t.dtype == torch.float32 and not isinstance(t, torch.nn.Parameter)
        return (rounded, t.to(torch.bfloat16) if rounded else t.detach())

    return torch.autograd.graph.saved_tensors_hooks(
        pack, lambda p: p[1].to(torch.float32) if p[0] else p[1]
    )


# %% wrong[saves-too-much]: views of parameters are rounded
def save_in_bfloat16():
    def pack(t):
        rounded = t.dtype == torch.float32 and not t.is_leaf
        return (rounded, t.to(torch.bfloat16) if rounded else t.detach())

    return torch.autograd.graph.saved_tensors_hooks(
        pack, lambda p: p[1].to(torch.float32) if p[0] else p[1]
    )


# %% wrong[gradient-value]: float64 is rounded, too
def save_in_bfloat16():
    def pack(t):
        leaf = t.is_leaf or (t._is_view() and t._base.is_leaf)
        rounded = t.is_floating_point() and not leaf
        return (t.dtype, t.to(torch.bfloat16) if rounded else t.detach())

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda p: p[1].to(p[0]))


# %% wrong[gradient-value]: what was bfloat16 all along comes back as float32
def save_in_bfloat16():
    def pack(t):
        leaf = t.is_leaf or (t._is_view() and t._base.is_leaf)
        return t.to(torch.bfloat16) if t.dtype == torch.float32 and not leaf else t.detach()

    def unpack(t):
        return t.to(torch.float32) if t.dtype == torch.bfloat16 else t

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong[gradient-value]: everything comes back as float32
def save_in_bfloat16():
    def pack(t):
        leaf = t.is_leaf or (t._is_view() and t._base.is_leaf)
        return t.to(torch.bfloat16) if t.dtype == torch.float32 and not leaf else t.detach()

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t.to(torch.float32))


# %% wrong[raises|gradient-value]: bfloat16 is not turned back
def save_in_bfloat16():
    def pack(t):
        leaf = t.is_leaf or (t._is_view() and t._base.is_leaf)
        return t.to(torch.bfloat16) if t.dtype == torch.float32 and not leaf else t.detach()

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)


# %% wrong[saves-too-much]: the original is kept beside the copy
def save_in_bfloat16():
    def pack(t):
        leaf = t.is_leaf or (t._is_view() and t._base.is_leaf)
        if t.dtype != torch.float32 or leaf:
            return t.detach(), None
        return t.to(torch.bfloat16), t.detach()

    def unpack(pair):
        t, original = pair
        return t if original is None else t.to(original.dtype)

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong[saves-too-much|gradient-value]: float16 copies made of float32 copies
def save_in_bfloat16():
    def pack(t):
        leaf = t.is_leaf or (t._is_view() and t._base.is_leaf)
        if t.dtype != torch.float32 or leaf:
            return (False, t.detach())
        return (True, t.to(torch.float16))

    return torch.autograd.graph.saved_tensors_hooks(
        pack, lambda p: p[1].to(torch.float32) if p[0] else p[1]
    )


# %% wrong[saves-too-much]: rounded, but stored as float32
def save_in_bfloat16():
    def pack(t):
        leaf = t.is_leaf or (t._is_view() and t._base.is_leaf)
        if t.dtype != torch.float32 or leaf:
            return t.detach()
        return t.to(torch.bfloat16).to(torch.float32)

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)


# %% wrong[saves-on-ctx]: untouched tensors are returned as they are
def save_in_bfloat16():
    def pack(t):
        leaf = t.is_leaf or (t._is_view() and t._base.is_leaf)
        if t.dtype != torch.float32 or leaf:
            return False, t
        return True, t.to(torch.bfloat16)

    return torch.autograd.graph.saved_tensors_hooks(
        pack, lambda p: p[1].to(torch.float32) if p[0] else p[1]
    )


# %% wrong[value]: contextmanager is missing
def save_in_bfloat16():
    def pack(t):
        leaf = t.is_leaf or (t._is_view() and t._base.is_leaf)
        if t.dtype != torch.float32 or leaf:
            return False, t.detach()
        return True, t.to(torch.bfloat16)

    with torch.autograd.graph.saved_tensors_hooks(
        pack, lambda p: p[1].to(torch.float32) if p[0] else p[1]
    ):
        yield


# %% wrong[value]: nothing is returned
def save_in_bfloat16():
    def pack(t):
        return t.to(torch.bfloat16)

    def unpack(t):
        return t.to(torch.float32)

    torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong[shared-state]: the hooks stay on after an error
import contextlib


@contextlib.contextmanager
def save_in_bfloat16():
    def pack(t):
        leaf = t.is_leaf or (t._is_view() and t._base.is_leaf)
        if t.dtype != torch.float32 or leaf:
            return False, t.detach()
        return True, t.to(torch.bfloat16)

    hooks = torch.autograd.graph.saved_tensors_hooks(
        pack, lambda p: p[1].to(torch.float32) if p[0] else p[1]
    )
    hooks.__enter__()
    yield
    hooks.__exit__(None, None, None)


# %% wrong[shared-state]: errors disappear
class save_in_bfloat16:
    def __enter__(self):
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)
        self.hooks.__enter__()

    def __exit__(self, *error):
        self.hooks.__exit__(*error)
        return True

    def pack(self, t):
        leaf = (t if t._base is None else t._base).is_leaf
        small = t.dtype == torch.float32 and not leaf
        return (small, t.to(torch.bfloat16) if small else t.detach())

    def unpack(self, pair):
        return pair[1].to(torch.float32) if pair[0] else pair[1]


# %% wrong[raises|gradient-value]: unpack gives the pair
def save_in_bfloat16():
    def pack(t):
        return (t.dtype, t.to(torch.bfloat16))

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda pair: pair)


# %% wrong[saves-too-much|gradient-value]: autocast in place of hooks
def save_in_bfloat16():
    return torch.autocast("cpu", dtype=torch.bfloat16)


# %% wrong[saves-too-much]: torch's save_on_cpu
def save_in_bfloat16():
    return torch.autograd.graph.save_on_cpu()


# %% wrong[saves-too-much]: every view is left in full: _base is there
def save_in_bfloat16():
    def pack(t):
        if t.dtype != torch.float32 or t.is_leaf or t._base is not None:
            return (False, t.detach())
        return (True, t.to(torch.bfloat16))

    def unpack(packed):
        rounded, t = packed
        return t.to(torch.float32) if rounded else t

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong[saves-too-much]: what requires grad is rounded, leaf or not
def save_in_bfloat16():
    def pack(t):
        rounded = t.dtype == torch.float32 and t.requires_grad
        return (rounded, t.to(torch.bfloat16) if rounded else t.detach())

    return torch.autograd.graph.saved_tensors_hooks(
        pack, lambda p: p[1].to(torch.float32) if p[0] else p[1]
    )


# %% wrong[saves-too-much]: small tensors are not worth the trouble
def save_in_bfloat16():
    def pack(tensor):
        origin = tensor if tensor._base is None else tensor._base
        if tensor.dtype != torch.float32 or origin.is_leaf or tensor.nbytes < 256:
            return False, tensor.detach()
        return True, tensor.detach().to(torch.bfloat16)

    def unpack(kept):
        rounded, tensor = kept
        return tensor.to(torch.float32) if rounded else tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong[saves-too-much]: matrices alone
def save_in_bfloat16():
    def pack(tensor):
        origin = tensor if tensor._base is None else tensor._base
        if tensor.dtype == torch.float32 and tensor.ndim == 2 and not origin.is_leaf:
            return True, tensor.detach().to(torch.bfloat16)
        return False, tensor.detach()

    def unpack(kept):
        rounded, tensor = kept
        return tensor.to(torch.float32) if rounded else tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong[shared-state]: the addresses of what was rounded, in a global set
addresses = set()


def save_in_bfloat16():
    def pack(tensor):
        origin = tensor if tensor._base is None else tensor._base
        if tensor.dtype != torch.float32 or origin.is_leaf:
            return tensor.detach()
        small = tensor.detach().to(torch.bfloat16)
        addresses.add(small.data_ptr())
        return small

    def unpack(tensor):
        return tensor.to(torch.float32) if tensor.data_ptr() in addresses else tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong[shared-state]: addresses again, in a set of each block's own
def save_in_bfloat16():
    rounded = set()

    def pack(tensor):
        if tensor.dtype != torch.float32 or (tensor if tensor._base is None else tensor._base).is_leaf:
            return tensor.detach()
        small = tensor.detach().bfloat16()
        rounded.add(small.untyped_storage().data_ptr())
        return small

    def unpack(tensor):
        return tensor.float() if tensor.untyped_storage().data_ptr() in rounded else tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% right: what was rounded stands on the tensor itself
def save_in_bfloat16():
    def pack(tensor):
        origin = tensor if tensor._base is None else tensor._base
        if tensor.dtype != torch.float32 or origin.is_leaf:
            return tensor.detach()
        small = tensor.detach().to(torch.bfloat16)
        small.was_rounded = True
        return small

    def unpack(tensor):
        return tensor.to(torch.float32) if getattr(tensor, "was_rounded", False) else tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong[gradient-value]: half in place of bfloat16
def save_in_bfloat16():
    def pack(tensor):
        owner = tensor._base if tensor._is_view() else tensor
        if owner.is_leaf or tensor.dtype is not torch.float32:
            return None, tensor.detach()
        return torch.float32, tensor.half()

    def unpack(pair):
        dtype, tensor = pair
        return tensor if dtype is None else tensor.to(dtype)

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong[gradient-value]: unpack makes float64 of it
def save_in_bfloat16():
    def pack(tensor):
        owner = tensor._base if tensor._is_view() else tensor
        rounded = tensor.dtype is torch.float32 and not owner.is_leaf
        return rounded, tensor.bfloat16() if rounded else tensor.detach()

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda pair: pair[1].double() if pair[0] else pair[1])


# %% wrong[raises]: a flat copy
def save_in_bfloat16():
    def pack(tensor):
        owner = tensor._base if tensor._is_view() else tensor
        rounded = tensor.dtype is torch.float32 and not owner.is_leaf
        return rounded, tensor.reshape(-1).bfloat16() if rounded else tensor.detach()

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda pair: pair[1].float() if pair[0] else pair[1])


# %% wrong[saves-on-ctx]: a list keeps the copies, the graph their places
def save_in_bfloat16():
    shelf = []

    def pack(tensor):
        owner = tensor._base if tensor._is_view() else tensor
        if owner.is_leaf or tensor.dtype is not torch.float32:
            return tensor.detach()
        shelf.append(tensor.bfloat16())
        return len(shelf) - 1

    def unpack(kept):
        return shelf[kept].float() if isinstance(kept, int) else kept

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong[saves-too-much]: rounded and made float32 again in pack
def save_in_bfloat16():
    def pack(tensor):
        owner = tensor._base if tensor._is_view() else tensor
        rounded = tensor.dtype is torch.float32 and not owner.is_leaf
        return tensor.bfloat16().float() if rounded else tensor.detach()

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept)


# %% wrong[saves-too-much]: the default dtype is changed for the block
import contextlib


@contextlib.contextmanager
def save_in_bfloat16():
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        yield
    finally:
        torch.set_default_dtype(usual)
