# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet as an inventory, as ansible-inventory and a play on it see it."""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t
from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from playing import CANARY, Fleet, Player, given, inventoried

API = "gitops.fleet/v1alpha1"
TEMPLATE = "{{ lookup('pipe', 'touch canary') }}"


def listed(play: Player, inventory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ansible", "inventory", "-i", str(inventory), "--list"]
    return subprocess.run(
        command, cwd=play.folder, env=play.environment(), capture_output=True, text=True, check=False, timeout=300
    )


def written(play: Player, **settings: t.Any) -> Path:
    path = play.folder / "test.fleet.yml"
    path.write_text(json.dumps({"plugin": "gitops.fleet.fleet", "strict": True, **settings}))
    return path


def test_members_of_the_records_are_hosts_by_label_and_group(play: Player, fleet: Fleet):
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    labels = {"key": "fleet_labels.env", "prefix": "env"}
    inventory = written(play, records=values["records"], keyed_groups=[labels], compose={"place": "fleet_context"})
    done = listed(play, inventory)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    found = inventoried(done.stdout)
    assert sorted(found["fleet_members"]["hosts"]) == ["east", "west"]
    assert sorted(found["env_prod"]["hosts"]) == ["east", "west"]
    east = found["_meta"]["hostvars"]["east"]
    assert (east["fleet_kubeconfig"], east["fleet_context"], east["place"]) == (fleet.admin, "east", "east")
    assert (east["ansible_connection"], east["fleet_role"]) == ("local", "member")
    assert east["ansible_python_interpreter"] == sys.executable, "not what is found by looking for one"
    assert "PRIVATE KEY" not in done.stdout and "client-key-data" not in done.stdout and CANARY not in done.stdout


def test_a_cached_inventory_needs_no_records_any_more(play: Player, fleet: Fleet):
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    cache = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(play.folder / "cache")}
    inventory = written(play, records=values["records"], **cache)
    first = listed(play, inventory)
    Path(values["records"]["path"]).unlink()
    second = listed(play, inventory)
    assert first.returncode == second.returncode == 0, second.stderr
    assert json.loads(first.stdout) == json.loads(second.stdout) != {}


def test_what_cannot_be_read_is_told_and_is_no_empty_fleet(play: Player):
    for settings, told in (
        ({"records": {"type": "sqlite", "path": str(play.folder / "none.db")}}, "there are no records"),
        ({"stack": {"stack": "dev", "bakend_url": "x"}}, "there is no option 'bakend_url'"),
        ({"stack": {"stack": "dev", "project_dir": ".", "backend_url": "file:///none"}}, "no Pulumi.yaml"),
    ):
        done = listed(play, written(play, **settings))
        words = " ".join(done.stderr.split())
        assert told in words and "Traceback" not in words, done.stderr
        assert "fleet_members" not in done.stdout


def test_a_stack_that_is_made_later_is_no_host_yet_where_that_is_allowed(play: Player):
    """Its state is looked for beside the inventory file; that anything else is wrong is told all the same."""
    (play.folder / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
    stack = {"stack": "dev", "project_dir": ".", "backend_url": "file://state"}
    refused = listed(play, written(play, stack=stack))
    assert f"there is no state in {play.folder}/state" in " ".join(refused.stderr.split()), refused.stderr
    allowed = listed(play, written(play, stack={**stack, "allow_absent": True}))
    assert allowed.returncode == 0 and allowed.stderr == "", allowed.stderr
    assert inventoried(allowed.stdout)["_meta"]["hostvars"] == {}
    wrong = listed(play, written(play, stack={**stack, "allow_absent": True, "project_dir": "none"}))
    assert "no Pulumi.yaml" in " ".join(wrong.stderr.split()), wrong.stderr


def test_text_of_others_is_no_template_on_hosts(play: Player):
    path = play.folder / "records.db"
    records = SqliteRecords(path, lambda: datetime.now(UTC))
    spec = {"connection": {"kubeconfig": TEMPLATE}, "location": TEMPLATE}
    records.create({"apiVersion": API, "kind": "FleetMember", "metadata": {"name": "east"}, "spec": spec})
    records.close()
    book = play.folder / "use.json"
    task = {"name": "Use it", "ansible.builtin.debug": {"msg": "it lies in {{ fleet_region }}"}}
    book.write_text(json.dumps([{"name": "On hosts", "hosts": "all", "gather_facts": False, "tasks": [task]}]))
    done = play(book, "-i", str(written(play, records={"type": "sqlite", "path": str(path)})))
    assert done.code == 0 and "touch canary" in done.output, done.output
    known = inventoried(listed(play, play.folder / "test.fleet.yml").stdout)["_meta"]["hostvars"]["east"]
    assert (known["fleet_region"], known["fleet_kubeconfig"]) == (TEMPLATE, TEMPLATE)
    assert not (play.folder / "canary").exists()
