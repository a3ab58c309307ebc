# Each target does all the set-up that it needs, once; later runs are instant (see scripts/set_up.py).
#
#   PYTHON=python3.12   another interpreter, 3.11 or newer
#   TORCH=…             which torch to install: a requirement or a wheel
#   CMAKE_ARGS=…        more arguments for the build of llama.cpp, such as -DGGML_CUDA=on
#   ARGS=…              more arguments for the command that the target runs

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
endif

SET_UP := $(PYTHON) scripts/set_up.py
RUN := .venv/bin/python -m
CITEBOUND := $(RUN) rag.cli
CHROMIUM := $(shell for p in chromium chromium-browser google-chrome google-chrome-stable; do command -v $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help python set-up chat demo test check exam bench clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r name what; do \
	  printf '%-14s %s\n' "$$name" "$$what"; done

python:
	@test -n '$(PYTHON)' || { echo 'Citebound needs Python 3.11 or newer; install it, or say where it is: make PYTHON=…' >&2; exit 1; }

set-up: python ## everything that chat needs: packages, llama.cpp, model, sample library
	@$(SET_UP) sample

chat: set-up ## chat in the browser
	@$(CITEBOUND) chat $(ARGS)

demo: set-up ## one question to the sample library, on the command line
	@.venv/bin/python scripts/demo.py

test: python ## all tests, with the real model and, where Chromium is installed, in the browser
	@$(SET_UP) sample dev
ifeq ($(CHROMIUM),)
	@echo 'Chromium is not installed: tests of the chat in a browser are left out.' >&2
	@$(RUN) pytest -m 'not browser' $(ARGS)
else
	@$(RUN) pytest $(ARGS)
endif

check: python ## lint, format, types, direction of imports
	@$(SET_UP) project dev
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@$(RUN) mypy scripts
	@.venv/bin/lint-imports

exam: set-up ## ask the exam's questions and grade the answers (a few minutes)
	@$(RUN) eval exam $(ARGS)

bench: set-up ## measure speed with and without the passage cache (a few minutes)
	@$(RUN) eval bench $(ARGS)

clean: ## remove the environment and what tools left; models and libraries stay
	@rm -rf .venv .setup.json bench.json runs .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
