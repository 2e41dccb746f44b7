# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A template in every text of every kind and of every file that we read, through every verb, driver and role.

It makes a file if anybody takes it for a template. Each verb's result is used afterwards, as playbooks use results.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KIND_OF
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import SCHEMA
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import contract, detached
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.role import RoleDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS as STORED
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from conducting import Plays
from template_documents import TEMPLATE, all_at_once, documents
from update_fleet import API, NEW, OLD, Document, UpdateFleet, sequence, until

ROOT = Path(__file__).parents[4]
SMALL = ROOT / "tests" / "integration" / "pulumi" / "small_program"
VERBS = sorted(each.stem for each in (ROOT / "plugins" / "modules").glob("*.py"))
# What a playbook read somewhere and passes on.
FOREIGN = "{{ lookup('ansible.builtin.file', foreign_file) }}"
# How playbooks use what a verb gave back: shown, kept, put into other texts, looped over, compared.
USES: list[Document] = [
    {"name": "Show it", "ansible.builtin.debug": {"var": "result"}},
    {"name": "Say it", "ansible.builtin.debug": {"msg": "it is {{ result }}"}},
    {"name": "Keep it", "ansible.builtin.set_fact": {"kept": "{{ result }}", "text": "{{ result | string }}"}},
    {"name": "Say what was kept", "ansible.builtin.debug": {"msg": "{{ kept }} {{ text }}"}},
    {"name": "By a variable", "ansible.builtin.debug": {"msg": "{{ again }}"},
     "vars": {"again": "{{ result | string }}"}},
    {"name": "Each part", "ansible.builtin.debug": {"msg": "{{ item.key }} {{ item.value }}"},
     "loop": "{{ result | dict2items }}"},
    {"name": "Compare it", "ansible.builtin.debug": {"msg": "x"}, "when": "(result.msg | default('')) != text"},
]  # fmt: skip
READ = "{{ lookup('ansible.builtin.file', 'results.json') | from_json }}"
CALL = "Call "


@dataclass(frozen=True)
class Call:
    """A verb with options and variables. ``told``: the template comes through as a text, so that this test is one."""

    verb: str
    options: Document
    told: bool
    variables: Document


FREEZE = {
    "apiVersion": API,
    "kind": "FleetMaintenance",
    "metadata": {"name": "sales"},
    "spec": {"freezes": [{"name": "sales", "start": "2098-01-01", "end": "2098-01-02", "reason": FOREIGN}]},
}


def call(verb: str, options: Document, told: bool = True, **variables: t.Any) -> Call:
    return Call(verb, options, told, variables)


def tasks(calls: t.Sequence[Call]) -> list[Document]:
    """Each verb with the uses of its result; what others than Ansible get (a file, a program) once, of all results."""
    found: list[Document] = []
    for number, each in enumerate(calls):
        verb = {"name": f"{CALL}{number}", f"gitops.fleet.{each.verb}": each.options, "register": "result"}
        keep = {"name": "Keep it apart", "ansible.builtin.set_fact": {f"result_{number}": "{{ result }}"}}
        found += [{**verb, "ignore_errors": True, "vars": each.variables}, *USES, keep]
    results = ", ".join(f"result_{number}" for number in range(len(calls)))
    texts = {f"TEXT_{number}": f"{{{{ result_{number} | string | truncate(2000) }}}}" for number in range(len(calls))}
    return [
        *found,
        {"name": "Write them", "ansible.builtin.copy":
         {"content": f"{{{{ [{results}] | to_json }}}}", "dest": "results.json", "mode": "0600"}},
        {"name": "Read them", "ansible.builtin.debug": {"msg": READ}},
        {"name": "Hand them on", "ansible.builtin.command": {"argv": ["echo", *texts.values()]}, "environment": texts,
         "changed_when": False},
    ]  # fmt: skip


@dataclass
class Canary:
    """``played`` runs verbs and uses their results; the file must not be there at any time."""

    plays: Plays
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "canary"

    def played(self, *calls: Call) -> str:
        """All in one playbook, one after the other. What was printed."""
        play = {"name": "A playbook", "hosts": "localhost", "gather_facts": False, "tasks": tasks(calls)}
        book = self.folder / f"{calls[0].verb}.json"
        book.write_text(json.dumps([play]))
        given = {"foreign_file": str(self.folder / "foreign.txt")}
        done = self.plays.start(str(book), environ={"CANARY": str(self.path)}, **given).ended(1800)
        assert not self.path.exists(), f"one of them ran a template\n{done.output[-4000:]}"
        assert done.process.returncode == 0 and "Traceback" not in done.output, done.output[-4000:]
        parts = done.output.split(f"TASK [{CALL}")[1:]
        assert len(parts) == len(calls)
        for each, part in zip(calls, parts, strict=True):
            assert not each.told or "touch $CANARY" in part, f"nothing of it was seen by {each}\n{part[-2000:]}"
        return done.output


@pytest.fixture
def canary(plays: Plays, tmp_path: Path) -> t.Iterator[Canary]:
    made = Canary(plays, tmp_path)
    (tmp_path / "foreign.txt").write_text(TEMPLATE)
    yield made
    assert not made.path.exists()


@pytest.fixture
def records(tmp_path: Path, fleet: UpdateFleet) -> t.Iterator[SqliteRecords]:
    """Every kind that is kept with the template in every text, and a member and a run that are good but for theirs."""
    path = tmp_path / "records.db"
    fleet.options = {"type": "sqlite", "path": str(path)}
    found = SqliteRecords(path, lambda: datetime.now(UTC))
    for kind in STORED:
        if kind not in ("FleetMaintenance", "ReleaseCatalog"):  # these stop every run by their name
            found.create({**all_at_once(KIND_OF[kind], TEMPLATE), "apiVersion": STORED[kind].api_version})
    yield found
    found.close()


def member(records: SqliteRecords, fleet: UpdateFleet, driver: str, name: str = "good", **connection: str) -> None:
    spec = {"connection": connection, "group": "all", "driver": driver, "location": TEMPLATE, "provider": TEMPLATE}
    records.create({"apiVersion": API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec})
    identity = {"kind": "User", "name": TEMPLATE}
    metadata = {"name": name, "annotations": {"a": TEMPLATE}}
    cluster = {"apiVersion": STORED["MemberCluster"].api_version, "kind": "MemberCluster", "metadata": metadata}
    records.create({**cluster, "spec": {"identity": identity}})
    (fleet.folder / "files" / name).write_text(OLD)


def kubeconfig(fleet: UpdateFleet, server: Path) -> Path:
    """Of a real cluster, whose context and file bear the template as their names."""
    document = json.loads(server.read_text())
    for part in ("contexts", "clusters", "users"):
        document[part][0]["name"] = TEMPLATE
    document["contexts"][0]["context"] |= {"cluster": TEMPLATE, "user": TEMPLATE}
    document["current-context"] = TEMPLATE
    path = fleet.folder / f"{TEMPLATE}.kubeconfig"
    path.write_text(json.dumps(document))
    return path


def test_every_verb_is_tried_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [verb for verb in VERBS if f'call("{verb}"' not in text] == []


def test_lint(canary: Canary) -> None:
    """Every kind, once with the template everywhere and once for each place; and files with such names."""
    folder = canary.folder / "manifests"
    folder.mkdir()
    found = documents()
    assert len({each["kind"] for each in found}) == len(KIND_OF)
    (folder / "all.json").write_text("\n---\n".join(json.dumps(each) for each in found))
    (folder / f"{TEMPLATE}.yml").write_text(json.dumps(found[0]))
    (folder / "broken.yml").write_text(f"a: {TEMPLATE}\n b: [")
    (folder / "pool.yml").write_text(json.dumps(_node_pool()))
    canary.played(
        call("lint", {"src": [str(folder)], "write_json": "lint.out", "write_sarif": "lint.sarif"}),
        call("lint", {"src": [str(folder / "pool.yml")], "now": FOREIGN}),
    )


def _node_pool() -> Document:
    budget = {"nodes": TEMPLATE, "schedule": TEMPLATE, "duration": TEMPLATE, "reasons": [TEMPLATE]}
    spec = {"disruption": {"budgets": [budget]}, "template": {"spec": {"nodeClassRef": {"name": TEMPLATE}}}}
    metadata = {"name": TEMPLATE, "labels": {"a": TEMPLATE}}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": metadata, "spec": spec}


def test_verbs_over_records(canary: Canary, fleet: UpdateFleet, records: SqliteRecords) -> None:
    """Objects that came past the definitions: a hub with older ones, a file that somebody else wrote."""
    given = {"records": fleet.options}
    canary.played(
        call("fleet_info", given),
        call("fleet_report", {**given, "dest": "report"}),
        call("fleet_history_info", {**given, "journal": True, "dest": "history.csv"}),
        call("fleet_history_info", {**given, "object": FOREIGN, "by": FOREIGN}, told=False),
        call("maintenance_info", given),
        call("maintenance_info", {**given, "names": [FOREIGN], "write_calendar": "when.ics"}),
        call("maintenance", {**given, "definition": [FREEZE]}),
        call("maintenance", {**given, "state": "absent", "names": [FOREIGN, "sales"]}, told=False),
        call("update_run_info", given),
        call("update_run_info", {"forecast": True, "calendar": True, **given, "names": ["hostile"]}),
        call("placement_info", given),
        call("release_catalog_info", given, told=False),
        call("release_catalog", {**given, "name": "own", "versions": [FOREIGN], "provider": FOREIGN}, told=False),
        *(
            call("auto_upgrade_profile", {**given, "state": state, "names": [FOREIGN]}, told=False)
            for state in ("evaluated", "generated", "absent")
        ),
        call("auto_upgrade_profile", {**given, "state": "evaluated"}, told=False),
        call("node_disruption_budget_info", {**given, "timeout": 1, "window": FOREIGN}),
        call("node_disruption_budget_info", {**given, "timeout": 1, "pools": [FOREIGN]}),
        call("node_disruption_info", {**given, "timeout": 1, "members": [FOREIGN]}),
        call("node_disruption", {**given, "member": FOREIGN, "state": "deleted", "nodes": [FOREIGN], "timeout": 1}),
        call("node_rotation", {**given, "name": FOREIGN, "timeout": 1}),
        *(
            call("node_rotation", {**given, "name": "hostile", "state": state, "timeout": 1}, told=False)
            for state in ("conducted", "stopped", "absent")
        ),
        call("fleet_facts", {**given, "dest": "facts.out", "timeout": 1}),
        call("gate", {**given, "run": "hostile", "kind": "UpdateRun", "reason": FOREIGN}),
        *(
            call("update_run", {**given, "name": "hostile", "state": state, "force": True}, told=False)
            for state in ("present", "started", "stopped", "conducted", "absent")
        ),
        call("placement_info", {**given, "names": ["hostile"], "snapshots": True}, told=False),
        call("placement_info", {**given, "what_if": {"gone": ["hostile", FOREIGN]}}, told=False),
        call("placement_eviction", {**given, "placement": "hostile", "clusters": ["hostile", FOREIGN]}, told=False),
        call("staged_update_run", {**given, "name": "hostile"}, told=False),
        call("staged_update_run", {**given, "name": FOREIGN, "state": "conducted"}, told=False),
        call("placement", {**given, "names": ["hostile"], "state": "rolled_back"}, told=False),
        call("placement", {**given, "names": ["hostile"], "state": "absent"}, told=False),
        call("fleet_recover", {**given, "timeout": 1}, told=False),
        call("member_cluster", {**given, "state": "absent", "members": [{"name": "hostile"}]}, told=False),
    )


def test_verbs_over_files(canary: Canary, fleet: UpdateFleet) -> None:
    """Manifests, facts, prices, an approved plan, a kubeconfig, and the files of local clusters."""
    folder = canary.folder / "files-of-others"
    folder.mkdir()
    placement = all_at_once(KIND_OF["ClusterResourcePlacement"], TEMPLATE)
    (folder / "placement.json").write_text(json.dumps(placement))
    objects = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": {"a": TEMPLATE}}}
    (folder / "resource.json").write_text(json.dumps({**objects, "data": {"a": TEMPLATE}}))
    members = [all_at_once(KIND_OF["MemberCluster"], TEMPLATE)]
    facts = {"schema": 1, "capturedAt": "2026-01-01T00:00:00Z", "members": members, "nodes": {"hostile": []},
             "failed": {TEMPLATE: {"code": TEMPLATE, "message": TEMPLATE}}}  # fmt: skip
    (folder / "facts.json").write_text(json.dumps(facts))
    (folder / "other-facts.json").write_text(json.dumps({**facts, "prices": TEMPLATE}))
    parts = {"deleting": False, "objects": [], "clusters": [], "brakes": []}
    plan = {"placement": TEMPLATE, "digest": TEMPLATE, "spec": TEMPLATE, **parts}
    (folder / "plan.json").write_text(json.dumps({"schema": SCHEMA, "digest": TEMPLATE, "placements": [plan]}))
    (folder / "prices.json").write_text(json.dumps({"unit": TEMPLATE, "prices": {TEMPLATE: TEMPLATE}}))
    (folder / "kubeconfig").write_text(json.dumps({"contexts": [{"name": TEMPLATE}], "current-context": TEMPLATE}))
    given = {"records": {"type": "sqlite", "path": str(folder / "records.db")}}
    sources = {"src": [str(folder / "placement.json")], "resources": [str(folder / "resource.json")]}
    facts_of = {"facts": str(folder / "facts.json")}
    eviction = all_at_once(KIND_OF["ClusterResourcePlacementEviction"], TEMPLATE)
    (folder / "eviction.json").write_text(json.dumps(eviction))
    run = all_at_once(KIND_OF["ClusterStagedUpdateRun"], TEMPLATE)
    (folder / "staged.json").write_text(json.dumps(run))
    read = {"definition": "{{ lookup('ansible.builtin.file', file) | from_json }}"}
    file = str(folder / "placement.json")
    contexts = {"kubeconfig": str(folder / "kubeconfig"), "context_pattern": "*"}
    one = {"name": "a", "kubeconfig": str(folder / "kubeconfig"), "context": FOREIGN}
    root = folder / "clusters"
    (root / "east").mkdir(parents=True)
    (root / "east" / "state.json").write_text(json.dumps({"name": TEMPLATE, "version": TEMPLATE}))
    clusters = {"root": str(root), "clusters": [{"name": "east", "version": FOREIGN}]}
    subject = {"name": FOREIGN, "kind": "User"}
    planned = {**given, **sources, "state": "planned"}
    canary.played(
        call("placement", {**planned, "facts": str(folder / "facts.json")}, told=False),
        call("placement", {**planned, "facts": str(folder / "other-facts.json")}, told=False),
        call("placement", {**given, **sources, "approved_plan": str(folder / "plan.json")}),
        call("placement_eviction", {**given, "src": [str(folder / "eviction.json")]}, told=False),
        call("staged_update_run", {**given, "src": [str(folder / "staged.json")], "name": "hostile"}, told=False),
        call("placement", {**given, **read, **facts_of, "state": "planned"}, file=file),
        call("placement_info", {**given, **read, **facts_of}, told=False, file=file),
        call("fleet_facts", {**given, "prices": str(folder / "prices.json")}, told=False),
        call("member_cluster", {**given, **contexts}),
        call("member_cluster", {**given, "members": [one]}),
        call("hub", {"kubeconfig": str(folder / "kubeconfig"), "context": FOREIGN}),
        call("local_cluster", {**clusters, "state": "stopped"}, told=False),
        call("fleet_rbac_info", {"subject": subject, "purpose": "read"}),
        call("fleet_recover", {**given, **sources}, told=False),
    )


def test_stacks_of_pulumi(canary: Canary, fleet: UpdateFleet) -> None:
    """In settings, in names and texts of resources, in outputs, and in what the engine says of errors."""
    made = canary.folder / "made"
    made.mkdir()
    (canary.folder / "passphrase").write_text(TEMPLATE)
    where = {"project_dir": str(SMALL), "stack": "hostile", "backend_url": f"file://{canary.folder}/state",
             "passphrase_file": str(canary.folder / "passphrase")}  # fmt: skip
    config = {"folder": str(made), "greeting": FOREIGN, "files": {"a": FOREIGN}}
    broken = {**config, "folder": f"/none/{FOREIGN}"}
    canary.played(
        call("pulumi_stack", {**where, "config": config}),
        call("pulumi_stack_info", where),
        call("pulumi_stack", {**where, "config": broken, "allow_delete": True}),
    )


def test_a_run_by_commands(canary: Canary, fleet: UpdateFleet, records: SqliteRecords) -> None:
    """Words of people and of programs: gates, reasons, versions, the output of an upgrade, its name at a platform."""
    member(records, fleet, "command", kubeconfig=str(fleet.hub.kubeconfig), context=TEMPLATE)
    gates = [{"type": "Approval", "displayName": TEMPLATE[:100]}]
    fleet.write(sequence({"name": "all", "groups": [{"name": "all"}], "beforeGates": gates}))
    (fleet.folder / "platform").write_text(
        json.dumps({"reference": TEMPLATE, "state": "succeeded", "message": TEMPLATE})
    )
    begin = f'echo "v$3" > "$1/$2"; cat {fleet.folder}/platform'
    command = {**fleet.file_driver(begin=begin), "poll": ["cat", str(fleet.folder / "platform")]}
    given = {"records": fleet.options, "name": fleet.run_name, "operations": str(fleet.operations)}
    wanted = {**given, "state": "conducted", "src": [str(fleet.folder / "updates")], "interval": 1,
              "drivers": "{{ drivers }}"}  # fmt: skip
    drivers = {"command": command}
    canary.played(call("update_run", wanted, drivers=drivers))
    approve = {"records": fleet.options, "run": fleet.run_name, "reason": FOREIGN}
    ended = canary.played(
        call("gate", approve, told=False),
        call("update_run", wanted, drivers=drivers),
        call("update_run_info", {"forecast": True, "calendar": True, "records": fleet.options}),
    )
    assert '"outcome": "done"' in ended


TOLD = ("member", "target", "operation", "attempt", "run", "type", "kubeconfig", "context", "secret")
NAMED = {name: f"{{{{ cluster_upgrade_{name} }}}}" for name in TOLD}
KEPT = "{{ {'kept': kept, 'extra': extra, 'theirs': theirs, 'play': ansible_play_name} | to_json }}"
GREEDY: list[Document] = [
    {"name": "Say {{ cluster_upgrade_context }}", "ansible.builtin.debug":
     {"msg": "{{ hostvars[inventory_hostname] }}"}},
    {"name": "Keep it", "ansible.builtin.set_fact": {"kept": NAMED}},
    {"name": "Hand it on", "ansible.builtin.command": {"argv": ["echo", *NAMED.values()]},
     "environment": {name.upper(): each for name, each in NAMED.items()}, "changed_when": False},
    {"name": "Include it", "ansible.builtin.include_tasks": "{{ cluster_upgrade_context }}", "when": "false"},
    {"name": "Write it", "ansible.builtin.copy": {"dest": "{{ seen }}", "mode": "0600", "content": KEPT}},
]  # fmt: skip


def test_whatever_a_driver_hands_to_a_role_is_data(canary: Canary, fleet: UpdateFleet) -> None:
    """The role driver alone, with the template in every text of the member, the run and the user's extra variables; on
    a member whose connection has everything at once, as no definition would let it be."""
    document = all_at_once(KIND_OF["FleetMember"], TEMPLATE, "east")
    role = fleet.folder / "roles" / "greedy"
    (role / "tasks").mkdir(parents=True)
    (role / "tasks" / "main.yml").write_text(json.dumps(GREEDY))
    hosts = {"all": {"vars": {"theirs": "{{ cluster_upgrade_target }} of the inventory"}}}
    (fleet.folder / "hosts.json").write_text(json.dumps(hosts))
    work = Work(operation="run-1.east.1", run=TEMPLATE, member="east", upgrade_type=TEMPLATE, target=TEMPLATE)
    extra = {"text": TEMPLATE, "nested": [{TEMPLATE: TEMPLATE}, {"__ansible_unsafe": {"x": TEMPLATE}}]}
    environ = {**canary.plays.environ(), "CANARY": str(canary.path)}
    with Clients({"east": decode(FleetMember, document)}) as clients:
        driver = RoleDriver(
            clients=clients,
            operations=fleet.operations,
            environ=environ,
            cwd=fleet.folder,
            role=str(role),
            inventories=(str(fleet.folder / "hosts.json"),),
            extra_vars={"seen": str(fleet.folder / "seen.json"), "extra": extra},
            environment=("CANARY",),
        )
        driver.begin(work)
        progress = until(lambda: _ended(driver, work), 600)
    output = detached.output(detached.folder_of(fleet.operations, work.operation), 200)
    assert progress.state == contract.SUCCEEDED, output
    assert not canary.path.exists(), output
    seen = json.loads((fleet.folder / "seen.json").read_text())
    assert seen["extra"] == extra and seen["theirs"] == f"{TEMPLATE} of the inventory"
    assert {seen["kept"][name] for name in ("target", "run", "type", "context")} == {TEMPLATE}
    assert set(seen["kept"]["secret"].values()) == {TEMPLATE} and "{{ lookup" in seen["kept"]["kubeconfig"]
    assert seen["play"] == f"Upgrade east to {TEMPLATE}"


def _ended(driver: RoleDriver, work: Work) -> contract.OperationProgress | None:
    progress = driver.poll(work)
    return None if progress.state == contract.IN_PROGRESS else progress


@pytest.mark.parametrize("role", ["gitops.fleet.cluster_upgrade", "greedy"])
def test_a_run_by_roles_over_a_real_cluster(canary: Canary, fleet: UpdateFleet, role: str, tmp_path: Path) -> None:
    """The context and the file of a kubeconfig that bears the template as their names, as the attack had it: written
    past the definitions, since these refuse such a name."""
    path = tmp_path / "records.db"
    fleet.options = {"type": "sqlite", "path": str(path)}
    records = SqliteRecords(path, lambda: datetime.now(UTC))
    made = fleet.clusters(f"u{fleet.number}-real", version="1.36")
    fleet.made.append(f"u{fleet.number}-real")
    file = kubeconfig(fleet, Path(made.kubeconfig))
    member(records, fleet, "role", kubeconfig=str(file), context=TEMPLATE)
    tasks = fleet.folder / "roles" / "greedy" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "main.yml").write_text(json.dumps(GREEDY))
    (fleet.folder / "step.sh").write_text('printf "%s\\n" "$GITOPS_FLEET_CONTEXT" "$GITOPS_FLEET_KUBECONFIG" > "$1"\n')
    name = role if "." in role else str(tasks.parent)
    foreign = {"note": FOREIGN, "seen": str(fleet.folder / "seen.json"), "extra": "x", "theirs": "y"}
    steps = {"cluster_upgrade_command": ["sh", str(fleet.folder / "step.sh"), str(fleet.folder / "seen.txt")],
             "cluster_upgrade_before_cluster": [str(fleet.folder / "note.yml")]}  # fmt: skip
    note = [{"name": "Note {{ cluster_upgrade_context }}", "ansible.builtin.debug": {"msg": "{{ note }}"}}]
    (fleet.folder / "note.yml").write_text(json.dumps(note))
    options = {
        "records": fleet.options,
        "state": "conducted",
        "operations": str(fleet.operations),
        "interval": 1,
        "settle": 1,
        "definition": [_undecided(fleet)],
        "drivers": {"role": {"role": name, "environment": ["CANARY"], "extra_vars": {**foreign, **steps}}},
    }
    canary.played(call("update_run", options, told=False))
    records.close()
    seen = fleet.folder / ("seen.txt" if "." in role else "seen.json")
    until(seen.exists)
    assert TEMPLATE in seen.read_text(), "the role ran, and was told the names as they are"


def _undecided(fleet: UpdateFleet) -> Document:
    """A patch that the cluster does not have: it is begun, and found behind afterwards."""
    major, minor, patch = NEW.removeprefix("v").split(".")
    return fleet.run(target=f"{major}.{minor}.{int(patch) + 1}")
