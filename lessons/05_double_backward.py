# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gradients of gradients
#
# **Lesson 05 · about 90 minutes** · 45 minutes of reading and running, 45 minutes for six exercises · before this one: 02_sigmoid and 03_linear
#
# Some losses contain a gradient: a penalty on its length, a step along the curvature, an equation of physics. To train with them torch has to differentiate **your backward**.
#
# After this lesson you can
#
# * say what `create_graph=True` changes, and what torch can and cannot differentiate in your backward,
# * find and mend a backward whose first derivative is right and whose second is silently wrong,
# * refuse a second derivative so that nobody gets a wrong number,
# * multiply with a Hessian that is never formed,
# * train a network with a gradient penalty through your own activation.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import os

import torch
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.autograd.function import once_differentiable

from autograder import check, hint, progress
from widgets import figures, outcome, predict, quiz, suspects, verdict, xray

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # larger finales: 2, 5, …
SHORT = bool(os.environ.get("NBGRADER_EXECUTION"))  # shorter ones while grading

# %% [markdown]
# ## Why it matters
#
# A *critic* is a network that gives each sample a score. In one popular generative model its loss is the scores plus a penalty
#
# $$\bigl(\lVert \nabla_x\, c(x) \rVert - 1\bigr)^2$$
#
# that keeps its slope near 1. Training needs the gradient of this with respect to the critic's *parameters*: a gradient of a gradient.

# %% [markdown]
# The same happens in products with the *Hessian*, the matrix of second derivatives (Newton's method, influence functions), in meta-learning, where the inner training step is differentiated, and in networks that solve differential equations.
#
# With torch's own operations it just works. With *your* Function it works if its backward was written with this in mind. If not, there is often **no error**, only a wrong number.

# %% [markdown]
# ## The mathematics
#
# For an elementwise $y = f(x)$ backward computes
#
# $$b(g, x) = g\, f'(x).$$
#
# This is again a function, of **two** variables. The second derivative differentiates it by both:
#
# $$\frac{\partial b}{\partial x} = g\, f''(x), \qquad \frac{\partial b}{\partial g} = f'(x).$$
#
# You never write $f''$. Torch differentiates the lines of your backward, if it can see how they depend on $x$ and on $g$. It can where they use a saved input, the saved output, or `grad_output`.

# %% [markdown]
# ## Exercise 1 · Cube
#
# $y = x^3$ is the smallest function whose first **three** derivatives are all interesting: $3x^2$, $6x$, $6$.
#
# **Contract.** `Cube.apply(x)` promises
#
# * **values** of $x^3$, element by element
# * **gradients** right
# * **second derivatives** right, and third ones too
# * **special points**: right at 0 and in float32 at ±1000
# * **memory**: **one** tensor as large as `x`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function; backward is written by hand, without autograd in it
#
# Which tensor do you save, so that torch can see how backward depends on $x$?


# %% nbgrader={"grade": false, "grade_id": "cube", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Cube(Function):
    """x³, element by element; x of any shape. Keeps one tensor of x's size for backward."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return x**3
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "cube-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Cube)

# %% nbgrader={"grade": true, "grade_id": "cube-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Cube are checked here with other numbers.
# You can run it now: check(Cube, hidden=True)
### BEGIN HIDDEN TESTS
check(Cube, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Cube**
#
# *Derivation.* $b(g, x) = 3 g x^2$. Torch differentiates this line: $6 g x$, and then $6 g$.
#
# *What is saved.* $x$, an input. It comes back with its history, so the line above is a function of $x$ to torch.
#
# *Common mistakes.* Saving $3x^2$: it would be one tensor too, and the first derivative is right, but to the second one it is a constant. Returning $6x$ at once: that is not what backward is asked for.
# Writing `x.detach()` or `x.data` in backward: the version that "saves memory" saves nothing and loses the second derivative.

# %% [markdown]
# ## A worked example, traced
#
# Backward normally runs with recording switched off. `create_graph=True` switches it **on**: backward becomes part of the graph. Watch.


# %% nbgrader={"grade": false, "grade_id": "demo-traced-reciprocal", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Reciprocal(Function):
    """1/x, element by element; keeps its output and tells what happens."""

    @staticmethod
    def forward(ctx, x):
        y = 1 / x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        grad_x = -grad_output * y * y
        print(
            f"  backward: recording {torch.is_grad_enabled()}, returns {grad_x.item():g},", end=""
        )
        print(f" made by {grad_x.grad_fn and grad_x.grad_fn.name()}")
        return grad_x


# %% nbgrader={"grade": false, "grade_id": "demo-traced-reciprocal-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
print("first derivative, the ordinary way")
torch.autograd.grad(Reciprocal.apply(x), x)
print("first derivative, with create_graph=True")
(first,) = torch.autograd.grad(Reciprocal.apply(x), x, create_graph=True)
print("second derivative, from that one")
(second,) = torch.autograd.grad(first, x)
print("1/x has the slope −1/x² =", first.item(), "and the second derivative 2/x³ =", second.item())

# %% [markdown]
# Read the last part closely. To differentiate $-g\,y^2$, torch asked how $y$ depends on $x$. It knew: $y$ is the output of this very Function. So it called your backward **again**, with another upstream gradient.
#
# Your backward is the only rule there is, for every order.

# %% [markdown]
# From here on `torch.autograd.grad` does most of the work. It returns gradients instead of adding them to `.grad`, so derivatives of different orders do not get mixed up.
#
# `.backward(create_graph=True)` works as well, but it leaves a gradient with a graph in `.grad`: clear it, or it keeps the whole graph alive. Torch warns about that.


# %% nbgrader={"grade": false, "grade_id": "demo-orders-of-a-sine", "locked": true, "schema_version": 3, "solution": false, "task": false}
def derivatives(function, x, count):
    """[f(x), f′(x), …]: the function and its first `count` derivatives at the elements of x."""
    found = [function(x)]
    for _ in range(count):
        found += torch.autograd.grad(found[-1].sum(), x, create_graph=True)
    return found


x = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
for order, values in enumerate(derivatives(torch.sin, x, 4)):
    print(f"derivative {order} of sin at 0 and 1:", [round(v, 4) + 0.0 for v in values.tolist()])

# %% [markdown]
# ### Your Cube, three times

# %% nbgrader={"grade": false, "grade_id": "demo-cube-derivatives", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-1.5, 1.5, 200, dtype=torch.float64, requires_grad=True)
figures.orders(x, derivatives(Cube.apply, x, 3))

# %% [markdown]
# ### See it run
#
# The **history** of a tensor is the graph that says what it was made of. `order=2` goes backward through your backward: in the step *Recorded* look at what comes back with a history, then watch the second backward take that way to `x`.

# %% nbgrader={"grade": false, "grade_id": "see-cube-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(Cube, order=2)

# %% [markdown]
# ## What torch remembers
#
# Lesson 02 met this already: forward runs with recording off, so
#
# * a saved **input** comes back with its history,
# * a saved **output** comes back as the output of your Function,
# * anything else is an **intermediate**, and comes back as a bare number.
#
# Three ways to save for $x^3$, all with the right first derivative:


# %% nbgrader={"grade": false, "grade_id": "demo-three-ways-to-save", "locked": true, "schema_version": 3, "solution": false, "task": false}
def third_power(keep):
    """A Function for x³ that saves keep(x) and the matching slope."""
    slopes = {
        "x": (lambda x: (x,), lambda x: x * x + 2 * x * x),
        "x and x²": (lambda x: (x, x * x), lambda x, square: square + 2 * x * x),
        "3x²": (lambda x: (3 * x * x,), lambda slope: slope),
    }
    saved, slope = slopes[keep]

    class ThirdPower(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(*saved(x))
            return x * x * x

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * slope(*ctx.saved_tensors)

    return ThirdPower.apply


# %% [markdown]
# At $x = 2$ the second derivative of $x^3$ is 12. What does torch find where $x$ and $x^2$ are saved?

# %% nbgrader={"grade": false, "grade_id": "quiz-saved-square", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("saved-square")


# %% nbgrader={"grade": false, "grade_id": "demo-three-ways-measured", "locked": true, "schema_version": 3, "solution": false, "task": false}
def second_derivative(loss, at):
    """The second derivative of a function of one number, or the first words of torch's error."""
    x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(loss(x), x, create_graph=True)
    try:
        return torch.autograd.grad(first, x)[0].item()
    except RuntimeError as error:
        return "RuntimeError: " + str(error)[:43] + " …"


print("second derivative at x = 2    of y + x³ (true 24)   of y = x³ alone (true 12)")
for keep in ("x", "x and x²", "3x²"):
    cube = third_power(keep)
    in_a_sum = second_derivative(lambda x, y=cube: y(x) + x**3, 2.0)
    print(f"saves {keep:22}  {in_a_sum:<21} {second_derivative(cube, 2.0)}")
outcome("saved-square")

# %% [markdown]
# The second row is the treacherous one: a part of the right answer and no error, whatever the loss; for $y$ alone it is two thirds. The part of the slope that came from $x$ is seen, the part from the saved $x^2$ is not.
#
# The third row at least raises when it stands alone, because *nothing* in its backward depends on $x$. In a sum with any other function of $x$ it is silent too: 12, where 24 is right.

# %% [markdown]
# `gradcheck` says nothing about this, since it asks for the first derivative only. Its sibling does:

# %% nbgrader={"grade": false, "grade_id": "demo-gradgradcheck-sees", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([0.5, -1.2, 2.0], dtype=torch.float64, requires_grad=True)
for keep in ("x", "x and x²", "3x²"):
    f = third_power(keep)
    first = gradcheck(f, x)
    second = gradgradcheck(f, x, raise_exception=False)
    print(f"saves {keep:9}  gradcheck {first}   gradgradcheck {second}")

# %% [markdown]
# `gradgradcheck` is `gradcheck` applied to your backward, as a function of $x$ and $g$. Run it for every Function, always.
#
# When it fails it raises `GradcheckError`, a kind of `RuntimeError`. (Sometimes a plain `RuntimeError`, when the second derivative itself stops.)

# %% [markdown]
# ## Exercise 2 · MyExp
#
# $e^x$ is its own derivative, of every order. So the output is all that backward needs, and forward has made it anyway.
#
# **Contract.** `MyExp.apply(x)` promises
#
# * **values** of $e^x$
# * **gradients** right
# * **second derivatives** right, and those of **any** order
# * **special points**: right at 0, and for very small and very large inputs in float32, where a tiny number keeps its digits
# * **memory**: one tensor as large as `x`. Input or output, either is fine; the output is the better one to keep, for the next layer usually holds it already
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# If you keep the output, save exactly the tensor that you return, as in `Reciprocal`.


# %% nbgrader={"grade": false, "grade_id": "my-exp", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MyExp(Function):
    """eˣ, element by element; x of any shape. Keeps one tensor."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (y,) = ctx.saved_tensors
        return grad_output * y
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "my-exp-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(MyExp)

# %% nbgrader={"grade": true, "grade_id": "my-exp-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of MyExp are checked here with other numbers.
# You can run it now: check(MyExp, hidden=True)
### BEGIN HIDDEN TESTS
check(MyExp, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · MyExp**
#
# *Derivation.* $b(g, y) = g\,y$ with $y = e^x$. Its derivative by $y$ is $g$, and torch multiplies with the slope of $y$ by calling this backward again: $g\,y$ for every order.
#
# *What is saved.* The output, the very tensor that is returned. The input with `torch.exp` in backward is right as well; it costs an exponential more a pass.
#
# *Common mistakes.* Saving `torch.exp(x)` and returning a *second* `torch.exp(x)`: equal numbers, but the saved one is an intermediate. The same with `y.clone()` on either side.
# `ctx.y = y` works in every order, but makes a reference cycle that keeps memory until the garbage collector runs.

# %% [markdown]
# ### See it run
#
# In the second backward, look at who is **called again**, and with which upstream gradient.

# %% nbgrader={"grade": false, "grade_id": "see-my-exp-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(MyExp, order=2)

# %% [markdown]
# ### The same tensor, not the same numbers
#
# What counts is not the value but the object. Here are six ways to write the reciprocal. In all of them backward sees the same numbers.


# %% nbgrader={"grade": false, "grade_id": "demo-ways-to-lose-it", "locked": true, "schema_version": 3, "solution": false, "task": false}
def reciprocal(save, read):
    """A Function for 1/x; save(y) gives (what is saved, what is returned), read(saved) the y."""

    class AnyReciprocal(Function):
        @staticmethod
        def forward(ctx, x):
            saved, result = save(1 / x)
            ctx.save_for_backward(saved)
            return result

        @staticmethod
        def backward(ctx, grad_output):
            y = read(ctx.saved_tensors[0])
            return -grad_output * y * y

    return AnyReciprocal.apply


# %% nbgrader={"grade": false, "grade_id": "demo-ways-to-lose-it-measured", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([0.5, -1.2, 2.0], dtype=torch.float64, requires_grad=True)
ways = {
    "save y, return y": (lambda y: (y, y), lambda y: y),
    "save y, return y.clone()": (lambda y: (y, y.clone()), lambda y: y),
    "save y.clone(), return y": (lambda y: (y.clone(), y), lambda y: y),
    "save y.detach(), return y": (lambda y: (y.detach(), y), lambda y: y),
    "y.detach() in backward": (lambda y: (y, y), lambda y: y.detach()),
    "y.data in backward": (lambda y: (y, y), lambda y: y.data),
}
for words, (save, read) in ways.items():
    f = reciprocal(save, read)
    print(f"{words:26} gradcheck {gradcheck(f, x)}", end="   ")
    print("gradgradcheck", gradgradcheck(f, x, raise_exception=False))

# %% [markdown]
# One works. `detach` and `.data`, often recommended "to be safe", are precisely what breaks the second derivative. (`.data` has a second fault: a later edit in place goes unnoticed.)
#
# Writing in place to a tensor that you have just made in backward is harmless, by the way, as long as nothing else needs its old value.

# %% [markdown]
# ## Exercise 3 · SwishTwice, a repair
#
# This time you are given a Function that works. It trains networks, `gradcheck` passes, and someone is proud of having computed the sigmoid only once.
#
# **Contract.** `SwishTwice.apply(x, beta)` promises
#
# * **values** of $x\,\sigma(\beta x)$ as in lesson 02: `beta` a tensor that broadcasts to `x`
# * **gradients** of both, in exactly their inputs' shapes, each computed only where it is needed (`ctx.needs_input_grad`), and `None` elsewhere
# * **second derivatives**, all of them: by $x$, by β, and mixed
# * **special points**: β = 0 and x = 0; finite and right in float32 at ±1000
# * **memory**: `x` and `beta`, nothing more
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# Every formula in the cell is right. Run the check first and read what it says; then repair. You need to change only two places.


# %% nbgrader={"grade": false, "grade_id": "swish-twice", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class SwishTwice(Function):
    """x·σ(beta·x); beta a tensor that broadcasts to x's shape."""

    @staticmethod
    def forward(ctx, x, beta):
        s = torch.sigmoid(beta * x)
        ### BEGIN SOLUTION
        ctx.save_for_backward(x, beta)
        ### END SOLUTION
        ### BEGIN START
        # ctx.save_for_backward(x, beta, s)
        ### END START
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        ### END SOLUTION
        ### BEGIN START
        # x, beta, s = ctx.saved_tensors
        ### END START
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


# %% nbgrader={"grade": true, "grade_id": "swish-twice-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(SwishTwice)

# %% nbgrader={"grade": true, "grade_id": "swish-twice-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of SwishTwice are checked here with other numbers.
# You can run it now: check(SwishTwice, hidden=True)
### BEGIN HIDDEN TESTS
check(SwishTwice, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · SwishTwice**
#
# *What was wrong.* $s = \sigma(\beta x)$ is neither input nor output. Saved, it is a constant to the second derivative:
# of $s + \beta x\,s(1-s)$ torch then differentiates the visible $x$ only and finds $\beta s(1-s)$, where the truth is $\beta s(1-s)\,\bigl(2 + \beta x(1-2s)\bigr)$.
#
# *The repair.* Save the inputs; compute $s$ again at the top of backward, where recording is on when somebody wants a second derivative. One sigmoid more, one tensor less.
#
# *Common mistakes.* Moving $s$ to `ctx.s`: still an intermediate. `s.requires_grad_()` before saving: it then requires grad, but is connected to nothing.
# Recomputing $s$ and saving it all the same: right, but one tensor too many.
#
# *Another way* is to return $s$ as a second output, which callers may ignore: outputs are remembered. Backward then gets a gradient for $s$ as well, and must add its share; and $s$ must not be marked as non-differentiable, which would make a constant of it again. It changes the signature, so it is not asked for here.

# %% [markdown]
# ### Before and after
#
# Below is the version you started from, under another name, beside yours. Both have the right slope.


# %% nbgrader={"grade": false, "grade_id": "demo-before-and-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SwishOnce(Function):
    """What SwishTwice was: it keeps the intermediate s."""

    @staticmethod
    def forward(ctx, x, beta):
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(x, beta, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, beta, s = ctx.saved_tensors
        by_x = grad_output * (s + beta * x * s * (1 - s))
        by_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return by_x, by_beta


beta = torch.tensor(1.0, dtype=torch.float64)
x = torch.linspace(-6, 6, 300, dtype=torch.float64, requires_grad=True)
curves = {
    "torch operations": derivatives(lambda t: t * torch.sigmoid(beta * t), x, 2),
    "SwishOnce": derivatives(lambda t: SwishOnce.apply(t, beta), x, 2),
    "your SwishTwice": derivatives(lambda t: SwishTwice.apply(t, beta), x, 2),
}

# %% nbgrader={"grade": false, "grade_id": "demo-before-and-after-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
at = (x.detach() == x.detach().abs().min()).nonzero()[0].item()
for name, (_, first, second) in curves.items():
    print(
        f"{name:16} near 0: first {first[at].item():.3f}   second {second[at].item():.3f}", end=""
    )
    print(f"   smallest second {second.min().item():.3f}")
figures.second_derivatives(x, curves)

# %% [markdown]
# The slopes agree. Of the second derivative `SwishOnce` has half at 0, and it never goes below 0. Any method that uses it would be misled, and nothing would say so.

# %% [markdown]
# Where did it go? Look at the box with the ✕ in `SwishOnce`: backward used it, and no line leads into it.

# %% nbgrader={"grade": false, "grade_id": "see-swish-once", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(SwishOnce, torch.tensor([0.5, -1.0], dtype=torch.float64), beta, order=2)

# %% [markdown]
# Now yours. Is there still a box that no line leads into?

# %% nbgrader={"grade": false, "grade_id": "see-swish-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(SwishTwice, order=2)

# %% [markdown]
# ## When there is no second derivative
#
# Sometimes backward leaves torch: NumPy, SciPy, a simulator, a C++ library. Torch cannot differentiate what it cannot see. The honest contract is then: *first order only*.
#
# How do you say so? Here is $x^2$ three times, its backward computed by NumPy. First undecorated, then with the decorator made for this purpose, then with a guard.


# %% nbgrader={"grade": false, "grade_id": "demo-square-by-numpy", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SquareByNumpy(Function):
    """x², with a backward that torch cannot see into."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        slope = 2 * x.detach().numpy()
        return grad_output * torch.as_tensor(slope)


class SquareOnceDifferentiable(SquareByNumpy):
    backward = staticmethod(once_differentiable(SquareByNumpy.backward))


class SquareGuarded(SquareByNumpy):
    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():  # recording is on: somebody will differentiate this
            raise RuntimeError("SquareGuarded is not twice differentiable")
        return SquareByNumpy.backward(ctx, grad_output)


# %% nbgrader={"grade": false, "grade_id": "quiz-once-differentiable", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("once-differentiable")

# %% nbgrader={"grade": false, "grade_id": "demo-once-differentiable-is-silent", "locked": true, "schema_version": 3, "solution": false, "task": false}
losses = {
    "y": (lambda y, x: y, 2),
    "y + x³": (lambda y, x: y + x**3, 20),
    "y²": (lambda y, x: y**2, 108),
    "y² + x³": (lambda y, x: y**2 + x**3, 126),
}
print("second derivative at x = 3        true")
for loss, (formula, true) in losses.items():
    print(f"loss {loss:8} {true:25}")
    for cls in (SquareByNumpy, SquareOnceDifferentiable, SquareGuarded):
        try:
            found = second_derivative(lambda x, f=formula, y=cls.apply: f(y(x), x), 3.0)
        except RuntimeError as error:
            found = f"RuntimeError: {error}"
        print(f"     {cls.__name__:26} {found}")
outcome("once-differentiable")

# %% [markdown]
# Read the table by its silent rows.
#
# * The plain NumPy version gives 18 for $y + x^3$ (true 20), 72 for $y^2$ (true 108) and 90 for their sum (true 126).
# * `@once_differentiable` is documented to raise. It does, in some losses. In the sums with $x^3$ it gives **18 and no error**: the true values are 20 and 126.
# * The guard raises always.

# %% [markdown]
# Why is the decorator silent? It runs backward without recording and puts an error node behind the result, but that node is only reached through a `grad_output` that requires grad.
#
# In $y + x^3$ the upstream gradient of $y$ is the constant 1. `torch.autograd.grad(…, x)`, which looks for paths to $x$ alone, may miss the node as well.

# %% [markdown]
# The guard needs no path: it asks at the start. Recording is on in backward when the caller said `create_graph=True`. Under `torch.func.grad` it always is: there the guard refuses first derivatives too.
#
# The price: it refuses already when a graph is *asked for*, even if nobody uses it afterwards. That is allowed, and it is the safe side.

# %% [markdown]
# ## Exercise 4 · FirstOrderOnly
#
# **Contract.** `FirstOrderOnly.apply(x)` is the error function,
#
# $$\operatorname{erf}(x) = \frac{2}{\sqrt\pi} \int_0^x e^{-t^2}\,dt$$
#
# and promises
#
# * **values**, computed by SciPy (`scipy.special.erf`)
# * **gradients** right
# * **second derivatives**: **right or refused** with `RuntimeError`, in every loss: never a silent wrong number
# * **special points**: right at 0, finite and right at ±1000 in float32
# * **memory**: one tensor as large as `x`
# * **shapes, strides, dtypes**: `x` of any shape, a single number (0-d) included; the output has `x`'s dtype and device (float32 and float64)
# * **nothing else is touched** · **your own work**: as for every Function, and the value comes from SciPy

# %% [markdown]
# Right *or* refused: you may choose. The slope of erf can be written in torch, and then torch differentiates it rightly. Where a slope comes from outside of torch, refuse.
#
# The way out of torch is `x.detach().cpu().numpy()`. The way back wants care: for a 0-d array SciPy returns a plain NumPy *number*, which `torch.from_numpy` refuses. `torch.as_tensor(values, dtype=…, device=…)` takes both.

# %% nbgrader={"grade": false, "grade_id": "demo-zero-dimensional", "locked": true, "schema_version": 3, "solution": false, "task": false}
import scipy.special

value = scipy.special.j0(torch.tensor(0.5, dtype=torch.float64).numpy())  # a Bessel function
print("SciPy gives back a", type(value).__name__)
try:
    torch.from_numpy(value)
except TypeError as error:
    print("torch.from_numpy: TypeError:", error)
print("torch.as_tensor: ", torch.as_tensor(value))


# %% nbgrader={"grade": false, "grade_id": "first-order-only", "locked": false, "schema_version": 3, "solution": true, "task": false}
class FirstOrderOnly(Function):
    """erf(x) by SciPy, element by element; a second derivative is right or refused."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        values = scipy.special.erf(x.detach().cpu().numpy())
        return torch.as_tensor(values, dtype=x.dtype, device=x.device)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        if torch.is_grad_enabled():
            raise RuntimeError("FirstOrderOnly has no second derivative")
        (x,) = ctx.saved_tensors
        return grad_output * (2 / math.sqrt(math.pi)) * torch.exp(-x * x)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "first-order-only-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(FirstOrderOnly)

# %% nbgrader={"grade": true, "grade_id": "first-order-only-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of FirstOrderOnly are checked here with other numbers.
# You can run it now: check(FirstOrderOnly, hidden=True)
### BEGIN HIDDEN TESTS
check(FirstOrderOnly, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · FirstOrderOnly**
#
# *Derivation.* By the fundamental theorem the slope is the integrand: $\frac{2}{\sqrt\pi} e^{-x^2}$.
#
# *What is saved.* $x$. The output would do in principle (erf is injective), but only through its inverse.
#
# *The guard.* `torch.is_grad_enabled()` is true in backward when the caller said `create_graph=True`.
#
# *An honest remark.* This backward happens to consist of torch operations, so without the guard its second derivative is right, and the check accepts that too. The exercise stands for the backwards that are not: there, the guard is the difference between an error and a wrong number.
#
# *Common mistakes.* The slope by NumPy without a guard; `once_differentiable` alone, silent in sums; `if grad_output.requires_grad`, silent in sums for the same reason; a warning in place of an error; `torch.from_numpy` with a 0-d input; results in float64 for a float32 input; 1/√π.

# %% [markdown]
# ### See it run
#
# The last step is your refusal, if you wrote one: would it help the person who meets it?

# %% nbgrader={"grade": false, "grade_id": "see-first-order-only", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(FirstOrderOnly, order=2)

# %% [markdown]
# ### A function that torch cannot differentiate
#
# erf was an example: torch has `torch.erf`, with derivatives of every order. Of the Airy function $\operatorname{Ai}$, which describes light at the edge of a rainbow, torch has the values **only**. Ask it for the gradient of $\operatorname{Ai}(x) + x^3$ at 1:

# %% nbgrader={"grade": false, "grade_id": "demo-torch-bessel", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
y = torch.special.airy_ai(x)
print("the output requires grad:", y.requires_grad)
(gradient,) = torch.autograd.grad(y + x**3, x)
_, slope, _, _ = scipy.special.airy(1.0)  # Ai, its derivative, and two more
print(f"gradient of Ai(x) + x³: {gradient.item():.4f}   true: {3 * x.item() ** 2 + slope:.4f}")

# %% [markdown]
# No error: to torch $\operatorname{Ai}(x)$ is a constant. Here a Function is not a matter of taste. (Versions differ: of the Bessel function $J_0$ torch 2.13 and 2.14 have the values only, torch 2.15 the derivative too. `requires_grad` tells.)
#
# ### Third way: make it right
#
# Refusing is honest. Being right is better, when the slope is itself a function you can write. Let backward call **another Function** with a backward of its own.
#
# The Airy function is defined by $\operatorname{Ai}''(x) = x \operatorname{Ai}(x)$. So $\operatorname{Ai}$ and its slope close a circle: each knows the other, and every order is right although both values come from SciPy.


# %% nbgrader={"grade": false, "grade_id": "demo-bessel", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Airy(Function):
    """The Airy function Ai by SciPy."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        value, _, _, _ = scipy.special.airy(x.numpy())
        return torch.as_tensor(value)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * AirySlope.apply(x)


# %% nbgrader={"grade": false, "grade_id": "demo-bessel-slope", "locked": true, "schema_version": 3, "solution": false, "task": false}
class AirySlope(Function):
    """The derivative of Ai by SciPy; its own derivative is x·Ai(x)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        _, slope, _, _ = scipy.special.airy(x.numpy())
        return torch.as_tensor(slope)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x * Airy.apply(x)


# %% nbgrader={"grade": false, "grade_id": "demo-bessel-equation", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-2.0, 0.0, 1.5], dtype=torch.float64, requires_grad=True)
print("gradcheck", gradcheck(Airy.apply, x), "  gradgradcheck", gradgradcheck(Airy.apply, x))
y, slope, _, third = derivatives(Airy.apply, x, 3)
print("the third derivative, by backward:", [round(v, 6) for v in third.tolist()])
print("and by the rule:                  ", [round(v, 6) for v in (y + x * slope).tolist()])

# %% [markdown]
# The rule: differentiate $x \operatorname{Ai}(x)$ once, and it says $\operatorname{Ai}(x) + x \operatorname{Ai}'(x)$. The two lines agree: three derivatives of a function that torch has never seen inside.

# %% [markdown]
# ## Hessians, one row at a time
#
# For a scalar $f$ of many variables the second derivatives form a matrix, the **Hessian** $H_{ij} = \partial^2 f / \partial x_i \partial x_j$.
#
# One backward pass with `create_graph=True` gives the gradient. One more pass for each of its elements gives a row.


# %% nbgrader={"grade": false, "grade_id": "demo-hessian-rows", "locked": true, "schema_version": 3, "solution": false, "task": false}
def rosenbrock(x):
    """A curved valley, the classic test of optimisers: minimum 0 at (1, 1, …)."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


point = torch.tensor([0.5, -0.3, 1.0], dtype=torch.float64, requires_grad=True)
(slopes,) = torch.autograd.grad(rosenbrock(point), point, create_graph=True)
rows = [torch.autograd.grad(s, point, retain_graph=True)[0] for s in slopes]
print("row by row:\n", torch.stack(rows))
print("torch.autograd.functional.hessian:")
print(torch.autograd.functional.hessian(rosenbrock, point.detach()))

# %% [markdown]
# Two traps in code like this. `retain_graph=True` is needed because the rows share one graph. And a gradient can be a **constant**:


# %% nbgrader={"grade": false, "grade_id": "demo-linear-trap", "locked": true, "schema_version": 3, "solution": false, "task": false}
def linear(x):
    return 3 * x.sum()


(slopes,) = torch.autograd.grad(linear(point), point, create_graph=True)
print("gradient:", slopes.tolist(), "  requires grad:", slopes.requires_grad)
try:
    torch.autograd.grad(slopes.sum(), point)
except RuntimeError as error:
    print("RuntimeError:", error)

# %% [markdown]
# The Hessian of a linear function is 0; torch rather says that there is nothing to differentiate. Robust code has to expect it.

# %% [markdown]
# A network with a million weights has a Hessian of $10^{12}$ numbers: nobody forms it. But most methods only ever need **products** with it, and a product costs just one more pass:
#
# $$H v = \nabla_x \bigl( \nabla f(x) \cdot v \bigr), \qquad v \text{ constant}.$$
#
# First the gradient; then its dot product with $v$, one number; then the gradient of that.

# %% [markdown]
# A long how-to for practitioners (D in `docs/coverage.md`) prints a class named `HessianVectorProduct`. Look at what it computes.


# %% nbgrader={"grade": false, "grade_id": "demo-hvp-that-is-none", "locked": true, "schema_version": 3, "solution": false, "task": false}
class HessianVectorProduct(Function):
    """As found in print. The name is all it has."""

    @staticmethod
    def forward(ctx, x, v):
        ctx.save_for_backward(x, v)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


v = torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64)
print("what the class gives:", HessianVectorProduct.apply(point, v).tolist())
print("x itself:            ", point.tolist())
print("the product H v:     ", (torch.stack(rows) @ v).tolist())

# %% [markdown]
# It is the identity: it does not know any $f$, so how could it know a Hessian? No Function is needed here at all. The product is made of two calls of `torch.autograd.grad`.

# %% [markdown]
# ## Exercise 5 · hvp
#
# **Contract.** `hvp(f, x, v)` promises
#
# * **values** of the Hessian of the scalar-valued `f`, which depends on `x`, at `x`, times `v`: a tensor of `x`'s shape, with a graph or without. `x` need not require grad
# * **special points**: for a linear `f` the result is zeros, also where the gradient itself requires grad (as in `f(x) = (weight * x).sum()` with a trainable weight)
# * **memory**: the Hessian is never formed
# * **shapes, strides, dtypes**: `x` and `v` have the same shape, any shape
# * **nothing else is touched**: `x` stays as it is, its `requires_grad` too, and no `.grad` is left behind, neither in `x` nor in a parameter that `f` uses
# * **your own work**: two backward passes, no ready-made product from torch, no difference quotient
#
# `torch.autograd.grad` has two arguments that help with the special points: `allow_unused` and `materialize_grads`.


# %% nbgrader={"grade": false, "grade_id": "hvp", "locked": false, "schema_version": 3, "solution": true, "task": false}
def hvp(f, x, v):
    """The Hessian of f at x times v; f gives a 0-d tensor, the result has the shape of x."""
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not gradient.requires_grad:  # f is linear
        return torch.zeros_like(x)
    return torch.autograd.grad(gradient, x, v, materialize_grads=True)[0]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "hvp-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(hvp)

# %% nbgrader={"grade": true, "grade_id": "hvp-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of hvp are checked here with other numbers.
# You can run it now: check(hvp, hidden=True)
### BEGIN HIDDEN TESTS
check(hvp, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · hvp**
#
# *Derivation.* $\partial/\partial x_i \sum_j v_j\, \partial f/\partial x_j = \sum_j H_{ij} v_j$.
#
# *How.* The second call has $v$ as its upstream gradient: the vector–Jacobian product of the gradient is $v^\top H = (Hv)^\top$, because $H$ is symmetric. `(gradient * v).sum()` is the same, spelled out.
#
# *Linear f.* If the gradient does not require grad there is nothing to differentiate. If it does, but does not depend on $x$ (a trainable weight), `materialize_grads=True` gives zeros instead of an error.
#
# *Common mistakes.* `create_graph=True` forgotten; the Hessian times ones (`gradient.sum()`); multiplying by $v$ afterwards; `.backward()` twice, which fills the `.grad` of every parameter; a difference of two gradients, which is right to some digits only.
#
# *Another way* is forward over reverse, `torch.func.jvp(torch.func.grad(f), (x,), (v,))`; it needs a rule for forward mode in every custom Function on the way, which classic Functions do not have.

# %% nbgrader={"grade": false, "grade_id": "demo-hvp-against-rows", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("rows times v:", (torch.stack(rows) @ v).tolist())
print("your hvp:    ", hvp(rosenbrock, point, v).tolist())
big = torch.linspace(-1, 1, 100_000, dtype=torch.float64)
result = hvp(rosenbrock, big, torch.ones_like(big))
gigabytes = big.numel() ** 2 * 8 / 1e9
print(f"100 000 variables: a product of shape {tuple(result.shape)};", end=" ")
print(f"the Hessian itself would take {gigabytes:.0f} GB")

# %% [markdown]
# ## What torch.func asks for
#
# `torch.func` has `hessian`, `jvp` (forward mode) and `vmap` ready made. Try them on your `MyExp`.

# %% nbgrader={"grade": false, "grade_id": "quiz-hessian-of-my-exp", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("hessian-of-my-exp")


# %% nbgrader={"grade": false, "grade_id": "demo-torch-func", "locked": true, "schema_version": 3, "solution": false, "task": false}
def asked_of(exp):
    """What torch.func finds of f(x) = Σ exp(x)² at [0.5, −1]; the Hessian is 4·exp(2x), diagonal."""
    x = torch.tensor([0.5, -1.0], dtype=torch.float64)
    f, v = lambda t: (exp(t) ** 2).sum(), torch.ones_like(x)
    return {
        "autograd.functional.hessian": lambda: torch.autograd.functional.hessian(f, x).diag(),
        "func.grad": lambda: torch.func.grad(f)(x),
        "func.hessian": lambda: torch.func.hessian(f)(x).diag(),
        "func.jvp of func.grad": lambda: torch.func.jvp(torch.func.grad(f), (x,), (v,))[1],
        "your hvp": lambda: hvp(f, x, v),
    }


def told(question):
    try:
        return [round(v, 4) for v in question().tolist()]
    except RuntimeError as error:
        return f"RuntimeError: … {str(error).split('. ')[0][-51:]}"


for name, question in asked_of(MyExp.apply).items():
    print(f"{name:28} {told(question)}")
outcome("hessian-of-my-exp")

# %% [markdown]
# They refuse every Function whose forward takes `ctx`. They want a forward without it, and a separate `setup_context`. (Since torch 2.14 the first use of forward mode prints a warning about `torch.jit.script`. It is about torch's own code, not about yours.)
#
# `hessian` also runs *forward mode*, which wants a rule of its own, `jvp`: how a small change of the input changes the output. And it runs many directions at once (`vmap`).


# %% nbgrader={"grade": false, "grade_id": "demo-exp-everywhere", "locked": true, "schema_version": 3, "solution": false, "task": false}
class ExpEverywhere(Function):
    """eˣ for backward, forward mode and vmap; keeps its output."""

    generate_vmap_rule = (
        True  # forward, backward and jvp are made of operations that torch can batch
    )

    @staticmethod
    def forward(x):
        return torch.exp(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)  # for jvp

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y

    @staticmethod
    def jvp(ctx, tangent):
        (y,) = ctx.saved_tensors
        return tangent * y


# %% [markdown]
# The fourth line below is **forward over reverse**: forward mode through a backward. It gives a Hessian–vector product like your `hvp`, with a pass in forward mode in place of the second pass backward.

# %% nbgrader={"grade": false, "grade_id": "demo-forward-over-reverse", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, question in asked_of(ExpEverywhere.apply).items():
    print(f"{name:28} {told(question)}")

# %% [markdown]
# And `torch.compile`?

# %% nbgrader={"grade": false, "grade_id": "demo-compiled-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
for exp in (MyExp, ExpEverywhere):
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    compiled = torch.compile(lambda t, exp=exp: exp.apply(t), backend="aot_eager")
    (first,) = torch.autograd.grad(compiled(x).sum(), x, create_graph=True)
    print(f"{exp.__name__:14} first", [round(v, 4) for v in first.tolist()], end="   second ")
    try:
        print([round(v, 4) for v in torch.autograd.grad(first.sum(), x)[0].tolist()])
    except RuntimeError as error:
        print("RuntimeError:", error)

# %% [markdown]
# What torch compiles (2.13 to 2.15) has a first derivative only, and it says so. The second line looks better than it is: a Function with a `jvp` of its own is not compiled at all, but run as it stands (`fullgraph=True` would refuse it).

# %% [markdown]
# ## The gradient penalty
#
# A **critic** gives each sample a score. Penalising the length of its input gradient keeps it from becoming too steep:
#
# $$P = \frac1N \sum_{n=1}^{N} \bigl( \lVert \nabla_{x_n} c(x_n) \rVert_2 - 1 \bigr)^2 .$$
#
# Three details matter.

# %% [markdown]
# **One gradient a sample.** Each score depends on its own sample only, so the gradient of the *sum* of all scores has sample $n$'s gradient in row $n$. (With the mean, every row would be $N$ times too short. And layers that mix samples, such as batch normalisation, break it.)
#
# **`create_graph=True`**, or the penalty is a number that trains nothing:

# %% nbgrader={"grade": false, "grade_id": "demo-penalty-without-graph", "locked": true, "schema_version": 3, "solution": false, "task": false}
weight = torch.tensor([3.0, 4.0], requires_grad=True)
points = torch.ones(2, 2, requires_grad=True)
for create_graph in (False, True):
    (rows_of_points,) = torch.autograd.grad(
        (points @ weight).sum(), points, create_graph=create_graph
    )
    lengths = rows_of_points.norm(dim=1)
    print(f"create_graph={create_graph!s:5}  lengths {lengths.tolist()}", end="  ")
    print("connected to the weight:", lengths.requires_grad)

# %% [markdown]
# **The root at zero.** Where the critic is flat, its gradient is 0, and so is the sum of squares under the root.

# %% nbgrader={"grade": false, "grade_id": "quiz-flat-critic", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("flat-critic")

# %% nbgrader={"grade": false, "grade_id": "demo-root-at-zero", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, length in {
    "sqrt of the sum of squares": lambda t: (t * t).sum().sqrt(),
    "torch.linalg.vector_norm": torch.linalg.vector_norm,
}.items():
    flat = torch.zeros(3, requires_grad=True)
    (slope,) = torch.autograd.grad((length(flat) - 1) ** 2, flat)
    print(
        f"{name:27} value {(length(flat) - 1).item() ** 2:.0f}   gradient {[v + 0.0 for v in slope.tolist()]}"
    )
outcome("flat-critic")

# %% [markdown]
# The value is 1 either way. But the slope of $\sqrt{\cdot}$ at 0 is infinite, and the chain rule multiplies $0 \cdot \infty$. One flat sample is enough to make NaN of weights, and one step later of every score. `vector_norm` uses the agreed slope 0 there.

# %% [markdown]
# ## Exercise 6 · gradient_penalty
#
# **Contract.** `gradient_penalty(critic, x)` promises
#
# * **values**: the mean over the batch of $(\lVert\nabla_x\, \text{critic}(x)\rVert_2 - 1)^2$, a 0-d tensor. The norm is exact: no small number added under the root. `x` need not require grad
# * **gradients** of the critic's parameters (what would reach `x` itself is not asked)
# * **special points**: everything is finite where a gradient is zero
# * **shapes, strides, dtypes**: `x` has shape `(N, …)`, two dimensions or more, and the norm runs over all dimensions of a sample; `critic(x)` has shape `(N,)` or `(N, 1)`
# * **nothing else is touched**: `x` stays as it is, its `requires_grad` too, and no `.grad` is left behind


# %% nbgrader={"grade": false, "grade_id": "gradient-penalty", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gradient_penalty(critic, x):
    """Mean over the batch of (‖∇ₓ critic(x)‖₂ − 1)²; x of shape (N, …), gives a 0-d tensor."""
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    lengths = torch.linalg.vector_norm(gradient.flatten(1), dim=1)
    return ((lengths - 1) ** 2).mean()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "gradient-penalty-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(gradient_penalty)

# %% nbgrader={"grade": true, "grade_id": "gradient-penalty-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of gradient_penalty are checked here with other numbers.
# You can run it now: check(gradient_penalty, hidden=True)
### BEGIN HIDDEN TESTS
check(gradient_penalty, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · gradient_penalty**
#
# *Derivation.* $\nabla_{x_n} \sum_m c(x_m) = \nabla_{x_n} c(x_n)$, because score $m$ does not depend on sample $n \ne m$. One pass gives all rows.
#
# *What matters.* `create_graph=True` keeps the gradient connected to the parameters. `flatten(1)` makes one vector a sample, whatever its shape. `vector_norm` has a finite gradient at 0. `detach().requires_grad_()` works for any `x` and does not touch the caller's.
#
# *Common mistakes.* One norm over the whole batch; the mean of the scores in place of their sum; the norm over dimension 1 only; `.backward(create_graph=True)`, which leaves gradients in every parameter; the root of a sum of squares.
# A tiny number $\varepsilon$ under the root keeps the gradient finite and makes the length of a zero gradient $\sqrt\varepsilon$: with $10^{-12}$ that is $10^{-6}$, more than rounding, so the contract rules it out.
#
# *In the papers* the penalty is taken at random points between real and generated samples. That choice of `x` is the caller's.

# %% [markdown]
# ## Finale, part one: a critic made of your activation
#
# Two clouds of points: "real" ones on two moons, "fake" ones in a blurred blob. A critic learns to score real above fake, with your penalty holding its slope near 1. The gap between the mean scores is then an estimate of how far the clouds are apart (their Wasserstein distance).
#
# The activation is **your** `SwishTwice`. Beside it train the same formula in torch's operations, and the broken `SwishOnce`, all from the same weights on the same points.

# %% nbgrader={"grade": false, "grade_id": "finale-clouds", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import make_moons

COUNT = 128
moons, _ = make_moons(COUNT, noise=0.05, random_state=0)
real = torch.tensor(moons, dtype=torch.float64)
generator = torch.Generator().manual_seed(0)
fake = torch.randn(COUNT, 2, generator=generator, dtype=torch.float64) * 0.4
fake = fake + torch.tensor([0.5, 1.2], dtype=torch.float64)


class Critic(torch.nn.Module):
    """Scores of points in the plane: 2 → 32 → 32 → 1, with activation(h, beta)."""

    def __init__(self, activation):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(a, b, dtype=torch.float64) for a, b in ((2, 32), (32, 32), (32, 1))
        )
        self.beta = torch.nn.Parameter(torch.ones(32, dtype=torch.float64))
        self.activation = activation

    def forward(self, x):
        h = self.activation(self.layers[0](x), self.beta)
        return self.layers[2](self.activation(self.layers[1](h), self.beta))


# %% nbgrader={"grade": false, "grade_id": "finale-critic-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
STEPS = 4 if SHORT else int(250 * SCALE)


def train_critic(activation):
    """The trained critic, and the values of penalty and gap at every step."""
    critic = Critic(activation)
    optimiser = torch.optim.Adam(critic.parameters(), lr=0.01, betas=(0.5, 0.9))
    draw, history = torch.Generator().manual_seed(1), []
    for _ in range(STEPS):
        share = torch.rand(COUNT, 1, generator=draw, dtype=torch.float64)
        between = share * real + (1 - share) * fake  # points between real and fake
        gap = critic(real).mean() - critic(fake).mean()
        penalty = gradient_penalty(critic, between)
        optimiser.zero_grad()
        (-gap + 10 * penalty).backward()
        optimiser.step()
        history.append((penalty.item(), gap.item()))
    return critic, torch.tensor(history, dtype=torch.float64)


# %% nbgrader={"grade": false, "grade_id": "finale-three-critics", "locked": true, "schema_version": 3, "solution": false, "task": false}
def plain_swish(x, beta):
    return x * torch.sigmoid(beta * x)


trained = {
    "torch operations": train_critic(plain_swish),
    "your SwishTwice": train_critic(SwishTwice.apply),
    "SwishOnce": train_critic(SwishOnce.apply),
}
truth = trained["torch operations"][1]
print(
    f"after {STEPS} steps    gap     penalty   largest difference from torch operations on the way"
)
for name, (_, history) in trained.items():
    penalty, gap = history[-10:].mean(0).tolist()
    off = (history - truth).abs().max().item()
    print(f"{name:17} {gap:6.3f} {penalty:11.5f} {off:11.1e}")

# %% nbgrader={"grade": false, "grade_id": "finale-critic-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.critics({name: trained[name][1] for name in ("your SwishTwice", "SwishOnce")})

# %% [markdown]
# Yours does what torch's own operations do, up to rounding (which training slowly magnifies).
#
# Now the disturbing part. Would you suspect `SwishOnce`? Its score gap rises and stays, its penalty falls and stays. It just does not follow the gradient of its loss:


# %% nbgrader={"grade": false, "grade_id": "finale-direction", "locked": true, "schema_version": 3, "solution": false, "task": false}
def direction(activation):
    """The gradient of the penalty, all parameters in one vector, at the weights of your critic."""
    critic = Critic(activation)
    critic.load_state_dict(trained["your SwishTwice"][0].state_dict())
    penalty = gradient_penalty(critic, torch.cat([real, fake]))
    parameters = list(critic.parameters())
    parts = torch.autograd.grad(penalty, parameters, materialize_grads=True, allow_unused=True)
    return torch.cat([part.flatten() for part in parts])


right = direction(plain_swish)
for name, activation in (("your SwishTwice", SwishTwice.apply), ("SwishOnce", SwishOnce.apply)):
    error = (direction(activation) - right).norm() / right.norm()
    print(f"{name:16} error of the penalty's gradient: {error.item():.1e} of its length")

# %% [markdown]
# That is how such a bug lives for years: not as a crash, but as a method that works a little worse than the paper says. `gradgradcheck` finds it in a second. In part two a missing second derivative will be less polite.
#
# Here is the critic you trained.

# %% nbgrader={"grade": false, "grade_id": "finale-critic-map", "locked": true, "schema_version": 3, "solution": false, "task": false}
side = torch.linspace(-1.6, 2.6, 60, dtype=torch.float64)
plane = torch.cartesian_prod(side, side).requires_grad_(True)
scores = trained["your SwishTwice"][0](plane)
(arrows,) = torch.autograd.grad(scores.sum(), plane)
figures.critic_map(side, scores.detach(), arrows.norm(dim=1), real, fake)

# %% [markdown]
# ## Finale, part two: Newton steps without a Hessian
#
# Recognising handwritten digits by softmax regression: 64 pixels, 10 classes, 650 weights. The Hessian has 422 500 elements; we never form it.
#
# A Newton step solves $H s = -\nabla f$. **Conjugate gradient** solves such a system using products $Hv$ only. And the loss is built on **your** `MyExp`, so every product differentiates your backward.

# %% nbgrader={"grade": false, "grade_id": "finale-digits", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import load_digits

digits = load_digits()
order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
pixels = torch.tensor(digits.data, dtype=torch.float64)[order] / 16
pixels = torch.cat([pixels, torch.ones(len(pixels), 1, dtype=torch.float64)], dim=1)  # for the bias
labels = torch.tensor(digits.target)[order]
train_x, train_y, test_x, test_y = pixels[:1200], labels[:1200], pixels[1200:], labels[1200:]


def loss_of(weights, exp=MyExp.apply):
    """Cross-entropy of softmax regression, plus a little weight decay; weights of shape (65, 10)."""
    scores = train_x @ weights
    top = scores.detach().amax(1, keepdim=True)  # keeps exp from overflowing
    log_total = top.squeeze(1) + torch.log(exp(scores - top).sum(1))
    right = scores.gather(1, train_y[:, None]).squeeze(1)
    return (log_total - right).mean() + 1e-3 * (weights**2).sum()


# %% nbgrader={"grade": false, "grade_id": "finale-conjugate-gradient", "locked": true, "schema_version": 3, "solution": false, "task": false}
products = 0


def newton_step(weights, slopes, most=25, tolerance=0.05):
    """Solves H s = −slopes roughly, by conjugate gradient: one Hessian–vector product an iteration."""
    global products
    step, rest = torch.zeros_like(weights), -slopes
    direction, size = rest.clone(), (rest * rest).sum()
    stop = tolerance**2 * size
    for _ in range(most):
        bent = hvp(loss_of, weights, direction)
        products += 1
        length = size / (direction * bent).sum()
        step, rest = step + length * direction, rest - length * bent
        size, before = (rest * rest).sum(), size
        if size < stop:
            break
        direction = rest + (size / before) * direction
    return step


# %% nbgrader={"grade": false, "grade_id": "finale-newton", "locked": true, "schema_version": 3, "solution": false, "task": false}
def descend(choose, steps):
    """Losses and gradient lengths of `steps` steps from zero weights; choose(weights, slopes) steps."""
    weights, history = torch.zeros(65, 10, dtype=torch.float64), []
    for _ in range(steps + 1):
        leaf = weights.detach().requires_grad_(True)
        loss = loss_of(leaf)
        (slopes,) = torch.autograd.grad(loss, leaf)
        history.append((loss.item(), slopes.norm().item()))
        weights = weights + choose(weights, slopes)
    return leaf.detach(), torch.tensor(history, dtype=torch.float64)


newton_steps = 2 if SHORT else 7
by_newton, newton = descend(newton_step, newton_steps)
by_slope, slope = descend(lambda w, s: -0.5 * s, 4 if SHORT else int(200 * SCALE))
for name, weights, history in (("Newton", by_newton, newton), ("gradient", by_slope, slope)):
    correct = ((test_x @ weights).argmax(1) == test_y).double().mean().item()
    print(f"{name:8} {len(history) - 1:4} steps   loss {history[-1, 0]:.6f}", end="   ")
    print(f"length of the gradient {history[-1, 1]:.1e}   right on unseen digits {correct:.1%}")
print("Hessian–vector products in all Newton steps together:", products)

# %% nbgrader={"grade": false, "grade_id": "finale-newton-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.newton_lengths(slope[:, 1], newton[:, 1])

# %% [markdown]
# A Newton step costs more than a gradient step: every product in it is two backward passes. But it *arrives*: the gradient vanishes to many digits, which gradient descent does not reach.
#
# All of it rests on second derivatives through your `MyExp`. What if its output had been cloned before saving? The loss is the same, the gradient is the same. The curvature along one direction, $d^\top H d$:


# %% nbgrader={"grade": false, "grade_id": "finale-fictional-curvature", "locked": true, "schema_version": 3, "solution": false, "task": false}
class ExpWithClone(Function):
    """eˣ; right in the first derivative only."""

    @staticmethod
    def forward(ctx, x):
        result = torch.exp(x)
        ctx.save_for_backward(result.clone())
        return result

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


noise = torch.randn(65, 10, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
for name, exp in (
    ("torch.exp", torch.exp),
    ("MyExp", MyExp.apply),
    ("ExpWithClone", ExpWithClone.apply),
):
    bent = hvp(lambda w, exp=exp: loss_of(w, exp), by_newton, noise)
    print(f"{name:13} curvature {(noise * bent).sum().item():9.4f}")

# %% [markdown]
# Negative, for a loss that is convex: a valley that looks like a hilltop. Conjugate gradient would walk up.

# %% [markdown]
# ### An honest word
#
# For everyday activations use torch's: `F.silu`, `torch.exp` and their kin have right derivatives of every order. `torch.autograd.functional.hvp` gives products for every Function, `torch.func` for those with `setup_context`.
#
# Your own second derivatives are worth the care when the operation is yours: then nobody else can get them right.

# %% [markdown]
# ## Find the bug
#
# Two people repaired `SwishTwice`. Both pass `gradcheck`. One of the two is still silently wrong in the second derivative. Which one, and why?

# %% nbgrader={"grade": false, "grade_id": "quiz-suspects", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("double_backward")

# %% nbgrader={"grade": false, "grade_id": "try-suspects", "locked": false, "schema_version": 3, "solution": false, "task": false}
# Try A.apply(x, beta) and B.apply(x, beta) here.

# %% nbgrader={"grade": false, "grade_id": "quiz-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("double_backward")

# %% [markdown]
# ## Quiz

# %% nbgrader={"grade": false, "grade_id": "quiz-double-backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("double_backward")

# %% [markdown]
# ## Summary
#
# | backward uses | first derivative | second derivative |
# |---|---|---|
# | saved inputs, the saved output, `grad_output` | right | right, in every order |
# | a saved intermediate | right | silently wrong, or missing |
# | `.detach()`, `.data`, `clone()` of the output | right | silently wrong, or missing |
# | NumPy, SciPy, a library | right | silently wrong, or missing: refuse it, or call a Function that knows its slope |
#
# * `create_graph=True` records backward; then torch differentiates its lines, calling your backward again where it must.
# * `gradcheck` looks at the first derivative, `gradgradcheck` at the second. Run both.
# * `torch.func` wants `setup_context`, and for forward mode a `jvp`.
# * `once_differentiable` can be silent. `if torch.is_grad_enabled(): raise RuntimeError(…)` is not.
# * Better than refusing: a backward made of Functions that know their own slopes.
# * $Hv = \nabla(\nabla f \cdot v)$: two passes, no Hessian. A linear $f$ needs care.
# * A gradient penalty needs `create_graph=True`, one norm a sample, and a norm that is safe at 0.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Where to go next
#
# **06_checkpointing** takes "compute it again in backward" to its end: whole layers are computed twice to save their memory. There, autograd *inside* backward is the point, and second derivatives are refused as you did here.

# %% [markdown]
# ## Sources
#
# - Barak Pearlmutter (1994): [*Fast Exact Multiplication by the Hessian*](https://doi.org/10.1162/neco.1994.6.1.147). The product without the matrix.
# - Andreas Griewank and Andrea Walther (2008): [*Evaluating Derivatives*](https://doi.org/10.1137/1.9780898717761). The book on differentiating programs, every order and both modes.
# - James Martens (2010): [*Deep Learning via Hessian-free Optimization*](https://www.cs.toronto.edu/~jmartens/docs/Deep_HessianFree.pdf). Newton steps by conjugate gradient, for networks.
# - Ishaan Gulrajani and others (2017): [*Improved Training of Wasserstein GANs*](https://arxiv.org/abs/1704.00028). The gradient penalty.
# - PyTorch (torch 2.13): [*Double Backward with Custom Functions*](https://docs.pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html). Inputs, outputs and intermediates, drawn as graphs.
# - PyTorch (torch 2.13): [*Extending torch.func with autograd.Function*](https://docs.pytorch.org/docs/stable/notes/extending.func.html). What setup_context, jvp and vmap rules have to do.
