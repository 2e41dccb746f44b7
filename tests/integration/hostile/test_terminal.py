# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a member says: no terminal and no CI runner obeys it, no line of ours is forged, and no token that we have
shown to it comes out. Real runs of ansible-playbook at a terminal, with each verb that asks members. (F23, F30)"""

from __future__ import annotations

import base64
import json
import typing as t
from pathlib import Path
from urllib.parse import quote

import pytest
from misbehaving import Misbehaving, Step, answer, failure, listing, respond, status
from playing import Player
from small_fleet import Fleet
from terminal import STEERING, at_a_terminal, steering

if t.TYPE_CHECKING:
    from conftest import Turned

TOKEN = "canary-token/of+member=one"
ENCODED = base64.b64encode(f"Bearer {TOKEN}".encode()).decode()
TOKENS = (TOKEN, quote(TOKEN, safe=""), ENCODED, TOKEN[4:-4], ENCODED[14:-8])
SAYS = f"{STEERING} {TOKEN} {TOKENS[1]} {ENCODED} Authorization: Bearer {TOKEN}"
PLAYBOOK = Path(__file__).parent / "plays" / "all_verbs.yml"


def _echo(request: t.Any) -> None:
    """A proxy that answers with what it was asked, headers and all."""
    text = "\n".join(f"{name}: {value}" for name, value in request.headers.items())
    respond(request, f"<html>{text} {SAYS}</html>".encode(), 403, f"text/html; {TOKEN}", Location=f"/?{TOKENS[1]}")


def _changed(change: t.Callable[[dict[str, t.Any]], t.Any]) -> t.Callable[[Misbehaving], Step]:
    def work(document: t.Any) -> t.Any:
        if "items" in document:
            return {**document, "items": [change(each) for each in document["items"]]}
        return document if document.get("kind") == "Status" else change(document)

    return lambda server: server.changed(work)


def _drifted(found: dict[str, t.Any]) -> dict[str, t.Any]:
    """Values, keys and managers of a live object, all of them the member's own words."""
    owned = {"f:data": {"f:color": {}, f"f:{SAYS}": {}}}
    rows = [{"manager": SAYS, "operation": "Update", "fieldsV1": owned}]
    return {**found, "data": {"color": SAYS, SAYS: SAYS}, "metadata": {**found["metadata"], "managedFields": rows}}


def _node(request: t.Any) -> None:
    labels = {"gitops.fleet/pool": SAYS, "node.kubernetes.io/instance-type": SAYS}
    info = {"kubeletVersion": SAYS, "osImage": SAYS}
    amounts = {"cpu": "1", SAYS: "1"}
    node = {"metadata": {"name": SAYS, "labels": labels}, "status": {"nodeInfo": info, "capacity": amounts}}
    answer(listing("Node", [node]))(request)


def _foreign(found: dict[str, t.Any]) -> dict[str, t.Any]:
    placement = json.loads(found["data"]["placement"]) | {"uid": SAYS}
    return {**found, "data": {**found["data"], "placement": json.dumps(placement)}}


CAUSES = [
    {"reason": "FieldManagerConflict", "field": f".data.{SAYS}", "message": f'conflict with "{SAYS}" using v1'},
    {"reason": SAYS, "field": SAYS, "message": SAYS},
]
SCENES: dict[str, dict[str, t.Callable[[Misbehaving], Step]]] = {
    "a message about everything": {"^GET": lambda _: status(403, SAYS, SAYS, Warning=f'299 - "{TOKEN}"')},
    "a page that echoes": {"^GET": lambda _: _echo},
    "another content type": {"^GET": lambda _: answer(SAYS.encode(), content_type=f"x/{TOKEN}::error::")},
    "a redirect": {"^GET": lambda _: answer(SAYS.encode(), 302, Location=f"https://evil.example/{TOKENS[1]}")},
    "a version": {"^GET /version": lambda _: answer({"gitVersion": f"v1.36.0-{SAYS}"})},
    "a version with a token": {"^GET /version": lambda _: answer({"gitVersion": "v1.36.0-" + TOKEN.replace("/", ".")})},
    "readiness": {"^GET /readyz": lambda _: answer(f"[-]{SAYS} failed\n[-]{TOKEN} x".encode(), 500, "text/plain")},
    "nodes": {"^GET /api/v1/nodes": lambda _: _node},
    "nodes refused": {"^GET /api/v1/nodes": lambda _: status(403, "Forbidden", SAYS)},
    "a refused apply": {
        "^PATCH .*/configmaps/settings": lambda _: answer(
            failure(422, "Invalid", SAYS, details={"name": SAYS, "causes": CAUSES[1:]}), 422
        )
    },
    "a conflict": {
        "^PATCH .*/configmaps/settings": lambda _: answer(
            failure(409, "Conflict", SAYS, details={"name": SAYS, "causes": CAUSES}), 409
        )
    },
    "drift": {"^GET .*/configmaps/settings": _changed(_drifted)},
    "an ApplySet of others": {"^GET .*/gitops-fleet/configmaps": _changed(_foreign)},
    "lists and objects of other kinds": {"^GET .*/configmaps": lambda _: answer({"kind": SAYS, "apiVersion": SAYS})},
    "headers": {"^GET": lambda _: answer({}, 429, Retry_After=TOKEN, X_Canary=TOKEN)},
}


def test_drift_that_is_left_alone_is_recorded_without_what_steers(file_fleet: Fleet, turned: Turned) -> None:
    fleet = file_fleet
    server = turned(fleet.servers["m1"], fleet.folder / "kubeconfigs" / "m1", TOKEN)
    fleet.join("m1")
    fleet.place(strategy={"whenToApply": "IfNotDrifted"})
    assert not fleet.apply().problems
    server.rules = {"^GET .*/configmaps/settings": SCENES["drift"]["^GET .*/configmaps/settings"](server)}
    (problem,) = fleet.apply().problems
    assert problem.hint == "FoundDrifts"
    recorded = json.dumps(fleet.record(), ensure_ascii=False)
    assert "valueInMember" in recorded and "ALL-GREEN" in recorded
    assert steering(recorded) == [] and not [token for token in TOKENS if token in recorded]


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_nothing_that_a_member_says_steers_anything(
    file_fleet: Fleet, turned: Turned, tmp_path: Path, scene: str, form: str
) -> None:
    fleet = file_fleet
    server = turned(fleet.servers["m1"], fleet.folder / "kubeconfigs" / "m1", TOKEN)
    fleet.join("m1", "m2")
    fleet.place()
    assert not fleet.apply().problems
    assert any(TOKEN in headers.get("Authorization", "") for _line, headers in server.asked)
    fleet.resources(fleet.configmap(color="red"))
    server.rules = {pattern: make(server) for pattern, make in SCENES[scene].items()}
    home = tmp_path / "home"
    home.mkdir()
    log = home / "ansible.log"
    printed = at_a_terminal(
        Player(home),
        PLAYBOOK,
        "--diff",
        "-vvv",
        environ={"ANSIBLE_CALLBACK_RESULT_FORMAT": form, "ANSIBLE_LOG_PATH": str(log)},
        folder=str(home),
        records=fleet.options,
        placements=str(fleet.folder / "placements"),
        resources=str(fleet.folder / "resources"),
    )
    assert "PLAY RECAP" in printed and "Traceback" not in printed, printed
    assert steering(printed) == []
    assert not [token for token in TOKENS if token in printed]
    assert "m2" in printed
    assert steering(log.read_text(encoding="utf-8")) == []
    written = [file for file in (*home.glob("*"), *fleet.folder.glob("records.db*")) if file.is_file()]
    assert {"facts.json", "plan.json", "plan.md", "records.db"} <= {file.name for file in written} or scene in (
        "a message about everything",
        "a page that echoes",
    )
    for file in written:
        content = file.read_bytes()
        assert not [token for token in TOKENS if token.encode() in content], file.name
        if file.suffix in (".json", ".md"):
            assert steering(content.decode()) == [], file.name
