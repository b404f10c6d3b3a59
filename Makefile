# make demo: every table and figure on bundled digits · make test: the tests · make check: style and lint

PYTHON ?= $(shell command -v python3.11 || command -v python3)
# The active conda environment if ngo is installed in it (environment.yml), else .venv.
CONDA := $(and $(CONDA_PREFIX),$(patsubst %/bin/ngo,%,$(wildcard $(CONDA_PREFIX)/bin/ngo)))
PLACE := $(or $(CONDA),.venv)
INSTALLED := $(if $(CONDA),,.venv/installed)
BIN := $(PLACE)/bin
SNAKEMAKE := $(BIN)/snakemake --workflow-profile workflow/profiles/local

.PHONY: demo laptop paper unstated register report provenance archive campaign-archive restore figures-from-metrics pages setup cluster test test-slow test-workflow test-torture test-slurm verify-shipped release-check check format lock results-page play board tinyimagenet-page docs clean

demo: setup ## Every table and figure on scikit-learn's digits, offline: 2 minutes on 2 cores
	$(SNAKEMAKE) --configfile config/demo.yaml
	@echo "The results are on one page, results/demo/report.html; results/README.md lists all files."

# The config files of a tier after the base: its own, and decide-TIER.yaml, the seeds that were added to it.
files = $(if $(filter-out paper,$(1)),$(or $(wildcard config/$(1).yaml),papers/$(1)/config.yaml)) $(wildcard papers/$(1)/decide-$(1).yaml config/decide-$(1).yaml)
configs = $(if $(strip $(call files,$(1))),--configfile $(strip $(call files,$(1))))
listed = $(addprefix --config=,config/config.yaml $(call files,$(1)))

laptop: setup ## The claims that MNIST, CIFAR-10 and the theory can decide: six to seven hours on 2 cores
	$(SNAKEMAKE) $(call configs,laptop)

unstated: setup ## Runs that teach `ngo candidates`, with values that the paper does not state: two hours on 2 cores
	$(SNAKEMAKE) $(call configs,unstated)

# The archive that a paper's pages are made from; none where its runs are to be trained.
SHIPPED := $(if $(TRAIN),,$(wildcard results/archive/$(PAPER)-metrics.tar))

paper: setup ## The full reproduction, which needs a GPU; with PAPER=d2, the pages of papers/d2: from its shipped archive, or with TRAIN=1 from its runs
ifneq ($(SHIPPED),)
	$(MAKE) figures-from-metrics ARCHIVE=$(SHIPPED)
else
	$(SNAKEMAKE) $(call configs,$(or $(PAPER),paper))
	$(if $(PAPER),$(BIN)/python tools/results_page.py $(call listed,$(PAPER)))
endif

TIER ?= demo
OVERLAY = $(call configs,$(TIER))

PAGE = results/$(TIER)/report.html

report: setup ## One page of all results, results/TIER/report.html, for TIER=demo (or laptop, beyond, paper); opens it
	$(SNAKEMAKE) report $(OVERLAY)
	@echo "$(PAGE)"
	@$(BIN)/python -m webbrowser -t "file://$(CURDIR)/$(PAGE)" >/dev/null 2>&1 || true

provenance: setup ## Snakemake's report on a tier, with the graph of rules: results/TIER/provenance.html
	$(SNAKEMAKE) $(OVERLAY)
	$(SNAKEMAKE) $(OVERLAY) --report results/$(TIER)/.provenance.html --report-stylesheet workflow/report/report.css
	mv results/$(TIER)/.provenance.html results/$(TIER)/provenance.html

archive: setup ## The inputs of all tables and figures, results/TIER-metrics.tar, for TIER=demo (or laptop, paper)
	$(SNAKEMAKE) $(OVERLAY)
	$(BIN)/ngo archive $(call listed,$(TIER)) \
	  --out results/$(TIER)-metrics.tar

campaign-archive: setup ## The runs so far of an unfinished tier, results/archive/TIER-runs.tar, for TIER=laptop (or paper)
	$(BIN)/ngo archive $(call listed,$(TIER)) --finished \
	  --out results/archive/$(TIER)-runs.tar

restore: setup ## Put the finished runs of ARCHIVE=… back; then only missing ones are trained
	$(BIN)/ngo restore $(or $(ARCHIVE),$(error ARCHIVE: name one, as in ARCHIVE=results/archive/laptop-metrics.tar))

figures-from-metrics: setup ## Every table, figure and verdict, and the page in docs/papers/, from ARCHIVE=…, without training; TRUST=--trust-plugins
	$(BIN)/ngo rebuild $(TRUST) $(or $(ARCHIVE),$(error ARCHIVE: name one, as in ARCHIVE=results/archive/laptop-metrics.tar))
	$(BIN)/python -P tools/results_page.py $(TRUST) --archive $(ARCHIVE)

pages: setup ## The verdicts and pages of all shipped archives, and the board: half an hour on 2 cores
	for archive in results/archive/*-metrics.tar; do $(MAKE) --no-print-directory figures-from-metrics ARCHIVE=$$archive || exit; done
	$(MAKE) --no-print-directory board

PYTEST := $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

test: setup ## The test suite, one process per core, each test file in one process: 5 minutes on 2 cores
	$(PYTEST)

test-slow: setup ## Tests of what hardly ever breaks: as long runs are: 3 minutes
	$(PYTEST) -m slow

test-workflow: setup ## Whole pipelines, also killed, resumed and changed, and their pictures: 13 minutes on 2 cores
	$(PYTEST) tests/workflow

test-torture: setup ## The whole demo, killed at random moments: 10 minutes
	$(BIN)/pytest tests/workflow/test_interrupted.py -m torture -s

test-slurm: cluster ## The pipeline on a real Slurm of one node, started for the tests: 8 minutes
	$(BIN)/pytest tests/slurm $(SLURM_TESTS)

verify-shipped: setup ## Some runs and measurements of the shipped archives, made again and compared, and the board: 6 minutes
	$(BIN)/python tools/verify_shipped.py
	$(BIN)/python tools/board.py --check

release-check: setup ## Wheels and source distributions, built, installed outside the repository and tried: 2 minutes
	$(BIN)/python tools/release_check.py

check: setup ## Style, import order, types, workflow lint, and consistency of lock files and environments: 1 minute
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	$(BIN)/python tools/results_page.py --check
	$(BIN)/uv pip check --python $(BIN)/python
	$(BIN)/pytest --quiet tests/test_environment.py

setup: $(INSTALLED)

# The scripts of a virtual environment contain its path: if the folder was renamed, recreate it.
MOVED := $(shell [ ! -e .venv/pyvenv.cfg ] || grep -qF " $(CURDIR)/.venv" .venv/pyvenv.cfg || echo --clear)
ifdef MOVED
.PHONY: .venv/installed
endif

# uv is installed from the lock too, with hashes.
.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "ngo needs Python 3.11: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv $(MOVED)
	awk '/^uv==/ {on = 1} on {print} on && !/\\$$/ {exit}' requirements.lock > .venv/uv.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.txt
	$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch .venv/installed

cluster: $(PLACE)/cluster ## Install the additional packages for a cluster

$(PLACE)/cluster: requirements-cluster.lock $(INSTALLED)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps --require-hashes -r requirements-cluster.lock
	touch $@

COMPILE := $(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet \
  --python-version 3.11 pyproject.toml

docs: $(PLACE)/docs ## The documentation site, docs/_build/html/index.html; warnings and broken links are errors
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -E -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python tools/check_links.py docs/_build/html

$(PLACE)/docs: requirements-docs.lock $(INSTALLED)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps --require-hashes -r requirements-docs.lock
	touch $@

# The locks for a cluster and for the site contain only packages that requirements.lock does not.
lock: ## Update the lock files and environment.yml from pyproject.toml
	$(COMPILE) --extra dev --output-file requirements.lock
	for group in cluster docs; do \
	  $(COMPILE) --extra $$group --constraint requirements.lock --output-file requirements-$$group.lock \
	    $$(sed -n 's/^\([^= ]*\)==.*/--no-emit-package \1/p' requirements.lock) || exit; \
	done
	$(BIN)/python tools/environment.py

format: setup ## Format all code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

results-page: setup ## docs/results.md, docs/results/, docs/assumptions.md and the summary in README.md, from the laptop tier
	$(BIN)/python tools/results_page.py $(call listed,laptop)

play: setup ## docs/play.html, the playground of consensus
	$(BIN)/python -m ngo.report.pages > docs/.play.html
	mv docs/.play.html docs/play.html

board: setup ## docs/board.md, docs/board.html and their tables, from the shipped archives: 1 minute
	$(BIN)/python tools/board.py

tinyimagenet-page: setup ## docs/tinyimagenet.md: Table 1 on the TinyImageNet that is here; half an hour on 2 cores
	$(SNAKEMAKE) table1 --configfile config/tinyimagenet.yaml
	{ printf '# TinyImageNet\n\nTable 1 for part of an epoch, by `make tinyimagenet-page`. All cells train from end to end, none to a result:\n'; \
	  printf 'with 200 classes, half a percent is chance.\n\n'; cat results/tinyimagenet/tables/table1.md; } > docs/tinyimagenet.md

register: setup ## The dates of new and changed claims in their *.registered.yaml; commit them before the runs
	for claims in config/reference/claims.yaml papers/*/claims.yaml; do $(BIN)/verdicts register --import ngo.analysis.quantities $$claims || exit 1; done

clean: ## Remove all produced files, except the shipped archives in results/archive
	rm -rf $(filter-out results/archive/,$(wildcard results/*/)) results/*-metrics.tar logs .snakemake
