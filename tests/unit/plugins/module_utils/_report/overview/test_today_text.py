# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The state of the fleet as text: at most 80 columns, worst first, bounded."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.drift import DriftKnown, DriftRow
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.run_needs import NEEDS, RunNeed
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.today import (
    FleetToday,
    MemberToday,
    PlacementsHeld,
    fleet_today,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.upkeep import CertificateEnd, Kubelets
from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.today_text import (
    NEEDED,
    age_text,
    today_text,
)

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
UNSEEN = DriftKnown(places=2, applied=NOW - timedelta(days=1))


def row(name: str, **more: Any) -> MemberToday:
    parts: dict[str, Any] = {
        "group": "eu", "state": "ready", "why": "", "heartbeat": NOW, "age": timedelta(minutes=3), "version": "v1.35.2",
        "kubelets": Kubelets(oldest="v1.34.1", newest="v1.35.2", behind=1), "images": {"Ubuntu": 3},
        "certificate": CertificateEnd(which="server", at=NOW + timedelta(days=300), days=300),
        "held": PlacementsHeld(count=2), "drift": UNSEEN, "evacuated": False, "runs": (), "concerns": (),
    }  # fmt: skip
    return MemberToday(name=name, **{**parts, **more})


def silent(name: str, hours: int = 2) -> MemberToday:
    return row(name, state="silent", why="connection refused", age=timedelta(hours=hours), concerns=("silent",))


def said(today: FleetToday, **more: Any) -> list[str]:
    lines = today_text(today, "records.db", **more)
    assert all(len(line) <= 80 for line in lines)
    return lines


def test_the_headline_and_a_row_for_each_cluster():
    soon = CertificateEnd(which="client", at=NOW + timedelta(days=12), days=12)
    late = row("eu-2", certificate=soon, version="v1.34.2", concerns=("certificate-ends",))
    lines = said(fleet_today([row("eu-1"), late, silent("eu-3")], UNSEEN))
    assert " ".join(each.strip() for each in lines[:3]) == (
        "3 clusters: 2 ready, 1 silent (last read 2 h ago); versions 1.34 (1), 1.35 (2); 1 certificate ends "
        "within 30 days; drift: not looked since an apply, 2026-03-01T09:00:00Z or later; read 3 min to 2 h ago, see "
        "gitops.fleet.facts"
    )
    assert lines[3:] == [
        "CLUSTER  STATE   READ   SERVER  KUBELET    IMG  CERT   HELD  DRIFT",
        "eu-3     silent  2 h    1.35.2  1.34.1 -1  1    300 d  2     ?",
        "    connection refused",
        "eu-2     ready   3 min  1.34.2  1.34.1 -1  1    12 d   2     ?",
        "    the client certificate ends at 2026-03-14T09:00:00Z",
        "eu-1     ready   3 min  1.35.2  1.34.1 -1  1    300 d  2     ?",
        "images: Ubuntu (9 nodes)",
    ]


def test_the_headline_counts_runs_that_failed_and_that_wait_and_names_those_that_stand_nowhere_else():
    needs = [
        ("update run", "failed"),
        *[("update run", "approval")] * 2,
        ("staged run", "window"),
        *[("rotation", "pause")] * 4,
    ]
    runs = tuple(RunNeed(kind=kind, name=str(at), needs=what) for at, (kind, what) in enumerate(needs))
    text = " ".join(" ".join(said(fleet_today([row("a")], DriftKnown(), runs=runs))).split())
    assert text.startswith(
        "1 cluster: 1 ready; 1 update run failed, 2 wait for an approval; 1 staged run waits for a window (3); "
        "4 rotations pause (4, 5, 6 and 1 more); versions"
    )


def test_every_need_has_its_words():
    assert set(NEEDED) == set(NEEDS)


def test_where_nobody_looked_no_number_stands():
    (line,) = (each for each in said(fleet_today([row("a")], UNSEEN)) if each.startswith("a "))
    assert line.endswith(" ?")
    looked = DriftKnown(places=2, looked=2, objects=0, seen=NOW, looked_at=NOW)
    lines = said(fleet_today([row("a", drift=looked)], looked))
    assert lines[-2].endswith(" 0") and "no drift, looked at" in " ".join(" ".join(lines).split())
    assert said(fleet_today([row("a", drift=DriftKnown())], DriftKnown()))[-2].endswith(" -")


def test_what_a_look_has_found_is_named_with_as_of_when():
    known = DriftKnown(places=1, looked=1, objects=4, seen=NOW, looked_at=NOW)
    drifted = [
        DriftRow(placement="web", cluster="a", object=f"ConfigMap web/{at}", path=path, live="1", placed="2")
        for at in range(4)
        for path in ("/data/a", "/data/b")
    ]
    lines = said(fleet_today([row("a", drift=known), row("b")], known, tuple(drifted)))
    assert lines[-4:] == [
        "    4 objects drifted, looked at 2026-03-02T09:00:00Z: ConfigMap web/0,",
        "        ConfigMap web/1, ConfigMap web/2 and 1 more",
        "b        ready  3 min  1.35.2  1.34.1 -1  1    300 d  2     ?",
        "images: Ubuntu (6 nodes)",
    ]


def test_images_are_named_with_their_nodes_the_most_first_and_few():
    rows = [row(f"c{at}", images={f"image {at}": at, "all": 1}) for at in range(1, 8)]
    text = " ".join(" ".join(said(fleet_today(rows, DriftKnown()))).split())
    assert text.endswith(
        "images: all (7 nodes); image 7 (7 nodes); image 6 (6 nodes); image 5 (5 nodes); image 4 (4 nodes); and 3 more"
    )
    foreign = said(fleet_today([row("a", images={"x\x1b[2J" + "y" * 900: 1})], DriftKnown()))
    assert len(foreign) < 7 and all(each.isprintable() for each in foreign)


def test_nodes_that_no_image_counts_are_told_and_their_clusters_have_a_mark():
    rows = [row("a", images={"Ubuntu": 5}), row("b", images={"Ubuntu": 3}, uncounted=4)]
    lines = said(fleet_today([*rows, row("c", images={}, uncounted=2)], DriftKnown()))
    assert [line.split()[7] for line in lines if line[:2] in ("a ", "b ", "c ")] == ["1", "1+", "?"]
    assert " ".join(" ".join(lines).split()).endswith(
        "images: Ubuntu (8 nodes); 6 nodes on 2 clusters not counted: pools there hold several images or tell none, "
        "see gitops.fleet.nodes"
    )
    alone = said(fleet_today([row("a", images={}, uncounted=1)], DriftKnown()))
    assert alone[-2].startswith("images: 1 node on 1 cluster not counted: pools there hold")


def test_everything_that_is_wrong_is_told_below_its_cluster():
    ended = CertificateEnd(which="server", at=NOW - timedelta(days=2), days=-2)
    failing = {f"web-{at}": "not Applied: 1 of 3" for at in range(5)}
    bad = row(
        "a", certificate=ended, held=PlacementsHeld(count=9, failing=failing),
        drift=DriftKnown(places=1, looked=1, objects=3, seen=NOW, looked_at=NOW),
        evacuated=True, runs=("update run r",),
        kubelets=Kubelets(oldest="v1.30.1", newest="v1.30.1", behind=5, too_old=True), concerns=("certificate-ended",),
    )  # fmt: skip
    text = " ".join(" ".join(said(fleet_today([bad], bad.drift))).split())
    for part in (
        "the API server's certificate ended at 2026-02-28T09:00:00Z",
        "web-0 is not Applied: 1 of 3",
        "2 more placements fail",
        "kubelets of v1.30.1 are too old",
        "3 objects drifted, looked at 2026-03-02T09:00:00Z",
        "evacuated: nothing new is placed there",
        "in flight: update run r",
        "9, 5 bad",
        "1 certificate ended",
    ):
        assert part in text


def test_kubelets_newer_than_their_server_are_told_so_and_never_behind():
    newer = row(
        "a", kubelets=Kubelets(oldest="v1.35.2", newest="v1.36.0", behind=0, ahead=1), concerns=("kubelet-too-new",)
    )
    lines = said(fleet_today([newer], UNSEEN))
    text = " ".join(" ".join(lines).split())
    assert " 1.36.0 +1 " in text and "--" not in text and "too old" not in text
    assert "kubelets of v1.36.0 are newer than its API server, which Kubernetes does not support" in text


def test_what_was_not_available_yet_is_told_as_of_when_and_is_not_bad():
    late = {f"web-{at}": "was not available yet at 2026-03-01T03:33:00Z: 1 of 3 objects" for at in range(5)}
    lines = said(fleet_today([row("a", held=PlacementsHeld(count=9, late=late))], UNSEEN))
    text = " ".join(" ".join(lines).split())
    assert "9, 5 late" in text and "bad" not in text
    assert "web-0 was not available yet at 2026-03-01T03:33:00Z: 1 of 3 objects; web-1" in text
    assert "2 more placements were not available yet" in text


def test_an_evacuated_cluster_tells_what_it_holds_until_it_is_taken_away():
    held = PlacementsHeld(count=2, names=("base", "web"), leaving={"base": "a staged run"})
    lines = said(fleet_today([row("a", held=held, evacuated=True, concerns=("evacuated",))], UNSEEN))
    text = " ".join(" ".join(lines).split())
    assert "2, 1 to go" in text and "base is to be taken away by a staged run; evacuated" in text
    assert "evacuated, not empty yet (it holds base, web): nothing new is placed there" in text


def test_of_several_silent_clusters_the_longest_is_told():
    assert "2 silent (last read up to 5 h ago)" in said(fleet_today([silent("a"), silent("b", 5)], UNSEEN))[0]


def test_of_a_large_fleet_those_that_ask_for_attention_and_numbers_of_the_others():
    rows = [silent(f"c-{at:04}") for at in range(60)]
    rows += [row(f"d-{at:04}", group=f"g{at % 30:02}") for at in range(940)]
    lines = said(fleet_today(rows, UNSEEN))
    assert len(lines) < 120 and sum(1 for each in lines if each.startswith("c-")) == 40
    assert not any(each.startswith("d-") for each in lines)
    assert "960 more clusters by group, all of them in the result:" in lines
    assert "  eu     20        0      20          1.35 (20)" in lines
    assert lines[-2:] == ["  11 more groups", "images: Ubuntu (3,000 nodes)"]


def test_of_a_large_fleet_that_is_well_only_numbers_are_told():
    lines = said(fleet_today([row(f"d-{at:04}") for at in range(1000)], UNSEEN))
    assert len(lines) < 10 and not any("CLUSTER  " in each for each in lines)


def test_long_names_stay_whole():
    name = "a-cluster-whose-name-is-longer-than-any-column-has-room-for-it"
    assert any(name in line for line in said(fleet_today([row(name), silent("x")], UNSEEN)))


def test_what_is_not_known_is_no_zero():
    unknown = row("a", state="never read", age=None, heartbeat=None, version="", kubelets=Kubelets(), images={},
                  certificate=None, concerns=("never-read",))  # fmt: skip
    last = said(fleet_today([unknown], UNSEEN))[-1]
    assert last.split() == ["a", "never", "read", "never", "?", "?", "?", "?", "2", "?"]


def test_records_that_could_not_be_read_are_told():
    lines = said(replace(fleet_today([row("a")], UNSEEN)), notes=[Problem("record-damaged", "no map", "FleetMember/b")])
    assert any(line.strip().startswith("note: FleetMember/b") for line in lines)
    assert said(FleetToday(members=()))[0].startswith("no cluster is recorded in records.db; gitops.fleet.join ")


@pytest.mark.parametrize(
    ("age", "text"),
    [({"seconds": 40}, "40 s"), ({"minutes": 3}, "3 min"), ({"hours": 30}, "30 h"), ({"days": 5}, "5 d")],
)
def test_ages_have_one_unit(age: dict[str, int], text: str):
    assert age_text(timedelta(**age)) == text
