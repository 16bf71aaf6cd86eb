"""Errors that learners meet, by their original words, each with a headline and a next step.

Data for ``autograder.errors.translate``; the exact messages are those of torch 2.13 and Python.
"""

from __future__ import annotations

from autograder.errors.known_of_tensors import ABOUT_TENSORS
from autograder.reentry import ENDLESS

# A tuple where a tensor was meant: most often ctx.saved_tensors.
TUPLES = (
    r"unsupported operand type\(s\) for .*'tuple'|can't multiply sequence by non-int of type|"
    r"bad operand type for unary -: 'tuple'|'(?:tuple|torch\.Size)' object has no attribute|"
    r"must be Tensor, not tuple"
)

# (pattern in the original message, headline, next step); {0} is the first group of the pattern.
KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"modified by an inplace operation",
        "A tensor that was saved for backward was written to before backward ran.",
        "Look for an in-place operation (names that end in _, +=, x[...] = …) on an input, on the output "
        "or on anything you saved; compute a new tensor instead.",
    ),
    (
        r"Trying to backward through the graph a second time",
        "The saved tensors were already freed when backward asked for them.",
        "Read ctx.saved_tensors once, in backward only, and do not call backward inside your Function.",
    ),
    (
        r"save_for_backward can only save variables, but argument (\d+) is of type (list|tuple)\b",
        "save_for_backward takes tensors only; it was given a {1}.",
        "Hand over each tensor by itself: save_for_backward(a, b), or save_for_backward(*tensors).",
    ),
    (
        r"save_for_backward can only save variables, but argument (\d+) is of type ([\w.]*\w)",
        "save_for_backward takes tensors only; it was given a value of type {1}.",
        "Keep plain Python values as attributes: ctx.name = value.",
    ),
    (
        r"not enough values to unpack \(expected (\d+), got (\d+)\)",
        "{method} unpacks {0} values where there are only {1}.",
        "If this is ctx.saved_tensors: it holds exactly what the last save_for_backward call was given, and "
        "inside forward it is empty.",
    ),
    (
        r"too many values to unpack \(expected (\d+)",
        "{method} unpacks {0} values, but there are more.",
        "If this is ctx.saved_tensors: it holds exactly what save_for_backward was given, in that order.",
    ),
    (
        r"only integer tensors of a single element can be converted to an index",
        "A tuple was used where a tensor is needed.",
        "ctx.saved_tensors is always a tuple. Unpack it, with a comma: (x,) = ctx.saved_tensors.",
    ),
    (
        TUPLES,
        "A tuple was used where a tensor is needed.",
        "ctx.saved_tensors is always a tuple. Unpack it, with a comma: (x,) = ctx.saved_tensors.",
    ),
    (
        r"'(\w+)Backward' object has no attribute '(\w+)'",
        "{method} reads ctx.{1}, but forward never stored it.",
        "Store it in forward (or setup_context): ctx.{1} = …; tensors go through ctx.save_for_backward.",
    ),
    (
        r"^missing a required argument: '(\w+)'",
        "torch calls forward without ctx, because the class has a setup_context; forward still asks for one "
        "argument more, so that nothing is left for {0}.",
        "With setup_context, write forward without ctx: def forward(x, …). What is saved, and ctx, belong to "
        "setup_context.",
    ),
    (
        r"(?:\w+\.)?(forward|backward)\(\) missing (\d+) required positional arguments?: (.*)",
        "{0} was called with too few values: {2} is missing.",
        "forward takes ctx first (unless there is a setup_context) and needs @staticmethod; backward takes "
        "ctx and one upstream gradient for each output.",
    ),
    (
        r"(?:\w+\.)?(forward|backward)\(\) takes (\d+) positional (arguments?) but (\d+) (?:was|were) given",
        "{0} takes {1} {2}, but torch calls it with {3}.",
        "forward takes ctx first, then the arguments; backward takes ctx and one upstream gradient for each "
        "output. Both need @staticmethod.",
    ),
    (
        r"element 0 of tensors does not require grad",
        "backward differentiates something that is not connected to a graph.",
        "Grad mode is off inside forward and backward. Write the derivative by hand; if you must recompute "
        "with autograd, do it under torch.enable_grad().",
    ),
    (
        r"more than one element of the written-to tensor refers to a single memory location",
        "{method} writes in place to a tensor whose elements share memory.",
        "grad_output can be an expanded (stride-0) tensor. Never write to it: compute a new tensor.",
    ),
    (
        r"a leaf Variable that requires grad (?:is being|has been) used in an in-place operation",
        "{method} writes in place to its input.",
        "Operations whose name ends in _ and +=, *=, x[...] = … write in place. Use the form that makes a new "
        "tensor: x.clamp(…), not x.clamp_(…).",
    ),
    (
        r"attribute 'saved_tensors' of .* is not writable",
        "{method} assigns to ctx.saved_tensors, which torch fills by itself.",
        "Hand the tensors over by a call: ctx.save_for_backward(x). backward finds them in "
        "ctx.saved_tensors.",
    ),
    (
        r"'tuple' object is not callable",
        "{method} calls a tuple as if it were a function.",
        "ctx.saved_tensors and ctx.needs_input_grad are no methods: no parentheses behind them.",
    ),
    (
        r"^tuple index out of range$",
        "{method} asks a tuple for an entry that it has not got.",
        "ctx.saved_tensors has as many entries as tensors were saved, ctx.needs_input_grad as many as "
        "arguments were passed.",
    ),
    (
        r"operand type\(s\) for .*'(?:builtin_function_or_method|method|function)'|"
        r"not (?:builtin_function_or_method|method)$",
        "{method} computes with a function itself, where what it gives was meant.",
        "Call it: parentheses are missing behind its name, as in x.numel().",
    ),
    (
        r"type Tensor doesn't define __(round|floor|ceil|trunc)__ method",
        "{method} uses Python's {0} on a tensor; it is for plain numbers.",
        "torch has its own for tensors: torch.{0}(x).",
    ),
    (
        r"'(float|int|bool)' object has no attribute '(\w+)'",
        "{method} asks a plain {0} for .{1}, which only tensors have.",
        "float(…) takes a number and a tensor of one element alike; torch.as_tensor(…) makes a tensor of "
        "either.",
    ),
    (
        r"'numpy\.\w+' object has no attribute '(\w+)'",
        "{method} asks a NumPy value for .{0}, which only tensors have.",
        "torch.as_tensor(…) brings an array, or a number that NumPy made of it, back to torch.",
    ),
    *ABOUT_TENSORS,
    (
        r"name '(math|np|numpy|F|nn|scipy)' is not defined",
        "{method} uses the module {0}, which is not imported.",
        "Import it in this cell: import math, import numpy as np, import torch.nn.functional as F.",
    ),
    (
        r"name '(\w+)' is not defined",
        "{method} uses the name {0}, which is not defined there.",
        "forward and backward share nothing but ctx: save the tensor in forward and read it from "
        "ctx.saved_tensors in backward; also check the spelling and the imports.",
    ),
    (
        r"cannot access local variable '(\w+)'|local variable '(\w+)' referenced before assignment",
        "{method} reads a variable before it has a value.",
        "Make sure that every branch gives it a value.",
    ),
    (
        r"'torch\.return_types\.(\w+)'",
        "{method} uses the pair (values, indices) that {0} with a dim gives as if it were a tensor.",
        "Take .values of it, or unpack the pair. torch.amax and torch.amin give the values alone.",
    ),
    (
        r"grad can be implicitly created only for scalar outputs",
        "{method} differentiates a tensor of several numbers without passing grad_output on.",
        "grad_output says how the numbers are weighted: torch.autograd.backward(output, grad_output), or "
        "torch.autograd.grad(output, inputs, grad_output).",
    ),
    (
        r"unsupported operand type\(s\) for .*'NoneType'|bad operand type for unary .*'NoneType'",
        "{method} computes with None as if it were a tensor or a number.",
        "An optional argument (or a missing gradient) is None: test for it first, and keep on ctx what was "
        "put in its place.",
    ),
    (
        r"'NoneType' object",
        "{method} uses None as if it were a tensor.",
        "An optional argument (or a missing gradient) is None: test for it first. A function without return "
        "gives None too.",
    ),
    (
        ENDLESS,
        "{method} starts a backward pass that leads to this very backward again, without end.",
        "The graph that it differentiates contains its own node. Build a small graph of its own, from "
        "detached copies of the arguments: .detach().requires_grad_(…).",
    ),
    (
        r"maximum recursion depth exceeded",
        "{method} calls itself without end.",
        "Inside forward call torch's own operations, not the Function you are writing.",
    ),
)

# Plain functions call autograd themselves, so the same words have another cause.
KNOWN_IN_FUNCTIONS: tuple[tuple[str, str, str], ...] = (
    (
        r"is not a Module subclass",
        "{method} puts plain functions into nn.Sequential, which takes modules only.",
        "Call them one after the other: for f in part: x = f(x).",
    ),
    (
        r"expanded size of the tensor|number of sizes provided \(\d+\) must be greater",
        "{method} expands a tensor to a shape it does not fit.",
        "expand repeats numbers, it never adds them up: it can make a shape larger, not smaller.",
    ),
    (
        r"only integer tensors of a single element can be converted to an index",
        "{method} uses a whole tensor where one whole number is needed.",
        "range, an index and a shape want Python ints: x.numel(), x.shape[0], or .item() of one element.",
    ),
    (
        r"maximum recursion depth exceeded",
        "{method} calls itself without end.",
        "Every call must come nearer to the case that ends it. Follow by hand what is handed on, for the "
        "case that is named.",
    ),
    (
        r"name '(\w+)' is not defined",
        "{method} uses the name {0}, which is not defined there.",
        "Look at the spelling and at the imports (import numpy as np), and run the cells above.",
    ),
    (
        r"view size is not compatible",
        "{method} calls view on a tensor whose memory layout does not allow it.",
        "A transposed tensor has its elements in another order in memory. reshape works for every tensor "
        "(and copies where it must).",
    ),
    (
        r"element 0 of tensors does not require grad|One of the differentiated Tensors does not require",
        "{method} differentiates something that is not connected to a graph.",
        "Start from x = x.detach().requires_grad_(True). Where a gradient is differentiated again, ask for "
        "it with create_graph=True.",
    ),
    (
        r"grad can be implicitly created only for scalar outputs",
        "{method} differentiates a tensor of several numbers without saying how they are weighted.",
        "Differentiate one number, such as a sum, or pass the weights as grad_outputs.",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and \1x\2\)",
        "{method} uses @ on two {0}×{1} matrices where the sum of all products is meant: a @ b is that sum "
        "for vectors only.",
        "(a * b).sum() adds up the products of all elements, whatever the shape.",
    ),
    (
        r"1D tensors expected, but got (\d+)D and \1D tensors",
        "{method} calls dot on tensors of {0} dimensions; it takes vectors only.",
        "(a * b).sum() adds up the products of all elements, whatever the shape.",
    ),
    (
        r"appears to not have been used in the graph",
        "{method} differentiates by a tensor that the result does not depend on.",
        "Compute the result from the very tensor that you differentiate by. Where independence is "
        "possible, allow it: allow_unused=True, materialize_grads=True.",
    ),
)

KINDS = {
    "SystemExit": (
        "{method} ends the program (exit or sys.exit).",
        "Remove the call; return a value or raise an exception of its own.",
    ),
    "KeyboardInterrupt": (
        "{method} raises KeyboardInterrupt itself.",
        "Remove that line; an interrupt is for the person at the keyboard.",
    ),
    "RecursionError": (
        "{method} calls itself without end.",
        "Inside forward call torch's own operations, not the Function you are writing.",
    ),
    "AssertionError": (
        "An assert in {method} does not hold: {text}",
        "Either the assumption is wrong for one of the inputs, or the value is.",
    ),
    "MemoryError": (
        "{method} asks for more memory than there is.",
        "Look at the sizes of the tensors that are made.",
    ),
}
