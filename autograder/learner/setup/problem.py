"""Something that stops set-up, said in words that help: what happened, then what to do."""

import sys
from dataclasses import dataclass


@dataclass(eq=False)
class SetupProblem(Exception):
    """Stops set-up. `remedies`: what to try, most likely first; `evidence`: raw output."""

    what: str
    remedies: tuple[str, ...] = ()
    evidence: str = ""

    def __str__(self) -> str:
        parts = [self.what]
        if self.evidence:
            parts += ["", *(f"    | {line}" for line in self.evidence.splitlines())]
        if self.remedies:
            parts += ["", "What to do:", *(f"  - {remedy}" for remedy in self.remedies)]
        return "\n".join(parts)


def report(problem: SetupProblem) -> int:
    """Print the problem for a person; give the exit status that goes with it."""
    print(f"\n{problem}\n", file=sys.stderr)
    return 1
