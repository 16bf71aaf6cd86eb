# %% tags=["remove-cell"]
import torch
from torch.autograd import Function

from autograder import check
from widgets import xray


# %% [markdown]
# # Backward by Hand
#
# A sigmoid whose `backward` is wrong, one run of it, step by step, and what the check says of it:


# %%
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 2 * grad_output * y * (1 - y)


# %% tags=["bbh-plays", "remove-input"]
xray(MySigmoid)

# %% tags=["raises-exception"]
check(MySigmoid)

# %% [markdown]
# This is a course on writing `torch.autograd.Function`: the backward pass of a sigmoid, of a linear layer, of a binary network, of checkpointing and of attention, each by hand, each in a Jupyter notebook. And it is an autograder that tells *why* a gradient is wrong.
#
# - **Learn.** Read the [lessons](course/00_start_here/00_start_here.ipynb) here; answers are folded, widgets play. To write the code yourself, and have it checked, take the clone: `make start` opens the course in JupyterLab.
# - **Teach.** A lesson is an nbgrader assignment; submissions run in a sandbox and come back with a root cause each. [How grading works](docs/grading.md), [on JupyterHub](docs/jupyterhub.md).
# - **Check your own code.** `evaluate(MyOp, inputs=…)` looks at any Function, in a terminal and in CI: [how](docs/any-function.md).
#
# Every report names a rule, and [each rule has a page](docs/rules.md). How often the grader is right [was counted](docs/report-card.md).
#
# ```{toctree}
# :hidden:
# :caption: The course
# :glob:
#
# lessons/*
# ```
#
# ```{toctree}
# :hidden:
# :caption: Checking
#
# rules/index
# docs/any-function
# docs/new-exercise
# docs/widgets
# docs/coverage
# ```
#
# ```{toctree}
# :hidden:
# :caption: Teaching
#
# docs/grading
# docs/jupyterhub
# docs/requirements
# ```
#
# ```{toctree}
# :hidden:
# :caption: How good is it?
#
# docs/report-card
# docs/unseen-answers
# docs/real-functions
# docs/compared
# docs/benchmarks
# ```
#
# ```{toctree}
# :hidden:
# :caption: Working on it
#
# docs/contributing
# docs/house
# docs/site
# OTHERS
# ```
