# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Options of local clusters that are no good. What comes of good ones is shown by ``integration/local``."""

from __future__ import annotations

import json
import shlex
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments import local, made_for
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.local import (
    LocalFleet,
    local_clusters,
    port_range,
)
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import PortRange


def test_a_range_of_ports_is_two_of_them():
    assert port_range("21000-21999") == PortRange(21000, 21999)


@pytest.mark.parametrize(
    "text", ["21000", "21999-21000", "80-90", "21000-99999", "²1000-21999", f"1-{'9' * 5000}", "a-b"]
)
def test_what_is_no_range_of_ports_is_refused(text: str):
    with pytest.raises(FleetError) as refused:
        port_range(text)
    assert refused.value.code == "bad-port-range"


def test_a_cluster_that_is_named_twice_is_refused():
    with pytest.raises(FleetError) as refused:
        local_clusters({"root": None, "clusters": [{"name": "a"}, {"name": "a"}]}, True, lambda _text: None)
    assert refused.value.code == "duplicate-cluster"


def test_without_a_name_and_without_a_fleet_nothing_is_asked_for():
    with pytest.raises(FleetError) as refused:
        local_clusters({"root": None, "state": "absent", "clusters": None}, True, lambda _text: None)
    assert refused.value.code == "nothing-asked"


def ended(root: Path, *named: str, check: bool = False, fleet: str = "demo") -> tuple[LocalFleet, list[str]]:
    """What becomes of a ``fleet`` that ends with the ``named`` clusters, and what is said."""
    said: list[str] = []
    clusters = [{"name": name} for name in named]
    options = {"root": str(root), "state": "absent", "fleet": fleet, "clusters": clusters}
    return local_clusters(options, check, said.append), said


def test_a_fleet_ends_with_all_that_was_made_for_it_and_what_is_named_and_nothing_else(tmp_path: Path):
    """Half made clusters too; a mark is there before anything else is."""
    for name in ("hub", "member-1", "member-2"):
        made_for.mark(tmp_path, name, "demo")
    for name in ("member-3", "named", "north"):
        (tmp_path / name).mkdir()
    made_for.mark(tmp_path, "south", "other")
    would, said = ended(tmp_path, check=True)
    assert said[0] == "would be removed: hub, member-1, member-2" and (tmp_path / "hub").is_dir()
    assert [each.name for each in would.outcomes] == ["hub", "member-1", "member-2"]
    gone, said = ended(tmp_path, "named")
    assert said == [
        "removed: named, hub, member-1, member-2",
        "left as they are, for others made them: member-3, north, south",
        "to take them away too: name them with clusters",
    ]
    assert gone.others == ("member-3", "north", "south")
    assert sorted(each.name for each in tmp_path.iterdir() if not each.name.startswith(".") and each.is_dir()) == [
        *gone.others
    ]
    assert ended(tmp_path)[1][0] == "removed: nothing"


@pytest.mark.parametrize("check", [True, False])
def test_the_kubeconfig_of_all_is_named_though_the_first_cluster_is_not_there(tmp_path: Path, check: bool):
    """Not made yet, as in check mode, or gone: ``export KUBECONFIG=`` would have nothing behind it."""
    found, _said = ended(tmp_path, "hub", check=check)
    assert found.kubeconfig == str(tmp_path.resolve() / "kubeconfig")
    assert ended(tmp_path, check=check)[0].kubeconfig == "", "nothing was asked for"


def test_a_cluster_is_claimed_once_and_one_that_does_not_tell_whose_it_is_becomes_the_claimants(tmp_path: Path):
    (tmp_path / "unmarked").mkdir(0o700)
    for name in ("new", "unmarked"):
        made_for.claim(tmp_path, name, "stack dev in /a")
        made_for.claim(tmp_path, name, "stack dev in /a")
        with pytest.raises(FleetError) as refused:
            made_for.claim(tmp_path, name, "stack dev in /b")
        assert refused.value.code == "cluster-of-others" and "made for stack dev in /a" in refused.value.message
        assert f"-e clusters={name} -e local_root={tmp_path}" in refused.value.hint
        made_for.claim(tmp_path, name, "stack dev in /b", before="stack dev in /a")
        with pytest.raises(FleetError):
            made_for.refuse_foreign(tmp_path, name, ("stack dev in /a",))
    made_for.refuse_foreign(tmp_path, "absent", ())
    (tmp_path / "damaged" / "fleet").mkdir(parents=True)
    with pytest.raises(FleetError, match="its mark cannot be read"):
        made_for.claim(tmp_path, "damaged", "stack dev in /a")


def test_the_command_that_removes_the_cluster_of_others_is_quoted_whatever_its_folder_is_called(tmp_path: Path):
    """The folder is a setting of a stack, which stands in a project of several people."""
    root = tmp_path / "it's $(id); here"
    made_for.claim(root, "hub", "stack dev in /a")
    with pytest.raises(FleetError) as refused:
        made_for.refuse_foreign(root, "hub", ())
    command = shlex.split(refused.value.hint.partition("ansible-playbook ")[2])
    assert command[:3] == ["gitops.fleet.local_down", "-e", "clusters=hub"]
    assert json.loads(command[4]) == {"local_root": str(root)}


def test_of_the_fleet_of_a_playbook_the_command_is_told_and_no_word_beside_it(tmp_path: Path):
    made_for.mark(tmp_path, "south", "other")
    assert ended(tmp_path, fleet="local_up")[1] == [
        "removed: nothing",
        "left as they are, for others made them: south",
    ]


def test_a_removal_of_a_fleet_that_was_cut_off_is_finished(tmp_path: Path):
    """Unless somebody has made a cluster of that name since."""
    made_for.mark(tmp_path, "hub", "demo")
    (tmp_path / "hub").rename(tmp_path / ".hub.removed.1")
    made_for.mark(tmp_path, "south", "demo")
    (tmp_path / "south").rename(tmp_path / ".south.removed.1")
    made_for.mark(tmp_path, "south", "other")
    assert ended(tmp_path, check=True)[1][0] == "would be removed: hub"
    assert ended(tmp_path)[1][0] == "removed: hub"
    assert not (tmp_path / ".hub.removed.1").exists() and (tmp_path / "south").is_dir()


def test_what_others_made_is_not_taken_over(tmp_path: Path):
    """Neither what is another fleet's nor what is nobody's; a folder with nothing in it is free."""
    (tmp_path / "hub" / "pki").mkdir(parents=True)
    made_for.mark(tmp_path, "member-1", "other")
    (tmp_path / "member-2").mkdir()
    made_for.mark(tmp_path, "member-3", "demo")
    clusters = [{"name": name} for name in ("hub", "member-1", "member-2", "member-3", "member-4")]
    with pytest.raises(FleetError) as refused:
        local_clusters({"root": str(tmp_path), "state": "present", "fleet": "demo", "clusters": clusters}, False, print)
    assert [(each.code, each.where) for each in refused.value.problems] == [
        ("cluster-of-others", "hub"),
        ("cluster-of-others", "member-1"),
    ]
    assert not (tmp_path / "member-4").exists()


def test_what_others_made_while_binaries_were_built_is_not_taken_over_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Two runners at once in one folder; the nodes that the other has asked for would go."""
    options = {"root": str(tmp_path), "state": "present", "fleet": "demo", "clusters": [{"name": "hub"}]}

    def built(*_given: t.Any) -> dict[str, t.Any]:
        made_for.mark(tmp_path, "hub", "other")
        return {"hub": lambda: pytest.fail("it is changed")}

    monkeypatch.setattr(local, "_work", built)
    with pytest.raises(FleetError) as refused:
        local_clusters(options, False, print)
    assert (refused.value.code, made_for.clusters_of(tmp_path, "other")) == ("cluster-of-others", ("hub",))
