# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verbs that only read write no file in check mode either, as others do not; and what they would do is not told as
done."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.action import (
    fleet_rbac_info,
    lint,
    maintenance,
    member_cluster,
    placement,
    update_run,
    update_run_info,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import (
    CLUSTER_API,
    FLEET_API,
    PLACEMENT_API,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import present
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Run
from ansible_collections.gitops.fleet.tests.data.update_parts import update_run as run_of_all
from ansible_collections.gitops.fleet.tools import playbooks
from jinja2.nativetypes import NativeEnvironment

RIGHTS = {"purpose": "nodes", "subject": {"kind": "User", "name": "ann"}, "kinds": [], "resources": []}
LINT = {"src": [__file__], "now": None, "consent": False, "holes": False, "exclude": [], "strict": False}
REPORTS = {"write_json": None, "write_sarif": None}
AHEAD = {"write_calendar": None, "write_markdown": None}
RUNS = {
    "names": [],
    "forecast": False,
    "calendar": False,
    "waiting": False,
    "days": 7,
    "src": [],
    "definition": [],
    "strict": True,
}


@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize(
    ("verb", "options", "option"),
    [
        (fleet_rbac_info, RIGHTS, "dest"),
        (update_run_info, {**RUNS, **AHEAD}, "write_calendar"),
        (update_run_info, {**RUNS, **AHEAD}, "write_markdown"),
        (lint, {**LINT, **REPORTS}, "write_json"),
        (lint, {**LINT, **REPORTS}, "write_sarif"),
    ],
)
def test_a_file_is_written_unless_it_is_check_mode(
    tmp_path: Path, verb: t.Any, options: dict[str, t.Any], option: str, check_mode: bool
) -> None:
    said: list[str] = []
    run = Run(check_mode=check_mode, say=said.append, environ={})
    records = {"path": str(tmp_path / "records.db")}
    given = {**options, option: str(tmp_path / "written"), "records": records}
    assert verb.ActionModule.carry_out(None, given, run).changed is False
    assert (tmp_path / "written").exists() is not check_mode
    assert not any("apiVersion" in line for line in said)


def cluster(name: str) -> tuple[Record, Record]:
    """Both records of a member that no machine answers for."""
    metadata = {"name": name}
    wide = {"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": metadata, "spec": {}}
    connection = {"connection": {"kubeconfig": "/none"}}
    return wide, {"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": metadata, "spec": connection}


def told(verb: t.Any, path: Path, check_mode: bool, **given: t.Any) -> str:
    """All that the verb says, over records in the file, as one line."""
    said: list[str] = []
    documented = playbooks.options(verb.__name__.rpartition(".")[2])
    defaults = {name: each.get("default") for name, each in documented.items()}
    options = {**defaults, **given, "records": {"path": str(path)}}
    verb.ActionModule.carry_out(None, options, Run(check_mode=check_mode, say=said.append, environ={}, given=given))
    return " ".join(" ".join(said).split())


WINDOWS = {"apiVersion": FLEET_API, "kind": "FleetMaintenance", "metadata": {"name": "nights"}, "spec": {}}
MANIFEST = {"apiVersion": PLACEMENT_API, "kind": "ClusterResourcePlacement", "metadata": {"name": "web"}}
SELECTED = {"group": "", "version": "v1", "kind": "Namespace", "name": "web"}
PLACED = {**MANIFEST, "spec": {"resourceSelectors": [SELECTED]}}
RUN = "release-7"


@pytest.mark.parametrize(
    ("verb", "given", "would"),
    [
        (update_run, {"state": "skipped", "name": RUN, "targets": ["Member:a"]}, f"would skip Member:a of run {RUN}:"),
        (update_run, {"state": "stopped", "name": RUN}, f"would stop run {RUN}:"),
        (maintenance, {"state": "present", "definition": [WINDOWS]}, "this is only what would change:"),
        (member_cluster, {"state": "absent", "members": [{"name": "a"}], "forget_unreachable": True}, "a would leave"),
        (placement, {"state": "absent", "names": ["web"]}, "nothing is written, this is only what would change: web"),
    ],
    ids=["skip", "stop", "maintenance", "leave", "end"],
)
def test_in_check_mode_nothing_is_told_as_done(
    tmp_path: Path, verb: t.Any, given: dict[str, t.Any], would: str
) -> None:
    path = tmp_path / "records.db"
    opened = SqliteRecords(path, present)
    for document in [PLACED] if verb is placement else [*cluster("a"), *cluster("b")]:
        opened.create(document)
    opened.close()
    if verb is update_run:
        told(verb, path, False, state="started", definition=[run_of_all()])
    assert would in told(verb, path, True, **given)
    assert "would" not in told(verb, path, False, **given)


@pytest.mark.parametrize(
    ("check_mode", "changed", "words"), [(True, True, "would be"), (True, False, "is"), (False, True, "is")]
)
def test_an_approval_that_is_not_given_is_not_told_as_given(check_mode: bool, changed: bool, words: str) -> None:
    """What the playbook ``approve`` prints."""
    playbook = Path(__file__).parents[4] / "playbooks" / "approve.yml"
    (said,) = [each["ansible.builtin.debug"] for each in yaml.safe_load(playbook.read_text())[0]["tasks"][1:]]
    approval = {
        "where": "before prod",
        "run": "r",
        "state": "Completed",
        "by": "ann",
        "changed": changed,
        "digest": "d",
    }
    text = NativeEnvironment().from_string(said["msg"]).render(approval=approval, ansible_check_mode=check_mode)
    assert text == f"before prod of r {words} Completed, by ann, for d"
