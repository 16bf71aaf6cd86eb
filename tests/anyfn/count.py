"""Counts how evaluate judges the bank: python -m tests.anyfn.count"""

from __future__ import annotations

import time

from autograder import evaluate
from tests.anyfn.right import RIGHT
from tests.anyfn.surrogates import BROKEN, SURROGATE
from tests.anyfn.wrong import WRONG


def main() -> None:
    for title, bank in (("right", RIGHT), ("wrong", WRONG), ("surrogates", SURROGATE), ("broken surrogates", BROKEN)):  # fmt: skip
        good, slow = 0, 0.0
        for entry in bank:
            begun = time.perf_counter()
            try:
                report = evaluate(entry.submission, inputs=entry.inputs, seed=1, **entry.terms)
                errors = [f for f in report.findings if getattr(f, "severity", "error") == "error"]
                said, rules = report.headline, [f.rule for f in errors]
                notes = [f.rule for f in report.findings if f not in errors]
                extra = notes + report.undecided
            except Exception as error:
                said, rules, extra = f"{type(error).__name__}: {error}"[:150], ["!"], []
            took = time.perf_counter() - begun
            slow = max(slow, took)
            if entry.verdict == "wrong":
                fine = bool(rules) and rules[0] in entry.rules
            else:
                fine = not rules and ("surrogate" in extra) == (entry.verdict == "surrogate")
            good += fine
            if not fine or took > 2:
                print(f"   {entry.name:45} {took:5.1f}s {rules[:2]} {extra[:2]} {said[:140]}")
        print(f"{title}: {good} of {len(bank)}; slowest {slow:.1f} s")


if __name__ == "__main__":
    main()
