# Everything a newcomer needs: `make play` and `make test`. CONTRIBUTING.md has the plain lines.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SYNC := $(BIN)/uv sync --all-packages --quiet

# uv looks for wheels where pip has been told to look
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
export UV_PROJECT_ENVIRONMENT := $(VENV)

.PHONY: play test fast format docs fuzz release

play: $(BIN)/uv
	$(SYNC) --extra numba --extra pygame --extra local --no-dev --no-group docs --inexact
	@$(BIN)/python scripts/play.py

# Hundreds of short Python processes are started, which would compile what they import anew if the
# caller forbids bytecode; and threads of torch would wait for the cores that the tests share.
test: export PYTHONDONTWRITEBYTECODE :=
test: export OMP_NUM_THREADS ?= 1
test: $(BIN)/uv
	@scripts/chromium.sh & browser=$$!; $(SYNC) --all-extras && wait $$browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto --dist worksteal --durations 20

# what to run while working: no tests that install distributions or start browsers
fast: $(BIN)/uv
	$(SYNC) --all-extras
	$(BIN)/pytest -m "not slow" -x -q

format: $(BIN)/uv
	$(SYNC) --all-extras
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# the site, with warnings as errors; docs/_build/html/index.html opens without a network
docs: $(BIN)/uv
	$(SYNC) --all-extras --group docs
	$(BIN)/python scripts/site.py
	@echo "open docs/_build/html/index.html"

# a minute of hostile inputs for every environment; SHARD=2/8 is an eighth of them
SHARD ?= 0/1
fuzz: $(BIN)/uv
	$(SYNC) --all-extras
	$(BIN)/python scripts/fuzz_all.py --minutes 1 --shard $(SHARD)

# every wheel, checked and installed from wheels alone
release: $(BIN)/uv
	$(SYNC) --all-extras --group release
	$(BIN)/python scripts/release.py

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Palestra needs Python 3.11 or newer; say which: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.9"
