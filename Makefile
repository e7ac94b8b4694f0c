# The entry to everything. A new machine needs python3 with its headers, g++ and make; the rest is installed below.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := ir frontend passes codegen_ascendc runtime
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal -rs
# Empty is unset: pytest keeps the test modules as it rewrote them, which takes it ten seconds.
export PYTHONDONTWRITEBYTECODE :=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv, install the five packages, build the simulator
	@$(BIN)/python -c 'from tile_runtime.launcher.native import launcher; launcher()'

demo: setup ## set up, then run the examples on the simulator
	@$(BIN)/tile-ascend doctor --build
	@for example in examples/[0-9]*.py; do echo "== $$example"; $(BIN)/python $$example || exit 1; done

test: setup ## run a fixed part of the tests, some minutes; skips are listed with their reasons
	$(PYTEST) tests

test-all: setup ## run all tests
	$(PYTEST) --all tests

test-optimised: setup ## run all tests on kernels compiled as a user's are, an hour
	$(PYTEST) --all --optimised tests

check: $(STAMP) ## ruff, its format, mypy --strict, layering, spelling, rules of prose
	$(BIN)/ruff check packages tests docs examples
	$(BIN)/ruff format --check --quiet packages tests docs examples \
	  || { echo "not formatted: $(BIN)/ruff format packages tests docs examples"; exit 1; }
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layering.py
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md docs packages/*/src examples tests
	$(BIN)/python docs/prose.py

bench: setup ## measure; the table goes to build/bench.md
	$(BIN)/tile-ascend bench --output build/bench.md
	$(BIN)/python -m pytest -q -m times tests

conformance: setup ## run the scripts of a checkout: PEER=<tilelang-ascend>, ARGS=<options>; the table goes to build/conformance.md
ifdef PEER
	@mkdir -p build
	PYTHONPATH=tests $(BIN)/python -m conformance $(PEER) $(ARGS)
else
	@echo "SKIPPED conformance: PEER is not set; use make conformance PEER=<checkout of tilelang-ascend>"
endif

timing: setup ## model every published measurement, some minutes; the table goes to docs/hardware/time_model.md
	$(BIN)/python tests/timing/compare.py --full --write

docs: setup ## write the type stubs, generated pages and outputs, then check all documents
	$(BIN)/python docs/stubs.py
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/generate.py use/kernels.md
	$(PYTEST) tests/docs

site: setup ## build the site of the documents into build/site, all links checked
	@$(BIN)/python -c 'import material' 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet -c constraints.txt -r docs/requirements.txt
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "to read it: $(BIN)/python -m http.server -d build/site"

vendor-check: setup ## type-check emitted sources: HEADERS=<folder of CANN headers>, SHMEM=<folder of the SHMEM library>
ifneq ($(HEADERS)$(SHMEM),)
	TILE_CANN_HEADERS=$(HEADERS) TILE_SHMEM_HEADERS=$(SHMEM) $(PYTEST) -k 'vendor or cann' tests
else
	@echo "SKIPPED vendor-check: neither HEADERS nor SHMEM is set; use make vendor-check HEADERS=<folder>"
endif

# The sanitizer can only watch exceptions if the C++ library is loaded as early as it is.
sanitize: setup ## simulator tests under address and undefined-behaviour sanitizers
	TILE_TEST_SANITIZE=1 ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
	  $(PYTEST) tests/runtime/simulator

fuzz-simulator: setup ## mutated kernels on the simulator: N=2000 SEED=0 CHECK=strict ONLY=tour; prints how they end
	PYTHONPATH=tests/runtime $(BIN)/python tests/runtime/fuzz_sources.py $(or $(N),2000) --seed $(or $(SEED),0) $(if $(CHECK),--check $(CHECK)) $(if $(ONLY),--only $(ONLY))

fuzz-scalars: setup ## kernels run with random scalars, among them what has no meaning: N=3000 SEED=0; prints how they end
	cd tests && ../$(BIN)/python -m end_to_end.mutated_scalars $(or $(N),3000) $(or $(SEED),0)

fuzz: setup ## random kernels through planning and ordering, all checkers, the simulator: N=20000 SEED=0 MIXED=1 PIPELINED=1
	TILE_VERIFY_EACH=1 PYTHONPATH=tests $(BIN)/python -m fuzz $(or $(N),20000) --seed $(or $(SEED),0) --keep $(if $(MIXED),--mixed) $(if $(PIPELINED),--pipelined)

fuzz-programs: setup ## random kernels as text, run on the simulator and on NumPy arrays: N=20000 SEED=0; failures are kept
	TILE_VERIFY_EACH=1 PYTHONPATH=tests $(BIN)/python -m programs $(or $(N),20000) --seed $(or $(SEED),0) --keep --forms

fuzz-tiles: setup ## random kernels of tiles and their elements, interpreted behind all passes: N=3000 SEED=0; prints those that are wrong
	cd tests && ../$(BIN)/python -m end_to_end.tile_campaign $(or $(N),3000) $(or $(SEED),0)

matrix-programs: setup ## subscript forms by direction, type, width, style and time, as programs: N=20000 SEED=0; prints how often each form was right
	TILE_VERIFY_EACH=1 PYTHONPATH=tests $(BIN)/python -m programs $(or $(N),20000) --seed $(or $(SEED),0) --matrix

# The seed is printed, so that SEED=<seed> draws the same examples again.
SEED_OF_THE_NIGHT = $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))

nightly-properties: setup ## tests of properties, random seeds, MORE=20 times as many examples, SEED=<seed>; failures go to build/properties
	@seed=$(SEED_OF_THE_NIGHT); echo "seed $$seed: make nightly-properties SEED=$$seed MORE=$(or $(MORE),20)"; \
	TILE_TEST_PROPERTIES=$(or $(MORE),20) $(PYTEST) --all -m "hypothesis and not times" \
	  --hypothesis-seed=$$seed $(or $(TESTS),tests) || \
	  { echo "seed $$seed; what failed is in build/properties"; exit 1; }

matrix: setup ## operation x type x shape x slice x operand against NumPy, and all mutants (make test-all runs a part)
	TILE_TEST_MATRIX=whole $(PYTEST) $(addprefix tests/end_to_end/test_,op_matrix.py sync_mutants.py error_corpus.py)

# A wheel has the bytes of its sources, wherever and whenever it is built; a source archive is packed
# again, since gzip and setuptools note the time.
wheels: setup ## build wheels and source archives of all packages into build/wheels, the same bytes each time
	@rm -rf build/wheels
	@export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct); \
	for package in $(PACKAGES) tile_ascend; do \
	  $(BIN)/python -m build --no-isolation --outdir build/wheels packages/$$package > build/wheels.log 2>&1 \
	    || { cat build/wheels.log; exit 1; }; \
	done; \
	for archive in build/wheels/*.tar.gz; do \
	  mkdir build/wheels/unpacked && tar -xzf $$archive -C build/wheels/unpacked \
	    && tar --sort=name --mtime=@$$SOURCE_DATE_EPOCH --owner=0 --group=0 --numeric-owner \
	      -C build/wheels/unpacked -cf - . | gzip -n > $$archive && rm -rf build/wheels/unpacked || exit 1; \
	done
	@ls build/wheels

bless: setup ## accept what the golden tests give now; look at the difference before committing
	TILE_BLESS=1 $(PYTEST) tests/passes tests/codegen

clean: ## remove everything that was built here, .venv too
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache packages/*/build
	find packages tests -name __pycache__ -prune -exec rm -rf {} + -o -name '*.egg-info' -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "python3 can not make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

# Build tools come first, so that the packages are built with the pinned ones and not in isolation.
# pip compiles what it copies, but not what it links to: the first run would do it.
$(STAMP): constraints.txt Makefile $(PACKAGES:%=packages/%/pyproject.toml) packages/runtime/setup.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt setuptools wheel pybind11
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation \
	  $(PACKAGES:%=-e packages/%) pytest pytest-xdist hypothesis \
	  mypy ruff codespell jedi 'pyright[nodejs]' build pygls mcp jsonschema nbclient nbformat ipykernel
	@$(BIN)/python -m compileall -q $(PACKAGES:%=packages/%/src)
	@touch $@

.PHONY: help setup demo test test-all test-optimised check bench conformance timing docs site vendor-check sanitize nightly-properties fuzz fuzz-programs fuzz-scalars fuzz-simulator matrix matrix-programs wheels bless clean
