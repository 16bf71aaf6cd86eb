"""Runs evaluate on Functions that public packages ship, where they lie: python benchmarks/real_functions.py

The packages (an extra in pyproject.toml: `bank`, `second-bank`, `third-bank`, `fourth-bank`, `fifth-bank`, `sixth-bank` or `seventh-bank`) are installed without what they depend on into a cache
of their own, --cache (build/real_functions, …), and imported from there: no code is copied, and
torch stays as it is.

--bank NAME   ours (the default); blind, second, third, fourth, fifth, sixth or seventh: the entries of people who had no part in the checker, with evaluate's
              defaults (ten seconds, a fresh seed)
--verify      also shows again, without the checker, that what each entry says is true
--only WORD   entries whose place contains the word
--write PAGE  writes the tables into a page of docs
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
import time
import tomllib
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]


from autograder import evaluate  # noqa: E402
from benchmarks.measure import write_counted  # noqa: E402
from benchmarks.real_world import (  # noqa: E402, F401
    blind_wrong,
    derivatives,
    fifth_wrong,
    fourth_wrong,
    second_wrong,
    seventh_wrong,
    sixth_wrong,
    surrogates,
    third_wrong,
)
from benchmarks.real_world.blind import BLIND  # noqa: E402
from benchmarks.real_world.entry import ENTRIES, Bank, Entry, verified  # noqa: E402
from benchmarks.real_world.fifth_showing import FIFTH  # noqa: E402
from benchmarks.real_world.fifth_showing import stand_in as beside_fifth  # noqa: E402
from benchmarks.real_world.fourth_showing import FOURTH  # noqa: E402
from benchmarks.real_world.fourth_showing import stand_in as beside_fourth  # noqa: E402
from benchmarks.real_world.second_showing import SECOND  # noqa: E402
from benchmarks.real_world.second_showing import stand_in as beside_second  # noqa: E402
from benchmarks.real_world.seventh_showing import SEVENTH  # noqa: E402
from benchmarks.real_world.seventh_showing import stand_in as beside_seventh  # noqa: E402
from benchmarks.real_world.sixth_showing import SIXTH  # noqa: E402
from benchmarks.real_world.sixth_showing import stand_in as beside_sixth  # noqa: E402
from benchmarks.real_world.third_showing import THIRD  # noqa: E402
from benchmarks.real_world.third_showing import stand_in as beside_third  # noqa: E402

GOOD = {"right": "passes", "surrogate": "known", "wrong": "found"}


@dataclass(frozen=True)
class Choice:
    """A bank that can be asked for, the extra of pyproject.toml with its packages, and the folder they lie in."""

    entries: Bank
    extra: str
    cache: str
    terms: dict[str, Any]  # of evaluate
    stand_in: Callable[[], None] = lambda: None  # for what its packages import and do not need


OURS = {"seed": 1, "seconds": None}
BANKS = {
    "ours": Choice(ENTRIES, "bank", "real_functions", OURS),
    "blind": Choice(BLIND, "bank", "real_functions", {}),
    "second": Choice(SECOND, "second-bank", "second_real_functions", {}, beside_second),
    "third": Choice(THIRD, "third-bank", "third_real_functions", {}, beside_third),
    "fourth": Choice(FOURTH, "fourth-bank", "fourth_real_functions", {}, beside_fourth),
    "fifth": Choice(FIFTH, "fifth-bank", "fifth_real_functions", {}, beside_fifth),
    "sixth": Choice(SIXTH, "sixth-bank", "sixth_real_functions", {}, beside_sixth),
    "seventh": Choice(SEVENTH, "seventh-bank", "seventh_real_functions", {}, beside_seventh),
}


@dataclass(frozen=True)
class Row:
    """What became of one entry.

    outcome  passed, failed, incomplete, stopped; rules: at error level; true: None where that was not asked
    """

    entry: Entry
    outcome: str
    rules: tuple[str, ...]
    surrogate: bool
    headline: str
    seconds: float  # of the processor: what else the machine does counts little
    waited: float  # on the clock
    true: bool | None

    @property
    def fine(self) -> bool:
        """Whether evaluate says what is true."""
        if self.entry.truth == "wrong":
            return self.outcome == "failed"
        told = "surrogate" in self.entry.terms
        return self.outcome == "passed" and (told or self.surrogate == (self.entry.truth == "surrogate"))  # fmt: skip


def install(cache: Path, extra: str) -> None:
    """The packages that are not there yet, one by one: those that cannot be had are left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    done = cache / "installed.txt"
    cache.mkdir(parents=True, exist_ok=True)
    there = set(done.read_text().split()) if done.exists() else set()
    for wanted in project["optional-dependencies"][extra]:
        if wanted in there:
            continue
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile"]
        command = [*pip, "--target", str(cache), wanted]  # some have no wheel, and are built
        if subprocess.run(command, capture_output=True).returncode == 0:
            with done.open("a") as file:
                file.write(f"{wanted}\n")
        else:
            print(f"not to be had here: {wanted}", file=sys.stderr)


def row_of(entry: Entry, cache: Path, verify: bool, terms: dict[str, Any]) -> Row | str:
    """One entry judged on these terms; a sentence where its Function cannot be imported."""
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1], warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function = entry.load(cache)
        except Exception as error:
            return f"{entry.where}: {type(error).__name__}: {error}"[:160]
        true = verified(entry, function) if verify else None
        inputs, begun = entry.inputs(), (time.process_time(), time.perf_counter())
        try:
            report = evaluate(function, inputs=inputs, **terms, **entry.terms)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"[:160]
            return Row(entry, "stopped", (), False, said, 0.0, 0.0, true)
        seconds = time.process_time() - begun[0], time.perf_counter() - begun[1]
    errors = tuple(f.rule for f in report.findings if f.severity == "error")
    note = any(f.rule == "surrogate" for f in report.findings)
    return Row(entry, report.outcome, errors, note, report.headline, *seconds, true)


def tables(rows: list[Row]) -> Iterable[str]:
    """The page's tables, in markdown."""
    yield "| truth | Functions | evaluate says so | at error level otherwise | slowest |"
    yield "|---|---|---|---|---|"
    for truth, word in GOOD.items():
        some = [r for r in rows if r.entry.truth == truth]
        good = sum(r.fine for r in some)
        alarms = "–" if truth == "wrong" else str(sum(r.outcome == "failed" for r in some))
        slowest = max((r.seconds for r in some), default=0.0)
        yield f"| {truth} | {len(some)} | {good} {word} | {alarms} | {slowest:.1f} s |"
    seconds = sorted(r.seconds for r in rows)
    waited = max((r.waited for r in rows), default=0.0)
    yield f"\nMedian {seconds[len(seconds) // 2]:.1f} s, {sum(s > 10 for s in seconds)} of {len(rows)} over ten seconds; {waited:.1f} s at most on the clock."
    yield "\n| Function | truth | known from | evaluate | seconds |\n|---|---|---|---|---|"
    for r in rows:
        said = ", ".join(r.rules[:2]) or ("surrogate" if r.surrogate else r.outcome)
        mark = "" if r.fine else " **≠**"
        package = f"{r.entry.package} `{r.entry.name}`"
        yield f"| {package} | {r.entry.truth} | {r.entry.how} | {said}{mark} | {r.seconds:.1f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bank", choices=BANKS, default="ours")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    bank = BANKS[options.bank]
    cache = options.cache or ROOT / "build" / bank.cache
    install(cache, bank.extra)
    # unsloth_zoo writes files where it is imported: not into the folder somebody happens to be in.
    os.environ["UNSLOTH_COMPILE_LOCATION"] = str(cache.resolve() / "unsloth")
    bank.stand_in()
    rows, untrue = [], 0
    for entry in bank.entries:
        if options.only not in entry.where:
            continue
        row = row_of(entry, cache, options.verify, bank.terms)
        if isinstance(row, str):
            print(f"cannot be imported: {row}")
            continue
        rows.append(row)
        untrue += row.true is False
        if not row.fine or row.true is False:
            lie = " · what the entry says is not so" if row.true is False else ""
            print(f"{entry.truth:9} {entry.where}: {row.outcome} {row.rules[:2]}{lie}\n          {row.headline}")  # fmt: skip
    print("\n".join(tables(rows)))
    if options.write:
        write_counted(options.write, "\n".join(tables(rows)))
    return 1 if untrue else 0


if __name__ == "__main__":
    sys.exit(main())
