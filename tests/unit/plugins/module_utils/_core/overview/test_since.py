# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.since import changes, checked_report


def report(**parts: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "madeAt": "2026-03-02T09:00:00Z",
        "clusters": [cluster("a"), cluster("b"), cluster("c")],
        "placements": [{"name": "web", "cells": "hgn"}],
        "runs": [{"name": "r", "state": "Running", "progress": "1/3", "outcome": ""}],
        "drift": [],
        **parts,
    }


def cluster(name: str, state: str = "ready", version: str = "v1.35.0", why: str = "") -> dict[str, Any]:
    return {"name": name, "state": state, "version": version, "why": why}


def told(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(each.what, each.name, each.text) for each in changes(checked_report(old, "old.json"), new)]


def test_nothing_has_changed():
    assert told(report(), report(madeAt="2026-03-03T09:00:00Z")) == []


def test_clusters_join_leave_and_become_others():
    now = [cluster("a", "not ready", "v1.36.1", "no etcd"), cluster("b"), cluster("d")]
    assert told(report(), report(clusters=now)) == [
        ("cluster", "a", "version v1.35.0 -> v1.36.1"),
        ("cluster", "a", "ready -> not ready: no etcd"),
        ("cluster", "c", "has left the fleet"),
        ("cluster", "d", "has joined"),
    ]


def test_who_holds_a_placement_counts_and_not_who_is_to_gain_it():
    assert told(report(), report(placements=[{"name": "web", "cells": "lgg"}])) == []
    moved = report(placements=[{"name": "web", "cells": "nhh"}, {"name": "new", "cells": "hnn"}])
    assert told(report(), moved) == [
        ("placement", "new", "is new, on 1 cluster"),
        ("placement", "web", "has come to b, c"),
        ("placement", "web", "has left a"),
    ]


def test_a_placement_that_could_not_be_decided_has_left_nobody():
    """Its policy cannot be read, for example; what clusters hold is there as it was."""
    row = {"placement": "web", "cluster": "a", "object": "Deployment web", "path": "/x", "live": "1", "placed": "3"}
    broken = report(placements=[{"name": "web", "cells": "uuu"}])
    assert told(report(drift=[row]), broken) == [
        ("placement", "web", "is undecided now, and on which clusters is not known"),
        ("drift", "a", "Deployment web of web: /x is as placed again"),
    ]
    assert told(broken, broken) == []
    assert told(broken, report()) == [("placement", "web", "is decided again, on 1 cluster")]
    assert told(report(placements=[]), broken) == [("placement", "web", "is new, and on which clusters is not known")]


def test_what_a_look_has_found_is_not_mended_where_nothing_could_be_looked_at():
    """Of a placement that cannot be decided there is nothing to look at, and the cluster may have left."""
    row = {"placement": "web", "cluster": "a", "object": "Deployment web", "path": "/x", "live": "1", "placed": "3"}
    nowhere = {**cluster("a"), "drift": {"looked": 0, "places": 0}}
    for clusters in ([nowhere, cluster("b"), cluster("c")], [cluster("b"), cluster("c")]):
        broken = report(clusters=clusters, placements=[{"name": "web", "cells": "u" * len(clusters)}])
        found = told(report(drift=[{**row, "looked": True}]), broken)
        assert ("drift", "a", "Deployment web of web: /x has not been looked at since") in found


def test_runs_and_drift():
    row = {"placement": "web", "cluster": "a", "object": "Deployment web", "path": "/x", "live": "1", "placed": "3"}
    done = [{"name": "r", "state": "Completed", "progress": "3/3", "outcome": "Succeeded"}]
    after = report(runs=done, drift=[row])
    assert told(report(), after) == [
        ("run", "r", "Running -> Completed Succeeded, 3/3"),
        ("drift", "a", "Deployment web of web: /x is 1, placed 3"),
    ]
    assert told(after, report(runs=done)) == [("drift", "a", "Deployment web of web: /x is as placed again")]


def test_what_a_look_has_found_is_gone_only_if_another_look_misses_it():
    row = {"placement": "web", "cluster": "a", "object": "Deployment web", "path": "/x", "live": "1", "placed": "3",
           "looked": True}  # fmt: skip
    places = [{**cluster(name), "drift": {"places": 1, "looked": 0}} for name in "abc"]
    looked = [{**each, "drift": {"places": 1, "looked": 1}} for each in places]
    before = report(drift=[row])
    recorded = report(drift=[{**row, "looked": False}])
    field = "Deployment web of web: /x"
    assert told(before, report(clusters=places)) == [("drift", "a", f"{field} has not been looked at since")]
    assert told(before, report(clusters=looked)) == [("drift", "a", f"{field} is as placed again")]
    assert told(recorded, report(clusters=places)) == [("drift", "a", f"{field} is as placed again")]


def test_drift_of_what_is_placed_there_no_more_was_not_mended():
    row = {"placement": "gone", "cluster": "a", "object": "Deployment web", "path": "/x", "live": "1", "placed": "3"}
    field = "Deployment web of gone: /x"
    assert told(report(drift=[row]), report()) == [("drift", "a", f"{field} is not placed there any more")]


def test_runs_of_different_kinds_may_have_one_name():
    """In an older report every run is an update run."""
    rows = [{"kind": kind, "name": "r", "state": "Running", "progress": "1/3", "outcome": ""}
            for kind in ("update run", "staged run", "rotation")]  # fmt: skip
    assert told(report(), report(runs=rows)) == [
        ("staged run", "r", "is new: Running, 1/3"),
        ("rotation", "r", "is new: Running, 1/3"),
    ]
    ended = [*rows[:2], {**rows[2], "state": "Done", "progress": "3/3"}]
    assert told(report(runs=rows), report(runs=ended)) == [("rotation", "r", "Running -> Done, 3/3")]
    assert told(report(runs=rows), report(runs=rows[:2])) == [("rotation", "r", "is gone")]


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ([], "report-invalid"),
        ({"schema": 1}, "report-invalid"),
        (report(schema=2), "report-too-new"),
        (report(clusters=None), "report-invalid"),
        (report(runs=[{"name": 3}]), "report-invalid"),
        (report(placements=[{"name": "web", "cells": "h"}]), "report-invalid"),
    ],
)
def test_what_is_no_report_is_refused_by_name(document: Any, code: str):
    with pytest.raises(FleetError) as refused:
        checked_report(document, "old.json")
    assert refused.value.code == code and "old.json" in str(refused.value)
