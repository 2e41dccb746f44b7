# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of a real fleet, damaged in every way, and every verb that opens them: an answer, or words that help."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import sys
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import mutated
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "playbooks"))

from small_fleet import Fleet
from update_states import make_runs
from verb_calls import Options, call

TIMES = settings.default.max_examples  # type: ignore[union-attr]


@dataclass(frozen=True)
class Fixed:
    """Records that hold something of every kind, and calls of verbs that read them."""

    content: bytes
    path: Path
    calls: tuple[tuple[str, Options], ...]

    def damaged(self, content: bytes) -> dict[str, str]:
        """The code of every call, or nothing where there is an answer all the same."""
        self.path.write_bytes(content)
        found = {}
        for number, (verb, options) in enumerate(self.calls):
            answer = call(verb, {"records": {"type": "sqlite", "path": str(self.path)}, **options})
            if isinstance(answer, FleetError):
                found[f"{number} {verb}"] = answer.code
                assert "Traceback" not in str(answer)
        return found


@pytest.fixture
def placed(file_fleet: Fleet) -> Fixed:
    fleet = file_fleet
    fleet.join("m1", "m2", labels={"region": "north"})
    fleet.place({"placementType": "PickN", "numberOfClusters": 1})
    fleet.apply()
    fleet.resources(fleet.configmap(color="red"))
    fleet.apply()
    src, resources = [str(fleet.folder / "placements")], [str(fleet.folder / "resources")]
    common: Options = {"src": src, "resources": resources}
    calls = (
        ("fleet_info", {}),
        ("fleet_facts", {"record": True}),
        ("placement", {**common, "state": "planned"}),
        ("placement", common),
        ("placement", {"state": "absent", "names": [fleet.name]}),
        ("placement_info", {}),
        ("fleet_report", {**common, "dest": str(fleet.folder / "report")}),
        ("placement_info", {"name": fleet.name, "explain": ["m1", "m2"]}),
        ("fleet_recover", common),
        ("member_cluster", {"members": [{"name": "m1", "labels": {"region": "south"}}]}),
        ("member_cluster", {"state": "absent", "members": [{"name": "m2"}], "placed": "remove"}),
    )
    return fixed(fleet.records.place, calls)


@pytest.fixture
def upgraded(file_fleet: Fleet, tmp_path: Path) -> Fixed:
    found = {
        name: json.loads(file_fleet.kubeconfig(each).read_text()) for name, each in (("east", "m1"), ("west", "m2"))
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(together(found)))
    make_runs(tmp_path / "runs.db", str(tmp_path / "kubeconfig"))
    names = ("fresh", "gated", "waiting", "flying", "elsewhere", "skipped", "ended")
    calls = (
        ("update_run_info", {}),
        ("fleet_report", {"dest": str(tmp_path / "report"), "forecast": False}),
        *(("update_run", {"name": name, "state": state}) for name in names for state in ("stopped", "absent")),
        *(("update_run", {"name": name, "state": "conducted", "max_idle": 0}) for name in ("gated", "waiting")),
        ("update_run", {"name": "gated", "state": "skipped", "targets": ["Stage:only-east"]}),
        ("gate", {"run": "waiting", "stage": "only-east"}),
        ("fleet_info", {}),
    )
    return fixed(str(tmp_path / "runs.db"), calls)


def together(kubeconfigs: dict[str, t.Any]) -> dict[str, t.Any]:
    """One kubeconfig, with a context for each."""
    for name, document in kubeconfigs.items():
        for part in ("contexts", "clusters", "users"):
            document[part] = [{**document[part][0], "name": name}]
        document["contexts"][0]["context"] = {"cluster": name, "user": name}
    first = next(iter(kubeconfigs.values()))
    parts = {part: [each[part][0] for each in kubeconfigs.values()] for part in ("contexts", "clusters", "users")}
    return {**first, **parts}


def fixed(place: str, calls: tuple[tuple[str, Options], ...]) -> Fixed:
    path = Path(place)
    copy = path.with_name("damaged.db")
    shutil.copy(path, copy)
    found = Fixed(path.read_bytes(), copy, calls)
    assert not any(code.startswith("records-") for code in found.damaged(found.content).values())
    return found


@contextlib.contextmanager
def rows_of(fixed: Fixed) -> Iterator[sqlite3.Connection]:
    fixed.path.write_bytes(fixed.content)
    with contextlib.closing(sqlite3.connect(fixed.path)) as connection:
        yield connection
        connection.commit()


def nonsense(fixed: Fixed, rng: Random) -> bytes:
    """Something else in some places of some records, what makes them objects of a store left as it is."""
    with rows_of(fixed) as connection:
        rows = connection.execute("SELECT kind, name, document FROM records").fetchall()
        for kind, name, text in rng.sample(rows, min(len(rows), rng.randrange(1, 4))):
            document = json.loads(text)
            kept = {key: document["metadata"][key] for key in ("name", "uid", "resourceVersion", "generation")}
            places = [key for key in ("spec", "status", "metadata") if document.get(key)]
            for key in rng.sample(places, rng.randrange(1, len(places) + 1)):
                document[key] = mutated(rng, document[key], rng.randrange(1, 4))
            if isinstance(document["metadata"], dict):
                document["metadata"] |= kept
            values = (json.dumps(document), kind, name)
            connection.execute("UPDATE records SET document = ? WHERE kind = ? AND name = ?", values)
    return fixed.path.read_bytes()


@pytest.mark.parametrize("which", ["placed", "upgraded"])
def test_records_that_are_nonsense(which: str, request: pytest.FixtureRequest) -> None:
    found: Fixed = request.getfixturevalue(which)
    for seed in range(TIMES):
        content = nonsense(found, Random(seed))
        try:
            found.damaged(content)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("which", ["placed", "upgraded"])
def test_bytes_that_flipped(which: str, request: pytest.FixtureRequest) -> None:
    found: Fixed = request.getfixturevalue(which)
    for seed in range(TIMES // 2):
        rng, content = Random(seed), bytearray(found.content)
        for _time in range(rng.choice((1, 10, 100))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        found.damaged(bytes(content[: rng.choice((len(content), rng.randrange(len(content))))]))


@pytest.mark.parametrize("which", ["placed", "upgraded"])
def test_every_verb_tells_that_the_file_is_damaged(which: str, request: pytest.FixtureRequest) -> None:
    found: Fixed = request.getfixturevalue(which)
    with rows_of(found) as connection:
        connection.execute("UPDATE records SET document = substr(document, 1, 100)")
    codes: t.Any = found.damaged(found.path.read_bytes())
    assert len(codes) == len(found.calls) and set(codes.values()) == {"records-damaged"}
