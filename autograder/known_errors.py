"""Errors that learners meet, by their original words, each with a headline and a next step.

Data for ``autograder.translate``; the exact messages are those of torch 2.13 and Python.
"""

from __future__ import annotations

from autograder.reentry import ENDLESS

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
        r"save_for_backward can only save variables, but argument (\d+) is of type (\w+)",
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
        r"unsupported operand type\(s\) for .*'tuple'|can't multiply sequence by non-int of type|"
        r"bad operand type for unary -: 'tuple'|'tuple' object has no attribute|"
        r"must be Tensor, not tuple",
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
        "argument more ({0}).",
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
        r"a leaf Variable that requires grad is being used in an in-place operation",
        "{method} writes in place to a leaf that requires grad.",
        "Compute a new tensor instead of writing to an input.",
    ),
    (
        r"Boolean value of Tensor with more than one value is ambiguous",
        "{method} asks a whole tensor for one yes or no (if, and, or, a < x < b).",
        "Decide element by element: a mask such as (x > a) & (x < b), with torch.where. Each comparison "
        "needs its brackets.",
    ),
    (
        r"bitwise_(?:and|or)_\w+. not implemented for",
        "{method} combines numbers with & or |, which is for masks.",
        "Put each comparison in brackets: (x >= a) & (x <= b). Without them & comes first.",
    ),
    (
        r"only one element tensors can be converted to Python scalars|"
        r"a Tensor with \d+ elements cannot be converted to Scalar",
        "{method} turns a whole tensor into one Python number.",
        "Use the functions of torch (torch.exp), not those of math, and no float() or .item().",
    ),
    (
        r"expanded size of the tensor \((-?\d+)\) must match the existing size \((\d+)\) at "
        r"non-singleton dimension (\d+)(?:\.  Target sizes: \[(.*?)\]\.  Tensor sizes: \[(.*?)\])?",
        "{method} expands a tensor to a shape it does not fit: ({4}) to ({3}).",
        "expand lines the shapes up from the right. Where a dimension was reduced without keepdim, give it "
        "back first: unsqueeze(dim).",
    ),
    (
        r"number of sizes provided \((\d+)\) must be greater or equal to the number of dimensions in the "
        r"tensor \((\d+)\)",
        "{method} expands a tensor of {1} dimensions to {0}: expand can add dimensions, not remove them.",
        "Where keepdim kept the reduced dimension it must not be given back again.",
    ),
    (
        r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)",
        "{method} names dimension {2}, but there only {0} to {1} are possible.",
        "Count the dimensions of the very tensor on that line: a reduction without keepdim leaves one "
        "fewer, and unsqueeze allows one more.",
    ),
    (
        r"Index tensor must have the same number of dimensions as (self|src|input) tensor",
        "{method} uses an index with another number of dimensions than the tensors beside it.",
        "scatter and gather want the same number of dimensions everywhere. Give indices and values the "
        "reduced dimension back, once each: unsqueeze(dim).",
    ),
    (
        r"shape '\[(.*?)\]' is invalid for input of size (\d+)",
        "{method} reshapes {1} elements to ({0}), which holds another number of them.",
        "reshape rearranges, it neither repeats nor sums. Use expand to repeat, sum to reduce.",
    ),
    (
        r"size \{\[(.*?)\]\} is not expandable to size \{\[(.*?)\]\}",
        "{method} sums a tensor down to a shape it was not broadcast from: ({0}) is no part of ({1}).",
        "sum_to_size takes the shape of the argument that the gradient belongs to.",
    ),
    (
        r"attribute 'saved_tensors' of .* is not writable",
        "{method} assigns to ctx.saved_tensors, which torch fills by itself.",
        "Hand the tensors over by a call: ctx.save_for_backward(x). backward finds them in "
        "ctx.saved_tensors.",
    ),
    (
        r"scatter\w*\(\): Expected self.dtype to be equal to src.dtype",
        "{method} mixes dtypes: {method} must work in the dtype of its inputs.",
        "Make new tensors from a tensor that is there (grad_output.new_zeros(…)); torch.zeros alone is "
        "float32.",
    ),
    (
        r"shape mismatch: value tensor of shape \[(.*?)\] cannot be broadcast to indexing result of shape "
        r"\[(.*?)\]",
        "{method} writes a tensor of shape ({0}) into a place of shape ({1}).",
        "x[indices] picks whole rows, along dimension 0. To write one element a row there is "
        "scatter(dim, indices, values).",
    ),
    (
        r"Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
        "{method} repeats a tensor along fewer dimensions than it has.",
        "repeat wants one number a dimension. expand to the shape of the input says the same, without a copy.",
    ),
    (
        r"iteration over a 0-d tensor",
        "{method} goes through the rows of a tensor that has no dimensions.",
        "A single number has no rows. flatten() first, or go through the indices: np.ndindex(*x.shape).",
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
        r"view size is not compatible",
        "{method} calls view on a tensor whose memory layout does not allow it.",
        "grad_output need not be contiguous: use reshape instead of view.",
    ),
    (
        r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
        "{method} combines two tensors whose shapes do not fit: {0} against {1} in dimension {2}.",
        "Write the shape of every tensor beside the line; the gradient for an argument has that argument's shape.",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        "{method} multiplies matrices whose shapes do not fit: {0}×{1} and {2}×{3}.",
        "The inner sizes must agree. Write the shapes down; one factor may need a transpose.",
    ),
    (
        r"self must be a matrix|t\(\) expects a tensor with <= 2 dimensions|expected 2D|mat2 must be a matrix",
        "{method} uses an operation for matrices on a tensor with another number of dimensions.",
        "Use @ or torch.matmul, transpose(-1, -2) instead of t(), and flatten the batch dimensions where needed.",
    ),
    (
        r"(?:expected|Expected).* (?:same dtype|scalar type|dtype).*(?:but|got)",
        "{method} mixes dtypes: {method} must work in the dtype of its inputs.",
        "Make new tensors from an input (torch.zeros_like(x), x.new_zeros(…)); torch.zeros alone is float32.",
    ),
    (
        r"Expected all tensors to be on the same device|expected device",
        "{method} mixes devices.",
        "Make new tensors from an input (torch.zeros_like(x), x.new_zeros(…)), so that they lie on its device.",
    ),
    (
        r"Can't call numpy\(\) on Tensor that requires grad",
        "{method} calls numpy() on a tensor that requires grad.",
        "Stay with torch operations, or detach first where the exercise is to leave torch.",
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
