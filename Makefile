# make demo: every table and figure on bundled digits · make test · make check · make cluster · make lock

PYTHON ?= $(shell command -v python3.11 || command -v python3)
# The active conda environment, if ngo is installed there (environment.yml); or else .venv.
CONDA := $(and $(CONDA_PREFIX),$(patsubst %/bin/ngo,%,$(wildcard $(CONDA_PREFIX)/bin/ngo)))
PLACE := $(or $(CONDA),.venv)
INSTALLED := $(if $(CONDA),,.venv/installed)
BIN := $(PLACE)/bin
SNAKEMAKE := $(BIN)/snakemake --workflow-profile workflow/profiles/local

.PHONY: demo laptop paper report archive figures-from-metrics setup cluster test test-torture test-slurm check format lock results-page clean

demo: setup ## Every table and figure on scikit-learn's digits, offline
	$(SNAKEMAKE) --configfile config/demo.yaml
	@echo "Tables are in results/demo/tables, figures in results/demo/figures; results/README.md maps the rest."

laptop: setup ## The MNIST part of every table and figure
	$(SNAKEMAKE) --configfile config/laptop.yaml

paper: setup ## The full reproduction
	$(SNAKEMAKE)

TIER ?= demo
OVERLAY = $(if $(filter-out paper,$(TIER)),--configfile config/$(TIER).yaml)

report: setup ## results/TIER/report.html, one file, of TIER=demo (laptop, paper)
	$(SNAKEMAKE) $(OVERLAY)
	$(SNAKEMAKE) $(OVERLAY) --report results/$(TIER)/.report.html --report-stylesheet workflow/report/report.css
	mv results/$(TIER)/.report.html results/$(TIER)/report.html

archive: setup ## results/TIER-metrics.tar, all that the tables and figures of TIER=demo are made from
	$(SNAKEMAKE) $(OVERLAY)
	$(BIN)/ngo archive $(addprefix --config=,config/config.yaml $(filter config/%,$(OVERLAY))) \
	  --out results/$(TIER)-metrics.tar

figures-from-metrics: setup ## Every table and figure of ARCHIVE=…, with no training and no GPU
	$(BIN)/ngo rebuild $(or $(ARCHIVE),$(error ARCHIVE: name one, as in ARCHIVE=results/demo-metrics.tar))

test: setup ## The test suite, on all cores; the tests of a file in one process
	$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

test-torture: setup ## The whole demo, killed at random moments: some ten minutes
	$(BIN)/pytest -m torture -s

test-slurm: cluster ## The pipeline on a real Slurm of one node, started for the time of the tests
	$(BIN)/pytest tests/slurm $(SLURM_TESTS)

check: setup ## Style, lint, and that the lock and the environments agree
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	$(BIN)/uv pip check --python $(BIN)/python
	$(BIN)/pytest --quiet tests/test_environment.py

setup: $(INSTALLED)

# An environment names its own folder in its scripts: in a renamed folder it is made anew.
MOVED := $(shell [ ! -e .venv/pyvenv.cfg ] || grep -qF " $(CURDIR)/.venv" .venv/pyvenv.cfg || echo --clear)
ifdef MOVED
.PHONY: .venv/installed
endif

# uv itself comes from the lock too, with its hashes.
.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "ngo needs Python 3.11: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv $(MOVED)
	awk '/^uv==/ {on = 1} on {print} on && !/\\$$/ {exit}' requirements.lock > .venv/uv.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.txt
	$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch .venv/installed

cluster: $(PLACE)/cluster ## What running on a cluster takes besides, into the environment

$(PLACE)/cluster: requirements-cluster.lock $(INSTALLED)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps --require-hashes -r requirements-cluster.lock
	touch $@

COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-annotate --no-header --quiet pyproject.toml

# The cluster's lock holds only what the other one does not.
lock: ## Renew the locks and environment.yml from pyproject.toml
	$(COMPILE) --extra dev --output-file requirements.lock
	$(COMPILE) --extra cluster --constraint requirements.lock --output-file requirements-cluster.lock \
	  $$(sed -n 's/^\([^= ]*\)==.*/--no-emit-package \1/p' requirements.lock)
	$(BIN)/python tools/environment.py

format: setup ## Format all code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

results-page: setup ## docs/results.md from the laptop tier's results
	$(BIN)/python tools/results_page.py laptop

clean: ## Remove everything that was produced
	rm -rf results/*/ results/*-metrics.tar logs benchmarks .snakemake
