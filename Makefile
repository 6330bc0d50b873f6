# Everything starts from a fresh clone: `make demo`, `make test`, `make lint`.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test lint format clean browser

# torch comes first and pinned: any other version pulls gigabytes that a CPU cannot use.
$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $$(grep '^torch==' constraints.txt)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(INSTALLED)
	$(BIN)/alice-interp solve --layers --ckpt bijective \
	"RJ HRIF, YF QDAF SEF BFVS KFTRVRNJV YF TDJ YRSE SEF RJINLQDSRNJ YF EDZF NJ EDJK."
	$(BIN)/alice-interp run early-exit --ckpt base --ckpt bijective --samples 100
	@echo "open runs/index.html in a browser, or run: $(BIN)/alice-interp view"

# The reports are tried in a real browser. Where Chromium is missing and cannot be installed, those tests are skipped.
browser:
	@command -v chromium >/dev/null || \
	(apt-get update -qq && apt-get install -qq --yes --no-install-recommends chromium chromium-driver) >/dev/null || \
	echo "no Chromium here, and it cannot be installed: the tests in a browser will be skipped"

test: $(INSTALLED) browser
	$(BIN)/python -m pytest

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
