"""What a submission may import, name and touch without a person looking at it first.

An allow-list: what is not here waits for a person. It is wide enough for honest work (every answer of
the tests' gallery) and leaves out what reaches files, processes, the network or Python itself.
"""

from __future__ import annotations

ANY: frozenset[str] = frozenset({"*"})  # every name without a leading underscore

# Modules of Python, and the names of each that are fine.
PYTHON: dict[str, frozenset[str]] = dict.fromkeys(("__future__", "abc", "array", "bisect", "builtins", "cmath", "collections", "collections.abc", "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "heapq", "itertools", "json", "math", "numbers", "operator", "pprint", "random", "re", "statistics", "string", "textwrap", "time", "typing", "warnings", "weakref"), ANY) | {
    "asyncio": frozenset({"sleep"}),
    "gc": frozenset({"collect", "enable", "disable", "isenabled"}),
    "io": frozenset({"StringIO", "BytesIO"}),
    "logging": frozenset({
        "debug", "info", "warning", "error", "critical", "exception", "log", "basicConfig",
        "getLogger", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "StreamHandler", "Formatter",
        "disable", "NullHandler", "Logger", "captureWarnings",
    }),
    "os": frozenset({"environ", "getenv", "cpu_count", "linesep"}),
    "sys": frozenset({
        "stdout", "stderr", "version", "version_info", "platform", "float_info", "maxsize",
        "byteorder", "getsizeof", "getrefcount", "exit", "setrecursionlimit", "getrecursionlimit",
        "int_info",
    }),
    "timeit": frozenset({"default_timer"}),
    "traceback": frozenset({"print_exc", "format_exc", "print_exception", "format_exception"}),
    "types": frozenset({"SimpleNamespace", "NoneType", "MappingProxyType"}),
    "typing_extensions": ANY,
}  # fmt: skip

# Packages with everything below them, but for the parts in REFUSED.
PACKAGES = frozenset({"torch", "numpy", "matplotlib", "scipy", "sklearn", "tqdm"})

OURS: dict[str, frozenset[str]] = {
    "autograder": frozenset({"check", "hint", "progress", "explain", "evaluate", "CheckFailed"}),
    "IPython": frozenset({"display"}),
    "IPython.display": frozenset({
        "display", "HTML", "Markdown", "Math", "Latex", "Image", "SVG", "Pretty", "clear_output",
    }),
}  # fmt: skip

_FILES = "reads or writes files"
_CODE = "runs code that cannot be read here"
_INTERNAL = "reaches into the inside of torch"
_ATTACH = "changes what torch's own functions do"
_MEMORY = "reads and writes memory without any check"

# Parts of what is allowed above that are not, each with what it does.
REFUSED: dict[str, str] = {
    "torch.load": _FILES, "torch.save": _FILES, "torch.from_file": _FILES,
    "torch.serialization": _FILES, "torch.storage": _FILES, "torch.package": _FILES,
    "torch.UntypedStorage.from_file": _FILES, "torch.jit.load": _FILES, "torch.jit.save": _FILES,
    "torch.export.save": _FILES, "torch.export.load": _FILES, "torch.onnx": _FILES, "torch.utils.tensorboard": _FILES,
    "torch.hub": "reaches the network", "torch.utils.model_zoo": "reaches the network",
    "torch.distributed": "starts other processes", "torch.multiprocessing": "starts other processes",
    "torch.futures": "starts other threads", "torch.jit.fork": "starts other threads",
    "torch.classes": _CODE, "torch.utils.cpp_extension": _CODE, "torch.fx": _CODE,
    "torch.ops": _CODE, "torch.utils.bundled_inputs": _CODE, "torch.utils.collect_env": _CODE,
    "torch.utils.bottleneck": _CODE, "torch.cuda.memory.CUDAPluggableAllocator": _CODE,
    "torch.cuda.CUDAPluggableAllocator": _CODE, "torch.utils.backend_registration": _ATTACH,
    "torch.library": _ATTACH, "torch.utils.rename_privateuse1_backend": _ATTACH,
    "torch.utils.generate_methods_for_privateuse1_backend": _ATTACH,
    "torch.utils.set_module": _ATTACH, "torch.utils.swap_tensors": _ATTACH,
    "torch.autograd.function.FunctionCtx": _INTERNAL,
    "torch.autograd.function.BackwardCFunction": _INTERNAL,
    "torch.autograd.function.FunctionMeta": _INTERNAL,
    "numpy.load": _FILES, "numpy.save": _FILES, "numpy.savez": _FILES, "numpy.memmap": _FILES,
    "numpy.savez_compressed": _FILES, "numpy.fromfile": _FILES, "numpy.loadtxt": _FILES,
    "numpy.savetxt": _FILES, "numpy.genfromtxt": _FILES, "numpy.fromregex": _FILES,
    "numpy.lib.format": _FILES, "numpy.lib.npyio": _FILES, "numpy.DataSource": _FILES,
    "numpy.ctypeslib": _MEMORY, "numpy.lib.stride_tricks.as_strided": _MEMORY,
    "numpy.f2py": _CODE, "numpy.distutils": _CODE, "numpy.testing": _CODE, "numpy.core": _CODE,
    "numpy.set_string_function": _CODE,
    "matplotlib.cbook": _FILES, "matplotlib.testing": _CODE, "matplotlib.sphinxext": _CODE,
    "matplotlib.animation": _CODE, "matplotlib.texmanager": _CODE,
    "scipy.io": _FILES, "scipy.datasets": "reaches the network", "scipy.LowLevelCallable": _MEMORY,
    "sklearn.externals": _CODE, "sklearn.utils.parallel": "starts other threads",
    "tqdm.contrib": "starts other threads", "tqdm.cli": _FILES,
    "torch.nn.parallel": "starts other threads", "torch.nn.DataParallel": "starts other threads",
    **dict.fromkeys((f"sklearn.datasets.fetch_{name}" for name in ("20newsgroups", "20newsgroups_vectorized", "california_housing", "covtype", "file", "kddcup99", "lfw_pairs", "lfw_people", "olivetti_faces", "openml", "rcv1", "species_distributions")), "unpacks files that can hold code"),
    "sklearn.datasets.load_files": _FILES, "sklearn.datasets.load_svmlight_file": _FILES,
    "contextlib.chdir": _FILES,
    "weakref.getweakrefs": "finds objects that are not yours",
    "typing.get_type_hints": _CODE, "typing.ForwardRef": _CODE, "string.Formatter": _CODE,
    "typing_extensions.get_type_hints": _CODE, "typing_extensions.evaluate_forward_ref": _CODE,
    "enum.bltns": _CODE, "dataclasses.make_dataclass": _CODE,
    "abc.update_abstractmethods": _ATTACH,
}  # fmt: skip

# Exceptions to REFUSED and to "no leading underscore": what the lessons themselves use.
ALLOWED_PATHS = frozenset({
    "torch.multiprocessing.reductions.StorageWeakRef",
    "torch.utils._python_dispatch.TorchDispatchMode",
    "torch.utils._pytree", "widgets.data.poems", "autograder.environment.check_environment",
    "numpy.testing.assert_allclose", "numpy.testing.assert_array_equal",
    "numpy.testing.assert_almost_equal", "numpy.testing.assert_equal",
    "numpy.testing.assert_array_almost_equal", "numpy.testing.assert_array_less",
})  # fmt: skip

# Built-in functions that read or run what cannot be seen in the source. input() is harmless.
BUILTINS: dict[str, str] = {
    "eval": _CODE, "exec": _CODE, "compile": _CODE, "__import__": _CODE, "breakpoint": _CODE,
    "open": _FILES,
    "globals": "hands out every name there is", "locals": "hands out every name there is",
    "vars": "hands out the inside of an object",
    "__builtins__": _CODE, "__loader__": _CODE, "__spec__": _CODE, "__builtin__": _CODE,
}  # fmt: skip
# These take a name as text, so they are read only when called at once with a constant.
BY_NAME = frozenset({"getattr", "setattr", "delattr"})

# Attributes with two underscores on each side that honest work reads.
DUNDERS_READ = frozenset({
    "__name__", "__qualname__", "__doc__", "__init__", "__version__", "__exit__", "__len__",
    "__enter__", "__call__", "__repr__", "__str__", "__main__", "__post_init__", "__add__",
    "__sub__", "__mul__", "__truediv__", "__matmul__", "__neg__", "__pow__", "__radd__",
    "__rsub__", "__rmul__", "__rtruediv__", "__getitem__", "__iter__", "__next__", "__abs__",
    "__file__", "__annotations__", "__contains__", "__float__", "__int__", "__bool__",
    "__cause__", "__notes__",
})  # fmt: skip
# And those it defines.
DUNDERS_DEFINED = DUNDERS_READ | frozenset({
    "__new__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__all__",
    "__setitem__", "__delitem__", "__iadd__", "__isub__", "__imul__", "__floordiv__", "__mod__",
    "__and__", "__or__", "__xor__", "__invert__", "__format__", "__index__", "__reversed__",
    "__slots__", "__match_args__", "__author__", "__pos__", "__rmatmul__", "__rpow__", "__round__",
    "__aenter__", "__aexit__", "__aiter__", "__anext__", "__await__",
})  # fmt: skip
MODE_METHODS = frozenset({"__torch_dispatch__", "__torch_function__"})

_FRAMES = "reaches the frames and the code of other functions"
# Names of attributes that are refused whatever they are read from.
ATTRIBUTES: dict[str, str] = dict.fromkeys(("f_back", "f_builtins", "f_code", "f_globals", "f_lineno", "f_locals", "f_trace", "tb_frame", "tb_next", "gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "ag_frame", "ag_code", "func_globals", "func_code", "co_code", "co_consts", "walk_stack", "walk_tb", "settrace", "setprofile", "_getframe", "currentframe"), _FRAMES) | {
    "mro": "walks from a class to those it is made of",
    "get_field": _CODE, "tofile": _FILES, "ctypes": _MEMORY, "py_impl": _ATTACH, "redispatch": _INTERNAL,
    "py_functionalize_impl": _ATTACH, "_backward_cls": _INTERNAL, "_C": _INTERNAL,
    "_execution_engine": _INTERNAL, "queue_callback": _INTERNAL, "_make_subclass": _INTERNAL,
    "_make_wrapper_subclass": _INTERNAL, "_register_hook_dict": _INTERNAL,
    "register_module_forward_hook": _ATTACH, "register_module_forward_pre_hook": _ATTACH,
    "register_module_backward_hook": _ATTACH, "register_module_full_backward_hook": _ATTACH,
    "register_module_full_backward_pre_hook": _ATTACH, "register_module_buffer_registration_hook": _ATTACH,
    "register_module_module_registration_hook": _ATTACH,
    "register_module_parameter_registration_hook": _ATTACH,
}  # fmt: skip

# Names that lessons' set-up cells and the kernel bind before a learner's first cell runs.
KNOWN_NAMES: dict[str, str] = {
    "torch": "torch", "F": "torch.nn.functional", "nn": "torch.nn", "np": "numpy",
    "plt": "matplotlib.pyplot", "math": "math", "os": "os", "sys": "sys", "gc": "gc",
    "time": "time", "copy": "copy", "weakref": "weakref", "warnings": "warnings",
    "Function": "torch.autograd.Function", "gradcheck": "torch.autograd.gradcheck",
    "gradgradcheck": "torch.autograd.gradgradcheck",
    "saved_tensors_hooks": "torch.autograd.graph.saved_tensors_hooks",
    "once_differentiable": "torch.autograd.function.once_differentiable",
    "StorageWeakRef": "torch.multiprocessing.reductions.StorageWeakRef",
    "TorchDispatchMode": "torch.utils._python_dispatch.TorchDispatchMode",
    "tree_iter": "torch.utils._pytree.tree_iter", "check": "autograder.check",
    "hint": "autograder.hint", "progress": "autograder.progress", "explain": "autograder.explain",
    "show": "widgets.show", "palette": "widgets.palette", "quiz": "widgets.quiz",
    "xray": "widgets.xray",
}  # fmt: skip

# Settings of torch and of plots that may be assigned: the box forgets them with the submission.
SETTINGS = ("torch.backends.", "matplotlib.rcParams", "matplotlib.pyplot.rcParams")
ENVIRONMENT = ("KMP_", "OMP_", "MKL_", "CUDA_", "CUBLAS_", "PYTORCH_", "TORCH_", "PYTHONHASHSEED")

# Magics that show or time something. Those that run code have their code read.
QUIET_MAGICS = frozenset({
    "matplotlib", "pinfo", "pinfo2", "autoreload", "who", "whos", "precision", "xmode", "pprint",
    "pip", "conda", "mamba", "pwd", "ls", "lsmagic", "tb", "psource", "pdoc", "pdef", "html",
    "markdown", "latex", "svg", "colors", "sx", "system",
})  # fmt: skip
# Magics that are fine with what begins like this and nothing else.
MAGICS_WITH = {"load_ext": "autoreload", "config": "InlineBackend"}
# What IPython (9.18) takes for a magic without its % where it is the only line of a cell.
_LINE_MAGICS = """
alias alias_magic autoawait autocall automagic bookmark cat cd code_wrap colors conda config cp
debug dhist dirs doctest_mode ed edit env gui hist history killbgscripts ldir less lf lk ll load
load_ext loadpy logoff logon logstart logstate logstop ls lsmagic lx macro magic mamba man
matplotlib micromamba mkdir more mv notebook page pastebin pdb pdef pdoc pfile pinfo pinfo2 pip
popd pprint precision prun psearch psource pushd pwd pycat pylab quickref recall rehashx
reload_ext rep rerun reset reset_selective rm rmdir run save sc set_env store sx system tb time
timeit unalias unload_ext uv who who_ls whos xdel xmode
"""
LINE_MAGICS = frozenset(_LINE_MAGICS.split())
CODE_MAGICS = frozenset({"time", "timeit", "capture", "prun"})
# Cells that are another program's text. No program is started in the box, so they do nothing.
SCRIPT_MAGICS = frozenset({
    "!", "bash", "cmd", "perl", "pypy", "python", "python2", "python3", "ruby", "script", "sh", "sx",
    "system",
})  # fmt: skip
