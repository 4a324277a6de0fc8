# Everything a contributor or CI runs. `make` alone lists the targets.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all check format benchmark peers docs reference clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

install: $(STAMP) ## make .venv and install dglbench with its tools, once

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

demo: install ## two minutes: repeats, restart curves and a map in small, in demo/
	$(BIN)/dglbench sweep --config docs/demo.toml --jobs 2 --out demo/results
	$(BIN)/dglbench report demo/results --table rivals
	$(BIN)/dglbench report demo/results --figure restarts --figure when-it-pays --out demo \
		--html demo/report.html --title "dglbench: a demo"
	@echo "Open demo/report.html in a browser."

test: install ## all tests but the slow ones
	$(BIN)/python -m pytest -n auto -m 'not slow'

test-all: install ## all tests
	$(BIN)/python -m pytest -n auto

check: install ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install ## put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: install ## time solvers, methods, sweep and report side by side
	for name in solvers methods sweep throughput report; do $(BIN)/python benchmarks/$$name.py || exit 1; done

peers: install ## time SPO+ beside PyEPO on the SEMO data (DGLBENCH_SEMO_FILE)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[pyepo]'
	$(BIN)/python benchmarks/peers.py

docs: install ## build the documentation site into site/, to be read offline
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	$(BIN)/sphinx-build -W --keep-going -q -b html docs site
	@echo "Look at site/index.html in a browser."

reference: install ## make the reference results in reference-runs/, in pieces that resume (see results/reference)
	DGLBENCH=$(BIN)/dglbench results/reference/make.sh reference-runs

clean: ## remove caches and the demo, keep .venv, data/ and results/
	rm -rf demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find dglbench tasks tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
