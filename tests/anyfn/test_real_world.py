"""The bank of the real world says what it is made of; its packages are not needed for that."""

from __future__ import annotations

import re
import tomllib
from collections import Counter

import pytest

from benchmarks.real_world import blind_wrong, derivatives, surrogates  # noqa: F401
from benchmarks.real_world.blind import BLIND
from benchmarks.real_world.entry import ENTRIES, right, surrogate, verified, wrong
from tests.anyfn.making import keep, normal, op
from tests.docs.documents import ROOT

BANK = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["bank"]  # fmt: skip
# What is imported, where that is not the name of what is installed.
OTHER = {"coqui_tts": "TTS", "grad_cam": "pytorch_grad_cam", "megatron_core": "megatron", "optimum_quanto": "optimum", "pyro_ppl": "pyro", "torch_interpol": "interpol", "torch_lucent": "lucent", "torch_pme": "torchpme", "umnn": "UMNN"}  # fmt: skip
INSTALLED = {re.split(r"[<>=]", line)[0].replace("-", "_") for line in BANK}
NAMES = {OTHER.get(name, name) for name in INSTALLED}


@pytest.mark.parametrize(("bank", "least"), [(ENTRIES, 80), (BLIND, 45)], ids=["ours", "blind"])
def test_each_entry_says_what_is_true_and_how_that_is_known(bank, least):
    assert len(bank) >= least
    for entry in bank:
        assert re.fullmatch(r"[\w.]+:[\w.]+", entry.where)
        assert entry.how
        assert (entry.slope is not None) == (entry.truth == "surrogate"), entry.where
        assert entry.package in NAMES, f"{entry.package} is not in the extra bank"


def test_the_blind_bank_is_another_and_no_package_fills_it():
    assert not {e.where for e in BLIND} & {e.where for e in ENTRIES}
    assert max(Counter(e.package for e in BLIND).values()) <= 4
    truths = Counter(e.truth for e in BLIND)
    assert truths["right"] >= 25
    assert truths["surrogate"] >= 10


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
