# %% right: the form of the lesson
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


# %% right: setup_context form
class _Run(Function):
    @staticmethod
    def forward(state, fn, *args):
        return fn(*args)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.state, ctx.fn, *args = inputs
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        ctx.template = [None if isinstance(a, torch.Tensor) else (a,) for a in args]
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, g):
        if torch.is_grad_enabled():
            raise RuntimeError("no second derivative through a checkpoint")
        tensors, wanted = iter(ctx.saved_tensors), ctx.needs_input_grad[2:]
        args = [
            t[0] if t else next(tensors).detach().requires_grad_(w)
            for t, w in zip(ctx.template, wanted)
        ]
        now = torch.get_rng_state()
        try:
            torch.set_rng_state(ctx.state[0])
            with torch.enable_grad():
                y = ctx.fn(*args)
            y.backward(g)
        finally:
            torch.set_rng_state(now)
        return None, None, *(getattr(a, "grad", None) for a in args)


def Checkpoint(fn, *args):
    return _Run.apply((torch.get_rng_state(),), fn, *args)


# %% right: torch.autograd.grad for all leaves of the recomputed graph, parameters added by hand
def leaves(node, found):
    if node is not None and node not in found:
        found.add(node)
        for below, _ in node.next_functions:
            leaves(below, found)
    return found


class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn, ctx.state = fn, torch.get_rng_state()
        ctx.is_tensor = [torch.is_tensor(a) for a in args]
        ctx.rest = [a for a in args if not torch.is_tensor(a)]
        ctx.save_for_backward(*[a for a in args if torch.is_tensor(a)])
        with torch.no_grad():
            return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        rest, tensors = iter(ctx.rest), iter(ctx.saved_tensors)
        args = []
        for is_tensor, needs in zip(ctx.is_tensor, ctx.needs_input_grad[1:]):
            args.append(next(tensors).detach().requires_grad_(needs) if is_tensor else next(rest))
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.random.set_rng_state(ctx.state)
            y = ctx.fn(*args)
        wanted = [a for a, needs in zip(args, ctx.needs_input_grad[1:]) if needs]
        mine = {id(a) for a in wanted}
        parameters = [
            n.variable
            for n in leaves(y.grad_fn, set())
            if hasattr(n, "variable") and id(n.variable) not in mine
        ]
        found = torch.autograd.grad(y, wanted + parameters, grad_output, allow_unused=True)
        for parameter, gradient in zip(parameters, found[len(wanted) :]):
            parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
        gradients = iter(found)
        return None, *(next(gradients) if needs else None for needs in ctx.needs_input_grad[1:])


# %% right: a function around a Function that keeps the other arguments
class Recompute(Function):
    @staticmethod
    def forward(ctx, run, *tensors):
        ctx.save_for_backward(torch.get_rng_state(), *tensors)
        ctx.run = run
        return run(*tensors)

    @staticmethod
    def backward(ctx, upstream):
        if torch.is_grad_enabled():
            raise RuntimeError("differentiating a checkpoint twice is not supported")
        state, *tensors = ctx.saved_tensors
        copies = [t.detach() for t in tensors]
        for copy, needed in zip(copies, ctx.needs_input_grad[1:]):
            copy.requires_grad = needed
        with torch.random.fork_rng([]):
            torch.set_rng_state(state)
            with torch.enable_grad():
                result = ctx.run(*copies)
                torch.autograd.backward([result], [upstream])
        return (None,) + tuple(copy.grad for copy in copies)


def Checkpoint(fn, *args):
    places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
    others = [None if i in places else a for i, a in enumerate(args)]

    def run(*tensors):
        full = list(others)
        for i, t in zip(places, tensors):
            full[i] = t
        return fn(*full)

    return Recompute.apply(run, *(args[i] for i in places))


# %% right: second derivatives are right, with create_graph parameters get gradients too
def parameters(node, seen):
    if node is None or node in seen:
        return []
    seen.add(node)
    if hasattr(node, "variable"):
        return [node.variable]
    return [p for below, _ in node.next_functions for p in parameters(below, seen)]


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
        second = torch.is_grad_enabled()
        args, needed = list(ctx.others), {}
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor
            if ctx.needs_input_grad[place + 1]:
                args[place] = tensor.view_as(tensor) if second else tensor.detach().requires_grad_()
                needed[place] = args[place]
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        inside = {a.grad_fn for a in needed.values()}
        captured = {id(p): p for p in parameters(output.grad_fn, inside)}
        for a in needed.values():
            captured.pop(id(a), None)
        every = list(needed.values()) + list(captured.values())
        found = torch.autograd.grad(
            output, every, grad_output, create_graph=second, allow_unused=True
        )
        of_place = dict(zip(needed, found))
        for parameter, gradient in zip(captured.values(), found[len(needed) :]):
            parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
        return None, *(of_place.get(i) for i in range(len(args)))


# %% wrong[fails-special-point]: grad for all leaves, without allow_unused
def leaves(node, found):
    if node is not None and node not in found:
        found.add(node)
        for below, _ in node.next_functions:
            leaves(below, found)
    return found


class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn, ctx.state = fn, torch.get_rng_state()
        ctx.is_tensor = [torch.is_tensor(a) for a in args]
        ctx.rest = [a for a in args if not torch.is_tensor(a)]
        ctx.save_for_backward(*[a for a in args if torch.is_tensor(a)])
        with torch.no_grad():
            return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        rest, tensors = iter(ctx.rest), iter(ctx.saved_tensors)
        args = []
        for is_tensor, needs in zip(ctx.is_tensor, ctx.needs_input_grad[1:]):
            args.append(next(tensors).detach().requires_grad_(needs) if is_tensor else next(rest))
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.random.set_rng_state(ctx.state)
            y = ctx.fn(*args)
        wanted = [a for a, needs in zip(args, ctx.needs_input_grad[1:]) if needs]
        mine = {id(a) for a in wanted}
        parameters = [
            n.variable
            for n in leaves(y.grad_fn, set())
            if hasattr(n, "variable") and id(n.variable) not in mine
        ]
        found = torch.autograd.grad(y, wanted + parameters, grad_output, allow_unused=False)
        for parameter, gradient in zip(parameters, found[len(wanted) :]):
            parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
        gradients = iter(found)
        return None, *(next(gradients) if needs else None for needs in ctx.needs_input_grad[1:])


# %% wrong[parameters-without-gradient]: autograd.grad for the arguments only
# says: After backward a parameter that fn uses has no gradient: it would never train.
# next: Parameters are not arguments of fn, but the graph of the recomputation reaches them: what runs through it?
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
        wanted = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
        found = iter(torch.autograd.grad(output, wanted, grad_output))
        return None, *(next(found) if needs else None for needs in ctx.needs_input_grad[1:])


# %% wrong[parameters-without-gradient]: the inner backward is limited to the arguments
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
        wanted = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
        torch.autograd.backward(output, grad_output, inputs=wanted)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[random-state]: no random state at all
# says: The recomputation draws from the random state that backward finds: a dropout in fn drops different elements.
# next: The recomputation has to start from the random state that fn started from in forward.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad():
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[random-state]: the state is set and not put back
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
        with torch.enable_grad():
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[random-state]: fork_rng without the saved state
# says: The recomputation draws from the random state that backward finds: a dropout in fn drops different elements.
# next: The recomputation has to start from the random state that fn started from in forward.
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
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[random-state]: the state is taken after fn has run
# says: The recomputation draws the numbers that follow forward's: the random state is noted after fn has run.
# next: At which point of forward does the random state have to be noted?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        output = fn(*args)
        ctx.state = torch.get_rng_state()
        return output

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


# %% wrong[random-state]: a fixed seed in both passes
# says: forward draws different random numbers from fn alone.
# next: In forward, only read the random state: do not seed or set it.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        torch.manual_seed(0)
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[random-state]: forward runs in fork_rng, too
# says: forward puts the random state back as it was before fn: the next layer draws the same numbers again.
# next: forward leaves the generator as fn does. Only backward has something to put back.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        with torch.random.fork_rng(devices=[]):
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


# %% wrong[random-state]: the seed is kept, not the state
# says: The recomputation begins at the seed again, but forward began further on.
# next: torch.initial_seed() is where the generator once began: keep the state itself.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.initial_seed()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[no-recompute]: the graph of forward is kept
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        with torch.enable_grad():
            ctx.copies = [
                a.detach().requires_grad_(a.is_floating_point())
                if isinstance(a, torch.Tensor)
                else a
                for a in args
            ]
            ctx.output = fn(*ctx.copies)
        ctx.save_for_backward()
        return ctx.output.detach()

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        wanted = [c for c, n in zip(ctx.copies, ctx.needs_input_grad[1:]) if n]
        found = iter(torch.autograd.grad(ctx.output, wanted, grad_output, retain_graph=True))
        return None, *(next(found) if n else None for n in ctx.needs_input_grad[1:])


# %% wrong[no-recompute]: the graph is kept with the arguments themselves
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.leaves = [
            a.detach().clone().requires_grad_()
            if isinstance(a, torch.Tensor) and a.is_floating_point()
            else a
            for a in args
        ]
        with torch.enable_grad():
            output = fn(*ctx.leaves)
        ctx.pull = lambda g: torch.autograd.backward(output, g, retain_graph=True)
        return output.detach().clone()

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        for leaf in ctx.leaves:
            if isinstance(leaf, torch.Tensor):
                leaf.grad = None
        ctx.pull(grad_output)
        return None, *(a.grad if n else None for a, n in zip(ctx.leaves, ctx.needs_input_grad[1:]))


# %% wrong[no-recompute]: the graph of forward is kept, for one backward
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        with torch.enable_grad():
            ctx.args = [
                a.detach().requires_grad_(a.is_floating_point())
                if isinstance(a, torch.Tensor)
                else a
                for a in args
            ]
            ctx.output = fn(*ctx.args)
        return ctx.output.detach()

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        torch.autograd.backward(ctx.output, grad_output)
        return None, *(
            a.grad if isinstance(a, torch.Tensor) and n else None
            for a, n in zip(ctx.args, ctx.needs_input_grad[1:])
        )


# %% wrong[double-backward-value]: no refusal
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
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[double-backward-value]: once_differentiable alone
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
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[refuses]: refused with another error
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
            raise ValueError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[raises]: grad mode is off in the recomputation
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
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[mutates-saved]: the saved tensors are not detached
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
            args[place] = tensor
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[saves-on-ctx]: the arguments are kept on ctx
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.tensors = [args[i] for i in ctx.places]
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint has a first derivative only")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[raises]: all arguments go to save_for_backward
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.save_for_backward(*args)
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        args = [a.detach().requires_grad_() for a in ctx.saved_tensors]
        with torch.enable_grad():
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad for a in args)


# %% wrong[gradient-count]: no None for fn
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
        return tuple(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[ignores-needs-input-grad]: every floating tensor gets a gradient
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
            args[place] = tensor.detach().requires_grad_(tensor.is_floating_point())
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[raises]: whole numbers are made to require grad
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
            args[place] = tensor.detach().requires_grad_()
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[upstream-ignored]: the output is summed and differentiated
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
        torch.autograd.backward(output, torch.ones_like(output))
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[saves-too-much]: a clone of forward's output is kept
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        output = fn(*args)
        ctx.output = output.clone()
        return output

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


# %% wrong[too-many-passes]: fn runs twice in backward
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
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[gradient-missing]: the gradients of the arguments are not returned
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
        return (None,) * (len(args) + 1)


# %% wrong[uses-builtin|no-recompute]: torch's checkpoint inside
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        from torch.utils.checkpoint import checkpoint

        return checkpoint(fn, *args, use_reentrant=False)

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


# %% wrong[not-a-function]: torch's checkpoint in place of a Function
def Checkpoint(fn, *args):
    from torch.utils.checkpoint import checkpoint

    return checkpoint(fn, *args, use_reentrant=False)


# %% wrong[uses-builtin|raises]: torch's reentrant checkpoint
def Checkpoint(fn, *args):
    from torch.utils.checkpoint import checkpoint

    return checkpoint(fn, *args, use_reentrant=True)


# %% wrong[not-a-function]: fn is simply called
def Checkpoint(fn, *args):
    return fn(*args)


# %% wrong[shared-state]: the function and the tensors are kept on the class
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        Checkpoint.args = args
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
            args[place] = (
                Checkpoint.args[place].detach().requires_grad_(ctx.needs_input_grad[place + 1])
            )
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[gradient-value|gradient-scale]: a parameter's gradient is overwritten
# says: A weight that two calls use has the gradient of only one of them: .grad was overwritten.
# next: .grad adds up what every call gives: let torch do that.
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
        import builtins

        found = []
        queue = [output.grad_fn]
        while queue:
            node = queue.pop()
            if node is None:
                continue
            if hasattr(node, "variable"):
                node.variable.grad = None
            queue += [n for n, _ in node.next_functions]
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[forward-value]: fn is called without its arguments' values
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        ctx.state = torch.get_rng_state()
        return fn(
            *[
                torch.zeros_like(a) if isinstance(a, torch.Tensor) and a.is_floating_point() else a
                for a in args
            ]
        )

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


# %% wrong[mutates-saved]: not detached, only made to require grad
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
            args[place] = tensor.requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[mutates-saved]: not detached, .backward() of the output
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
            args[place] = tensor
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        output.backward(grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[raises]: needs_input_grad is read one place off: position 0 is fn
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
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[raises]: zip with needs_input_grad, which begins with fn
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
        for place, tensor, needed in zip(ctx.places, ctx.saved_tensors, ctx.needs_input_grad):
            args[place] = tensor.detach().requires_grad_(needed)
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[gradient-missing]: None is returned one place off
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
            args[place] = tensor.detach().requires_grad_(tensor.is_floating_point())
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        grads = [
            a.grad if isinstance(a, torch.Tensor) and ctx.needs_input_grad[i] else None
            for i, a in enumerate(args)
        ]
        return None, *grads


# %% wrong[raises]: detached, but does not require grad
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
            args[place] = tensor.detach()
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[parameters-without-gradient]: with create_graph the arguments get right second derivatives, parameters none
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
        args = list(ctx.others)
        if torch.is_grad_enabled():
            for place, tensor in zip(ctx.places, ctx.saved_tensors):
                args[place] = tensor
            with torch.random.fork_rng(devices=[]):
                torch.set_rng_state(ctx.state)
                output = ctx.fn(*args)
            need = [a for a, n in zip(args, ctx.needs_input_grad[1:]) if n]
            found = iter(
                torch.autograd.grad(output, need, grad_output, create_graph=True, allow_unused=True)
            )
            return None, *(next(found) if n else None for n in ctx.needs_input_grad[1:])
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[random-state]: the state is put back without finally
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
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            output = ctx.fn(*args)
        torch.set_rng_state(now)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[gradient-value]: with create_graph the arguments themselves, of which one is made of the other
# says: In a second differentiation the gradient of one argument runs on into another that it was made from.
# next: The simplest way is to refuse second derivatives.
def parameters(node, seen):
    if node is None or node in seen:
        return []
    seen.add(node)
    if hasattr(node, "variable"):
        return [node.variable]
    return [p for below, _ in node.next_functions for p in parameters(below, seen)]


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
        second = torch.is_grad_enabled()
        args, needed = list(ctx.others), {}
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor
            if ctx.needs_input_grad[place + 1]:
                args[place] = tensor if second else tensor.detach().requires_grad_()
                needed[place] = args[place]
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        inside = {a.grad_fn for a in needed.values()}
        captured = {id(p): p for p in parameters(output.grad_fn, inside)}
        for a in needed.values():
            captured.pop(id(a), None)
        every = list(needed.values()) + list(captured.values())
        found = torch.autograd.grad(
            output, every, grad_output, create_graph=second, allow_unused=True
        )
        of_place = dict(zip(needed, found))
        for parameter, gradient in zip(captured.values(), found[len(needed) :]):
            parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
        return None, *(of_place.get(i) for i in range(len(args)))


# %% wrong[gradient-value]: autograd.grad, the parameters' gradients overwrite what is there
# says: A weight that two calls use has the gradient of only one of them: .grad was overwritten.
# next: .grad adds up what every call gives: let torch do that.
def parameters(node, seen):
    if node is None or node in seen:
        return []
    seen.add(node)
    if hasattr(node, "variable"):
        return [node.variable]
    return [p for below, _ in node.next_functions for p in parameters(below, seen)]


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
        second = torch.is_grad_enabled()
        args, needed = list(ctx.others), {}
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor
            if ctx.needs_input_grad[place + 1]:
                args[place] = tensor.view_as(tensor) if second else tensor.detach().requires_grad_()
                needed[place] = args[place]
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        inside = {a.grad_fn for a in needed.values()}
        captured = {id(p): p for p in parameters(output.grad_fn, inside)}
        for a in needed.values():
            captured.pop(id(a), None)
        every = list(needed.values()) + list(captured.values())
        found = torch.autograd.grad(
            output, every, grad_output, create_graph=second, allow_unused=True
        )
        of_place = dict(zip(needed, found))
        for parameter, gradient in zip(captured.values(), found[len(needed) :]):
            parameter.grad = gradient
        return None, *(of_place.get(i) for i in range(len(args)))


# %% wrong[double-backward-value]: a refusal under once_differentiable, where grad mode is always off
from torch.autograd.function import once_differentiable


class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.tensors = [isinstance(a, torch.Tensor) for a in args]
        ctx.others = [None if tensor else a for a, tensor in zip(args, ctx.tensors)]
        ctx.save_for_backward(*(a for a, tensor in zip(args, ctx.tensors) if tensor))
        ctx.state = torch.get_rng_state()
        return fn(*args)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("a checkpoint can be differentiated once")
        kept, args = iter(ctx.saved_tensors), []
        for other, tensor, needs in zip(ctx.others, ctx.tensors, ctx.needs_input_grad[1:]):
            args.append(next(kept).detach().requires_grad_(needs) if tensor else other)
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(a.grad if isinstance(a, torch.Tensor) else None for a in args)


# %% wrong[gradient-value]: the tensors come first in the recomputation
# says: In the recomputation the tensors come first, and the other arguments lose their places.
# next: Each tensor belongs back in the place that it had among the arguments; the other values keep theirs.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.state = torch.get_rng_state()
        ctx.is_tensor = [isinstance(a, torch.Tensor) for a in args]
        ctx.plain = [a for a in args if not isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*(a for a in args if isinstance(a, torch.Tensor)))
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("only once")
        needs = [n for n, each in zip(ctx.needs_input_grad[1:], ctx.is_tensor) if each]
        leaves = [t.detach().requires_grad_(n) for t, n in zip(ctx.saved_tensors, needs)]
        args = [*leaves, *ctx.plain]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        grads = iter(leaf.grad for leaf in leaves)
        return None, *(next(grads) if each else None for each in ctx.is_tensor)


# %% wrong[gradient-value]: the other arguments are forgotten in the recomputation
# says: The arguments that are not tensors are left out in the recomputation.
# next: Each tensor belongs back in the place that it had among the arguments; the other values keep theirs.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.state = torch.get_rng_state()
        ctx.is_tensor = [isinstance(a, torch.Tensor) for a in args]
        ctx.plain = [a for a in args if not isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*(a for a in args if isinstance(a, torch.Tensor)))
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("only once")
        needs = [n for n, each in zip(ctx.needs_input_grad[1:], ctx.is_tensor) if each]
        leaves = [t.detach().requires_grad_(n) for t, n in zip(ctx.saved_tensors, needs)]
        args = leaves
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        grads = iter(leaf.grad for leaf in leaves)
        return None, *(next(grads) if each else None for each in ctx.is_tensor)


# %% wrong[gradient-value]: the tensors are put back from the end
# says: The tensors come back in the reverse order in the recomputation.
# next: Each tensor belongs back in the place that it had among the arguments.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.state = torch.get_rng_state()
        ctx.is_tensor = [isinstance(a, torch.Tensor) for a in args]
        ctx.plain = [a for a in args if not isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*(a for a in args if isinstance(a, torch.Tensor)))
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("only once")
        needs = [n for n, each in zip(ctx.needs_input_grad[1:], ctx.is_tensor) if each]
        leaves = [t.detach().requires_grad_(n) for t, n in zip(ctx.saved_tensors, needs)]
        plain = iter(ctx.plain)
        args = [leaves.pop() if each else next(plain) for each in ctx.is_tensor]
        leaves = [a for a in args if isinstance(a, torch.Tensor)]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        grads = iter(leaf.grad for leaf in leaves)
        return None, *(next(grads) if each else None for each in ctx.is_tensor)


# %% wrong[random-state]: the state is noted when fn has run, forward in two lines
# says: The recomputation draws the numbers that follow forward's: the random state is noted after fn has run.
# next: At which point of forward does the random state have to be noted?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.is_tensor = [isinstance(a, torch.Tensor) for a in args]
        ctx.plain = [a for a in args if not isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*(a for a in args if isinstance(a, torch.Tensor)))
        output = fn(*args)
        ctx.state = torch.get_rng_state()
        return output

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("only once")
        needs = [n for n, each in zip(ctx.needs_input_grad[1:], ctx.is_tensor) if each]
        leaves = [t.detach().requires_grad_(n) for t, n in zip(ctx.saved_tensors, needs)]
        plain, new = iter(ctx.plain), iter(leaves)
        args = [next(new) if each else next(plain) for each in ctx.is_tensor]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        grads = iter(leaf.grad for leaf in leaves)
        return None, *(next(grads) if each else None for each in ctx.is_tensor)


# %% wrong[random-state]: the state that forward noted is left behind
# says: backward leaves the random state of forward behind, not the one that it found.
# next: There are two states: which one should the caller find afterwards?
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.state = torch.get_rng_state()
        ctx.is_tensor = [isinstance(a, torch.Tensor) for a in args]
        ctx.plain = [a for a in args if not isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*(a for a in args if isinstance(a, torch.Tensor)))
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("only once")
        needs = [n for n, each in zip(ctx.needs_input_grad[1:], ctx.is_tensor) if each]
        leaves = [t.detach().requires_grad_(n) for t, n in zip(ctx.saved_tensors, needs)]
        plain, new = iter(ctx.plain), iter(leaves)
        args = [next(new) if each else next(plain) for each in ctx.is_tensor]
        with torch.enable_grad():
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
            torch.set_rng_state(ctx.state)
        torch.autograd.backward(output, grad_output)
        grads = iter(leaf.grad for leaf in leaves)
        return None, *(next(grads) if each else None for each in ctx.is_tensor)


# %% wrong[random-state]: forward puts the state back
# says: forward puts the random state back as it was before fn: the next layer draws the same numbers again.
# next: forward leaves the generator as fn does. Only backward has something to put back.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.state = torch.get_rng_state()
        ctx.is_tensor = [isinstance(a, torch.Tensor) for a in args]
        ctx.plain = [a for a in args if not isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*(a for a in args if isinstance(a, torch.Tensor)))
        output = fn(*args)
        torch.set_rng_state(ctx.state)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("only once")
        needs = [n for n, each in zip(ctx.needs_input_grad[1:], ctx.is_tensor) if each]
        leaves = [t.detach().requires_grad_(n) for t, n in zip(ctx.saved_tensors, needs)]
        plain, new = iter(ctx.plain), iter(leaves)
        args = [next(new) if each else next(plain) for each in ctx.is_tensor]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        grads = iter(leaf.grad for leaf in leaves)
        return None, *(next(grads) if each else None for each in ctx.is_tensor)


# %% wrong[random-state|too-many-passes]: fn runs twice in forward
# says: fn runs twice in forward: each run draws random numbers of its own.
# next: forward runs fn once, and its output is what that one run gives.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.state = torch.get_rng_state()
        ctx.is_tensor = [isinstance(a, torch.Tensor) for a in args]
        ctx.plain = [a for a in args if not isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*(a for a in args if isinstance(a, torch.Tensor)))
        fn(*args)
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("only once")
        needs = [n for n, each in zip(ctx.needs_input_grad[1:], ctx.is_tensor) if each]
        leaves = [t.detach().requires_grad_(n) for t, n in zip(ctx.saved_tensors, needs)]
        plain, new = iter(ctx.plain), iter(leaves)
        args = [next(new) if each else next(plain) for each in ctx.is_tensor]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        grads = iter(leaf.grad for leaf in leaves)
        return None, *(next(grads) if each else None for each in ctx.is_tensor)


# %% wrong[double-backward-value]: the refusal asks grad_output
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn = fn
        ctx.state = torch.get_rng_state()
        ctx.is_tensor = [isinstance(a, torch.Tensor) for a in args]
        ctx.plain = [a for a in args if not isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*(a for a in args if isinstance(a, torch.Tensor)))
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output.requires_grad:
            raise RuntimeError("only once")
        needs = [n for n, each in zip(ctx.needs_input_grad[1:], ctx.is_tensor) if each]
        leaves = [t.detach().requires_grad_(n) for t, n in zip(ctx.saved_tensors, needs)]
        plain, new = iter(ctx.plain), iter(leaves)
        args = [next(new) if each else next(plain) for each in ctx.is_tensor]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        grads = iter(leaf.grad for leaf in leaves)
        return None, *(next(grads) if each else None for each in ctx.is_tensor)


# %% wrong[parameters-without-gradient]: asks fn for its parameters, which only a module has
# says: Only the parameters of a module get gradients; a weight that a plain function captures never trains.
# next: fn may be any function: the graph of the recomputation reaches every leaf.
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn, ctx.state = fn, torch.get_rng_state()
        ctx.plain = [None if torch.is_tensor(a) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if torch.is_tensor(a)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("first order only")
        args = list(ctx.plain)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        leaves = [a for a in args if torch.is_tensor(a) and a.requires_grad]
        weights = [w for w in getattr(ctx.fn, "parameters", list)() if w.requires_grad]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            output = ctx.fn(*args)
        found = torch.autograd.grad(output, leaves + weights, grad_output, allow_unused=True)
        for weight, gradient in zip(weights, found[len(leaves) :]):
            if gradient is not None:
                weight.grad = gradient if weight.grad is None else weight.grad + gradient
        mine = iter(found)
        return None, *(next(mine) if torch.is_tensor(a) and a.requires_grad else None for a in args)


# %% wrong[gradient-value|gradient-shape]: grad_output is handed on as it is
# says: backward passes grad_output on as it is: fn is not differentiated.
# next: Run fn again under torch.enable_grad() and differentiate that run.
class Checkpoint(Function):
    """fn(*args), computed again in backward. Keeps the tensor arguments and one random state."""

    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn, ctx.random_state = fn, torch.get_rng_state()
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.args = [None if i in ctx.places else arg for i, arg in enumerate(args)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return fn(*args)

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint can be differentiated once only.")
        args = list(ctx.args)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random_state)
            output = ctx.fn(*args)
        needed = ctx.needs_input_grad[1:]
        return None, *(grad_output if need else None for need in needed)


# %% wrong[forward-value|forward-shape]: the output is the first argument itself
# says: The output is the first argument itself: fn is not called.
# next: forward returns what fn gives for all arguments.
class Checkpoint(Function):
    """fn(*args), computed again in backward. Keeps the tensor arguments and one random state."""

    @staticmethod
    def forward(ctx, fn, *args):
        ctx.fn, ctx.random_state = fn, torch.get_rng_state()
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.args = [None if i in ctx.places else arg for i, arg in enumerate(args)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return args[0].clone()

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint can be differentiated once only.")
        args = list(ctx.args)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random_state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(arg.grad if isinstance(arg, torch.Tensor) else None for arg in args)
