# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each bad input is refused with its code, in words that tell what and where; no traceback, and nothing is changed."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import sqlite3
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bad_inputs import FILES, Bad
from bad_inputs import ROWS as OTHER_ROWS
from bad_update_inputs import UPDATE_ROWS
from further_user import client_kubeconfig
from playing import HERE, Fleet, Played, Player
from update_states import make_runs

ROWS = (*OTHER_ROWS, *UPDATE_ROWS)
Result = dict[str, t.Any]
NEEDS_RECORDS = {"placement", "placement_info", "fleet_facts", "fleet_info", "member_cluster", "fleet_recover"}


class Refused(t.NamedTuple):
    results: dict[str, Result]
    played: Played
    places: dict[str, str]
    before: dict[str, bytes]
    after: dict[str, bytes]
    writes: list[str]


@pytest.fixture(scope="module")
def refused(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Refused]:
    """Every row run by one play on one fleet that holds a placement."""
    folder, work = tmp_path_factory.mktemp("refused"), tmp_path_factory.mktemp("work")
    records = {"type": "sqlite", "path": str(folder / "records.db")}
    values = {"records": records, "kubeconfig": fleet.admin}
    player = Player(work)
    for verb in ("member_cluster", "placement", "fleet_facts"):
        player(verb, **values).clean()
    prepare(folder, work / "facts.json", fleet)
    places = {
        "folder": str(folder),
        "kubeconfig": fleet.reader,
        "admin": fleet.admin,
        "clusters": str(fleet.root),
        "manifests": str(HERE / "manifests"),
    }
    playbook = work / "refused.yml"
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks(records, places)}]))
    marks = [log.read_text().count("\n") for log in fleet.audit_logs]
    before = contents(folder)
    played = player(playbook, "-vvv", "--diff")
    writes = fleet.writes_of("kubernetes-admin", marks) + fleet.writes_of("planner")
    found = json.loads((work / "results.json").read_text())
    try:
        yield Refused(
            dict(zip([row.name for row in ROWS], found, strict=True)), played, places, before, contents(folder), writes
        )
    finally:
        player(HERE / "end.yml", **values)


def prepare(folder: Path, facts: Path, fleet: Fleet) -> None:
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    old = {**json.loads(facts.read_text()), "capturedAt": "2020-01-01T00:00:00Z"}
    (folder / "facts-old.json").write_text(json.dumps(old))
    shutil.copy(folder / "records.db", folder / "newer.db")
    with contextlib.closing(sqlite3.connect(folder / "newer.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.commit()
    good = json.loads(Path(fleet.admin).read_text())
    other = next(row["cluster"]["certificate-authority-data"] for row in good["clusters"] if row["name"] == "west")
    changed(folder / "wrong-ca", good, cluster={"certificate-authority-data": other})
    changed(folder / "dead", good, cluster={"server": "https://127.0.0.1:1"})
    changed(folder / "wrong-token", good, user={"token": "canary-of-a-token"})
    make_runs(folder / "updates.db", fleet.reader)
    late = client_kubeconfig(fleet.root / "east", "late", not_after=datetime.now(UTC) - timedelta(days=1))
    shutil.copy(late, folder / "expired")


def changed(target: Path, good: Result, cluster: Result | None = None, user: Result | None = None) -> None:
    """The kubeconfig of east with something else in its cluster, or for its user."""
    east = next(row for row in good["clusters"] if row["name"] == "east")
    admin = next(row for row in good["users"] if row["name"].startswith("east"))
    document = {
        "clusters": [{"name": "east", "cluster": {**east["cluster"], **(cluster or {})}}],
        "users": [{"name": "east", "user": user or admin["user"]}],
        "contexts": [{"name": "east", "context": {"cluster": "east", "user": "east"}}],
        "current-context": "east",
    }
    target.write_text(json.dumps(document))


def tasks(records: Result, places: dict[str, str]) -> list[Result]:
    made = []
    for number, row in enumerate(ROWS):
        options = filled(row.options, places)
        if row.verb in NEEDS_RECORDS:
            options.setdefault("records", records)
        made.append(
            {
                "name": row.name,
                f"gitops.fleet.{row.verb}": options,
                "environment": row.environ,
                "register": f"row_{number}",
                "ignore_errors": True,
            }
        )
    everything = ", ".join(f"row_{number}" for number in range(len(ROWS)))
    made.append({"copy": {"dest": "{{ folder }}/results.json", "content": "{{ [" + everything + "] | to_json }}"}})
    return made


def filled(value: t.Any, places: dict[str, str]) -> t.Any:
    if isinstance(value, dict):
        return {key: filled(each, places) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, places) for each in value]
    if not isinstance(value, str):
        return value
    for name, place in places.items():
        value = value.replace(f"{{{name}}}", place)
    return value


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_it_is_refused_in_words_that_help(row: Bad, refused: Refused):
    result = refused.results[row.name]
    message = result.get("msg", "")
    assert (result["failed"], result["changed"]) == (True, False), result
    outcome = "stopped" if row.code.startswith("brake-") else "failed"
    assert result["fleet"] == {"outcome": outcome, "code": row.code, "resume_at": ""}, message
    assert [word for word in filled(list(row.words), refused.places) if word not in message] == [], message
    assert "Traceback" not in message
    assert row.code == "bad-option" or any(each["where"] or each["hint"] for each in result["problems"]), message


def test_there_are_many_and_each_has_a_name_of_its_own():
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert len(OTHER_ROWS) >= 40 and len(UPDATE_ROWS) >= 30


def test_nothing_is_changed_by_any_of_them(refused: Refused):
    assert sorted(refused.after) == sorted(refused.before)
    assert [name for name in refused.before if refused.before[name] != refused.after[name]] == []
    assert refused.writes == []


def test_no_traceback_and_no_secret_in_all_the_output(refused: Refused, fleet: Fleet):
    keys = [row["user"]["client-key-data"] for row in json.loads(Path(fleet.admin).read_text())["users"]]
    secrets = ["canary-of-a-secret", "canary-of-a-token", *keys]
    secrets += [base64.b64decode(key).decode().splitlines()[1] for key in keys]
    secrets.append(base64.b64encode(b"canary-of-a-secret").decode())
    assert [word for word in ("Traceback", "[DEPRECATION", *secrets) if word in refused.played.output] == []
