# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What of the environment reaches an operation."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import environment
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.environment import environment_passed_on

# What ansible-runner and AWX set for a job, and what is secret in it.
OF_A_JOB_RUNNER = (
    "ANSIBLE_CALLBACK_PLUGINS",
    "ANSIBLE_CALLBACKS_ENABLED",
    "ANSIBLE_STDOUT_CALLBACK",
    "ANSIBLE_FORKS",
    "ANSIBLE_FORCE_COLOR",
    "ANSIBLE_INVENTORY",
    "ANSIBLE_INVENTORY_UNPARSED_FAILED",
    "ANSIBLE_PARAMIKO_RECORD_HOST_KEYS",
    "ANSIBLE_CACHE_PLUGIN",
    "ANSIBLE_CACHE_PLUGIN_CONNECTION",
    "ANSIBLE_RETRY_FILES_ENABLED",
    "ANSIBLE_SSH_CONTROL_PATH_DIR",
    "ANSIBLE_UNSAFE_WRITES",
    "ANSIBLE_LOCAL_TEMP",
    "AWX_HOST",
    "AWX_ISOLATED_DATA_DIR",
    "AWX_PRIVATE_DATA_DIR",
    "INVENTORY_ID",
    "JOB_ID",
    "MAX_EVENT_RES",
    "PROJECT_REVISION",
    "RUNNER_OMIT_EVENTS",
    "RUNNER_ONLY_FAILED_EVENTS",
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
)


@pytest.mark.parametrize("name", OF_A_JOB_RUNNER)
def test_what_is_meant_for_the_outer_run_stays_there(name: str):
    assert environment_passed_on({name: "x"}) == {}


@pytest.mark.parametrize(
    "name",
    ["PATH", "HOME", "LC_ALL", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "KUBECONFIG", "VIRTUAL_ENV"]
    + ["ANSIBLE_CONFIG", "ANSIBLE_ROLES_PATH", "ANSIBLE_COLLECTIONS_PATH"],
)
def test_where_things_are_is_passed_on(name: str):
    assert environment_passed_on({name: "x"}) == {name: "x"}


def test_the_user_adds_names_and_patterns():
    environ = {"AWS_PROFILE": "a", "AWS_REGION": "b", "TOKEN": "c", "OTHER": "d"}
    assert set(environment_passed_on(environ, ("AWS_*", "TOKEN"))) == {"AWS_PROFILE", "AWS_REGION", "TOKEN"}


def test_no_environment_is_shown_with_what_holds_it():
    """It may hold tokens, and what a dataclass shows ends in messages of tests and of debuggers."""
    shown = []
    for file in Path(environment.__file__).parents[1].rglob("*.py"):
        for each in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(each, ast.ClassDef) and each.decorator_list:
                fields = [one for one in each.body if isinstance(one, ast.AnnAssign)]
                named = [one for one in fields if isinstance(one.target, ast.Name) and one.target.id == "environ"]
                shown += [each.name for one in named if "repr=False" not in ast.unparse(one)]
    assert shown == []
