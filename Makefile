# Everything a developer runs. Each target sets up .venv itself; the second time costs nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help venv demo test slow crash chaos soak check format grammar editors docs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP) ## Set up .venv with everything that development needs

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $@

demo: $(STAMP) ## Run the main job end to end: Kafka in, Spark, alerts out
	$(BIN)/python -m examples.demo

test: $(STAMP) ## Run the tests and doctests, load and crash tests left out
	$(PYTEST) -q -m "not slow and not spark and not kafka" -n 2
	$(PYTEST) -q -m "not slow and (spark or kafka)"

slow: $(STAMP) ## Run the long tests: 12,000 random patterns against DuckDB and the like
	$(PYTEST) -q -m "slow and not spark and not kafka" -n 2
	CEP_KILLS=4 $(PYTEST) -q -m "slow and (spark or kafka)" --ignore tests/spark/test_corpus.py

crash: $(STAMP) ## Run all tests of the Spark job and of Kafka that take long, whole (more than an hour)
	$(PYTEST) -q -m "slow and (spark or kafka)"
	CEP_TEST_MASTER='local-cluster[2,1,1024]' $(PYTEST) -q -m slow tests/spark/test_corpus.py

chaos: $(STAMP) ## Kill, pause, cut off and starve brokers and jobs for a while; fails when a match is lost (MINUTES=5)
	$(BIN)/python -m tests.chaos --minutes $(or $(MINUTES),5)

soak: $(STAMP) ## Feed the engine random events for an hour; fails when memory grows (MINUTES=60)
	$(BIN)/python -m benchmarks.soak --minutes $(or $(MINUTES),60)

check: $(STAMP) ## Lint, formatting, types, import contracts, then the tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory test

format: $(STAMP) ## Put all Python files into the standard layout
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

grammar: $(STAMP) ## Generate the lexer and parser from grammar/
	$(BIN)/python -m cep.syntax.regenerate

editors: $(STAMP) ## Generate what editors know of the language from grammar/
	$(BIN)/python editors/generate.py

docs: $(STAMP) ## Build the documentation into site/, all links checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean: ## Remove .venv and everything that tools leave behind
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist site *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
