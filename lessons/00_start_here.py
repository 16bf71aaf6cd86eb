# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Start here
#
# Welcome to *Backward by Hand*. In this course you write the backward passes of neural networks yourself, one `torch.autograd.Function` at a time, until you can do it for attention.
#
# **Time:** about 10 minutes. You will check that everything is installed, mend a first mistake, and see the way ahead.
#
# **You need:** Python, torch tensors, and derivatives as you learned them at school.

# %% [markdown]
# ## This page is alive
#
# It is a notebook: text like this, and cells with code. **Wait for the kernel first**: when the line at the bottom of the window says *Idle*, it is there. Cells that you run before that do nothing.
#
# Then select a code cell and press **Shift+Enter**. The result appears under it. Start with this one: it loads what the page uses, which takes a few seconds the first time.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch

from autograder import check, explain, hint, progress
from autograder.learner.environment import check_environment
from widgets import figures, quiz

# %% [markdown]
# If it said `ModuleNotFoundError`, the notebook is running in a different Python from the course's. In a terminal in the course's folder, run `make start`: it installs what is missing and opens this page again.
#
# ## The map
#
# One way. The first seven lessons build on each other; those after them may be read as soon as you have done the first three (09, 10 and 11 ask for one idea of 05, the last exercise of 12 for 07). The times at their tops are estimates, 150 words a minute and a guess for each exercise: nobody has been timed. This is what you can do after each:

# %% nbgrader={"grade": false, "grade_id": "see-map", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.course_map()

# %% [markdown]
# ## How an exercise works
#
# An exercise is a cell to fill in and a cell that checks it. Here is one that is filled in already, with a mistake in it.
#
# `Double` computes $y = 2x$. When a gradient arrives from above, `backward` has to hand on the gradient of $x$. You need not understand all of it yet: lesson 01 takes it apart.


# %% nbgrader={"grade": false, "grade_id": "demo-double", "locked": false, "schema_version": 3, "solution": false, "task": false}
class Double(torch.autograd.Function):
    """y = 2x. There is a mistake in backward, for you to find."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% [markdown]
# Run the cell above, so that Python knows the class. Then let it be checked:

# %% tags=["raises-exception"] nbgrader={"grade": false, "grade_id": "demo-check", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(Double)

# %% [markdown]
# That is what a check says when something is wrong. Read it from the top:
#
# - the **first line** is the root cause, in a sentence;
# - under it stands each **promise** of the exercise: ✓ is kept, ✗ is not, and – was not reached because of the ✗;
# - then **your line**, the input, and your result **above the expected** one;
# - **Next** is a step to take. Where the report knows what belongs in the place of an expression, it tells you by your third failing check, or by one after the last hint;
# - the **rule** has a name. `explain("…")` with that name, in any cell, says more about it.
#
# Stuck? Ask for a hint. Each exercise has three, from gentle to formula: run the cell again for the next one.

# %% nbgrader={"grade": false, "grade_id": "demo-hint", "locked": true, "schema_version": 3, "solution": false, "task": false}
hint(Double)

# %% [markdown]
# **Now mend it.** Go back to the class, change one line, run that cell again, then `check(Double)`, then the cell below. It asks for the same promises with other numbers, as a grader does:

# %% tags=["raises-exception"] nbgrader={"grade": false, "grade_id": "demo-check-all", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(Double, hidden=True)

# %% [markdown]
# In the lessons the cells to fill in say `# YOUR CODE HERE`. Replace that line and the `raise` under it.
#
# - Try as often as you like: nothing is counted against you.
# - What you type is yours. No update of the course overwrites it.
# - When all else fails, the folder `solutions` has every lesson with its answers and the reasons for them.

# %% [markdown]
# ## Is everything here?
#
# This cell looks at the versions and at the processor. Where there is a GPU that works, checks will run on it too, beside the CPU.

# %% nbgrader={"grade": false, "grade_id": "demo-environment", "locked": true, "schema_version": 3, "solution": false, "task": false}
check_environment()

# %% [markdown]
# ## Predictions and quizzes
#
# Before many demonstrations a lesson asks what you expect: one click, or one letter. You will often be wrong, and that is what makes it stick. Each lesson ends with a bug to find and a quiz. Choose an answer, press **Enter** or the button, and read why it is right or not. Your answers are kept.

# %% nbgrader={"grade": false, "grade_id": "quiz-start", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("start")

# %% [markdown]
# If you see no buttons above but only text, run the cell once more. If that does not help, JupyterLab was not started from the course's environment: `make start` does it. (Without buttons a prediction can be typed: `predict("round", "b")`.)
#
# ## Where you are
#
# `progress()` shows it, in any notebook, today or next week. It is kept on this computer only, outside the course's folder. `progress(reset=True)` starts afresh and keeps a backup.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Without a mouse, and by ear
#
# Everything here works from the keyboard.
#
# | key | does |
# |---|---|
# | ↑ and ↓ | go from cell to cell |
# | Enter, then Esc | edit a cell, then leave it |
# | Shift+Enter | run the cell and go to the next |
# | Tab | into the quiz or widget under a cell, and through it |
# | Ctrl+Shift+C (⌘+⇧+C on a Mac) | search all commands by name |
#
# Reports are announced by screen readers when they appear, figures have alternative text, widgets say each step in one status line, and nothing is told by colour alone.

# %% [markdown]
# If JupyterLab gets in your way:
#
# - In a terminal, `jupytext --to py:percent course/01_template/01_template.ipynb` (from `.venv/bin`) makes a plain text file of a lesson, without answers, for any editor. With `--to ipynb --update` and the name of the text file, your answers go back into the notebook.
# - `python -m autograder check course/01_template/01_template.ipynb` checks it there, with the same reports; `--function Square` one exercise alone. With `hint` in place of `check`, and `--function Square`, it gives the next hint.
# - In `ipython` every other cell can be typed or pasted: `check`, `hint`, `predict("round", "b")` and `quiz("start", "b")` answer in plain text.
# - JupyterLab's dark theme is under Settings, Theme; the text grows with Ctrl and +.

# %% [markdown]
# ## When something is odd
#
# - A cell shows `[*]` and does not end: press **i** twice, or choose *Kernel, Interrupt Kernel*.
# - Python knows a name that you have deleted, or the other way round: choose *Kernel, Restart Kernel*, then run the cells again from the top. Your progress stays.
# - `make help` in a terminal lists what else the course can do.

# %% [markdown]
# ## Where to go next
#
# **[Lesson 01: Anatomy of a Function](../01_template/01_template.ipynb)**. You will write your first four Functions, and an instrument that tells whether a gradient is right.
