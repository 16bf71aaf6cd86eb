"""Errors about shapes, dtypes, devices and memory of tensors, in the form of ``known_errors``."""

from __future__ import annotations

ABOUT_TENSORS: tuple[tuple[str, str, str], ...] = (
    (
        r"Output of saved tensor unpack_hook expected to be a Tensor but got result of type NoneType",
        "unpack gives no tensor back but None: pack hands it nothing, or unpack has no return.",
        "unpack gets exactly what pack returned, and returns the tensor that is to be used.",
    ),
    (
        r"Output of saved tensor unpack_hook expected to be a Tensor but got result of type (\w+)",
        "unpack gives a {0} back where the tensor is wanted.",
        "unpack gets exactly what pack returned. Take the tensor out of it, in the dtype that it had.",
    ),
    (
        r"saved_tensors_hooks.*missing 1 required positional argument: 'unpack_hook'",
        "{method} gives saved_tensors_hooks one hook; it takes two, pack and unpack.",
        "saved_tensors_hooks(pack, unpack). An unpack that changes nothing is lambda tensor: tensor.",
    ),
    (
        r"Mismatch in shape: grad_output\[\d+\] has a shape of torch\.Size\(\[(.*?)\]\) and output\[\d+\] has "
        r"a shape of torch\.Size\(\[(.*?)\]\)",
        "{method} differentiates a tensor of shape [{1}] with upstream gradients (grad_outputs) of shape [{0}]; "
        "the two need the same shape.",
        "torch.ones_like(…) of the very tensor that is differentiated has its shape; a gradient that arrives for that "
        "tensor has it too. Or differentiate its sum, a single number, which needs none.",
    ),
    (
        r"(?i)only Tensors of floating point (?:and complex )?dtype can require gradients",
        "{method} asks for gradients of a tensor that cannot have any: requires_grad is set on whole numbers or "
        "bools, too.",
        "Only floating-point tensors can require grad. Ask first: tensor.is_floating_point(); or set it where the "
        "argument itself needs a gradient, tensor.requires_grad_(needed).",
    ),
    (
        r"value cannot be converted to type (u?int\d+)(?:_t)? without overflow",
        "{method} puts a number beside a tensor of {0} that {0} cannot hold.",
        "An integer dtype ends early: int8 holds −128 to 127, uint8 0 to 255. Stay in the dtype of x, and round "
        "and clamp there.",
    ),
    (
        r"expected np\.ndarray \(got numpy\.\w+\)",
        "{method} leaves torch for NumPy, which makes a plain number of a single one (0-d): torch.from_numpy takes "
        "arrays only.",
        "Compute with torch's own operations: they take every shape, dtype and device.",
    ),
    (
        r"shape mismatch: indexing tensors could not be broadcast together with shapes \[(.*?)\], \[(.*?)\]",
        "{method} indexes with tensors whose shapes, ({0}) and ({1}), do not fit each other.",
        "Several index tensors are taken together, element by element: they must have one shape, or broadcast to "
        "one.",
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
        r"shape '\[(.*?)\]' is invalid for input of size 1$",
        "A single number is left where {method} reshapes to shape ({0}).",
        "Look which step before that line took all the others away: write the shape beside each, for the case that "
        "is named.",
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
        r"argument 'size' \(position \d+\) must be tuple of \w+, not Tensor",
        "{method} hands over a tensor where a shape is wanted.",
        "The shape of a tensor is its .shape.",
    ),
    (
        r"(\w+)\(\): argument '\w+' \(position \d+\) must be Tensor, not (int|float)",
        "{method} calls torch's {0} with a Python number; it takes tensors.",
        "For a plain number there is the module math (math.{0}), or a power such as 2**0.5.",
    ),
    (
        r"len\(\) of a 0-d tensor",
        "{method} asks a single number (a 0-d tensor) for its len().",
        "A single number has no dimensions: x.dim() and len(x.shape) are 0 then, x.numel() is 1.",
    ),
    (
        r"iteration over a 0-d tensor",
        "{method} goes through the rows of a tensor that has no dimensions.",
        "A single number has no rows. flatten() first, or go through the indices: np.ndindex(*x.shape).",
    ),
    (
        r"len\(\) of a 0-d tensor",
        "{method} counts with len(), which gives the rows of a tensor (dimension 0), not its elements; a single "
        "number has no rows.",
        "x.numel() counts the elements. np.ndindex(*x.shape) goes through all of them, whatever the shape, a "
        "single number included.",
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
)
