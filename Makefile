# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: Contributors to the gitops.fleet project
#
# Every target makes what it needs by itself: tools/in_venv finds a Python, makes the virtual environment on first use and
# links this checkout as the collection gitops.fleet. PYTHON=/path/to/python picks the interpreter.

SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help demo test check conformance bench soak molecule binaries crds playbooks lock clean

PYTHON ?=
export PYTHON
RUN := ./tools/in_venv run
DEV := ./tools/in_venv dev
CODE := ansible_collections.gitops.fleet.plugins.module_utils

help: ## show this list
	@echo 'make TARGET [PYTHON=/path/to/python3.11-or-newer]'
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1#\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'#' '{printf "%-14s %s\n", $$1, $$2}'

demo: ## a local fleet of real API servers: joined, planned, applied, rolled out and back, found drifted, upgraded, ended
	@$(RUN) env ANSIBLE_LOCALHOST_WARNING=False ANSIBLE_INVENTORY_UNPARSED_WARNING=False ansible-playbook gitops.fleet.demo

test: ## all tests, those against real API servers and molecule included
	@$(DEV) python tools/test.py

check: ## format, lint, types, arrows, sanity, build, a second Python [ONLY="types sanity"]
	@$(DEV) python tools/check.py $(ONLY)

conformance: ## compare our answers with recorded ones: DATA=<folder>
	@test -n "$(DATA)" || { echo 'make conformance DATA=<folder with *.jsonl.gz somewhere below>' >&2; exit 2; }
	@$(RUN) python tests/conformance/run.py "$(DATA)"

bench: ## measure speed and memory, write build/bench.json [ONLY=<name>]
	@$(DEV) python tests/bench/run.py $(ONLY)

soak: ## SIGKILL at random instants over applies, updates, leaves and recovers on real clusters [KILLS=200 SEED=1]
	@$(DEV) python tests/soak/run.py $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

molecule: ## the playbooks as users run them [SCENARIO=<name>]
	@$(DEV) python tools/test.py molecule $(SCENARIO)

binaries: ## build local control planes and Pulumi's engine into the user's cache folder (20 minutes once, needs Go)
	@$(RUN) env PYTHONPATH=.cache/collections python -m $(CODE)._local.binaries

crds: ## write the CRD files of the role hub from the dataclasses
	@$(RUN) env PYTHONPATH=.cache/collections python -m $(CODE)._core.objects.crds

playbooks: ## write docs/playbooks.md from the playbooks and their verbs
	@$(DEV) env PYTHONPATH=.cache/collections python tools/playbooks.py

lock: ## write requirements*.txt, with hashes, from requirements*.in [UPGRADE=1]
	@$(DEV) python tools/lock.py $(if $(UPGRADE),--upgrade)

clean: ## delete what these targets made inside the repository; binaries in the user's cache folder stay
	rm -rf .cache build .mypy_cache .ruff_cache .pytest_cache .ansible
	find plugins tests tools roles extensions -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
