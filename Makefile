# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: Contributors to the gitops.fleet project
#
# Every target makes what it needs by itself: tools/in_venv finds a Python, makes the virtual environment on first use and
# links this checkout as the collection gitops.fleet. PYTHON=/path/to/python picks the interpreter.

SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help demo test check conformance bench soak simulate molecule test-pulumi binaries crds playbooks files docs lock clean

PYTHON ?=
export PYTHON
RUN := ./tools/in_venv run
DEV := ./tools/in_venv dev
QUIET := ANSIBLE_LOCALHOST_WARNING=False ANSIBLE_INVENTORY_UNPARSED_WARNING=False
CODE := ansible_collections.gitops.fleet.plugins.module_utils

help: ## show this list
	@echo 'make TARGET [PYTHON=/path/to/python3.11-or-newer]'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1#\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'#' '{printf "%-14s %s\n", $$1, $$2}'

demo: ## a local fleet of real API servers, from its making to its end [ENV=pulumi: made by Pulumi's engine]
ifeq ($(ENV),pulumi)
	@$(DEV) python tools/binaries.py
	@$(DEV) env $(QUIET) ansible-playbook gitops.fleet.demo --inventory pulumi/environments/demo.fleet.yml --extra-vars demo_environment=pulumi
else
	@$(RUN) env $(QUIET) ansible-playbook gitops.fleet.demo
endif

test: ## tests of all kinds, those against real API servers and molecule included [ALL=1: every case of each, which takes longer]
	@$(DEV) python tools/test.py $(if $(ALL),all)

check: ## format, lint, types, arrows, sanity, build, a second Python [ONLY="types sanity"]
	@$(DEV) python tools/check.py $(ONLY)

conformance: ## compare our answers with recorded ones: DATA=<folder>
	@test -n "$(DATA)" || { echo 'make conformance DATA=<folder with *.jsonl.gz somewhere below>' >&2; exit 2; }
	@$(RUN) python tests/conformance/run.py "$(DATA)"

bench: ## measure speed and memory, write build/bench.json [ONLY=<name>]
	@$(DEV) python tests/bench/run.py $(ONLY)

soak: ## SIGKILL at random instants over applies, updates, leaves and recovers on real clusters [KILLS=200 SEED=1]
	@$(DEV) python tests/soak/run.py $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

simulate: ## update runs of all types in random fleets on a virtual clock, with faults [RUNS=10000 SEED=0]
	@$(DEV) python tests/simulation/run.py $(if $(RUNS),--runs $(RUNS)) $(if $(SEED),--seed $(SEED))

molecule: ## the playbooks as users run them [SCENARIO=<name>]
	@$(DEV) python tools/test.py molecule $(SCENARIO)

test-pulumi: ## environments on Pulumi's engine [PLUGIN=official: with the Kubernetes plugin of your Pulumi home]
	@$(DEV) python tools/binaries.py
	@$(DEV) env FLEET_KUBERNETES_PLUGIN=$(PLUGIN) pytest tests/pulumi tests/integration/pulumi

binaries: ## get local control planes and Pulumi's engine into the user's cache folder (needs Go, up to a quarter of an hour once)
	@$(RUN) python tools/binaries.py

crds: ## write the CRD files of the role hub from the dataclasses
	@$(RUN) env PYTHONPATH=.cache/collections python -m $(CODE)._core.objects.crds

playbooks: ## write docs/playbooks.md from the playbooks and their verbs
	@$(DEV) env PYTHONPATH=.cache/collections python tools/playbooks.py

files: ## write docs/files.md, what each file is for, from the files
	@$(RUN) python tools/files.py

docs: ## the documentation as a site in build/site, with a page for each module and plugin; a broken link ends it
	@./tools/in_venv docs python tools/docs_site.py

lock: ## write requirements*.txt, with hashes, from requirements*.in [UPGRADE=1]
	@$(DEV) python tools/lock.py $(if $(UPGRADE),--upgrade)

clean: ## delete what these targets made inside the repository; binaries in the user's cache folder stay
	rm -rf .cache build .mypy_cache .ruff_cache .pytest_cache .ansible
	find plugins tests tools roles extensions -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
