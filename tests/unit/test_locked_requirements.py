# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What pip installs is what the lists say, file by file: every version is exact, and every file has a hash."""

from __future__ import annotations

import importlib.metadata
import os
import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LISTS = ("requirements", "pulumi/environments/requirements", "requirements-dev", "requirements-docs")
ENVIRONMENTS = [
    {"python_version": version, "python_full_version": f"{version}.1", "platform_machine": machine}
    for version in ("3.11", "3.13")
    for machine in ("x86_64", "aarch64")
]


def written(name: str) -> list[Requirement]:
    """What a ``.in`` file names, with what it includes."""
    found = []
    for line in (ROOT / f"{name}.in").read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            found += written(os.path.normpath(Path(name).parent / line.removeprefix("-r ").removesuffix(".in")))
        elif line and not line.startswith("#"):
            found.append(Requirement(line))
    return found


def locked(name: str) -> list[tuple[Requirement, list[str]]]:
    """Each entry of a ``.txt`` file with its hashes."""
    text = (ROOT / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    entries = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    rows = [" ".join(words).partition(" --hash=") for words in entries]
    return [(Requirement(head), re.split(r" --hash=", tail)) for head, _hash, tail in rows]


def versions(name: str, environment: dict[str, str]) -> dict[str, str]:
    """What is installed there, by name."""
    fits = [one for one, _hashes in locked(name) if one.marker is None or one.marker.evaluate(environment)]
    assert len({canonicalize_name(one.name) for one in fits}) == len(fits)
    return {canonicalize_name(one.name): str(one.specifier) for one in fits}


@pytest.mark.parametrize("name", LISTS)
def test_every_entry_is_one_version_with_hashes(name: str):
    entries = locked(name)
    assert len(entries) > 30
    for one, hashes in entries:
        assert re.fullmatch(r"==[0-9][0-9a-z.+]*", str(one.specifier)) and one.url is None, one
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), one


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda each: "-".join(each.values()))
def test_what_is_named_is_there_in_that_version(name: str, environment: dict[str, str]):
    there = versions(name, environment)
    for one in written(name):
        if one.marker is None or one.marker.evaluate(environment):
            assert there[canonicalize_name(one.name)] == str(one.specifier), "run `make lock`"


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda each: "-".join(each.values()))
def test_the_run_time_is_tested_as_it_is_used(environment: dict[str, str]):
    assert versions("requirements", environment).items() <= versions("requirements-dev", environment).items()


def test_what_runs_here_is_what_is_listed():
    """Everything of the list, and nothing that it needs besides."""
    listed = versions("requirements-dev", {})
    for name, version in listed.items():
        assert f"=={importlib.metadata.version(name)}" == version
    for name in listed:
        for text in importlib.metadata.requires(name) or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in listed, f"{name} needs {needed.name}"


def test_images_with_their_own_ansible_are_in_step():
    """Their lower bounds are not above what is tested here."""
    image = yaml.safe_load((ROOT / "meta" / "execution-environment.yml").read_text(encoding="utf-8"))
    bounds = (ROOT / image["dependencies"]["python"]).read_text(encoding="utf-8").splitlines()
    here = {canonicalize_name(one.name): one for one in written("requirements")}
    for line in bounds:
        if line and not line.startswith("#"):
            bound = Requirement(line)
            version = str(here[canonicalize_name(bound.name)].specifier).removeprefix("==")
            assert bound.specifier.contains(version)


@pytest.mark.parametrize("name", [f"{name}.{end}" for name in LISTS for end in ("in", "txt")])
def test_no_place_is_named_where_packages_come_from(name: str):
    """That is for users and their machines to say."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted-host| @ ", text)
