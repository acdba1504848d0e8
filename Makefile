# Everything starts here: `make run` to use the site, `make test` before you hand anything over.
PYTHON ?= python3
# Whoever names one means it; otherwise a quicker one of the same version may be taken.
WITH := $(if $(filter file,$(origin PYTHON)),,--with-this-python)
BIN := .venv/bin
# Checks load the settings, which keep a secret key in a data folder: not in the one you work with.
CHECK := EVALSITE_DATA=.cache/check $(BIN)
# Tests wait for processes and timers more than they compute: three times as many at once as small
# machines have cores, shared by the two databases. Those that measure time come last, alone.
ON_SQLITE := $(BIN)/pytest -n 4 -m "not alone" --durations 20
ON_POSTGRESQL := EVALSITE_TEST_DATABASE=postgres $(BIN)/pytest -n 2 -m "not alone" --durations 20
FAULTS := $(BIN)/pytest -q -s --timeout 0 --full tests/faults

# Tests start hundreds of processes: none need compile again what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run setup bars bench bench-select openapi schemathesis measure-api faults faults-short soak test trust mutants attack check lint types collected quick sqlite postgresql screenshots first-hour audit commands configuration prices lock clean

help: ## Say what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: .venv/.run-is-installed ## Install what is missing and start the site on http://127.0.0.1:8000
	@exec $(BIN)/python manage.py serve $(ARGS)

setup: .venv/.dev-is-installed ## Install what the site, the tests and the checks need

.venv/.run-is-installed: requirements/run.lock package-lock.json scripts/set_up.py
	@$(PYTHON) scripts/set_up.py run $(WITH)

.venv/.dev-is-installed: requirements/dev.lock requirements/run.lock package-lock.json scripts/set_up.py
	@$(PYTHON) scripts/set_up.py dev $(WITH)

test: setup ## Everything: checks, all tests on SQLite, those that SQL concerns on PostgreSQL, too
	@$(BIN)/python scripts/install_chromium.py
	@$(MAKE) --no-print-directory --jobs=4 lint types sqlite postgresql
	$(BIN)/pytest -m alone $$(grep -rl mark.alone tests --include='test_*.py') $(ARGS)

trust: setup ## The whole suite ten times in clean clones, five of them on a busy machine
	@$(BIN)/python scripts/trust.py $(ARGS)

mutants: setup ## Break twenty things on purpose, and see that tests notice; ARGS="--only 3,7"
	@$(BIN)/python scripts/mutants.py $(ARGS)

attack: setup ## Send poisons to a site of its own, and say how it bore them; ARGS="--only schema"
	@$(BIN)/python scripts/attack.py $(ARGS)

check: setup ## The fast loop, under a minute: lint, types, layers, migrations, engine, docs and guards
	@$(MAKE) --no-print-directory --jobs=3 --output-sync lint types quick

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(CHECK)/lint-imports --no-cache
	$(CHECK)/python manage.py makemigrations --check --dry-run

types: setup
	$(CHECK)/mypy

quick: setup
	$(BIN)/pytest -q -n 3 -m "not late and not alone" tests/engine tests/test_*.py tests/api/test_openapi.py

sqlite: collected
	$(ON_SQLITE) $(ARGS)

postgresql: collected # beside the others, so what it says is shown when it is done
	@mkdir -p .cache
	@$(ON_POSTGRESQL) $$(grep -rl mark.postgresql tests --include='test_*.py') $(ARGS) > .cache/postgresql.txt 2>&1; \
	  ended=$$?; cat .cache/postgresql.txt; exit $$ended

collected: setup # finds tests that cannot be loaded, and compiles the others for all who run them
	@mkdir -p .cache
	@$(BIN)/pytest --collect-only -qq > .cache/collected.txt || { cat .cache/collected.txt; exit 1; }

faults-short: setup ## Break the most important things, with small loads
	$(BIN)/pytest -n 4 -m "row and not long" tests/faults $(ARGS)

faults: setup ## Break everything, one JSON line per row; ARGS="--rows 1,4 --seed 7"
	@$(FAULTS) --results docs/reliability.jsonl $(ARGS)

openapi: setup ## Write docs/openapi.json anew from the routes
	$(CHECK)/python scripts/write_openapi.py

schemathesis: setup ## Ask every route of the API what its document allows and refuses; ARGS="-n 30"
	@$(BIN)/python scripts/schemathesis_run.py $(ARGS)

measure-api: setup ## How quick the API is during a run and in a large one
	@$(BIN)/python scripts/measure_api.py

SECONDS ?= 1800
SEED ?= 7
soak: setup ## Break things at random for a while; SECONDS=1800 SEED=7
	@$(FAULTS) --soak $(SECONDS) --seed $(SEED)

bars: setup ## Measure the bars that we set for ourselves; ARGS="--rows errors,wide"
	@$(CHECK)/python -m scripts.bars $(ARGS)

bench: .venv/.run-is-installed ## Measure speed on this machine; ARGS="--trials 5000"
	@mkdir -p .cache/bench
	@$(BIN)/python manage.py migrate -v 0
	$(BIN)/python manage.py benchmark --out .cache/bench/$$(date -u +%Y%m%d-%H%M%S).json $(ARGS)

bench-select: .venv/.run-is-installed ## Compare the strategies of choosing; MATRICES="a.json b.csv"
	@test -n "$(MATRICES)" || { echo 'Name score matrices: make bench-select MATRICES="a.json b.csv"'; exit 2; }
	@$(BIN)/python manage.py bench_select $(MATRICES) $(ARGS)

screenshots: setup ## Pictures of every page into .cache/screenshots; ARGS="--only runs,run --theme dark --width 390"
	@$(BIN)/python scripts/install_chromium.py
	$(BIN)/python scripts/screenshots.py $(ARGS)

first-hour: setup ## Walk a newcomer's path, timed; ARGS="test.jsonl --server http://127.0.0.1:8080/v1 --model NAME", or --first-run
	@$(BIN)/python scripts/install_chromium.py
	@$(BIN)/python scripts/first_hour.py $(ARGS)

audit: setup ## Ask the databases of known holes about all that is locked; lists the parts in .cache/sbom
	@$(BIN)/python scripts/audit.py $(ARGS)

commands: setup ## Write docs/COMMANDS.md anew from the commands
	$(CHECK)/python scripts/commands_reference.py

configuration: setup ## Write docs/CONFIGURATION.md anew from the schema
	$(CHECK)/python scripts/configuration_reference.py

prices: setup ## Write the list of prices anew from the package genai-prices
	$(BIN)/python scripts/price_list.py

lock: setup ## Write the lock files anew from requirements/*.in and package.json
	cd requirements && for name in run dev rollout mettagrid installer node; do \
	  ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-header --no-emit-index-url $(ARGS) $$name.in -o $$name.lock || exit 1; done
	npm install --package-lock-only --ignore-scripts --no-audit --no-fund

clean: ## Remove what set-up and tests made; the data folder stays
	rm -rf .venv node_modules .cache
