# Every target sets up what it needs; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PENSTOCK := $(BIN)/python -m controller.cli
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
COMPILE := $(BIN)/pip-compile --quiet --generate-hashes --no-strip-extras --allow-unsafe \
	--no-emit-find-links --no-emit-index-url --no-emit-options
WITHOUT_CONTROL_PLANE := tests/unit tests/property tests/scenarios tests/faults
# What calls the compiled core most directly. The other tests run on the same sources uncompiled.
OF_WHAT_IS_COMPILED := tests/unit/core tests/unit/decisions tests/scenarios \
	$(addprefix tests/property/decisions/,test_whom_to_look_at.py test_decide_oracle.py)
ON_ALL_CORES := --numprocesses=auto --maxprocesses=4 --dist=loadgroup
# On two cores too: two thirds of the time go to tests on control planes, which mostly wait.
FOUR_AT_ONCE := --numprocesses=4 --dist=loadgroup
# The gate, parity of its two keepers, gangs, and the mirrors of the rules on updates of pods and Jobs.
OF_KUBERNETES := tests/differential $(addprefix tests/integration/,test_sandbox.py test_pod_updates.py \
	protection queueing native_groups)
# What lets the programs use all their rights, and takes none away from them.
OF_RIGHTS := $(addprefix tests/integration/,native_groups pod_policies/test_status.py pod_policies/test_create.py \
	scheduling_policies/test_create.py scheduling_policies/test_status.py runtime_classes/test_defaults.py \
	visible_queues/test_queues.py history/test_samples.py jobs/test_preemption.py jobs/test_hold_and_release.py \
	kinds/test_job_sets.py test_own_certificate.py $(addprefix queueing/,test_release.py test_preemption.py test_gangs.py \
	test_events_of_waits.py test_devices.py test_webhook.py))
# Only `make demo KUBECONFIG=file` leaves the sandbox: a KUBECONFIG of the shell must not point the demo at a cluster.
CLUSTER := $(if $(filter command line,$(origin KUBECONFIG)),--kubeconfig '$(KUBECONFIG)')

COMMIT_TIME = $(shell git log -1 --format=%ct)

# Node.js comes from the environment, so that Python is all that a machine has to have.
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" PYTHON=$(CURDIR)/$(BIN)/python $(BIN)/npm --prefix page
PAGE_FOLDER := controller/dashboard/static/index.html
PAGE_SOURCES := page/index.html page/vite.config.ts page/tsconfig.json $(shell find page/src -type f -not -path '*/generated/*')
# What the page is sent is described there; its types in TypeScript are written from it.
PAGE_FORMS := $(wildcard controller/dashboard/*.py controller/visibility/*rows.py)

.DEFAULT_GOAL := help
.PHONY: help demo page page-check pictures browser test test-more operators older lint types layers check coverage unit compiled-core compiled integration sandbox oracle soak \
	fuzz fuzz-reviews fuzz-decide mutants render faults scale bench bench-webhook bench-gate bench-decide bench-compiled \
	generate docs docs-serve sbom lock image rights clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/runtime.stamp $(if $(PAGE),page) ## Watch two teams share nodes and borrow quota (PAGE=1: in a browser, too; KUBECONFIG=file: on your cluster)
	@$(PENSTOCK) demo $(if $(PAGE),--page) $(CLUSTER)

pictures: sandbox browser ## Take the pictures of the page in docs/screens anew
	@$(BIN)/python -m tests.support.pictures

page: $(PAGE_FOLDER) ## Build the page that `penstock dashboard` shows

test: $(VENV)/dev.stamp ## Run every check and every test, on a real control plane too
	@$(MAKE) --no-print-directory --jobs=3 compiled-core check oracle render browser
	@$(MAKE) --no-print-directory compiled PYTEST=
	@echo "==> tests"
	@$(BIN)/pytest $(FOUR_AT_ONCE) $(PYTEST)

check: lint types layers page-check ## Run the checks that run nothing: ruff, yamllint, codespell, hadolint, mypy, import-linter, biome, tsc

lint: $(VENV)/dev.stamp
	@echo "==> ruff, yamllint, codespell, hadolint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/yamllint --strict .
	@$(BIN)/codespell
	@$(BIN)/hadolint Dockerfile

types: $(VENV)/dev.stamp
	@echo "==> mypy --strict"
	@$(BIN)/mypy

layers: $(VENV)/dev.stamp
	@echo "==> import-linter"
	@$(BIN)/lint-imports --no-logo

page-check: $(PAGE_FOLDER)
	@echo "==> biome, tsc, vitest"
	@$(NPM) run --silent check
	@$(NPM) run --silent test

browser: $(VENV)/dev.stamp $(PAGE_FOLDER)
	@$(BIN)/python -m tests.support.browser

coverage: $(VENV)/dev.stamp ## Measure how much of the product unit tests and scenarios reach; pyproject.toml has the floor
	@$(BIN)/pytest $(ON_ALL_CORES) tests/unit tests/scenarios --cov --cov-report=$(PYTEST)

unit: $(VENV)/dev.stamp ## Run the tests that need no control plane
	@$(BIN)/pytest $(WITHOUT_CONTROL_PLANE) $(PYTEST)

compiled-core: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.support.compiled

compiled: $(VENV)/dev.stamp ## Run the tests of the core on the compiled one, as the image has it (needs a C compiler)
	@echo "==> tests of the core, on the compiled one"
	@$(BIN)/python -m tests.support.compiled pytest $(ON_ALL_CORES) $(OF_WHAT_IS_COMPILED) $(PYTEST)

integration: oracle render ## Run the tests on the real control plane
	@$(BIN)/pytest -m integration $(PYTEST)

sandbox: $(VENV)/dev.stamp ## Get or build the programs of the sandbox (minutes, once)
	@echo "==> control plane for the sandbox"
	@$(PENSTOCK) sandbox build

# After the sandbox, whose build has compiled most of it already, and fetched Go where there is none.
oracle: sandbox ## Build what the tests ask for the apiserver's verdict on updates (seconds, once)
	@echo "==> the validation of Kubernetes for the tests"
	@$(BIN)/python -m tests.differential.oracle

fuzz: oracle ## Hold may_change to the apiserver's validation (N=1000000 pairs, SEED=, FUZZ=--coverage)
	@$(BIN)/python -m tests.differential.fuzz $(N) $(if $(SEED),--seed $(SEED)) $(FUZZ)

fuzz-reviews: $(VENV)/dev.stamp ## Send the webhook spoilt reviews: each gets an answer (N=1000000 reviews)
	@$(BIN)/python -m tests.property.pods.test_review_bodies $(or $(N),1000000)
	@echo "$(or $(N),1000000) spoilt reviews, each of them answered"

test-more: oracle ## Run what is too long for `make test`: many pods, and many seeds of all that is drawn (hours)
	@$(MAKE) --no-print-directory coverage
	@$(PENSTOCK) sandbox build --kubernetes 1.36.3
	@$(BIN)/python -m tests.support.promtool
	@$(BIN)/python -m tests.support.prometheus_server
	@$(BIN)/python -m tests.support.installers
	@$(BIN)/pytest $(FOUR_AT_ONCE) -m more
	@PENSTOCK_SEEDS=20 $(BIN)/pytest $(ON_ALL_CORES) -m 'more or not more' $(addprefix tests/property/,simulator pods objects)
	@$(MAKE) --no-print-directory scale N=20000
	@$(MAKE) --no-print-directory fuzz N=200000
	@$(MAKE) --no-print-directory fuzz-reviews N=200000
	@$(MAKE) --no-print-directory fuzz-decide N=20000
	@$(MAKE) --no-print-directory soak N=100
	@$(MAKE) --no-print-directory faults SEEDS=25
	@$(MAKE) --no-print-directory rights
	@$(MAKE) --no-print-directory older
	@$(MAKE) --no-print-directory operators

operators: $(VENV)/dev.stamp ## Run the tests on KubeRay and the training operator in a sandbox (minutes; builds them once)
	@$(PENSTOCK) sandbox build --with ray,training
	@$(BIN)/pytest -n 0 tests/integration/operators $(PYTEST)

rights: sandbox ## Compare the roles with what the programs ask for while tests run (10 minutes)
	@rm -rf build/audit
	@PENSTOCK_TEST_AUDIT=$(CURDIR)/build/audit $(BIN)/pytest $(FOUR_AT_ONCE) $(OF_RIGHTS) $(PYTEST)
	@$(BIN)/python -m tests.support.rights build/audit

older: $(VENV)/dev.stamp ## Run the tests that depend on Kubernetes most on the oldest one of the sandbox (minutes)
	@PENSTOCK_TEST_KUBERNETES=1.36.3 $(BIN)/pytest $(FOUR_AT_ONCE) $(OF_KUBERNETES) $(PYTEST)

faults: sandbox ## Let things go wrong by seeds, on a real control plane (SEEDS=50 in each gate mode, FIRST=0; 20 s each)
	@PENSTOCK_FAULT_SEEDS=$(or $(SEEDS),50) PENSTOCK_FAULT_FIRST=$(FIRST) $(BIN)/pytest -n 2 --dist=loadgroup -m 'more or not more' \
		tests/faults/seeds $(PYTEST)

soak: $(VENV)/dev.stamp ## Try many seeds where `make test` tries a few, in the same tests (minutes; N=400 seeds a test)
	@PENSTOCK_SEEDS=$(or $(N),400) $(BIN)/pytest $(ON_ALL_CORES) tests/property/decisions $(PYTEST)

fuzz-decide: $(VENV)/dev.stamp ## Hold the decision to the plain rules in small worlds (N=100000 worlds, SEED=)
	@$(BIN)/python -m tests.oracle.fuzz $(N) $(if $(SEED),--seed $(SEED))

mutants: oracle ## Break the rules on pods and Jobs one at a time, to see the tests fail (minutes; ONLY="part of a name", JOBS=)
	@$(BIN)/python -m tests.mutation $(if $(ONLY),"$(ONLY)") $(if $(JOBS),--jobs $(JOBS))

scale: sandbox ## Run many pods through fifty queues of one tree, and hold the audit log to the quotas (N=20000 pods)
	@PENSTOCK_SCALE_PODS=$(or $(N),20000) $(BIN)/pytest -n 0 -m more tests/integration/scale $(PYTEST)

# After the sandbox, whose build has compiled half of it already, and fetched Go where there is none.
render: sandbox ## Build what the tests read Helm and kustomize by (a minute, once)
	@echo "==> helm and kustomize for the tests"
	@$(BIN)/python -m tests.support.renderer

bench: sandbox ## Measure bursts, Jobs, drains, floods, starts, reviews and growth beside ceilings of the same run (CHECK=1: hold them to budgets; 45 minutes)
	@for one in "burst" "burst --queues 20" jobs drain flood start rates growth; do \
		echo "==> $$one"; $(BIN)/python -m tests.bench.$$one $(if $(CHECK),--check) || missed=1; \
	done; exit $${missed:-0}

bench-webhook: sandbox ## Measure the webhook on this machine (needs wrk)
	@$(BIN)/python -m tests.bench.webhook $(BENCH)

bench-gate: sandbox ## Measure what keeping the gate costs the apiserver, by webhook and by policies (minutes; BENCH=)
	@$(BIN)/python -m tests.bench.gate $(BENCH)

bench-decide: $(VENV)/runtime.stamp ## Measure the decision in large worlds (an hour; BENCH="--shapes 60 --scale 1": less)
	@$(BIN)/python -m tests.bench.decide $(BENCH)

bench-compiled: $(VENV)/dev.stamp ## Measure the decision as the image has it, compiled (needs a C compiler; BENCH=)
	@$(BIN)/python -m tests.support.compiled tests.bench.decide $(BENCH)

generate: $(VENV)/dev.stamp ## Write config/crd from the models, the chart's templates from config, and docs/reference and docs/pictures from the code
	@$(BIN)/python -m controller.api.generate
	@$(BIN)/python -m deploy.observability.generate
	@$(BIN)/python -m deploy.generate
	@$(BIN)/python -m docsite.generate

docs: $(VENV)/dev.stamp ## Build the documentation as a site, in build/site; a link that leads nowhere is an error
	@$(BIN)/python -m docsite.building

docs-serve: docs ## Build the site and serve it on loopback, until Ctrl-C (PORT=8000)
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site $(or $(PORT),8000)

sbom: $(VENV)/page.stamp ## Write the packages in the image, of Python and of the page, as CycloneDX, to build/*.cdx.json
	@test -x build/release/bin/python || $(PYTHON) -m venv build/release
	@build/release/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/release.txt
	@build/release/bin/python -W ignore -m cyclonedx_py requirements requirements/runtime.txt --pyproject pyproject.toml \
		--output-reproducible --of JSON -o build/penstock.cdx.json
	@$(NPM) sbom --package-lock-only --omit=dev --sbom-format=cyclonedx > build/penstock-page.cdx.json

lock: $(VENV)/dev.stamp ## Lock the newest versions that pyproject.toml and requirements/*.in allow
	@CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) --upgrade -o requirements/runtime.txt pyproject.toml
	@CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) --upgrade -o requirements/build.txt requirements/build.in
	@CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) --upgrade -o requirements/dev.txt requirements/dev.in
	@CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) --upgrade -o requirements/release.txt requirements/release.in
	@CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) --upgrade -o requirements/page.txt requirements/page.in

image: ## Build the container image, the same from the same commit and base images (needs docker; IMAGE=name:tag)
	SOURCE_DATE_EPOCH=$(COMMIT_TIME) docker buildx build --build-arg SOURCE_DATE_EPOCH=$(COMMIT_TIME) --provenance=false \
		--output type=docker,rewrite-timestamp=true,name=$(or $(IMAGE),penstock) .

clean: ## Remove the environment and all caches of this checkout
	rm -rf $(VENV) page/node_modules page/src/generated controller/dashboard/static build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage htmlcov

$(VENV)/runtime.stamp: requirements/runtime.txt
	@echo "==> Python environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else f"Penstock needs Python 3.11 or newer, this is {sys.version.split()[0]}; say which to use: make PYTHON=/path/to/python3")'
	@$(PYTHON) -m venv $(VENV) || { echo "python's venv module does not work; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(PIP) install --require-hashes -r requirements/runtime.txt
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt pyproject.toml $(VENV)/runtime.stamp
	@echo "==> tools for the checks and tests"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/page.stamp: requirements/page.txt page/package-lock.json page/.npmrc $(VENV)/runtime.stamp
	@echo "==> Node.js and the packages of the page"
	@$(PIP) install --require-hashes -r requirements/page.txt
	@$(NPM) ci --silent
	@touch $@

$(PAGE_FOLDER): $(PAGE_SOURCES) $(PAGE_FORMS) $(VENV)/page.stamp
	@echo "==> the page"
	@$(NPM) run --silent types
	@$(NPM) run --silent build -- --logLevel warn
