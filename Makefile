# make demo: build, index and search the demo collection. make test: run the tests.
# make check: lint, types, room contracts and tests. make bench: figures against rivals and limits.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check lint bench clean

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,demo,deep,plots,parquet,ray]'
	touch $@

demo: .venv/ready
	$(BIN)/sightline demo --folder .demo

test: .venv/ready
	$(BIN)/pytest -n 2 --dist worksteal -rs

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

check: lint test

bench: .venv/ready
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,demo,deep,plots,parquet,ray,bench]'
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA)) --json bench.json

clean:
	rm -rf .venv .demo build dist
