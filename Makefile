# The environment in .venv is made on first use; PYTHON chooses another interpreter (3.11 or later).
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test soak bench check format man docs screenshots dist clean

demo: .venv/demo
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh fixtures/demo.sh

# What needs a tool (Ruby, Node, Cargo, Chromium) is left out where there is none, and the summary says so.
test: .venv/dev
	$(BIN)/pytest -n auto $(PYTEST_ARGS)

# Kills running syncs at random; two minutes of it.
soak: .venv/dev
	$(BIN)/python tests/soak.py 120

# Measures speed and prints tables; BENCH_ARGS="--only start --rounds 2" is quick, BENCH_ARGS=--write is for the page.
bench: .venv/dev
	PYTHONPATH=tests $(BIN)/python -m bench $(BENCH_ARGS)

check: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: .venv/dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The man page, for who packages skillsync.
man: .venv/demo
	mkdir -p build
	$(BIN)/skillsync help --man >build/skillsync.1

# The documentation as a site, in build/site; a warning is an error. `.venv/bin/zensical serve` shows it while it is written.
docs: .venv/dev
	rm -rf build/site
	$(BIN)/zensical build --strict --clean

# The pictures of docs/screenshots, made by the program itself.
screenshots: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/screenshots.py

# What is published, built and checked; tests/test_release.py installs and runs it.
dist: .venv/dev
	rm -rf dist
	$(BIN)/uv build --out-dir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

clean:
	rm -rf build dist .cache .venv .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skillsync needs Python 3.11 or later: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

.venv/demo: .venv/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/dev: .venv/demo
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@
