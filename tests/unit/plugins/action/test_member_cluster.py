# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of all members that join holds for those of a pattern, too; who could not be upgraded is named."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.action import member_cluster
from ansible_collections.gitops.fleet.plugins.action.member_cluster import FIELDS, ActionModule
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import Left
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Answer, Run, present

NAMES = ("prod-1", "prod-2", "test-1")
UIDS = {name: f"0ec6e1a7-7d5c-4ae2-9a40-00000000000{digit}" for digit, name in enumerate(NAMES)}
IDENTITY = {"kind": "User", "name": "gitops-fleet", "apiGroup": "rbac.authorization.k8s.io"}
NOT_GIVEN: dict[str, t.Any] = dict.fromkeys((*FIELDS, "kubeconfig", "labels", "taints"))


class Joining:
    """Members that joined by their contexts already, so that no cluster is asked, and the verb over their records."""

    def __init__(self, folder: Path) -> None:
        self.records = {"path": str(folder / "records.db")}
        self.kubeconfig = str(folder / "kubeconfig")
        rows = [{"name": name, "context": {"cluster": name, "user": name}} for name in NAMES]
        Path(self.kubeconfig).write_text(json.dumps({"contexts": rows}), encoding="utf-8")
        self.opened = SqliteRecords(folder / "records.db", present)
        for name in NAMES:
            metadata = {"name": name}
            cluster = {"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": metadata}
            self.opened.create({**cluster, "spec": {"identity": IDENTITY}})
            connection = {"kubeconfig": self.kubeconfig, "context": name}
            spec = {"connection": connection, "clusterUID": UIDS[name]}
            self.opened.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": metadata, "spec": spec})

    def __call__(self, check: bool = False, **given: t.Any) -> tuple[Answer, list[str]]:
        """The answer of the verb, and the lines that it said."""
        said: list[str] = []
        given = {"kubeconfig": self.kubeconfig, **given}
        options = {**NOT_GIVEN, "state": "present", "members": None, "records": self.records, **given}
        run = Run(check_mode=check, say=said.append, environ={}, given={**given, "records": self.records})
        verb: t.Any = None
        return ActionModule.carry_out(verb, options, run), said

    def spec(self, name: str) -> dict[str, t.Any]:
        """What is recorded of the member, but for how it is reached and its UID."""
        found = self.opened.get("FleetMember", name)
        assert found is not None
        return {key: value for key, value in found["spec"].items() if key not in ("connection", "clusterUID")}


@pytest.fixture
def joining(tmp_path: Path) -> t.Iterator[Joining]:
    made = Joining(tmp_path)
    yield made
    made.opened.close()


ALL = {"group": "eu", "provider": "aks", "location": "westeurope", "driver": "command", "maintenance": "nights"}


def test_members_of_a_pattern_get_what_is_said_of_all(joining: Joining) -> None:
    taints = [{"key": "spot", "effect": "NoSchedule"}]
    answer, said = joining(context_pattern="prod-*", labels={"env": "prod"}, taints=taints, **ALL)
    assert set(ALL) == set(FIELDS) and answer.data["updated"] == ["prod-1", "prod-2"]
    assert joining.spec("prod-1") == joining.spec("prod-2") == ALL and joining.spec("test-1") == {}
    cluster = joining.opened.get("MemberCluster", "prod-1")
    assert cluster is not None
    assert (cluster["metadata"]["labels"], cluster["spec"]["taints"]) == ({"env": "prod"}, taints)
    assert answer.data["without_driver"] == [] and not any("driver" in line for line in said)
    again, _said = joining(context_pattern="prod-*")
    assert not again.changed and joining.spec("prod-1") == ALL, "what is not given stays"


def test_what_a_member_says_itself_goes_before_what_is_said_of_all(joining: Joining) -> None:
    own = {**NOT_GIVEN, "name": "prod-1", "driver": "local", "context": None, "secret_ref": None}
    own |= {"in_cluster": False, "rebuilt": False}
    answer, _said = joining(members=[own], context_pattern="test-*", driver="command", location="here")
    assert joining.spec("prod-1") == {"driver": "local", "location": "here"}
    assert joining.spec("test-1") == {"driver": "command", "location": "here"} and answer.changed


def test_members_without_a_driver_are_named_with_the_command_that_gives_one(joining: Joining) -> None:
    answer, said = joining(context_pattern="*")
    assert answer.data["without_driver"] == ["prod-1", "prod-2", "test-1"]
    assert json.dumps({"pattern": "*"}) in said[-1]
    joining(context_pattern="prod-1", driver="local")
    answer, said = joining(context_pattern="*")
    assert answer.data["without_driver"] == ["prod-2", "test-1"]
    *_table, named, command = said
    assert named == "without a driver, which update runs need: prod-2, test-1"
    assert command.startswith(
        "to give them one (local, cluster_api, command, role): ansible-playbook gitops.fleet.join -e "
    )
    assert list(answer.next_lines) == [command]
    assert json.dumps({"members": [{"name": "prod-2"}, {"name": "test-1"}]}) in command, "prod-1 keeps its own"
    answer, said = joining(check=True, context_pattern="*")
    assert answer.data["without_driver"] == ["prod-2", "test-1"] and said[-1] == named, "nothing is recorded yet"


LEAVING: dict[str, t.Any] = {
    "placed": "keep", "forget_unreachable": True, "max_removals": "100%", "prune_kinds": [], "removal_timeout": 1,
}  # fmt: skip


def test_a_member_that_left_unasked_is_no_host_that_cannot_be_reached(joining: Joining) -> None:
    """Ansible takes a result with ``unreachable`` for one of a host that is lost, and ends the playbook with 4."""
    answer, said = joining(state="absent", members=[{"name": "prod-1"}], **LEAVING)
    assert answer.data["unasked"] == ["prod-1"] and "unreachable" not in answer.data
    assert said == ["prod-1 leaves unasked; what lies there stays"]


def test_no_verb_gives_back_what_ansible_takes_for_its_own() -> None:
    words = {"failed", "skipped", "unreachable", "exception", "results", "ansible_facts", "invocation", "warnings"}
    for file in (Path(__file__).parents[4] / "plugins" / "modules").glob("*.py"):
        text = file.read_text(encoding="utf-8").partition('RETURN = r"""')[2].partition('"""')[0]
        given = set(yaml.safe_load(text) or {})
        assert not given & words, file.name


def test_what_was_deleted_on_a_member_that_stays_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stopped answering after its objects were gone, and has not left."""
    gone = ObjectId("", "v1", "ConfigMap", "shop", "a")
    came = MemberOutcome(cluster="m1", error=Problem("timeout", "no answer"), written=(gone,))
    found = Left(outcomes={"m1": {"web": came}}, failed=(Problem("timeout", "web: no answer", "m1"),))
    monkeypatch.setattr(member_cluster, "leave", lambda *_given, **_named: found)
    options = {"members": [{"name": "m1"}], "placed": "remove", "forget_unreachable": False, "max_removals": "100%",
               "prune_kinds": [], "removal_timeout": 1}  # fmt: skip
    session: t.Any = SimpleNamespace(say=lambda _line: None)
    answer = member_cluster._left(options, session, False)
    assert answer.outcome == "partial" and answer.changed


def test_a_pattern_that_lost_its_content_joins_nobody_and_says_so(joining: Joining) -> None:
    """``-e pattern="$PREFIX"`` was a success that had done nothing."""
    with pytest.raises(FleetError) as refused:
        joining(context_pattern="")
    assert refused.value.code == "no-context-matches"


def test_who_is_no_member_is_named_when_asked_to_leave(joining: Joining) -> None:
    """One letter is wrong, and nothing at all was said."""
    members = [{"name": "pord-1"}, {"name": "prod-1"}, {"name": "pord-1"}]
    _answer, said = joining(check=True, state="absent", members=members, **LEAVING)
    assert said[0] == "prod-1 would leave unasked; what lies there stays"
    assert said[1:] == ["no member of the fleet, and passed over: pord-1"]


@pytest.mark.parametrize("members", [[], [{"name": ""}], [{"name": "prod-1"}, {"name": " "}]])
def test_a_name_that_lost_its_content_lets_nobody_go(joining: Joining, members: list[dict[str, str]]) -> None:
    with pytest.raises(FleetError) as refused:
        joining(state="absent", members=members, **LEAVING)
    assert refused.value.code == "no-members"
