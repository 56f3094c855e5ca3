# make demo: build, index and search the demo collection. make test: run the tests. make quick: run
# those that need no cluster, engine or browser, kill nothing, and take little time.
# make check: lint, types, import contracts and tests. make bench: figures against baselines and limits.
# make docs: the pages of results and the reference, from data and code.
PYTHON ?= python3
BIN := .venv/bin
NPM := $(shell command -v npm)
# What Python compiles is kept: tests start hundreds of processes, and each would compile it again.
unexport PYTHONDONTWRITEBYTECODE

QUICK := not slow and not cluster and not engine and not browser and not crash

.PHONY: demo test quick check lint docs bench clean

.venv/ready: pyproject.toml experiments/pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,demo,deep,plots,parquet,faiss,milvus,milvus-server,ray]' -e experiments
	touch $@

# The checker of the page's types, the one of its accessibility, and exiftool for sidecars where the
# system has none. No file of ours names where packages come from, so nothing is locked but the versions.
.node/ready: Makefile
	npm install --silent --no-save --no-package-lock --prefix .node typescript@7.0.2 axe-core@4.14.0 exiftool-vendored.pl@13.59.3
	touch $@

demo: .venv/ready
	$(BIN)/sightline demo --folder .demo

test: .venv/ready
	@$(if $(NPM),$(MAKE) -s .node/ready || echo "axe-core and exiftool could not be installed by npm.")
	$(BIN)/pytest -n 3 --dist worksteal --durations=15

quick: .venv/ready
	$(BIN)/pytest -n 2 --dist worksteal -m "$(QUICK)"

lint: .venv/ready $(if $(NPM),.node/ready)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
ifdef NPM
	.node/node_modules/.bin/tsc -p .
else
	@echo "Left out: the types of the page (src/sightline/web/page), for want of npm. apt-get install npm"
endif

check: lint test

docs: .venv/ready
	$(BIN)/python -m sightline_experiments.pages
	$(BIN)/python -m sightline.cli.reference

bench: .venv/ready
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,demo,deep,plots,parquet,faiss,milvus,milvus-server,ray,bench]' -e experiments
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA)) --json bench.json

clean:
	rm -rf .venv .node .demo build dist
