# Backward by Hand. `make help` lists what can be made; the work itself is done in Python.
#
# A new target: name it in .PHONY, let it depend on `environment` (what learners need) or on
# `everything` (with the extras for tests and clusters), and describe it in one line after `##`.

#: TORCH        which torch, as pip spells it: make start TORCH=torch==2.13.0
TORCH ?= torch>=2.13
#: TORCH_INDEX  for the CPU build of torch (gigabytes smaller on Linux): the address that PyTorch's
#:              own install page shows after --index-url when you choose "CPU"
TORCH_INDEX ?=
#: PYTHON       which Python, 3.11 or newer: make start PYTHON=python3.12
PYTHON ?= python3
#: LAB_ARGS     more arguments for JupyterLab: make start LAB_ARGS="--no-browser --port=9999"
LAB_ARGS ?=
#: TEST_ARGS    more arguments for pytest: make test TEST_ARGS="tests/setup -k update"
TEST_ARGS ?=
#: WORKERS      how many tests run at a time: make test WORKERS=2
WORKERS ?= auto

#: LESSONS      which lessons are graded: make grade LESSONS="01_template 02_sigmoid"
LESSONS ?=
#: JOBS         how many submissions are graded at a time: make grade JOBS=4
JOBS ?=
#: DB           another gradebook than gradebook.db: make gradebook DB=postgresql+psycopg://…
DB ?=
#: REPOSITORY   where files that are no page are shown: make site REPOSITORY=https://…/blob/main/
REPOSITORY ?=
#: ADDRESS      where a release will lie: make release ADDRESS=https://…/download/v1.0.0
ADDRESS ?=
#: REPEAT       how many seeds the report card takes: make report-card REPEAT=200
REPEAT ?= 1
#: MUTANTS      how many mutants an exercise it tries: a number, all or none
MUTANTS ?= 40

.DEFAULT_GOAL := help
.PHONY: help start test report-card build gradebook grade site release update demo lint format clean environment everything browser-tools

# Everything runs through this one name, which has no spaces in it wherever the clone is.
VENV_PYTHON := .venv/bin/python
START_PAGE := course/00_start_here/00_start_here.ipynb
AXE := build/node/node_modules/axe-core/axe.min.js
# A Python that somebody names is the one they get; the default gives way to the one in .venv, and where it is too old to a newer one.
PYTHON_CHOSEN := $(if $(filter file,$(origin PYTHON)),,--python-chosen)
OTHER_PYTHONS := $(if $(PYTHON_CHOSEN),,python3.14 python3.13 python3.12 python3.11)
# Likewise torch: without TORCH or TORCH_INDEX, the torch that is in .venv stays.
TORCH_DEFAULT := $(if $(filter-out file,$(origin TORCH) $(origin TORCH_INDEX)),,--torch-is-default)
# What learners and instructors need beside the checker.
COURSE := course,grading
EVERYTHING := $(COURSE),cluster,site,test,triton
# Every Python since 2.6 can read these two lines.
IS_NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
ITS_VERSION := import sys; print("Python %d.%d.%d" % sys.version_info[:3])
define INSTALL
@for python in "$(PYTHON)" $(OTHER_PYTHONS); do \
	if "$$python" -c '$(IS_NEW_ENOUGH)' 2>/dev/null; then \
		exec "$$python" autograder/learner/setup/install.py $(PYTHON_CHOSEN) $(TORCH_DEFAULT) \
			--torch '$(TORCH)' --torch-index '$(TORCH_INDEX)' --extras $(1); \
	fi; \
done; \
found=$$("$(PYTHON)" -c '$(ITS_VERSION)' 2>/dev/null) || found="not there"; \
printf '\nThis course needs Python 3.11 or newer. "%s" is %s.\n%s\n' "$(PYTHON)" "$$found" "$$NEWER_PYTHON" >&2; exit 1
endef

define NEWER_PYTHON

What to do: install a newer Python beside it, then run the same command again.
  Debian, Ubuntu:   sudo apt install python3.12 python3.12-venv
  Fedora:           sudo dnf install python3.12
  macOS:            brew install python@3.12
  conda:            conda env create -f environment.yml
If it has another name or place, say which one to use:
  make start PYTHON=/path/to/python3.12

endef
export NEWER_PYTHON

define WINDOWS

This course runs on Linux and macOS. On Windows it runs inside WSL, a Linux that Windows brings:
  1. In PowerShell, as administrator: wsl --install
  2. Open "Ubuntu" from the start menu, and clone and start the course there.

endef
ifeq ($(OS),Windows_NT)
$(error $(WINDOWS))
endif

help:  ## Show this list
	@echo "Backward by Hand: write torch.autograd.Function, and know that it is right."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "Settings, given after the target or in the environment:"
	@sed -n 's/^#: \{0,1\}/  /p' Makefile

start: environment  ## Install what is missing and open the course in JupyterLab
	@test -f $(START_PAGE) || $(VENV_PYTHON) lessons/build.py
	@$(VENV_PYTHON) autograder/learner/setup/serve.py $(LAB_ARGS)

test: everything browser-tools  ## Install what is missing and run every test, style and types among them
	OMP_NUM_THREADS=1 $(VENV_PYTHON) -m pytest -n $(WORKERS) --maxprocesses 8 $(TEST_ARGS)

report-card: everything  ## Count how often the grader is right, in docs/, and in all three places
	$(VENV_PYTHON) -m tests.mistakes.report_card --repeat $(REPEAT) --mutants $(MUTANTS) \
		--write docs/report-card.md
	TEST_ANSWERS=all OMP_NUM_THREADS=1 $(VENV_PYTHON) -m pytest -n $(WORKERS) --maxprocesses 8 tests/mistakes
	$(VENV_PYTHON) -m tests.grading.one_verdict

build: environment  ## Build course/ and solutions/ from lessons/
	$(VENV_PYTHON) lessons/build.py

gradebook: environment  ## Put the lessons into nbgrader's gradebook, before grading a class
	$(VENV_PYTHON) lessons/build.py --gradebook $(if $(DB),--db '$(DB)')

grade: environment  ## Grade what was handed in and has changed, into nbgrader's gradebook
	@$(VENV_PYTHON) -m autograder grade $(LESSONS) $(if $(JOBS),--jobs $(JOBS)) $(if $(DB),--db '$(DB)')

site: everything  ## Build the site into build/site: lessons with widgets that play, rules, documents
	$(VENV_PYTHON) lessons/site/build.py $(if $(REPOSITORY),--repository '$(REPOSITORY)')

release: everything  ## Make wheel, source distribution and notebooks that stand alone, in build/dist
	@test -n "$(ADDRESS)" || { echo "Say where they will lie: make release ADDRESS=https://…"; exit 1; }
	$(VENV_PYTHON) lessons/alone.py '$(ADDRESS)'

update: environment  ## Take the course's fixes; your own work is backed up first and kept
	@$(VENV_PYTHON) autograder/learner/setup/update.py

demo: environment  ## Grade three invented students, to see how instructors grade
	$(VENV_PYTHON) -m autograder demo

lint: everything  ## Check style, formatting and types
	$(VENV_PYTHON) -m ruff check
	$(VENV_PYTHON) -m ruff format --check
	$(VENV_PYTHON) -m mypy

format: everything  ## Format the Python files and mend what can be mended by itself
	$(VENV_PYTHON) -m ruff check --fix-only
	$(VENV_PYTHON) -m ruff format

clean:  ## Delete what was built and cached (not .venv, not course/, not backups/)
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis

environment:  ## Make or repair .venv with what learners need
	$(call INSTALL,$(COURSE))

everything:  ## The same with the extras for tests and clusters
	$(call INSTALL,$(EVERYTHING))

browser-tools:  ## Fetch axe-core, which tests accessibility in the browser (needs npm)
	@test -f $(AXE) || if command -v npm >/dev/null 2>&1; then \
		npm install --prefix build/node --no-audit --no-fund --loglevel=error axe-core@4 \
		|| echo "*** npm failed: the accessibility tests in the browser will be SKIPPED."; \
	else echo "*** npm is not installed: the accessibility tests in the browser will be SKIPPED."; fi
