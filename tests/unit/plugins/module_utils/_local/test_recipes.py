# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recipes: the key covers everything that determines a binary; stamps tell the truth."""

from __future__ import annotations

import dataclasses
import shutil

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local.recipes import (
    FILES,
    RECIPES,
    cache_key,
    kubernetes_recipe,
    matches,
    recipe,
)

GO = {"GOVERSION": "go1.26.8", "GOOS": "linux", "GOARCH": "amd64"}
KWOK = recipe("kwok")


def test_every_recipe_has_its_module_files_and_they_pin_its_version():
    for one in (part for each in RECIPES for part in each.parts):
        pinned = (FILES / one.family / "go.mod").read_text()
        assert (one.module, f"v{one.version}") in {
            tuple(line.removeprefix("require ").split()[:2]) for line in pinned.splitlines()
        }
        assert (FILES / one.family / "go.sum").is_file()
        for package in one.programs.values():
            assert package in pinned


def test_the_same_inputs_give_the_same_key():
    assert cache_key(KWOK, GO) == cache_key(dataclasses.replace(KWOK), dict(reversed(GO.items())))


@pytest.mark.parametrize(
    "change",
    [
        {"version": "0.8.1"},
        {"ldflags": ("-s",)},
        {"module": "sigs.k8s.io/other"},
        {"programs": {"kwok": "sigs.k8s.io/kwok/cmd/other"}},
        {"shipped": {}},
        {"tags": ("other",)},
        {"scripts": {"run": ("sigs.k8s.io/kwok", "hack/run")}},
        {"beside": (recipe("etcd"),)},
        {"sources": ("go.mod",)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_recipe_gives_another_key(change):
    assert cache_key(dataclasses.replace(KWOK, **change), GO) != cache_key(KWOK, GO)


@pytest.mark.parametrize("fact", sorted(GO))
def test_another_compiler_or_target_gives_another_key(fact):
    assert cache_key(KWOK, {**GO, fact: "other"}) != cache_key(KWOK, GO)


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go"])
def test_a_changed_module_file_gives_another_key(name, tmp_path):
    karpenter = recipe("karpenter")
    shutil.copytree(FILES / "karpenter", tmp_path / "karpenter")
    assert cache_key(karpenter, GO, tmp_path) == cache_key(karpenter, GO)
    with (tmp_path / "karpenter" / name).open("a") as file:
        file.write("// other\n")
    assert cache_key(karpenter, GO, tmp_path) != cache_key(karpenter, GO)


def test_the_version_is_stamped_into_both_packages_that_carry_one():
    flags = kubernetes_recipe("1.35").ldflags
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        assert f"-X={package}.gitVersion=v1.35.4" in flags
        assert f"-X={package}.gitMinor=35" in flags
        # Not known from a Go module, so not made up.
        assert f"-X={package}.gitCommit=" in flags and f"-X={package}.buildDate=" in flags


@pytest.mark.parametrize(
    ("wanted", "version", "fits"),
    [
        ("1.36", "1.36.3", True),
        ("v1.36", "1.36.3", True),
        ("1.36.3", "1.36.3", True),
        ("1.36.1", "1.36.3", False),
        ("1.36.0", "1.36.3", False),
        ("1.35", "1.36.3", False),
        ("1.36-alpha", "1.36.3", False),
        ("1.36+build", "1.36.3", False),
        ("1.36-alpha", "1.36.0-alpha", True),
    ],
)
def test_a_minor_leaves_the_patch_level_open(wanted, version, fits):
    assert matches(wanted, version) is fits


def test_a_version_without_a_recipe_names_those_that_have_one():
    with pytest.raises(FleetError) as refused:
        kubernetes_recipe("1.20")
    assert refused.value.code == "unknown-version"
    assert "1.36.3" in refused.value.hint and "1.35.4" in refused.value.hint


def test_keys_of_earlier_recipes_stay():
    """What was built before a recipe could have tags, scripts and companions is not built again for that."""
    inputs = [dataclasses.replace(KWOK, **change) for change in ({}, {"tags": (), "scripts": {}, "beside": ()})]
    assert len({cache_key(one, GO) for one in inputs}) == 1
    assert recipe("pulumi").names == ("pulumi", "pulumi-language-python")
