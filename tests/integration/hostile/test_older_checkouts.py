# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A checkout of which it cannot be told whether it is older than what is placed."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from small_fleet import Fleet


class Origin:
    """A repository with the placement's files, and clones of it that CI would make."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.folder = fleet.folder / "origin"
        self.folder.mkdir()
        self.environ = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(fleet.folder)}
        self.git(self.folder, "init", "-q", "-b", "main")
        for name, value in (("user.name", "nobody"), ("user.email", "nobody@example.org")):
            self.git(self.folder, "config", name, value)

    def git(self, folder: Path, *arguments: str) -> str:
        command = ["git", "-C", str(folder), "-c", "protocol.file.allow=always", *arguments]
        done = subprocess.run(command, env=self.environ, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, color: str) -> str:
        self.fleet.resources(self.fleet.configmap(color=color))
        self.fleet.place()
        for name in ("placements", "resources"):
            (self.folder / name).mkdir(exist_ok=True)
            for file in (self.fleet.folder / name).iterdir():
                (self.folder / name / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
        self.git(self.folder, "add", ".")
        self.git(self.folder, "commit", "-q", "-m", color)
        return self.git(self.folder, "rev-parse", "HEAD")

    def clone(self, *flags: str) -> Path:
        target = self.fleet.folder / "clone"
        self.git(self.fleet.folder, "clone", "-q", *flags, f"file://{self.folder}", str(target))
        return target


def applied(fleet: Fleet, folder: Path, **changes: object) -> object:
    paths = {"src": (str(folder / "placements"),), "resources": (str(folder / "resources"),)}
    return fleet.apply(**{**paths, **changes})


def color(fleet: Fleet) -> object:
    return fleet.servers["m1"].data(fleet.namespaced("configmaps", "settings"))


def test_a_shallow_clone_stops_and_the_command_that_it_names_helps(fleet: Fleet) -> None:
    fleet.join("m1")
    origin = Origin(fleet)
    origin.commit("blue")
    folder = origin.clone("--depth=1")
    applied(fleet, folder)
    for each in ("green", "red"):
        origin.commit(each)
    origin.git(folder, "fetch", "-q", "--depth=1")
    origin.git(folder, "reset", "-q", "--hard", "origin/main")
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        applied(fleet, folder)
    (problem,) = refused.value.problems
    assert problem.code == "brake-allow-older" and "allow_older: true" in problem.hint and written == []
    command = problem.message.partition("; run ")[2]
    assert command == f"git -C {folder / 'placements'} fetch --unshallow"
    subprocess.run(shlex.split(command), env=origin.environ, check=True, capture_output=True)
    applied(fleet, folder)
    assert color(fleet) == {"color": "red"}


def test_it_may_be_said_that_it_is_meant_and_that_is_part_of_the_digest(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1")
    origin = Origin(fleet)
    origin.commit("blue")
    folder = origin.clone("--depth=1")
    applied(fleet, folder)
    origin.commit("red")
    origin.git(folder, "fetch", "-q", "--depth=1")
    origin.git(folder, "reset", "-q", "--hard", "origin/main")
    paths = {"src": (str(folder / "placements"),), "resources": (str(folder / "resources"),)}
    meant = BrakeLimits(allow_older=True)
    assert fleet.look(**paths).plan.digest != fleet.look(**paths, limits=meant).plan.digest
    applied(fleet, folder, limits=meant)
    assert color(fleet) == {"color": "red"}


def test_a_commit_that_this_clone_has_never_seen_stops_too(file_fleet: Fleet) -> None:
    """History was rewritten: what was applied last is on no branch any more."""
    fleet = file_fleet
    fleet.join("m1")
    origin = Origin(fleet)
    origin.commit("blue")
    last = origin.commit("red")
    applied(fleet, origin.folder)
    origin.git(origin.folder, "reset", "-q", "--hard", "HEAD~1")
    origin.commit("green")
    with pytest.raises(FleetError) as refused:
        applied(fleet, origin.clone("--no-local"))
    assert refused.value.code == "brake-allow-older" and f"fetch origin {last}" in str(refused.value)
    assert color(fleet) == {"color": "red"}


def test_files_without_git_are_applied_and_told(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1")
    origin = Origin(fleet)
    origin.commit("blue")
    applied(fleet, origin.folder)
    (origin.folder / ".git").rename(fleet.folder / "hidden")
    report = fleet.look(src=(str(origin.folder / "placements"),), resources=(str(origin.folder / "resources"),))
    found = [each for each in report.plan.plans[0].findings if each.code == "revision-unknown"]
    assert len(found) == 1 and "may be older" in found[0].message


def test_a_checkout_after_files_without_git_stops_as_it_may_be_older(file_fleet: Fleet) -> None:
    """Even the one that was applied before them: it would take back what they brought."""
    fleet = file_fleet
    fleet.join("m1")
    origin = Origin(fleet)
    origin.commit("blue")
    applied(fleet, origin.folder)
    fleet.resources(fleet.configmap(color="red"))
    assert fleet.apply().plan.plans[0].decides_change and color(fleet) == {"color": "red"}
    with pytest.raises(FleetError) as refused:
        applied(fleet, origin.folder)
    assert refused.value.code == "brake-allow-older" and "no known revision" in str(refused.value)
    assert color(fleet) == {"color": "red"}
    applied(fleet, origin.folder, limits=BrakeLimits(allow_older=True))
    assert (
        color(fleet) == {"color": "blue"}
        and not fleet.look(
            src=(str(origin.folder / "placements"),), resources=(str(origin.folder / "resources"),)
        ).changed
    )
