# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from typing import Any

from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.upkeep import Kubelets
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import LIMIT
from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.comment import overview_markdown
from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.page import report_page
from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.summary import (
    counted_words,
    overview_counts,
    overview_text,
)

MARKUP = "</script><script>alert(1)</script>\u2028<b>"


def report(clusters: int = 2, text: str = "no etcd") -> dict[str, Any]:
    """The JSON data of an overview: one placement, of which the second cluster gains, and drift on the first."""
    rows = [
        {"name": f"c-{at}", "state": "not ready" if at == 0 else "ready", "why": text, "group": "", "location": text,
         "version": "v1.35.0", "nodes": 3, "cpu": [1, 2], "memory": [None, None], "heartbeat": None, "labels": {},
         "taints": [], "operation": "", "drift": {"words": "never looked"}, "certificate": None,
         "kubelets": Kubelets().as_dict(), "images": {}, "imagesUncounted": 0}
        for at in range(clusters)
    ]  # fmt: skip
    placement = {
        "name": "web", "policy": "PickAll", "wanted": 2, "count": 2, "fulfilled": True, "objects": 3, "digest": "",
        "cells": "hg" + "n" * (clusters - 2), "why": [0, 1] + [2] * (clusters - 2), "standing": {}, "waves": [["c-1"]],
        "stops": ["max_removals: too many"], "notes": [],
    }  # fmt: skip
    drift = {"placement": "web", "cluster": "c-0", "object": "Deployment web", "path": "/spec", "live": text,
             "placed": "3", "since": None, "differs": False, "seen": "2026-03-02T08:00:00Z",
             "looked": True}  # fmt: skip
    known = {"places": 1, "looked": 1, "objects": 1, "asOf": "looked at 2026-03-02T08:00:00Z",
             "words": "1 object drifted, looked at 2026-03-02T08:00:00Z"}  # fmt: skip
    return {
        "schema": 1, "title": f"Fleet {text}", "madeAt": "2026-03-02T09:00:00Z", "factsAt": "2026-03-02T09:00:00Z",
        "place": "records.db", "clusters": rows, "letters": {"h": "holds", "g": "gains", "n": "not picked"},
        "reasons": ["keeps it.", f"is picked {text}", "is not picked."], "placements": [placement], "runs": [],
        "pools": [], "drift": [drift], "driftKnown": known, "whatIf": None, "since": None, "changes": [],
        "notes": [f"note {text}"],
    }  # fmt: skip


def _kubelets(oldest: str, newest: str, behind: int = 0, ahead: int = 0) -> dict[str, Any]:
    """Kubelets as the JSON data have them, too old from four minors on."""
    return Kubelets(oldest=oldest, newest=newest, behind=behind, ahead=ahead, too_old=behind > 3).as_dict()


def test_foreign_text_is_no_markup_and_the_data_come_back_whole():
    page = report_page(report(text=MARKUP))
    assert "alert(1)</script>" not in page and "<b>" not in page
    assert len(re.findall("<script", page)) == 3
    packed = re.search(r'id="data">([^<]+)<', page)
    assert packed is not None
    assert json.loads(gzip.decompress(base64.b64decode(packed[1]))) == report(text=MARKUP)


def test_the_policy_permits_the_two_scripts_and_nothing_else():
    page = report_page(report())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert policy is not None and len(scripts) == 2
    allowed = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    directives = dict(each.strip().split(" ", 1) for each in policy[1].replace("&#39;", "'").split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"].split() == [f"'sha256-{each}'" for each in allowed]


def test_a_page_needs_no_other_file_and_equal_reports_give_equal_bytes():
    page = report_page(report())
    assert page == report_page(report())
    without_scripts = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=\"(?!#)", without_scripts) and "url(" not in without_scripts


def test_the_numbers():
    told = {"clusters": 2, "not ready": 1, "placements": 1, "gained": 1, "lost": 0, "drifted": 1, "runs": 0}
    assert overview_counts(report()) == told
    lines = overview_text(report(), "report/report.html")
    assert "1         place to be gained" in lines and lines[-1] == "written to report/report.html"
    assert overview_text(report(), "")[-1].strip() == "note: note no etcd"


def test_where_nobody_looked_no_number_is_told():
    unseen = "not looked since an apply, 2026-03-01T08:00:00Z or later"
    known = {"places": 3, "looked": 0, "objects": None, "words": unseen, "asOf": unseen}
    data = {**report(), "drift": [], "driftKnown": known}
    assert overview_counts(data)["drifted"] is None
    words = f"objects drifted, {unseen}"
    assert words in " ".join(" ".join(overview_text(data, "")).split())
    assert f"<strong>?</strong>{words}" in report_page(data)
    assert "not looked since an apply" in overview_markdown(data)


def test_a_placement_that_could_not_be_decided_is_not_told_to_be_on_no_cluster():
    data = report()
    cells = "u" * len(data["clusters"])
    data["placements"] = [{**data["placements"][0], "count": 0, "wanted": 0, "cells": cells}]
    told = overview_markdown(data)
    assert "| undecided | ? | ? |" in told and "0 of 0" not in told


def test_what_was_looked_at_is_told_as_of_when():
    page, comment = report_page(report()), overview_markdown(report())
    assert "<strong>1</strong>object drifted, looked at 2026-03-02T08:00:00Z" in page
    assert "1 object drifted, looked at 2026-03-02T08" in comment and "| seen |" in comment


def test_what_grows_old_is_told_as_in_the_terminal():
    data = report(4)
    assert "Certificates" not in overview_markdown(data) and "Kubelets" not in overview_markdown(data)
    for at, days in ((0, 12), (1, -2), (2, 40)):
        data["clusters"][at]["certificate"] = {"which": "client", "ends": f"instant-{at}", "days": days}
    for at, behind in ((1, 1), (3, 4)):
        data["clusters"][at]["kubelets"] = _kubelets("v1.31.2", "v1.31.2", behind=behind)
    told = overview_markdown(data).replace("&#45;", "-")
    assert "<summary>Certificates that have ended, or end within 30 days</summary>" in told and "instant-2" not in told
    assert told.index("| c-1 | the client certificate | instant-1 | ended |") < told.index("| instant-0 | in 12 days |")
    assert told.index("| c-3 | v1.35.0 | v1.31.2 | 4, too old for it |") < told.index("| c-1 | v1.35.0 | v1.31.2 | 1 |")
    assert "newer" not in told


def test_kubelets_newer_than_their_server_are_not_behind_it():
    data = report(2)
    data["clusters"][0]["kubelets"] = _kubelets("v1.36.0", "v1.37.0", ahead=2)
    told = overview_markdown(data)
    assert "Kubelets newer than their API server, which Kubernetes does not support" in told
    assert "| c-0 | v1.35.0 | v1.37.0 | 2 |" in told and "behind" not in told
    words = "cluster with kubelets newer than its API server"
    assert ("too new", "1", words) in counted_words(data) and f"<strong>1</strong>{words}" in report_page(data)


def test_an_object_that_a_look_found_gone_is_missing():
    row = {**report()["drift"][0], "path": "", "live": "", "placed": ""}
    assert "| is missing |" in overview_markdown({**report(), "drift": [row]})
    assert "is missing" not in overview_markdown({**report(), "drift": [{**row, "looked": False}]})


def test_markdown_is_text_and_stays_below_what_code_hosts_accept():
    small = overview_markdown(report(text=MARKUP))
    assert "<b>" not in small and "<script" not in small and "| web |" in small and "max&#95;removals" in small
    data = report(3000, text="x" * 200)
    data["placements"] = [{**data["placements"][0], "name": f"web-{at}", "cells": "g" * 3000} for at in range(300)]
    data["clusters"] = [{**each, "state": "not ready"} for each in data["clusters"]]
    large = overview_markdown(data)
    assert len(large.encode()) <= LIMIT + 200 and "this text is full" in large
    noted = overview_markdown({**report(), "notes": ["|" * 300] * 400})
    assert len(noted.encode()) < LIMIT // 2 and f"\n- {400 - noted.count('- note: ')} more notes\n" in noted
    assert "<summary>Placements</summary>" in noted


def test_what_has_changed_stands_first():
    change = {"what": "cluster", "name": "c-0", "text": f"version v1 -> v2 {MARKUP}"}
    data = {**report(), "since": "2026-03-01T09:00:00Z", "changes": [change]}
    page, comment = report_page(data), overview_markdown(data)
    assert "<h2>Since 2026-03-01T09:00:00Z</h2>" in page and "version v1 -&gt; v2" in page and "<b>" not in page
    assert comment.index("Since 2026-03-01T09:00:00Z") < comment.index("<summary>Placements</summary>")
    assert "Nothing has changed." in report_page({**data, "changes": []})


def test_what_has_changed_is_told_in_the_terminal_too():
    """Whoever makes the report by the clock reads the log."""
    change = {"what": "cluster", "name": "c-0", "text": "version v1 -> v2\x1b[2J"}
    data = {**report(), "since": "2026-03-01T09:00:00Z", "changes": [change] * 45}
    lines = overview_text(data, "")
    assert "since 2026-03-01T09:00:00Z: 45 changes" in lines and "  5 more changes" in lines
    assert sum("cluster c-0: version v1 -> v2" in line for line in lines) == 40 and all(map(str.isprintable, lines))
    assert "since 2026-03-01T09:00:00Z: nothing has changed" in overview_text({**data, "changes": []}, "")
    assert not any("since" in line for line in overview_text(report(), ""))


def test_numbers_have_their_words_and_what_grows_old_is_told_only_where_there_is_any():
    data = report(1)
    assert [words for _name, _number, words in counted_words(data)][:2] == ["cluster", "of them not ready"]
    assert not any("certificate" in words for _name, _number, words in counted_words(data))
    data["clusters"][0]["certificate"] = {"which": "client", "ends": "x", "days": 3}
    data["clusters"][0]["kubelets"] = _kubelets("v1.30.1", "v1.30.1", behind=5)
    told = {name: (number, words) for name, number, words in counted_words(data)}
    assert told["ending"] == ("1", "certificate that has ended, or ends within 30 days")
    assert told["too old"] == ("1", "cluster with kubelets too old for its API server")


def test_a_tab_counts_as_its_card_does_and_a_card_leads_to_its_page():
    known = {"places": 3, "looked": 0, "objects": None, "words": "never looked", "asOf": "never looked"}
    page = report_page({**report(), "drift": [], "driftKnown": known})
    assert 'Drift <span class="count">?</span>' in page and "<strong>?</strong>objects drifted, never looked" in page
    assert 'Drift <span class="count">1</span>' in report_page(report())
    nothing = {**known, "places": 0, "words": "nothing is placed", "asOf": "nothing is placed"}
    assert 'Drift <span class="count">0</span>' in report_page({**report(), "drift": [], "driftKnown": nothing})
    assert '<a href="#runs"><strong>0</strong>runs not over</a>' in page
    assert "Disruption calendar</button>" in page, "without a number where nobody asked for one"


def test_images_are_named_with_their_nodes():
    data = report(3)
    assert "Images of nodes" not in overview_markdown(data)
    for at, images in ((0, {"Linux 1.0": 3}), (1, {"Linux 1.0": 2, "<b>": 9})):
        data["clusters"][at]["images"] = images
    told = overview_markdown(data)
    assert "<summary>Images of nodes</summary>" in told and "| Linux 1.0 | 5 | 2 |" in told and "<b>" not in told
    assert told.index("| 9 | 1 |") < told.index("| Linux 1.0 |")
    assert "not counted" not in told


def test_nodes_that_no_image_counts_are_told_with_the_images_and_without_any():
    data = report(3)
    for at, nodes in ((0, 4), (2, 2)):
        data["clusters"][at]["imagesUncounted"] = nodes
    sentence = "6 nodes on 2 clusters not counted: pools there hold several images or tell none, see gitops.fleet."
    assert f"<summary>Images of nodes</summary>\n\n{sentence}" in overview_markdown(data)
    data["clusters"][1]["images"] = {"Linux 1.0": 3}
    assert f"| Linux 1.0 | 3 | 1 |\n\n{sentence}" in overview_markdown(data)


def test_columns_without_anything_are_left_out():
    row = {"kind": "rotation", "name": "r", "state": "Done", "over": True, "outcome": "", "target": "", "message": "",
           "progress": "2/2 nodes", "bars": [{"end": None, "expectedEnd": None, "waitsFor": ""}]}  # fmt: skip
    told = overview_markdown({**report(), "runs": [row]})
    assert "| what | run | state | how far |" in told


def test_a_run_that_will_have_failed_by_its_expected_end_says_so():
    bar = {"end": None, "expectedEnd": "2026-03-02T10:00:00Z", "expectedState": "Failed", "waitsFor": ""}
    row = {"kind": "update run", "name": "r", "state": "Running", "over": False, "outcome": "", "target": "1.36.3",
           "message": "", "progress": "1/2", "bars": [bar]}  # fmt: skip
    assert "| 2026-03-02T10:00:00Z, failed |" in overview_markdown({**report(), "runs": [row]})
    row["bars"] = [{**bar, "expectedState": "Completed"}]
    assert "| 2026-03-02T10:00:00Z |" in overview_markdown({**report(), "runs": [row]})
