"""The banks of the real world say what they are made of; their packages are not needed for that."""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter

import pytest

from benchmarks.real_functions import BANKS
from benchmarks.real_world.entry import ENTRIES, StandIns, right, surrogate, verified, wrong
from tests.anyfn.making import keep, normal, op
from tests.docs.documents import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
# What is imported, where that is not the name of what is installed.
OTHER = {
    "cola_ml": "cola", "diffcb": "dcb", "espnet": "espnet2", "mri_nufft": "mrinufft", "omnibias_binary": "omnibias", "solo_learn": "solo", "torch_vectorized": "torchvectorized",
    "bitmat_tl": "bitmat", "bnn_lab": "bnn", "frankenstein_transformer": "src", "lycoris_lora": "lycoris", "mqbench_torch2": "mqbench", "tensormesh_fem": "tensormesh",
    "OpenNMT_py": "onmt", "mace_torch": "mace", "nvidia_physicsnemo": "physicsnemo", "pytorch_nemo": "nemo", "zetascale": "zeta", "amd_quark": "quark", "cheetah_accelerator": "cheetah", "coqui_tts": "TTS", "deel_torchlip": "deel",
    "fairchem_core": "fairchem", "grad_cam": "pytorch_grad_cam", "megatron_core": "megatron", "nvidia_modelopt": "modelopt",
    "optimum_quanto": "optimum", "pot": "ot", "pykale": "kale", "pyro_ppl": "pyro", "tensorcircuit_ng": "tensorcircuit",
    "torch_fem": "torchfem", "torch_interpol": "interpol", "torch_lucent": "lucent", "torch_pme": "torchpme", "umnn": "UMNN",
}  # fmt: skip


def names(extra: str) -> set[str]:
    """What can be imported when an extra is installed."""
    installed = {re.split(r"[<>=]", line)[0].replace("-", "_") for line in EXTRAS[extra]}
    return {OTHER.get(name, name) for name in installed}


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("ours", 80),
        ("blind", 45),
        ("second", 76),
        ("third", 78),
        ("fifth", 75),
        ("sixth", 60),
        ("seventh", 57),
    ],
)
def test_each_entry_says_what_is_true_and_how_that_is_known(name, least):
    bank = BANKS[name]
    assert len(bank.entries) >= least
    for entry in bank.entries:
        assert re.fullmatch(r"[\w.]+:[\w.]+", entry.where)
        assert entry.how
        if entry.truth == "surrogate":
            assert entry.slope or entry.shown, entry.where
        else:
            assert entry.slope is None, entry.where
        assert entry.package in names(bank.extra), f"{entry.package} is not in {bank.extra}"


def test_the_second_bank_says_what_is_true_of_second_derivatives():
    for entry in BANKS["second"].entries:
        assert entry.second in {
            "right": {"right", "missing", "raises"}, "surrogate": {""}, "wrong": {"", "wrong"}
        }[entry.truth]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "others", "most", "rights", "surrogates"),
    [
        ("blind", ["ours"], 4, 25, 10),
        ("second", ["ours", "blind"], 5, 36, 20),
        ("third", ["ours", "blind", "second"], 7, 30, 10),
        ("fifth", ["ours", "blind", "second", "third", "fourth"], 7, 33, 24),
        ("sixth", ["ours", "blind", "second", "third", "fourth", "fifth"], 4, 24, 15),
        ("seventh", ["ours", "blind", "second", "third", "fourth", "fifth", "sixth"], 4, 26, 15),
    ],
)
def test_a_blind_bank_is_another_and_no_package_fills_it(name, others, most, rights, surrogates):
    bank = BANKS[name].entries
    assert not {e.where for e in bank} & {e.where for o in others for e in BANKS[o].entries}
    assert max(Counter(e.package for e in bank).values()) <= most
    truths = Counter(e.truth for e in bank)
    assert truths["right"] >= rights
    assert truths["surrogate"] >= surrogates


@pytest.mark.parametrize("bank", ["second", "third", "fifth"])
def test_no_package_of_a_later_bank_is_in_another(bank):
    of = {name: {e.package for e in each.entries} for name, each in BANKS.items()}
    assert not of.pop(bank) & set().union(*of.values())


def test_nothing_stands_in_for_a_package_before_a_bank_is_run():
    assert not any(isinstance(finder, StandIns) for finder in sys.meta_path)


def test_what_is_not_true_is_noticed():
    square = op(
        "Square", lambda ctx, x: keep(ctx, x * x, x), lambda ctx, g: g * ctx.saved_tensors[0]
    )
    sign = op("Sign", lambda ctx, x: x.sign(), lambda ctx, g: 2 * g)
    before = len(ENTRIES)
    right("a:Square", lambda: (normal(3),))
    wrong("a:Square", lambda: (normal(3),), "a factor is missing")
    surrogate("a:Sign", lambda: (normal(3),), lambda x: 0 * x + 2)
    surrogate("a:Sign", lambda: (normal(3),), lambda x: 0 * x + 1)
    made = [ENTRIES.pop() for _ in range(len(ENTRIES) - before)][::-1]
    found = [verified(e, f) for e, f in zip(made, (square, square, sign, sign), strict=True)]
    assert found == [False, True, True, False]
