# The Transformer, Piece by Piece. `make help` lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# A Python that is new enough, else the first one (which then says what is wrong).
PYTHON ?= $(shell for p in .venv/bin/python python3 python3.14 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	2>/dev/null && echo $$p && exit; done; echo python3)
BIN := .venv/bin
PY := $(BIN)/python
JOBS ?= 2        # chapters at a time
# Tests at a time: one more than cores, since those in Chromium wait now and then.
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
PORT ?= 8000
RUN ?= runs/first
draft := $(if $(DRAFT),--draft)

.PHONY: help setup book execute site serve offline pdf epub test test-package test-browsers lab train bench bench-growth bench-factors bench-peers gpu-report mutate check course \
	format kernel bundles declared strip setup-cells address lock dist uv-lock site-report clean

help:  ## list these commands
	@grep -hE '^[a-z -]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' \
	| awk -F'\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'

setup:  ## make .venv and install the lock and the package (the others do it)
	@$(PYTHON) tools/setup_env.py

book: execute site  ## execute every chapter and build the site

execute: setup  ## execute the chapters that changed
	@$(PY) -m tformer_book.press.execute --jobs $(JOBS) $(draft) $(if $(FORCE),--force)

site: setup  ## build the site from the executed chapters
	@$(PY) -m tformer_book.press.build_site $(draft)

serve: setup  ## show the built site at http://localhost:8000 (PORT=…)
	@$(PY) -m tformer_book.press.serve --port $(PORT)

offline: setup  ## the built site as one zip, to read without a network
	@$(PY) -m tformer_book.press.offline

pdf epub: setup  ## the built site as one PDF, or as an EPUB for e-readers (in _build/)
	@$(PY) -m tformer_book.editions $@

test: setup  ## everything: check, the package, the chapters, the site in three browsers
	@$(PY) tools/run_tests.py --workers $(WORKERS) --jobs $(JOBS)

test-package: setup  ## the package's own tests only
	@OMP_NUM_THREADS=1 $(PY) -m pytest -n $(WORKERS) --dist loadgroup tests/tformer

test-browsers: setup  ## of those: every page and figure in Firefox and WebKit
	@OMP_NUM_THREADS=1 $(PY) -m pytest -n 2 --dist loadgroup tests/book/pages/test_other_browsers.py

check: setup  ## format, lint and types (Python, JavaScript); who may import whom
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(PY) tools/declared.py --check
	@$(PY) tools/javascript.py

format: setup  ## format the code and mend what the linters can mend
	@$(BIN)/ruff check --fix-only -q . ; $(BIN)/ruff format .
	@$(PY) tools/javascript.py --fix

kernel: setup  ## assemble the browser engine's WebAssembly kernel from its source
	@$(PY) tools/javascript.py --kernel

declared: setup  ## write for the page what Python declares (settings of a search)
	@$(PY) tools/declared.py

bundles: setup  ## bundle what the figures' kit takes from npm packages
	@$(PY) tools/javascript.py --bundles

course: execute  ## handouts, autograder, answers, slides for a class (in course/)
	@$(PY) -m tformer_book.course

lab: setup  ## open the chapters in JupyterLab
	@$(BIN)/jupyter lab book

train: setup  ## train a model on Multi30k (RUN=folder, ARGS=more options)
	@$(PY) -m tformer train --corpus multi30k --out $(RUN) $(ARGS)

mutate: setup  ## break each formula on purpose: a test must notice (minutes)
	@$(PY) tests/mutate.py $(ARGS)

bench: bench-peers  ## side by side with torch.nn, Marian, CTranslate2 (writes results/)
	@$(PY) -W ignore -m benchmarks.side_by_side $(ARGS)

bench-growth: setup  ## growth with length, batch, layers, vocabulary (writes results/)
	@$(PY) -W ignore -m benchmarks.growth $(ARGS)

bench-factors: bench-peers  ## the factors of bench at other widths and lengths (writes results/)
	@$(PY) -W ignore -m benchmarks.factors $(ARGS)

gpu-report: bench-peers  ## on a CUDA GPU: bf16, compiled, the paper's base model
	@$(PY) -W ignore -m benchmarks.gpu_report $(ARGS)

bench-peers: setup
	@$(PY) -c "import ctranslate2, transformers" 2>/dev/null \
	|| $(PY) -m pip install -q --no-build-isolation -e '.[bench]'

site-report: setup  ## weight, speed, accessibility of every page of the built site
	@$(PY) -m tformer_book.press.site_report

strip: setup  ## remove outputs from the chapters, give every cell a stable id
	@$(PY) -m tformer_book.press.strip

setup-cells: setup  ## write the setup cell into every chapter (RELEASE=1: after a tag)
	@$(PY) -m tformer_book.press.setup_cell --write $(if $(RELEASE),--release)

address:  ## set the repository's address everywhere (URL=https://github.com/…/…)
	@$(PYTHON) tools/address.py $(URL)

lock: setup  ## resolve requirements.txt anew (UPGRADE=1: newest versions)
	@$(PY) tools/lock.py $(if $(UPGRADE),--upgrade)

dist: setup  ## the sdist and the wheel of a release (in dist/)
	@$(PY) tools/dist.py

uv-lock:  ## write uv.lock, from which `uv sync` installs the same (needs uv)
	@$(PYTHON) tools/uv_lock.py

clean:  ## remove what was built (not .venv)
	@rm -rf _build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
