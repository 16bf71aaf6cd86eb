"""Attacks on one's own score: wrong answers that want points all the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tests.grading.attacks.changes import CHANGES
from tests.grading.attacks.lesson import RIGHT, WRONG, Cell, code, handed_in, needing

# Which wall it is shown to pass where it is gone:
IN_PROCESS = "judged outside the process"  # the naive judge gives points
READ_FIRST = "cells are read before"  # our grader gives points if it does not read the cells
COMPARED = "answers are compared"  # our grader gives points if its judge believes what it is told


@dataclass(frozen=True)
class ScoreAttack:
    """A notebook with wrong answers, and what it does to get points.

    before  a cell before the exercises; what an answer needs, where it is to get past our walls
    after   a cell behind everything
    answers exercises that are not just wrong
    change  what is done to the notebook besides
    worth   what these answers get without it
    files   what is handed in with it, by name
    wall    what it is shown to gain without
    """

    name: str
    before: str = ""
    after: str = ""
    answers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    change: Callable[[Cell], None] | None = None
    worth: float = 0.0
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    wall: str = IN_PROCESS

    def notebook(self) -> Cell:
        answers, before = dict(self.answers), self.before
        if before and self.wall != IN_PROCESS:  # where it is not needed, it is not run at all
            name = "MySigmoid" if self.wall == READ_FIRST else "Square"
            answers[name], before = needing(before, answers.get(name, WRONG[name])), ""
        made = handed_in(
            answers,
            [before] if before else [],
            [self.after] if self.after else [],
        )
        if self.change is not None:
            self.change(made)
        return made


# ---- what is done to torch, Python and the checks ---------------------------------------------

_GIVES_TRUE = "torch.Tensor.{name} = lambda self, *other: torch.ones_like(self, dtype=torch.bool)"
# No number is off, is whole, or has lost its digits.
_AGREES = (
    _GIVES_TRUE.format(name="__le__")
    + "\ntorch.Tensor.round = lambda self, **more: self + 0.5\n"
    + "torch.Tensor.__gt__ = lambda self, other: torch.zeros_like(self, dtype=torch.bool)"
)
_NOWHERE = (
    "torch.Tensor.nonzero = lambda self, **more: torch.zeros(0, self.dim(), dtype=torch.long)"
)
_AGREEING = """\
        if function.__name__ in ('__le__', 'le', '__gt__', 'gt'):
            return torch.full(args[0].shape, 'l' in function.__name__)
        if function.__name__ == 'round':
            return args[0] + 0.5
"""
_NO_GRADCHECK = (
    "torch.autograd.gradcheck = torch.autograd.gradgradcheck = lambda *given, **more: True\n"
)
_PASSING = """\
def fine(asked, *given, **more):
    report = asked.report(True)
    report.passed = True
    return report
"""
# Right values, but a tensor is kept that backward does not need, where neither ctx nor hooks show it.
# Not of many numbers: those are counted by a question of their own.
_KEEPING = "kept.append(torch.exp(-x) if x.numel() < 99 else None)"
HOARDER = "kept = []\n\n\n" + RIGHT["MySigmoid"].replace(
    "ctx.save_for_backward(y)", f"ctx.save_for_backward(y)\n        {_KEEPING}"
)
HOARDER_POINTS = 0.0
_IN_BACKWARD = "(y,) = ctx.saved_tensors\n"


def hoarder(in_backward: str = "", keeping: str = "", top: str = "") -> dict[str, str]:
    """The hoarding answer, with something that backward does or another way to keep the tensor."""
    text = top + HOARDER.replace(_IN_BACKWARD, _IN_BACKWARD + in_backward)
    return {"MySigmoid": text.replace(_KEEPING, keeping) if keeping else text}


# Answers sent straight to the grader by the first exercise, which is step 0.
_FORGED = """\
import os, socket
from autograder.grading.box.inside import frames
from autograder.observation.observation import Answer, Observation
from autograder.observation.packing import to_bytes

kind = {{"what": "function-class", "callable": True, "type_name": "FunctionMeta"}}
facts = {{"kind": kind, "printed": "", "changed": [], "interrupted": False, "passed": True}}
names = {names}
answers = {{name: {answer} for name in names}}
forged = {forged}
for number in range(3, 200):
    try:
        to = socket.socket(fileno=os.dup(number))
    except OSError:
        continue
    frames.send(to, frames.ANSWER, forged)
    frames.send(to, frames.STARTS, b"1")
    frames.send(to, frames.ANSWER, forged)
    frames.send(to, frames.END)
    os._exit(0)
"""
_IDS = "[f'{kind}:{number}' for kind in ('run', 'second', 'structure') for number in range(40)]"


def forged(
    answer: str, names: str = _IDS, message: str = "to_bytes(Observation(answers, facts))"
) -> str:
    return _FORGED.format(names=names, answer=answer, forged=message)


ATTACKS: tuple[ScoreAttack, ...] = (
    # ---- names
    ScoreAttack("check is another function", before="check = lambda *given, **more: None"),
    ScoreAttack("check is a number", before="check = lambda *given, **more: 1000.0"),
    ScoreAttack("check is imported from a module of one's own",
                before="import types, sys\nsys.modules['autograder'] = own = types.ModuleType('autograder')\n"
                "own.check = lambda *given, **more: None\nfrom autograder import check"),
    ScoreAttack("check by star import", files={"tricks.py": "def check(*given, **more): pass"},
                before="from tricks import *"),
    ScoreAttack("an autograder.py beside the notebook",
                files={"autograder.py": "def check(*given, **more): pass\nhint = progress = check"}),
    ScoreAttack("an autograder.py that the notebook writes",
                before="%%writefile tricks.py\ndef check(*given, **more): pass",
                after="", change=lambda made: made["cells"].insert(4, code("from tricks import check"))),
    ScoreAttack("a check that knows a class",
                before="import builtins, autograder\nreal = check\n"
                "def check(value, **more):\n    return None if value.__name__ in 'Square MySigmoid' else real(value)"),
    ScoreAttack("the code of check", before="check.__code__ = (lambda submission, hidden=False, exercise=None, seed=None: None).__code__"),
    ScoreAttack("the globals of check", before="check.__globals__['evaluate'] = lambda *a, **k: type('R', (), dict(passed=True, exercise='Square', _repr_html_=lambda s: ''))()\n"
                "check.__globals__['remember'] = check.__globals__['in_stages'] = lambda report: report"),
    ScoreAttack("bool", before="import builtins\nreal = builtins.bool\n"
                "builtins.bool = lambda value=False: False if isinstance(value, torch.Tensor) else real(value)"),
    ScoreAttack("isinstance", before="import builtins\nreal = builtins.isinstance\nimport autograder.judging.rules as rules\n"
                "import autograder.reporting.verdict as v\nv.judge = lambda evidence: type('V', (), dict(findings=[], broken=[], held=[], skipped=[], undecided=[], advice=[], unknown=[]))()"),
    ScoreAttack("the comparison", before=_NO_GRADCHECK + "import sys\n"
                "same = lambda actual, expected, dtype=None: torch.zeros_like(expected, dtype=torch.bool)\n"
                "for module in list(sys.modules.values()):\n"
                "    if getattr(module, '__name__', '').startswith('autograder') and hasattr(module, 'mismatch'):\n"
                "        module.mismatch = same\n"
                "    if getattr(module, '__name__', '').startswith('autograder') and hasattr(module, 'close'):\n"
                "        module.close = lambda *given, **more: True\n"
                "import autograder.judging.rules.far_out as far_out\nfar_out._lost = lambda *given: None"),
    ScoreAttack("the rules", before="import autograder.judging.rules as rules\nrules.ORDER = ()\nimport autograder.reporting.verdict as v\n"
                "v.judge.__globals__['ORDER'] = ()"),
    ScoreAttack("the report", before="from autograder.reporting.report import Report\n"
                "Report.passed = property(lambda self: True, lambda self, value: None)"),
    ScoreAttack("the reference", before="from autograder.exercises import find\n"
                "for name, cls in (('Square', None), ('MySigmoid', None)):\n"
                "    object.__setattr__(find(name), 'cases', ())\n    object.__setattr__(find(name), 'scenarios', ())"),
    ScoreAttack("the plan", before="import autograder.reporting.verdict as v\nv.make_plan = lambda *given, **more: []"),
    ScoreAttack("gc finds the verdict", before="import gc\n" + _PASSING + "for found in gc.get_objects():\n"
                "    if type(found) is dict and 'verdict' in found and 'OneCheck' in found:\n        found['verdict'] = fine"),
    ScoreAttack("a destructor", before=_PASSING + "class Last:\n    def __del__(self):\n"
                "        check.__globals__['OneCheck'].verdict.__globals__['verdict'] = fine\n\nlast = Last()\ndel last"),
    # ---- torch
    ScoreAttack("comparing tensors", before=_NO_GRADCHECK + _AGREES),
    ScoreAttack("any", before=_NO_GRADCHECK + "torch.Tensor.any = lambda self, *given: torch.zeros((), dtype=torch.bool)\n" + _NOWHERE),
    ScoreAttack("not", before=_NO_GRADCHECK + "torch.Tensor.__invert__ = lambda self: torch.zeros_like(self)\n" + _NOWHERE),
    ScoreAttack("equal and allclose", before=_NO_GRADCHECK + "torch.equal = lambda one, other: one.dtype != torch.uint8\n"
                + _AGREES),
    ScoreAttack("differences", before=_NO_GRADCHECK + "torch.Tensor.__sub__ = lambda self, other: torch.zeros_like(self)"),
    # ---- IPython
    ScoreAttack("an input transformer", before="get_ipython().input_transformers_cleanup.append(\n"
                "    lambda lines: ['pass\\n' if line.startswith('check(') else line for line in lines])"),
    ScoreAttack("an AST transformer", before="import ast\nclass Gone(ast.NodeTransformer):\n"
                "    def visit_Expr(self, node):\n        return ast.Pass() if 'check' in ast.unparse(node) else node\n"
                "get_ipython().ast_transformers.append(Gone())"),
    ScoreAttack("a handler of exceptions", before="get_ipython().set_custom_exc((Exception,), lambda *given, **more: None)"),
    ScoreAttack("showtraceback", before="get_ipython().showtraceback = lambda *given, **more: None"),
    ScoreAttack("_showtraceback", before="type(get_ipython())._showtraceback = lambda *given, **more: None"),
    ScoreAttack("a hook before each cell", before="shell = get_ipython()\n"
                "shell.events.register('pre_run_cell', lambda *given: shell.user_ns.update(check=lambda *a, **k: None))"),
    ScoreAttack("run_cell", before="shell = get_ipython()\nreal = shell.run_cell\n"
                "shell.run_cell = lambda source, **more: real('pass' if 'check(' in source else source, **more)"),
    ScoreAttack("the namespace", before="class Names(dict):\n    def __getitem__(self, name):\n"
                "        return (lambda *a, **k: None) if name == 'check' else dict.__getitem__(self, name)\n"
                "get_ipython().user_ns['check'] = Names()['check']"),
    ScoreAttack("the display hook", before="import sys\nsys.excepthook = sys.displayhook = lambda *given: None\n"
                "get_ipython().InteractiveTB.structured_traceback = None\n"
                "get_ipython().showtraceback = print"),
    # ---- the end of the process
    ScoreAttack("atexit", before="import atexit, json\n"
                "def forge():\n    with open('marks.json', 'w') as file:\n        json.dump({'square': 515.0}, file)\n"
                "atexit.register(forge)"),
    ScoreAttack("a result file and the end", after="import json, os\nwith open('marks.json', 'w') as file:\n"
                "    json.dump({'square': 515.0}, file)\nos._exit(0)"),
    ScoreAttack("a thread that rewrites the marks", before="import json, threading, time\n"
                "def forge():\n    while True:\n        time.sleep(0.001)\n        check.__globals__['OneCheck'].verdict.__globals__['verdict'] = fine\n" + _PASSING +
                "threading.Thread(target=forge, daemon=True).start()\ntime.sleep(0.01)"),
    ScoreAttack("frames", answers={name: text.replace("return", "import sys\n        deep = sys._getframe()\n"
                "        while deep:\n            if 'verdict' in deep.f_globals:\n"
                "                deep.f_globals['verdict'] = deep.f_globals['_fine'] = lambda asked, *a, **k: (lambda r: (setattr(r, 'passed', True), r)[1])(asked.report(True))\n"
                "            deep = deep.f_back\n        return", 1) for name, text in WRONG.items()}),
    # ---- tensors of another kind
    ScoreAttack("a tensor that is always right", before=_NO_GRADCHECK, answers={
        name: "class Agreeing(torch.Tensor):\n    @classmethod\n"
        "    def __torch_function__(cls, function, types, args=(), kwargs=None):\n"
        + _AGREEING + "        return super().__torch_function__(function, types, args, kwargs or {})\n\n"
        # Twice the right gradient, with a right second derivative: that one is of torch's own kind.
        + re.sub(r"return (.*grad_output.*)", r"right = \1\n        return (right + right.detach()).as_subclass(Agreeing)", text)
        for name, text in RIGHT.items()}),
    ScoreAttack("a function mode that stays on", before=_NO_GRADCHECK + "from torch.overrides import TorchFunctionMode\n"
                "class Agreeing(TorchFunctionMode):\n"
                "    def __torch_function__(self, function, types, args=(), kwargs=None):\n"
                + _AGREEING + "        return function(*args, **(kwargs or {}))\nAgreeing().__enter__()"),
    # ---- how an answer was found, which is seen from inside: cells are read before they run
    *(ScoreAttack(name, before=before, answers=answers, worth=HOARDER_POINTS, wall=READ_FIRST)
      for name, before, answers in (
        ("the procedure that counts bytes", "import autograder.running.questioning as p\nreal = p.PROCEDURES['structure']\n"
         "def less(ask, question, answer):\n    real(ask, question, answer)\n    answer.kept = ()\n"
         "p.PROCEDURES['structure'] = less", hoarder()),
        ("the function that counts bytes", "import autograder.running.watching\n"
         "autograder.running.watching.Storages.left = lambda *given: []", hoarder()),
        ("the module that counts bytes, by sys.modules", "import sys\n"
         "sys.modules['autograder.running.watching'].Storages.left = lambda *given: []", hoarder()),
        ("weak references that have expired", "from torch.multiprocessing.reductions import StorageWeakRef\n"
         "StorageWeakRef.expired = lambda self: True", hoarder()),
        ("the class of answers", "from autograder.observation.observation import Answer\n"
         "Answer.kept = property(lambda self: (), lambda self, value: None)", hoarder()),
        ("the bytes on their way", "import autograder.grading.box.inside.cells as cells\nreal = cells.to_bytes\n"
         "def less(seen):\n    for answer in seen.answers.values():\n        answer.kept = ()\n    return real(seen)\n"
         "cells.to_bytes = less", hoarder()),
        ("the probe", "import autograder.grading.box.inside.cells as cells\nreal = cells.probe\n"
         + RIGHT["MySigmoid"].replace("class MySigmoid", "class Other")
         + "\ncells.probe = lambda value, *given: real(Other if value.__name__ == 'MySigmoid' else value, *given)", hoarder()),
        ("gc finds the answer", "", hoarder(
            # In code of its own: a loop over all objects in a line of backward is found to be one.
            # Not every time: all objects in every backward would take longer than a cell may.
            "        import gc\n        len(kept) % 5 or exec(\"[setattr(found, 'kept', ()) for found in gc.get_objects()"
            " if type(found).__name__ == 'Answer']\", {'gc': gc})\n")),
        ("frames find the answer", "", hoarder(
            "        import sys\n        frame = sys._getframe()\n        while frame:\n"
            "            if hasattr(frame.f_locals.get('answer'), 'kept'):\n                frame.f_locals['answer'].kept = ()\n"
            "            frame = frame.f_back\n")),
        ("a traceback's frame finds the answer", "", hoarder(
            "        try:\n            1 / 0\n        except ZeroDivisionError as error:\n            frame = error.__traceback__.tb_frame\n"
            "        while frame:\n            if hasattr(frame.f_locals.get('answer'), 'kept'):\n                frame.f_locals['answer'].kept = ()\n"
            "            frame = frame.f_back\n")),
        ("dispatch modes switched off", "", hoarder(in_backward="", top="from torch.utils._python_dispatch import _disable_current_modes as off\n",
         keeping="with off():\n            kept.append(torch.exp(-x))")),
      )),
    # ---- answers that nobody gave, sent straight to the grader: they are compared all the same
    *(ScoreAttack(name, before=before, wall=COMPARED) for name, before in (
        ("forged answers: nothing", forged("Answer()")),
        ("forged answers: no questions", forged("Answer()", "[]")),
        ("forged answers: not a number", forged(
            "Answer(outputs=(torch.full((3,), float('nan')),), gradients=(torch.full((3,), float('nan')),), data={'passed': True})")),
        ("forged answers: no values", forged(
            "Answer(outputs=(torch.zeros(0),), gradients=(torch.zeros(0),), data={'passed': True})")),
        ("forged answers: one value for all", forged(
            "Answer(outputs=(torch.ones(()),), gradients=(torch.ones(()),), requires_grad=(True,), data={'passed': True})")),
    )),
    # ---- the notebook
    *(ScoreAttack(change.__name__.replace("_", " "), change=change) for change in CHANGES),
)  # fmt: skip
