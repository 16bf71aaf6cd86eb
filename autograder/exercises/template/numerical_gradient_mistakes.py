# %% wrong[value]: a one-sided difference
# says: This is a one-sided difference: f(x + ε) against f(x).
# next: A central difference looks at both sides of x, and its error is far smaller.
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient[index] = (float(f(x + nudge)) - float(f(x))) / eps
    return gradient


# %% wrong[value]: the two points are 2 eps apart, divided by eps
# says: The result is twice what it should be: f(x + ε) and f(x − ε) are 2ε apart, not ε.
# next: How far apart are the two points?
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient[index] = (float(f(x + nudge)) - float(f(x - nudge))) / eps
    return gradient


# %% wrong[value]: no brackets around 2 * eps
# says: The difference is divided by 2 and then multiplied by eps.
# next: The difference is divided by the whole of 2 · eps, not by 2 alone.
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient[index] = (float(f(x + nudge)) - float(f(x - nudge))) / 2 * eps
    return gradient


# %% wrong[value]: minus in place of plus
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient[index] = (float(f(x - nudge)) - float(f(x + nudge))) / (2 * eps)
    return gradient


# %% wrong[value]: all elements moved at once
# says: All elements are moved at once, so every entry is the sum of all derivatives.
# next: A partial derivative moves one element, and all others stay where they are.
def numerical_gradient(f, x, eps=1e-6):
    slope = (float(f(x + eps)) - float(f(x - eps))) / (2 * eps)
    return torch.full_like(x, slope)


# %% wrong[value]: one number in place of a tensor
def numerical_gradient(f, x, eps=1e-6):
    return (f(x + eps) - f(x - eps)) / (2 * eps)


# %% wrong[value]: eps is ignored
# says: The result is more exact than a step of eps allows: eps is ignored.
# next: The contract's step is eps: in the nudge and in the divisor.
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    step = 1e-6
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = step
        gradient[index] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * step)
    return gradient


# %% wrong[value]: the nudge is not taken away before the next element
# says: The elements moved earlier are still moved: the nudge is never taken back.
# next: For each element all the others are where x has them.
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    nudge = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge[index] = eps
        gradient[index] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)
    return gradient


# %% wrong[value]: a flat result
def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros(x.numel(), dtype=x.dtype)
    for i in range(x.numel()):
        nudge = torch.zeros(x.numel(), dtype=x.dtype)
        nudge[i] = eps
        nudge = nudge.reshape(x.shape)
        gradient[i] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)
    return gradient


# %% wrong[value|raises]: moves whole rows
def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for i in range(len(x)):
        nudge = torch.zeros_like(x)
        nudge[i] = eps
        gradient[i] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)
    return gradient


# %% wrong[value]: the result in float32
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros(x.shape)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient[index] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)
    return gradient


# %% wrong[output-count|value]: a list
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = []
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient.append((float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps))
    return gradient


# %% wrong[value]: forgets to return
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient[index] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)


# %% wrong[value]: returns after the first element
# says: Only the first element has its derivative; all others are 0.
# next: Every element of x has a derivative: when is the last of them computed?
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient[index] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)
        return gradient


# %% wrong[value]: rounds the function values
# says: The values of f are rounded to 4 decimals before they are subtracted.
# next: The difference of two close numbers lies beyond those decimals: do not round.
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        up, down = round(float(f(x + nudge)), 4), round(float(f(x - nudge)), 4)
        gradient[index] = (up - down) / (2 * eps)
    return gradient


# %% wrong[value]: works in float32, where the witness is drunk
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    single = x.float()
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(single)
        nudge[index] = eps
        gradient[index] = (float(f(single + nudge)) - float(f(single - nudge))) / (2 * eps)
    return gradient


# %% wrong[value|mutates-input]: an alias in place of a copy, so that both points are the same
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        up, down = x, x
        up[index] += eps
        down[index] -= eps
        gradient[index] = (float(f(up)) - float(f(down))) / (2 * eps)
    return gradient


# %% wrong[mutates-input|value]: moves x and does not put it back
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        x[index] += eps
        up = float(f(x))
        x[index] -= 2 * eps
        down = float(f(x))
        gradient[index] = (up - down) / (2 * eps)
    return gradient


# %% wrong[mutates-input]: puts x back by adding, which leaves rounding errors
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        x[index] += eps
        up = float(f(x))
        x[index] -= 2 * eps
        down = float(f(x))
        x[index] += eps
        gradient[index] = (up - down) / (2 * eps)
    return gradient


# %% wrong[fails-noncontiguous]: flattens with reshape, which is a copy of a transposed matrix
def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    flat, slots = x.reshape(-1), gradient.reshape(-1)
    for i in range(x.numel()):
        keep = flat[i].item()
        flat[i] = keep + eps
        up = float(f(x))
        flat[i] = keep - eps
        down = float(f(x))
        flat[i] = keep
        slots[i] = (up - down) / (2 * eps)
    return slots.reshape(x.shape)


# %% wrong[raises]: calls item on what may be a float
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient[index] = (f(x + nudge).item() - f(x - nudge).item()) / (2 * eps)
    return gradient


# %% wrong[raises]: lets autograd do it
def numerical_gradient(f, x, eps=1e-6):
    x = x.detach().requires_grad_()
    f(x).backward()
    return x.grad


# %% wrong[raises]: indexes a matrix with flat positions
def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for i in range(x.numel()):
        nudge = torch.zeros_like(x)
        nudge[i] = eps
        gradient[i] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)
    return gradient


# %% wrong[fails-noncontiguous]: view on a transposed matrix
def numerical_gradient(f, x, eps=1e-6):
    flat = x.clone().view(-1)
    gradient = torch.zeros_like(flat)
    for i in range(len(flat)):
        nudge = torch.zeros_like(flat)
        nudge[i] = eps
        up, down = f((flat + nudge).view(x.shape)), f((flat - nudge).view(x.shape))
        gradient[i] = (float(up) - float(down)) / (2 * eps)
    return gradient.view(x.shape)


# %% wrong[raises]: has no parameter eps
import numpy as np


def numerical_gradient(f, x):
    eps = 1e-6
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient[index] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)
    return gradient


# %% wrong[raises]: the stub, untouched
def numerical_gradient(f, x, eps=1e-6):
    """Gradient of the scalar-valued f at x by central differences; has the shape of x."""
    # YOUR CODE HERE
    raise NotImplementedError()


# %% wrong[value]: as_tensor makes a Python float float32
def numerical_gradient(f, x, eps=1e-6):
    entries = []
    for i in range(x.numel()):
        nudge = torch.zeros(x.numel(), dtype=x.dtype)
        nudge[i] = eps
        nudge = nudge.reshape(x.shape)
        entries.append((torch.as_tensor(f(x + nudge)) - torch.as_tensor(f(x - nudge))) / (2 * eps))
    return torch.stack(entries).reshape(x.shape).double()


# %% wrong[fails-empty]: stacks the entries, of which there may be none
def numerical_gradient(f, x, eps=1e-6):
    entries = []
    for i in range(x.numel()):
        nudge = torch.zeros(x.numel(), dtype=x.dtype)
        nudge[i] = eps
        nudge = nudge.reshape(x.shape)
        entries.append(torch.tensor(float(f(x + nudge)) - float(f(x - nudge)), dtype=x.dtype) / (2 * eps))
    return torch.stack(entries).reshape(x.shape)


# %% wrong[value]: a loop for each number of dimensions, from one to three
def numerical_gradient(f, x, eps=1e-6):
    def slope(index):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        return (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)

    gradient = torch.zeros_like(x)
    if x.dim() == 1:
        for i in range(x.shape[0]):
            gradient[i] = slope(i)
    elif x.dim() == 2:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                gradient[i, j] = slope((i, j))
    elif x.dim() == 3:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                for k in range(x.shape[2]):
                    gradient[i, j, k] = slope((i, j, k))
    return gradient


# %% wrong[raises]: from_numpy, which takes no NumPy number
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    values = x.detach().numpy()
    gradient = np.zeros(values.shape)
    for index in np.ndindex(*values.shape):
        nudge = np.zeros(values.shape)
        nudge[index] = eps
        up, down = f(torch.from_numpy(values + nudge)), f(torch.from_numpy(values - nudge))
        gradient[index] = (float(up) - float(down)) / (2 * eps)
        print(index, gradient[index])
    return torch.from_numpy(gradient)


# %% wrong[raises]: range of the tensor itself
def numerical_gradient(f, x, eps=1e-6):
    g = torch.zeros_like(x)
    for i in range(x):
        g[i] = 0
    return g


# %% wrong[raises|value]: goes through the rows
def numerical_gradient(f, x, eps=1e-6):
    g = torch.zeros_like(x)
    for i, _ in enumerate(x):
        d = torch.zeros_like(x)
        d[i] = eps
        g[i] = (f(x + d) - f(x - d)) / (2 * eps)
    return g


# %% right: the rows of an identity matrix as nudges
def numerical_gradient(f, x, eps=1e-6):
    directions = eps * torch.eye(x.numel(), dtype=x.dtype).reshape(x.numel(), *x.shape)
    gradient = x.new_zeros(x.numel())
    for i, nudge in enumerate(directions):
        gradient[i] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)
    return gradient.reshape(x.shape)


# %% right: two copies for each element
import itertools


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.empty_like(x)
    for index in itertools.product(*(range(n) for n in x.shape)):
        up, down = x.clone(), x.clone()
        up[index] += eps
        down[index] -= eps
        gradient[index] = (f(up) - f(down)) / (2 * eps)
    return gradient


# %% right: in place on one copy, put back each time
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    work = x.detach().clone()
    gradient = torch.zeros_like(work)
    with torch.no_grad():
        for index in np.ndindex(*x.shape):
            keep = work[index].item()
            work[index] = keep + eps
            up = float(f(work))
            work[index] = keep - eps
            down = float(f(work))
            work[index] = keep
            gradient[index] = (up - down) / (2 * eps)
    return gradient


# %% right: in place on x itself, put back exactly
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        keep = x[index].item()
        x[index] = keep + eps
        up = float(f(x))
        x[index] = keep - eps
        down = float(f(x))
        x[index] = keep
        gradient[index] = (up - down) / (2 * eps)
    return gradient


# %% right: with NumPy, and prints
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    values = x.detach().numpy()
    gradient = np.zeros(values.shape)
    for index in np.ndindex(*values.shape):
        nudge = np.zeros(values.shape)
        nudge[index] = eps
        up, down = f(torch.as_tensor(values + nudge)), f(torch.as_tensor(values - nudge))
        gradient[index] = (float(up) - float(down)) / (2 * eps)
        print(index, gradient[index])
    return torch.from_numpy(gradient)


# %% right: flat, and a list
def numerical_gradient(f, x, eps=1e-6):
    def slope(i):
        nudge = torch.zeros(x.numel(), dtype=torch.float64)
        nudge[i] = eps
        nudge = nudge.reshape(x.shape)
        return (float(f(x + nudge)) - float(f(x - nudge))) / (eps + eps)

    slopes = [slope(i) for i in range(x.numel())]
    return torch.tensor(slopes, dtype=torch.float64).reshape(x.shape)


# %% wrong[value]: what is put back is a view, which has moved too
# says: This is half of f(x + ε) − f(x), over ε: the second point was x itself.
# next: Is what you put aside a view of x? Then it moves when x does.
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    x = x.detach().clone()
    gradient = torch.zeros_like(x)
    for i in np.ndindex(*x.shape):
        old = x[i]
        x[i] = old + eps
        up = f(x)
        x[i] = old - eps
        down = f(x)
        x[i] = old
        gradient[i] = (up - down) / (2 * eps)
    return gradient


# %% wrong[mutates-input|value]: moves x itself and puts a view back
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    gradient = torch.zeros_like(x)
    for i in np.ndindex(*x.shape):
        keep = x[i]
        x[i] += eps
        up = float(f(x))
        x[i] -= 2 * eps
        down = float(f(x))
        x[i] = keep
        gradient[i] = (up - down) / (2 * eps)
    return gradient


# %% wrong[value]: the step grows with x
# says: The step is eps · (1 + |x|): it depends on x.
# next: The contract's step is eps for every element, in the nudge and in the divisor.
def numerical_gradient(f, x, eps=1e-6):
    flat = [float(number) for number in x.reshape(-1)]
    slopes = []
    for place, number in enumerate(flat):
        step = eps * (1 + abs(number))
        nudge = torch.zeros(len(flat), dtype=x.dtype)
        nudge[place] = step
        nudge = nudge.reshape(x.shape)
        slopes.append((float(f(x + nudge)) - float(f(x - nudge))) / (2 * step))
    return torch.tensor(slopes, dtype=x.dtype).reshape(x.shape)


# %% wrong[value]: a step on each side, divided by one step
# says: The result is twice what it should be: f(x + ε) and f(x − ε) are 2ε apart, not ε.
# next: How far apart are the two points?
def numerical_gradient(f, x, eps=1e-6):
    slopes = []
    flat = x.flatten()
    for k in range(flat.numel()):
        step = torch.zeros_like(flat)
        step[k] = eps
        ahead = float(f((flat + step).view(x.shape)))
        behind = float(f((flat - step).view(x.shape)))
        slopes.append((ahead - behind) / eps)
    return torch.tensor(slopes, dtype=x.dtype).view(x.shape)


# %% wrong[value]: collects the quotients in a tensor of the default dtype
def numerical_gradient(f, x, eps=1e-6):
    found = torch.empty(x.numel())
    point = x.detach()
    for place in range(x.numel()):
        move = torch.zeros_like(point).flatten()
        move[place] = eps
        move = move.view(x.shape)
        found[place] = (float(f(point + move)) - float(f(point - move))) / (2 * eps)
    return found.view(x.shape)


# %% wrong[value|mutates-input]: two detached tensors, which are one piece of memory
def numerical_gradient(f, x, eps=1e-6):
    right = x.detach()
    left = x.detach()
    found = []
    for i in range(x.numel()):
        right.view(-1)[i] += eps
        left.view(-1)[i] -= eps
        found.append((float(f(right)) - float(f(left))) / (2 * eps))
    return x.new_tensor(found).view(x.shape)


# %% wrong[value]: one clone under two names
def numerical_gradient(f, x, eps=1e-6):
    result = torch.zeros_like(x.detach())
    for i in range(x.numel()):
        above = below = x.detach().clone()
        above.view(-1)[i] += eps
        below.view(-1)[i] -= eps
        result.view(-1)[i] = (float(f(above)) - float(f(below))) / (2 * eps)
    return result


# %% wrong[value]: f is given the flattened x
# says: f is given x flattened; it takes a tensor of x's shape.
# next: Changing elements in a flat copy is fine: give f that copy in the shape of x.
def numerical_gradient(f, x, eps=1e-6):
    flat = x.detach().reshape(-1)
    slopes = []
    for i in range(flat.numel()):
        step = torch.zeros_like(flat)
        step[i] = eps
        slopes.append((float(f(flat + step)) - float(f(flat - step))) / (2 * eps))
    return torch.tensor(slopes, dtype=x.dtype, device=x.device).reshape(x.shape)


# %% wrong[fails-noncontiguous]: writes through a view of a clone, which keeps the order in memory
def numerical_gradient(f, x, eps=1e-6):
    moved = x.detach().clone()
    numbers = moved.view(-1)
    slopes = torch.zeros(numbers.numel(), dtype=torch.float64)
    for i, number in enumerate(numbers.tolist()):
        values = []
        for sign in (1, -1):
            numbers[i] = number + sign * eps
            values.append(float(f(moved)))
        numbers[i] = number
        slopes[i] = (values[0] - values[1]) / (2 * eps)
    return slopes.reshape(x.shape)


# %% wrong[value]: one probe is moved up and down, and what f gave is read afterwards
import numpy as np


def numerical_gradient(f, x, eps=1e-6):
    """Gradient of the scalar-valued f at x by central differences; has the shape of x."""
    probe = x.detach().clone()
    grad = torch.zeros_like(probe)
    for index in np.ndindex(*x.shape):
        middle = probe[index].item()
        probe[index] = middle + eps
        up = f(probe)
        probe[index] = middle - eps
        down = f(probe)
        probe[index] = middle
        grad[index] = (up - down) / (2 * eps)
    return grad
