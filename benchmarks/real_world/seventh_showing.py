"""The seventh blind bank: its own form of an entry, ways of showing what is true, and what it runs beside.

None of its packages is in the other banks. It was chosen and judged by somebody who had no part in the checker and did not
look at it. What is true of each Function was verified without the checker: by gradcheck at several inputs and gradgradcheck,
each argument alone, other strides of inputs and of upstream gradients, expanded, zero, twofold and added upstream gradients,
float32, two calls interleaved, a second pass, what is overwritten, forward mode where there is a jvp; a surrogate by its
published formula; by plain torch or own programs where gradcheck cannot tell. All of it was written down before ``evaluate``
was run on any of them. No mistake is planted: each wrong one is wrong as its package ships it.

seventh.py has the right ones, seventh_surrogates.py the surrogates, seventh_wrong.py the wrong ones, in this order.
"""

from __future__ import annotations

import sys
from functools import partial

from benchmarks.real_world.entry import Bank, StandIns
from benchmarks.real_world.second_showing import right_in, surrogate_in, wrong_in
from benchmarks.real_world.sixth_showing import Within

# What other parts of these packages need to be imported, and no Function here calls.
BESIDE = frozenset({
    "accelerate", "bokeh", "cholespy", "deepinv", "fbgemm_gpu", "h5py", "hydra", "importlib_resources", "logbar", "ml_dtypes", "nnmnkwii",
    "omegaconf", "onnx", "pcre", "pkg_resources", "progressbar", "pyworld", "safetensors", "soundfile", "tensordict", "tesseract_core", "torch_geometric", "torch_scatter", "torchvision",
})  # fmt: skip


def stand_in() -> None:
    """Before the first is imported: stand-ins for what is not there, the last to be asked."""
    # Its compiled part is for another version of torch, and has a twin in Python.
    sys.meta_path.insert(0, Within(frozenset({"torchaudio._extension"}), _IS_TORCHAUDIO_EXT_AVAILABLE=False))  # fmt: skip
    # The polynomials of the first derivatives of tanh and of the sigmoid, in a package that cannot lie beside this one.
    core = frozenset({"omnibias.core", "omnibias.core.polynomials"})
    polynomials = {"tanh_polynomial_coeffs": lambda _: (1.0, 0.0, -1.0), "sigmoid_polynomial_coeffs": lambda _: (0.0, 1.0, -1.0)}  # fmt: skip
    sys.meta_path.insert(0, Within(core, **polynomials))
    # They fetch from a hub, export, or serve.
    beside = {"aimet_torch.common.onnx._utils", "aimet_torch.nn.transformers", "gptqmodel.utils.hub", "hivemind.moe.server.layers.custom_experts"}  # fmt: skip
    sys.meta_path.insert(0, Within(frozenset(beside)))
    # It registers what is exported to ONNX, and is asked to leave the classes as they are.
    kept = {"register_symbolic": lambda _: lambda kind: kind}
    sys.meta_path.insert(0, Within(frozenset({"aimet_torch.experimental.onnx._export"}), **kept))
    sys.meta_path.append(StandIns(BESIDE, __version__="2.1.0"))


SEVENTH = Bank()
right, surrogate, wrong = (partial(each, SEVENTH) for each in (right_in, surrogate_in, wrong_in))
