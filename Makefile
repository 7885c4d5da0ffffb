# Everything a developer or CI does. `make` alone lists the targets.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
SOURCES := packages tests bench tools
PROJECTS := pyproject.toml $(wildcard packages/*/pyproject.toml)
# two more than there are cores: tests wait for processes and clocks about as long as they compute where servers are started
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 2)')
# what was compiled is kept, whatever the shell says: every process that a test starts would compile it again
unexport PYTHONDONTWRITEBYTECODE
# what is tried while one works: no server process, no browser, no database
QUICK := tests/core tests/contract tests/cursor tests/tokens tests/flags tests/cache tests/structure/test_ladder.py

.DEFAULT_GOAL := help
.PHONY: help setup serve check programs quick test search mutants fuzz campaign adoption bench docs goldens format clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## make .venv and install what everything needs

$(READY): $(PROJECTS) constraints.txt
	@echo "== setting up .venv (about a minute the first time)"
	@echo "   1 of 3: the environment"
	@$(PYTHON) -m venv .venv
	@echo "   2 of 3: pip"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@echo "   3 of 3: the packages"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e 'packages/aerogram[all]' -e packages/aerogram-page -e packages/aerogram-knowledge --group dev
	@touch $@

serve: $(READY) ## the knowledge server with the sample documents: page, HTTP and MCP on localhost
	@$(BIN)/aerogram serve samples --index .cache/samples.index

check: $(READY) ## lint and types
	@echo "== lint"
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@echo "== types"
	@$(BIN)/mypy
	@echo "== the house, and what it was a day ago"
	@$(BIN)/python tools/house.py

programs: ## the browser, the Redis and the balancer that the tests use, from Debian's packages
	@echo "== programs for the tests"
	@bash tools/debian.sh

quick: check ## lint, types and the tests of the core, while you work
	@echo "== the tests of the core"
	@$(BIN)/python -m pytest -n auto --dist worksteal $(QUICK)

test: check programs ## everything that must be green
	@echo "== tests"
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -rs

search: $(READY) ## the property tests with examples that nobody has tried yet
	@PROPERTIES=search $(BIN)/python -m pytest -n $(WORKERS) -q \
		$$(grep -rlE "^(from|import) hypothesis" tests --include='test_*.py')

mutants: $(READY) ## change each requirement's feature and see its test notice (ARGS="--only STD", "--lot 12", ...)
	@PYTHONPATH=tools $(BIN)/python -m mutants $(ARGS)

fuzz: $(READY) ## new cases for what reads and answers (FUZZ_SECONDS=60 FUZZ_SEED=1); what they find is kept and replayed
	@PYTHONPATH=tests $(BIN)/python tools/fuzz.py

campaign: $(READY) ## load, faults and fuzzing with a report, CAMPAIGN_SECONDS=60 for each that can be longer
	@$(BIN)/python tools/campaign.py

adoption: $(READY) ## servers from PyPI and npm, with and without Aerogram; writes the table in docs/adopting.md
	@PYTHONPATH=tools $(BIN)/python -m adoption $(ARGS)

bench: $(READY) ## measure: every figure in the docs comes from here
	@$(BIN)/python bench

docs: $(READY) ## write the generated parts of the docs again
	@$(BIN)/python docs/generate.py
	@$(BIN)/python tests/contracts/requirement_rows.py
	@$(BIN)/python tests/normalize/forms_table.py

goldens: $(READY) ## accept the dialects' schemas as they are now (bump their version first)
	@$(BIN)/python tests/golden/write.py

format: $(READY) ## format the code
	@$(BIN)/ruff check --fix --quiet $(SOURCES) || true
	@$(BIN)/ruff format $(SOURCES)

clean: ## remove what the targets made
	rm -rf .venv .cache dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
