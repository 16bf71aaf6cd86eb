"""The language that an answer may be written in without a person reading it first: all of it, as data.

Names stand for objects, and objects are compared by identity, whichever way they were reached. What
is not here waits for a person. The tests walk everything that these lists admit, and fail on a
callable that takes code, a file, a module's name or a table of what is to be called.
"""

from __future__ import annotations

import builtins
import contextlib
import logging
import re
import types

import numpy as np
import torch
from torch.autograd.function import FunctionCtx

from autograder.grading.safe_text import words_of

# Python's constructs, as its syntax tree names them.
SYNTAX = words_of("""
Module Expr Assign AugAssign Delete Pass Return If For While Break Continue With withitem Try
ExceptHandler Raise Assert FunctionDef ClassDef Lambda arguments arg Import ImportFrom alias Global
Nonlocal BoolOp And Or NamedExpr BinOp Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor
BitAnd FloorDiv UnaryOp Invert Not UAdd USub IfExp Dict Set List Tuple ListComp SetComp DictComp
GeneratorExp comprehension Yield YieldFrom Compare Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn Call
keyword FormattedValue JoinedStr Constant Attribute Subscript Slice Starred Name Load Store Del
AnnAssign Match match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar
MatchAs MatchOr
""")

# Where a class of torch's may stand, by kind of node: nobody can change it from there.
LOOSE = {"ExceptHandler": "type", "AnnAssign": "annotation", "Expr": "value", "FormattedValue": "value"}  # fmt: skip

# Python's own functions; getattr, setattr, hasattr and delattr only with a name that can be read.
BUILTINS = words_of("""
abs all any bool bytes callable classmethod complex delattr dict divmod enumerate filter float
format frozenset getattr hasattr hash id int isinstance issubclass iter len list map max min next object
pow print property range repr reversed round set setattr slice sorted staticmethod str sum super
tuple type zip NotImplemented Ellipsis ArithmeticError AssertionError AttributeError Exception
FloatingPointError IndexError KeyError LookupError NotImplementedError OverflowError RuntimeError
StopIteration TypeError UserWarning ValueError Warning ZeroDivisionError ImportError
""")

# Modules, and the names in each that may be used. "*" stands for all of a module's own functions and
# numbers whose names have no underscore in front; OPERATIONS for those that torch generates.
OPERATIONS = "operations"
MODULES: dict[str, str] = {
    "math": "*", "cmath": "*", "itertools": "*", "torch.linalg": "*", "torch.special": "*",
    "torch.fft": "*", "torch.nn.functional": "*", "scipy.special": "* jvp lambertw",
    "operator": "abs add and_ contains eq floordiv ge getitem gt index inv invert is_ is_not itemgetter "
    "le lt matmul mod mul ne neg not_ or_ pos pow sub truediv xor",
    "abc": "ABC abstractmethod", "dataclasses": "KW_ONLY InitVar asdict astuple field fields replace", "enum": "auto unique",
    "typing": "Any ClassVar Final Literal Optional TYPE_CHECKING Union cast final", "typing_extensions": "override",
    "functools": "cache lru_cache partial reduce", "collections": "Counter OrderedDict defaultdict deque",
    "contextlib": "ExitStack contextmanager nullcontext suppress", "copy": "copy", "fractions": "Fraction",
    "logging": "getLogger", "numbers": "Complex Integral Number Real", "types": "",
    "random": "choice gauss getrandbits randint random randrange sample seed shuffle uniform",
    "sys": "float_info maxsize stderr stdout", "time": "sleep",
    "warnings": "catch_warnings simplefilter warn", "weakref": "WeakKeyDictionary ref",
    "numpy": "errstate abs add all allclose amax amin any append arange argmax argsort array array_equal asarray ascontiguousarray "
    "atleast_1d bool_ broadcast_to clip concatenate copy cumsum diag dot dtype e einsum empty empty_like exp "
    "expand_dims eye finfo flip float32 float64 full full_like imag inf int32 int64 isclose isfinite isinf "
    "isnan linspace log log1p matmul max maximum mean min minimum moveaxis multiply nan nan_to_num ndenumerate "
    "ndim ndindex newaxis nonzero ones ones_like outer pi power prod ravel real real_if_close repeat reshape round shape sign "
    "sin cos sqrt square squeeze stack std sum swapaxes tanh tensordot tile transpose tril triu where "
    "zeros zeros_like expm1 floor ceil",
    "torch": f"{OPERATIONS} Generator Size Tensor are_deterministic_algorithms_enabled atleast_1d "
    "atleast_2d atleast_3d autocast block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist "
    "chain_matmul device einsum enable_grad finfo get_default_dtype get_num_threads get_rng_state iinfo "
    "inference_mode initial_seed is_anomaly_enabled is_autocast_enabled is_grad_enabled is_storage "
    "is_tensor manual_seed meshgrid no_grad norm seed set_default_dtype set_grad_enabled "
    "set_num_threads set_printoptions set_rng_state split tensordot unique unique_consecutive "
    "unravel_index vmap",
    "torch.amp": "autocast custom_bwd custom_fwd", "torch.cuda": "OutOfMemoryError is_available synchronize",
    "torch.autograd": "Function backward enable_grad grad gradcheck gradgradcheck no_grad",
    "torch.autograd.function": "once_differentiable",
    "torch.autograd.functional": "hessian hvp jacobian jvp vhp vjp",
    "torch.autograd.graph": "save_on_cpu saved_tensors_hooks",
    "torch.distributions": "Bernoulli Categorical Gumbel Normal Uniform",
    "torch.func": "grad grad_and_value hessian jacfwd jacrev jvp vjp vmap",
    "torch.nn": "BatchNorm1d CrossEntropyLoss Dropout ELU Embedding Flatten GELU Identity LayerNorm LeakyReLU Linear "
    "LogSoftmax MSELoss Module ModuleList Parameter ReLU Sequential SiLU Sigmoid Softmax Softplus Tanh",
    "torch.nn.grad": "conv1d_input conv1d_weight conv2d_input conv2d_weight",
    "torch.testing": "assert_close", "numpy.testing": "assert_allclose", "torch.profiler": "record_function",
    "torch.random": "fork_rng get_rng_state initial_seed manual_seed seed set_rng_state",
    "torch.utils.checkpoint": "checkpoint checkpoint_sequential",
}  # fmt: skip
ATEN = "torch.ops.aten"  # every operation there, but for these; the same names in torch are not admitted
NOT_OPERATIONS = frozenset({"from_file", "save"})
# Nor any whose name has one of these: what takes memory as it is, or places in it that nobody checks; what gives a
# node hooks, which change what backward is given where no check looks.
UNCHECKED = re.compile(
    r"sparse|unsafe|compressed|cs[rc]|bs[rc]|embedding_bag|nested|jagged|quantized|mkldnn|resize|cudnn|miopen|fbgemm|"
    r"segment|ctc|ldl_|fractional|frombuffer|^asarray|(nll|margin)_loss\w*_(back|for)ward|embedding_renorm|"
    r"(pool|select|gather|embedding|reduction|cummaxmin)\w*_backward|^register_(?!hook$)"
)
# What torch keeps to itself trusts whoever calls it; of that only these.
PRIVATE = words_of("""
_softmax_backward_data _log_softmax_backward_data _fake_quantize_learnable_per_tensor_affine
_fake_quantize_learnable_per_channel_affine
""")

# What may stand in one place only. Elsewhere it could make code of text that nobody has read (they write
# their methods as text, of names that are in the source here), change another's class, or take numbers for
# addresses, as an array of objects over a buffer of integers does, and a namespace that is said to be an array.
DECORATING, BASES, SPELT, ASKED = "as a decorator", "as a base", "called with texts that can be read", "as a kind"  # fmt: skip
PLACES: dict[str, dict[str, str]] = {
    DECORATING: {"dataclasses": "dataclass", "functools": "cached_property wraps"},
    BASES: {"enum": "Enum Flag IntEnum IntFlag StrEnum", "typing": "NamedTuple",
            "typing_extensions": "NamedTuple"},
    SPELT: {"collections": "namedtuple", "types": "SimpleNamespace"},
    ASKED: {"numpy": "ndarray"},
}  # fmt: skip

DECORATORS = words_of("""
abstractmethod final override unique staticmethod classmethod property once_differentiable no_grad enable_grad inference_mode
set_grad_enabled autocast custom_bwd custom_fwd cache lru_cache contextmanager
""")

# The public attributes of these types may be read of anything, but for NOT_READ; those of INSIDE, which
# have the frames, code and modules of others, of nothing. An answer's own attributes come to them.
READ = (torch.Tensor, FunctionCtx, torch.autograd.Function, torch.Size, torch.finfo, torch.Generator,
        bool, bytes, complex, dict, float, frozenset, int, list, range, set, slice, str, tuple)  # fmt: skip
READ_TOO = words_of("""
__enter__ __exit__ __init__ __name__ __qualname__ __version__ _asdict _base _fields _make _replace _cdata _is_view _saved_other _saved_result
_saved_self _version args astype bias cdf children close debug enter_context error eval eps gumbel
icdf indices info log_prob max min name named_parameters nbytes next_functions parameters rsample
sample setLevel msg path smallest_normal tiny train training transpose untyped_storage values variable warning weight
write flush zero_grad appendleft popleft most_common float_info kind names value
""")
NOT_READ = words_of("""
_module apply_ as_subclass format format_map from_bytes fromhex map2_ map_ module_load mro reinforce set_
share_memory_ storage to_dense_legacy translate maketrans
""")
INSIDE: tuple[type, ...] = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.CodeType, types.FrameType,
          types.GeneratorType, types.CoroutineType, types.TracebackType, types.ModuleType, type, object,
          BaseException, torch.Tensor, torch.nn.Module, FunctionCtx, torch.autograd.Function,
          torch.autograd.graph.Node, torch.UntypedStorage, np.ndarray, np.generic, np.dtype,
          logging.Logger, contextlib.ExitStack,
          *(one for one in map(vars(builtins).get, BUILTINS) if isinstance(one, type)))  # fmt: skip
SET = frozenset({"data", "grad", "requires_grad"})  # what may be assigned of a tensor

# Methods with two underscores that a class may have.
SPECIAL = words_of("""
__init__ __call__ __enter__ __exit__ __len__ __iter__ __next__ __getitem__ __setitem__ __contains__
__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__ __neg__
__matmul__ __post_init__ __repr__ __str__ __doc__ __slots__
""")

# What is said of what is not in the language.
PATCHES = "changes what torch, Python or the checks do for everybody"
KEEPS = "keeps something on what is neither ctx nor an object of its own, where no check looks"
HANDS_OUT = "hands out a whole module or class, so that its use cannot be read"
CANNOT_READ = "which name that is cannot be read from the source"
NOT_HERE = "is not in the language that is graded without a person looking"
REACHES_IN = "reaches into Python or torch itself"
