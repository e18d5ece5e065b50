# Everything a newcomer needs: `make play` and `make test`. CONTRIBUTING.md has the plain lines.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# the versions that were tested, also of what builds our packages; nothing: the newest
CONSTRAINTS := constraints/development.txt
# uv looks for wheels where pip has been told to look
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)

INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python \
	$(foreach file,$(CONSTRAINTS),--constraints $(file) --build-constraints $(file))
PACKAGES := core envs agents renderers $(wildcard plugins/*)
EVERYTHING = $(INSTALL) --all-extras --group dev --group docs --group model \
	$(foreach package,$(PACKAGES),--editable $(package) --requirements $(package)/pyproject.toml)

.PHONY: play test again test-all exhaustive newest oldest fast costs format docs fuzz release upgrade

play: $(BIN)/uv
	$(INSTALL) --group model --editable "core[numba]" --editable envs --editable "agents[local]" \
		--editable "renderers[pygame]" $(addprefix --editable ,$(wildcard plugins/*))
	@$(BIN)/python scripts/play.py

# Hundreds of short Python processes are started, which would compile what they import anew if the
# caller forbids bytecode; and threads of torch would wait for the cores that the tests share.
TESTS := test again test-all exhaustive newest oldest fast costs
$(TESTS): export PYTHONDONTWRITEBYTECODE :=
$(TESTS): export OMP_NUM_THREADS ?= 1
test-all newest: export PALESTRA_COMPILE_AFTER ?= 0
PREPARE = scripts/chromium.sh & browser=$$!; $(EVERYTHING)
PYTEST = $(BIN)/pytest -n auto --dist worksteal
# mypy's workers have three seconds to start: where that is too short it ends with 2, and types are
# checked in one process
define READ
$(BIN)/ruff format --check .
$(BIN)/ruff check .
$(BIN)/mypy || { [ $$? -eq 2 ] && $(BIN)/mypy --num-workers 0; }
endef

test: $(BIN)/uv
	@$(PREPARE) && wait $$browser
	$(READ)
	$(PYTEST)

# what failed in the last `make test`, one test after the other
again: $(BIN)/uv
	$(READ)
	$(BIN)/pytest -v --last-failed --last-failed-no-failures none

# the exhaustive tests too: every boundary, escape, trainer and client; hours on two cores
test-all: $(BIN)/uv
	@$(PREPARE) && wait $$browser
	$(PYTEST) --all

# a part of the exhaustive tests alone; MINUTES=10 begins none later than that
exhaustive: SHARD ?= 0/24
exhaustive: $(BIN)/uv
	@$(PREPARE) && wait $$browser
	$(PYTEST) --shard $(SHARD) $(addprefix --minutes ,$(MINUTES))

# measure all tests anew: tests/costs.tsv says which are too dear for `make test`
costs: $(BIN)/uv
	@$(PREPARE) && wait $$browser
	$(PYTEST) --all --costs

# all tests with the newest releases of everything, whose warnings are errors: what is coming
newest: CONSTRAINTS :=
newest: export PALESTRA_NEWEST := 1
newest: $(BIN)/uv
	@$(PREPARE) --upgrade && wait $$browser
	$(BIN)/mypy
	$(PYTEST) --all -W error -W 'ignore:`torch.jit:DeprecationWarning'

# the tests with the oldest releases that our packages and their tests say they work with
oldest: CONSTRAINTS :=
oldest: $(BIN)/uv
	@$(PREPARE) --resolution lowest-direct && wait $$browser
	$(PYTEST)

# renew the versions in constraints/, which `make play`, `make test` and `make docs` install
upgrade: $(BIN)/uv
	$(BIN)/python scripts/upgrade.py

# what to run while working: one quick case of each test
fast: $(BIN)/uv
	$(EVERYTHING)
	$(PYTEST) --fast -q

format: $(BIN)/uv
	$(EVERYTHING)
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# the site, with warnings as errors; docs/_build/html/index.html opens without a network
docs: $(BIN)/uv
	$(EVERYTHING)
	$(BIN)/python scripts/site.py
	@echo "open docs/_build/html/index.html"

# a minute of hostile inputs for every environment; SHARD=2/8 is an eighth of them
SHARD ?= 0/1
fuzz: $(BIN)/uv
	$(EVERYTHING)
	$(BIN)/python scripts/fuzz_all.py --minutes 1 --shard $(SHARD)

# every wheel, checked and installed from wheels alone; TAG=v0.2.0 must be what is released
release: $(BIN)/uv
	$(EVERYTHING) --group release
	$(BIN)/python scripts/release.py $(addprefix --tag ,$(TAG))

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Palestra needs Python 3.11 or newer; say which: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		$(addprefix --constraint ,$(CONSTRAINTS)) "uv>=0.9"
