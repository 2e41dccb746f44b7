# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What people are told while a run is conducted: a reason once, at the member that it is of, and whose a word is."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateRunStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.progress import RunProgress
from ansible_collections.gitops.fleet.plugins.module_utils._report.run_text import run_text
from ansible_collections.gitops.fleet.tests.data.update_parts import update_run
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import T0, Play, played


def recorded(play: Play) -> UpdateRun:
    run = read(update_run({"type": "Full", "kubernetesVersion": "1.28.3"})).object
    assert isinstance(run, UpdateRun)
    return replace(run, status=status_of(play.run, derive(play.run), UpdateRunStatus()))


def telling() -> tuple[RunProgress, list[str], list[t.Mapping[str, t.Any]]]:
    run = read(update_run({"type": "Full", "kubernetesVersion": "1.28.3"})).object
    assert isinstance(run, UpdateRun)
    said: list[str] = []
    events: list[t.Mapping[str, t.Any]] = []
    told = RunProgress(run=run, say=said.append, emit=events.append, journal=lambda *_words: None, versions={})
    return told, said, events


def test_why_a_member_failed_is_said_once_and_kept_at_every_level_for_machines() -> None:
    told, said, events = telling()
    play = played("s{g:a,b}").start()
    told.begin(play.run, T0)
    told.stored(play.fails("a", message="a: etcd is down [busy]").run, T0)
    assert [line for line in said if "etcd is down" in line] == [
        "  stage 1/1 s, 0 of 2 done, 1 failed: a Failed: etcd is down [busy]"
    ]
    assert "  stage s Failed: 1 failed: a" in said and "  run release-7 Failed: 1 failed: a" in said
    levels = {each["type"]: each["message"] for each in events if each["type"] in ("stage", "run")}
    assert levels == dict.fromkeys(("stage", "run"), "a: etcd is down [busy]")


def test_who_was_skipped_is_not_counted_as_done_anywhere() -> None:
    told, said, _events = telling()
    play = played("s{g:a,b,c}").skip("Member:a", "Member:b").start()
    told.begin(play.run, T0)
    assert said == ["run release-7: Full to 1.28.3; 0 of 3 clusters done, 1 in flight, 2 skipped"]
    told.stored(play.ends("c").run, T0)
    assert any(line.startswith("  stage 1/1 s, 1 of 3 done, 2 skipped: c Completed") for line in said)
    assert "s Completed 1/3 done (2 skipped)" in " ".join(" ".join(run_text(recorded(play))).split())


def test_a_word_from_an_upgrade_is_said_by_its_member() -> None:
    told, said, _events = telling()
    run = played("s{g:a}").start().run
    told.begin(run, T0)
    (row,) = run.members
    for _twice in range(2):
        told.said(row.operation, "a: pool blue: n1 draining")
    told.said("elsewhere", "etcd is slow")
    assert said[1:] == ["  a pool blue: n1 draining", "    elsewhere: etcd is slow"]


def test_people_are_reminded_though_the_clock_is_set_back() -> None:
    told, said, _events = telling()
    play = played("s{g:a}").start()
    told.begin(play.run, T0)
    said.clear()
    for minutes in (60, 0, 0.5):
        told.waiting(play.run, None, T0 + timedelta(minutes=minutes))
    assert len(said) == 2 and all("still waiting" in line for line in said)
