# Everything starts from a fresh clone: `make demo`, `make test`, `make lint`.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test lint format docs figures paper clean browser oldest

# torch comes first and pinned: any other version pulls gigabytes that a CPU cannot use.
$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $$(grep '^torch==' constraints.txt)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,interop]'
	touch $@

demo: $(INSTALLED)
	$(BIN)/alice-interp demo

# The reports are tried in real browsers. Where one is missing and cannot be installed, its tests are skipped.
browser:
	@command -v chromium >/dev/null || \
	(apt-get update -qq && apt-get install -qq --yes --no-install-recommends chromium chromium-driver) >/dev/null || \
	echo "no Chromium here, and it cannot be installed: the tests in a browser will be skipped"
	@command -v firefox-esr >/dev/null || command -v firefox >/dev/null || \
	(apt-get update -qq && apt-get install -qq --yes --no-install-recommends firefox-esr) >/dev/null || \
	echo "no Firefox here, and it cannot be installed: the explorer will be tested in Chromium only"

# One process a core with one thread each; the tests of a file share what they set up, so they stay together. Crashed
# workers are not restarted; with loadfile a new worker may hang.
test: $(INSTALLED) browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --max-worker-restart 0

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# An environment with the oldest versions that the ranges in pyproject.toml admit. It needs a package index.
oldest: $(INSTALLED)
	$(BIN)/python tests/oldest.py --try build/oldest

# The pages of docs/ as a site that needs no network: open site/index.html.
docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html in a browser"

# What the documentation shows of the bundled models, made again: the models' table, the output in the tutorial and in the
# notebooks, the pictures, the page of the paper. Other figures on a page name the command that gives them.
figures: paper
	$(BIN)/python docs/write_numbers.py
	$(BIN)/python docs/run_tutorial.py
	$(BIN)/python examples/run_notebooks.py
	$(BIN)/python docs/take_pictures.py

# The paper's claims, tables and figures, tested again and written into docs/paper.md; finished analyses are reused.
paper: $(INSTALLED) browser
	$(BIN)/alice-interp reproduce --out reproduction
	$(BIN)/python docs/write_paper.py reproduction

clean:
	rm -rf .venv site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
