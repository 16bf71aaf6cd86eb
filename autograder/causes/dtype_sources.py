"""What in a method makes a float32 (or float64) tensor, where the input has another dtype."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from autograder.source import Source

# Of these, without a dtype, torch makes tensors of its default dtype.
_FACTORIES = ("zeros", "ones", "full", "empty", "rand", "randn", "eye", "linspace", "tensor")
_LIKE = ("zeros", "ones", "full", "empty")
_CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32",
    "short": "int16", "char": "int8", "byte": "uint8",
}  # fmt: skip


_TYPED = {
    "Tensor": "float32", "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16",
    "LongTensor": "int64", "IntTensor": "int32",
}  # fmt: skip
_WHOLE = "makes whole numbers"
_KINDS = 2  # of expressions that one sentence can name
_COUNTING = ("one_hot", "argmax", "argmin", "argsort")


@dataclass(frozen=True)
class MadeBy:
    """What in some methods makes tensors of a dtype: one kind of expression or two, where they stand first.

    words  a clause that says so, with the lines
    hint   what to write in its place
    """

    words: str
    hint: str
    line: int
    text: str


def made_by(source: Source, dtype: str, *methods: str) -> MadeBy | None:
    """None where nothing is found, or three kinds of things and more: then nobody knows which it is."""
    found: list[tuple[ast.AST, str, str]] = []
    for name in methods:
        for node in ast.walk(source.methods[name]) if name in source.methods else ():
            if said := _says(node, dtype):
                words, hint = (_with_its_name(source, name, text) for text in said)
                found.append((node, words, hint))
    kinds: dict[str, tuple[ast.AST, str]] = {}
    for node, words, hint in sorted(found, key=lambda each: source.line_of(each[0])[0]):
        kinds.setdefault(words, (node, hint))
    if len(kinds) > 1:  # an index is made of whole numbers, too
        kinds = {words: kind for words, kind in kinds.items() if _WHOLE not in words}
    if not kinds or len(kinds) > _KINDS:
        return None
    told = [f"{words} (line {source.line_of(node)[0]})" for words, (node, _) in kinds.items()]
    hints = dict.fromkeys(hint for _, hint in kinds.values())
    first = next(iter(kinds.values()))[0]
    return MadeBy(", and ".join(told), " ".join(hints), *source.line_of(first))


def _with_its_name(source: Source, method: str, words: str) -> str:
    """The words, with the learner's name for the first argument of forward in the place of x.

    In backward, where x may not be at hand, with the one for the upstream gradient.
    """
    node = source.methods[method]
    if method == "backward" and len(node.args.args) > 1:
        if any(isinstance(n, ast.Name) and n.id == "x" for n in ast.walk(node)):
            return words
        words = re.sub(r", torch\.\w+_like\(x\)", "", words)  # its shape is another one
        return re.sub(r"\bx(?=\.dtype|\.new_)", node.args.args[1].arg, words)
    arguments = [a.arg for a in node.args.args][0 if "setup_context" in source.methods else 1 :]
    if method != "forward" or not arguments or "x" in arguments:
        return words
    if any(isinstance(n, ast.Call) and ast.unparse(n.func) == arguments[0] for n in ast.walk(node)):
        return words  # a function, which has no dtype
    return re.sub(r"\bx(?=\.dtype|\.new_|\)| is\b|;)", arguments[0], words)


def _says(node: ast.AST, dtype: str) -> tuple[str, str] | None:
    if isinstance(node, ast.Attribute) and node.attr == dtype:
        written = ast.unparse(node)
        return (
            f"the code names {written}",
            "Take the dtype of the input instead: dtype=x.dtype, or .to(x.dtype).",
        )
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name, owner = node.func.attr, ast.unparse(node.func.value)
    if _CASTS.get(name) == dtype and not node.args:
        return (
            f".{name}() makes {dtype} of everything",
            f"In place of .{name}() write .to(x.dtype), which keeps to the dtype of the input.",
        )
    if owner == "torch" and _TYPED.get(name) == dtype:
        return (
            f"torch.{name} makes {dtype} of everything",
            "torch.tensor(…, dtype=x.dtype) or torch.as_tensor(…, dtype=x.dtype) keeps to the dtype of the input.",
        )
    whole = len(node.args) == 3 and all(_is_number(each, int) for each in node.args[1:])
    if dtype == "int64" and name == "where" and whole:
        return (
            "torch.where with two whole numbers makes int64",
            "Write .to(x.dtype) behind it, or give it tensors: torch.ones_like(x).",
        )
    if dtype == "float32" and (cast := _to_whole_numbers(node)):
        return (
            f"{cast} {_WHOLE}, and with a Python float these make float32, whatever x is",
            "Stay in the dtype of x; torch.round, floor and trunc give whole values in it.",
        )
    if dtype == "int64" and name in _COUNTING:
        return (
            f"{name} gives whole numbers",
            f"Bring what {name} gives to the dtype of the input: .to(x.dtype).",
        )
    if dtype != "float32" or owner != "torch" or any(k.arg == "dtype" for k in node.keywords):
        return None
    if name in _FACTORIES:
        return (
            f"torch.{name} makes float32 where no dtype is named",
            "Name the dtype (dtype=x.dtype), or make it from a tensor that is there"
            + (f": x.new_{name}(…), torch.{name}_like(x)." if name in _LIKE else "."),
        )
    if name == "where" and len(node.args) == 3 and all(map(_is_number, node.args[1:])):
        return (
            "torch.where with two numbers makes float32",
            "Write .to(x.dtype) behind it, or give it tensors: torch.ones_like(x).",
        )
    return None


def _to_whole_numbers(call: ast.Call) -> str:
    """``.int()`` and ``.to(torch.int32)`` as they are written; "" for anything else."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if _CASTS.get(name, "").startswith(("int", "uint")) and not call.args:
        return f".{name}()"
    whole = [
        ast.unparse(a) for a in call.args if ast.unparse(a).startswith(("torch.int", "torch.uint"))
    ]
    return f".to({whole[0]})" if name == "to" and len(whole) == 1 else ""


def _is_number(node: ast.AST, kind: type = float) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is kind


def joined(message: str, made: MadeBy) -> str:
    """A sentence about an odd dtype, with what makes it."""
    return f"{message.removesuffix('.')}: {made.words}."
