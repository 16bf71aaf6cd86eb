# %% right: a helper that makes the function of a segment
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments):
        x = Checkpoint.apply(run(layers[i * count // segments : (i + 1) * count // segments]), x)
    return x


# %% right: nn.Sequential of slices, the rest in the last segment
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def checkpoint_sequential(layers, segments, x):
    layers = list(layers)
    size = len(layers) // segments
    for i in range(segments):
        stop = (i + 1) * size if i < segments - 1 else len(layers)

        def part(h, first=i * size, last=stop):
            for layer in layers[first:last]:
                h = layer(h)
            return h

        x = Checkpoint.apply(part, x)
    return x


# %% right: functools.reduce and partial
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


from functools import partial, reduce


def apply_all(part, x):
    return reduce(lambda h, layer: layer(h), part, x)


def checkpoint_sequential(layers, segments, x):
    base, more = divmod(len(layers), segments)
    start = 0
    for i in range(segments):
        size = base + (i < more)
        x = Checkpoint.apply(partial(apply_all, layers[start : start + size]), x)
        start += size
    return x


# %% right: layers as an argument of the checkpointed function
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def through(h, part):
    for layer in part:
        h = layer(h)
    return h


def checkpoint_sequential(layers, segments, x):
    cuts = [round(i * len(layers) / segments) for i in range(segments + 1)]
    for start, stop in zip(cuts, cuts[1:]):
        x = Checkpoint.apply(through, x, list(layers)[start:stop])
    return x


# %% wrong[no-recompute]: the last segment is left out, as torch does
# says: The last segment is not checkpointed, as in torch's own function: its intermediates are kept.
# next: Here every segment goes through Checkpoint, the last one included.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments - 1):
        x = Checkpoint.apply(run(layers[i * count // segments : (i + 1) * count // segments]), x)
    return run(layers[(segments - 1) * count // segments :])(x)


# %% wrong[no-recompute]: nothing is checkpointed
# says: No layer runs inside a Checkpoint: all intermediates are kept.
# next: A segment is a function of x: Checkpoint is given that function, uncalled, and x.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    return run(layers)(x)


# %% wrong[no-recompute]: the rest of an uneven division runs outside
# says: The layers left over by an uneven division run outside any Checkpoint.
# next: Where does the last segment have to end, so that nothing is left over?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    size = len(layers) // segments
    for i in range(segments):
        x = Checkpoint.apply(run(layers[i * size : (i + 1) * size]), x)
    return run(layers[segments * size :])(x)


# %% wrong[gradient-value]: the function of a segment looks up the loop variable late
# says: In backward every segment's function runs the layers of the last segment.
# next: A Python function looks a variable up when it runs, not when it is made: which layers does it find then?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments):
        part = layers[i * count // segments : (i + 1) * count // segments]

        def segment(h):
            for layer in part:
                h = layer(h)
            return h

        x = Checkpoint.apply(segment, x)
    return x


# %% wrong[gradient-value]: a lambda over i
# says: In backward every segment's function runs the layers of the last segment.
# next: A Python function looks a variable up when it runs, not when it is made: which layers does it find then?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def checkpoint_sequential(layers, segments, x):
    count = len(layers)

    def through(part, h):
        for layer in part:
            h = layer(h)
        return h

    for i in range(segments):
        x = Checkpoint.apply(
            lambda h: through(layers[i * count // segments : (i + 1) * count // segments], h), x
        )
    return x


# %% wrong[value]: the layers after the last even segment are forgotten
# says: The layers after the last even segment are left out.
# next: 5 layers in 3 segments: 5 // 3 · 3 is 3. What becomes of the others?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    size = len(layers) // segments
    for i in range(segments):
        x = Checkpoint.apply(run(layers[i * size : (i + 1) * size]), x)
    return x


# %% wrong[value]: every segment starts from the first x
# says: Every segment starts from the original x; only the last one is seen in the result.
# next: A segment gets the output of the one before.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments):
        y = Checkpoint.apply(run(layers[i * count // segments : (i + 1) * count // segments]), x)
    return y


# %% wrong[value]: a return in the loop
# says: Only the first segment runs.
# next: Every segment gets the output of the one before, and the output of the last is the result.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments):
        x = Checkpoint.apply(run(layers[i * count // segments : (i + 1) * count // segments]), x)
        return x


# %% wrong[value]: nothing is returned
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments):
        x = Checkpoint.apply(run(layers[i * count // segments : (i + 1) * count // segments]), x)


# %% wrong[saves-too-much]: one checkpoint around everything
# says: There is one Checkpoint around all layers, however many segments are asked for.
# next: The layers are cut into segments, with a Checkpoint around each.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    return Checkpoint.apply(run(layers), x)


# %% wrong[saves-too-much]: the first segment has every layer, the others none
# says: The first segment has every layer, the others have none.
# next: An empty segment saves nothing: spread the layers over all segments.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def through(h, part):
    for layer in part:
        h = layer(h)
    return h


def checkpoint_sequential(layers, segments, x):
    cuts = [i * len(layers) for i in range(segments + 1)]
    for start, stop in zip(cuts, cuts[1:]):
        x = Checkpoint.apply(through, x, list(layers)[start:stop])
    return x


# %% wrong[saves-too-much]: every layer is a segment
# says: Every layer is a Checkpoint of its own, however many segments are asked for.
# next: A segment is several layers in one function: it keeps one input for all of them.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    for layer in layers:
        x = Checkpoint.apply(layer, x)
    return x


# %% wrong[saves-too-much]: the size is rounded up, so that fewer segments come out
# says: The size of a segment is rounded up, so that too few segments come out.
# next: Layers need not divide evenly: which boundaries give exactly that many segments, none of them empty?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    size = -(-len(layers) // segments)
    for start in range(0, len(layers), size):
        x = Checkpoint.apply(run(layers[start : start + size]), x)
    return x


# %% wrong[saves-too-much]: segments is taken for the size of a segment
# says: segments is taken for the number of layers in a segment; it is the number of segments.
# next: How many layers does a segment then have?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    for start in range(0, len(layers), segments):
        x = Checkpoint.apply(run(layers[start : start + segments]), x)
    return x


# %% wrong[saves-too-much]: a list keeps a copy of every intermediate
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


KEPT = []


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
            KEPT.append(x.detach())
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments):
        x = Checkpoint.apply(run(layers[i * count // segments : (i + 1) * count // segments]), x)
    return x


# %% wrong[uses-builtin]: torch's checkpoint_sequential
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def checkpoint_sequential(layers, segments, x):
    from torch.utils.checkpoint import checkpoint_sequential as ready

    return ready(list(layers), segments, x, use_reentrant=False)


# %% wrong[uses-builtin]: torch's checkpoint for each segment
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    from torch.utils.checkpoint import checkpoint

    count = len(layers)
    for i in range(segments):
        x = checkpoint(
            run(layers[i * count // segments : (i + 1) * count // segments]), x, use_reentrant=False
        )
    return x


# %% wrong[raises]: the cell of Checkpoint has not run
def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments):
        x = Checkpoint.apply(run(layers[i * count // segments : (i + 1) * count // segments]), x)
    return x


# %% wrong[value|raises]: the class is called, apply is missing
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments):
        x = Checkpoint(run(layers[i * count // segments : (i + 1) * count // segments]), x)
    return x


# %% wrong[no-recompute]: the segment runs before Checkpoint sees it
# says: The segment has run before Checkpoint sees it: its graph is there already.
# next: Checkpoint is given the function of a segment and its input, not its result.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments):
        y = run(layers[i * count // segments : (i + 1) * count // segments])(x)
        x = Checkpoint.apply(lambda t: t * 1.0, y)
    return x


# %% wrong[value]: the layers run in the reverse order
# says: The layers run in the reverse order.
# next: First layers[0], then layers[1], and so on.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    layers = list(layers)[::-1]
    for i in range(segments):
        x = Checkpoint.apply(run(layers[i * count // segments : (i + 1) * count // segments]), x)
    return x


# %% wrong[gradient-value]: start and end move on: in backward the segment is empty
# says: No layer runs again in backward: what a segment takes its layers from was used up in forward.
# next: Each segment has its own layers, whenever its function runs.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def checkpoint_sequential(layers, segments, x):
    start = 0
    for i in range(segments):
        end = (i + 1) * len(layers) // segments

        def run_segment(h):
            for j in range(start, end):
                h = layers[j](h)
            return h

        x = Checkpoint.apply(run_segment, x)
        start = end
    return x


# %% wrong[raises]: the function takes x from outside, not its argument
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def checkpoint_sequential(layers, segments, x):
    def run(segment):
        h = x
        for layer in segment:
            h = layer(h)
        return h

    cuts = [i * len(layers) // segments for i in range(segments + 1)]
    for i in range(segments):
        segment = layers[cuts[i] : cuts[i + 1]]
        x = Checkpoint.apply(lambda x: run(segment), x)
    return x


# %% wrong[value]: a list of functions made in a loop and called after it
# says: Every segment's function runs the last segment.
# next: A Python function looks a variable up when it runs, not when it is made: which layers does it find then?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def checkpoint_sequential(layers, segments, x):
    n = len(layers)
    parts = [list(layers)[i * n // segments : (i + 1) * n // segments] for i in range(segments)]

    def run(part, h):
        for layer in part:
            h = layer(h)
        return h

    functions = []
    for part in parts:
        functions.append(lambda h: run(part, h))
    for f in functions:
        x = Checkpoint.apply(f, x)
    return x


# %% wrong[mutates-input]: the layers are popped off the caller's list
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def run(part):
    def segment(x):
        for layer in part:
            x = layer(x)
        return x

    return segment


def checkpoint_sequential(layers, segments, x):
    if isinstance(layers, torch.nn.Sequential):
        layers = list(layers)
    count = len(layers)
    for i in range(segments):
        size = (i + 1) * count // segments - i * count // segments
        x = Checkpoint.apply(run([layers.pop(0) for _ in range(size)]), x)
    return x


# %% wrong[gradient-value]: a segment is an iterator, which forward uses up
# says: No layer runs again in backward: what a segment takes its layers from was used up in forward.
# next: Each segment has its own layers, whenever its function runs.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def checkpoint_sequential(layers, segments, x):
    count = len(layers)
    for i in range(segments):
        part = iter(layers[i * count // segments : (i + 1) * count // segments])

        def segment(h, part=part):
            for layer in part:
                h = layer(h)
            return h

        x = Checkpoint.apply(segment, x)
    return x


# %% wrong[gradient-value]: one list of layers to come, which all segments look up
# says: No layer runs again in backward: what a segment takes its layers from was used up in forward.
# next: Each segment has its own layers, whenever its function runs.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def checkpoint_sequential(layers, segments, x):
    coming, count = list(layers), len(layers)
    for i in range(segments):
        size = (i + 1) * count // segments - i * count // segments

        def segment(h):
            for layer in coming[:size]:
                h = layer(h)
            return h

        x = Checkpoint.apply(segment, x)
        coming = coming[size:]
    return x


# %% wrong[value]: segments overlap: the layer at each boundary belongs to both
# says: Neighbouring segments share a layer: the one at each boundary runs twice.
# next: Each layer runs once: where one segment ends, the next begins.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def through(part):
    def run(h):
        for stage in part:
            h = stage(h)
        return h

    return run


def checkpoint_sequential(layers, segments, x):
    stages = [*layers]
    marks = [k * len(stages) // segments for k in range(segments + 1)]
    for begin, end in zip(marks, marks[1:]):
        x = Checkpoint.apply(through(stages[begin : end + 1]), x)
    return x


# %% wrong[value]: the function of a segment returns after its first layer
# says: One layer of each segment runs, the others never.
# next: A segment runs all of its layers, one after the other.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def first_of(part):
    def run(h):
        for stage in part:
            return stage(h)

    return run


def checkpoint_sequential(layers, segments, x):
    stages = [*layers]
    marks = [k * len(stages) // segments for k in range(segments + 1)]
    for begin, end in zip(marks, marks[1:]):
        x = Checkpoint.apply(first_of(stages[begin:end]), x)
    return x


# %% wrong[value]: every n-th layer in a segment
# says: A segment has every n-th layer; its layers should stand next to each other.
# next: A segment is all that stands between two boundaries.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def through(part):
    def run(h):
        for stage in part:
            h = stage(h)
        return h

    return run


def checkpoint_sequential(layers, segments, x):
    for k in range(segments):
        x = Checkpoint.apply(through([*layers][k::segments]), x)
    return x


# %% wrong[gradient-value]: x becomes a new leaf before the first segment
# says: x is cut off before the first segment: the graph of the result does not lead back to it.
# next: Pass on x itself, and each segment's output, as they are.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def through(part):
    def run(h):
        for stage in part:
            h = stage(h)
        return h

    return run


def checkpoint_sequential(layers, segments, x):
    stages = [*layers]
    h = x.detach().clone().requires_grad_(True)
    for k in range(segments):
        part = stages[k * len(stages) // segments : (k + 1) * len(stages) // segments]
        h = Checkpoint.apply(through(part), h)
    return h


# %% wrong[gradient-value]: each segment starts from a new leaf
# says: Each segment starts from a detached copy: the gradient ends there.
# next: Pass on each segment's output as it is: Checkpoint detaches by itself, in backward.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def through(part):
    def run(h):
        for stage in part:
            h = stage(h)
        return h

    return run


def checkpoint_sequential(layers, segments, x):
    stages = [*layers]
    for k in range(segments):
        part = stages[k * len(stages) // segments : (k + 1) * len(stages) // segments]
        x = Checkpoint.apply(through(part), x if k == 0 else x.detach().requires_grad_(True))
    return x


# %% wrong[gradient-value]: the function of a segment detaches what it gets
# says: A segment detaches what it gets, so the gradient does not go through it.
# next: Inside a segment everything stays connected to its argument.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def cut(part):
    def run(h):
        h = h.data
        for stage in part:
            h = stage(h)
        return h

    return run


def checkpoint_sequential(layers, segments, x):
    stages = [*layers]
    for k in range(segments):
        part = stages[k * len(stages) // segments : (k + 1) * len(stages) // segments]
        x = Checkpoint.apply(cut(part), x)
    return x


# %% wrong[gradient-value]: the result is detached
# says: The result has no graph: it is cut off at the end.
# next: The result is what the last Checkpoint gives, as it is.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def through(part):
    def run(h):
        for stage in part:
            h = stage(h)
        return h

    return run


def checkpoint_sequential(layers, segments, x):
    stages = [*layers]
    for k in range(segments):
        part = stages[k * len(stages) // segments : (k + 1) * len(stages) // segments]
        x = Checkpoint.apply(through(part), x)
    return x.detach()


# %% wrong[saves-too-much]: each layer of a segment has a Checkpoint of its own inside the segment's
# says: The layers of a segment run twice in backward, where once is enough: one Checkpoint runs inside another.
# next: Inside a segment the layers run as they are.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def nested(part):
    def run(h):
        for stage in part:
            h = Checkpoint.apply(stage, h)
        return h

    return run


def checkpoint_sequential(layers, segments, x):
    stages = [*layers]
    for k in range(segments):
        part = stages[k * len(stages) // segments : (k + 1) * len(stages) // segments]
        x = Checkpoint.apply(nested(part), x)
    return x


# %% wrong[saves-too-much]: rounded down, and the rest is one more segment
# says: The size of a segment is rounded down, and what is left over becomes one segment more.
# next: Layers need not divide evenly: which boundaries give exactly that many segments, none of them empty?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def through(part):
    def run(h):
        for stage in part:
            h = stage(h)
        return h

    return run


def checkpoint_sequential(layers, segments, x):
    stages = [*layers]
    size = len(stages) // segments
    while stages:
        x = Checkpoint.apply(through(stages[:size]), x)
        stages = stages[size:]
    return x
