# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Published lists of versions in the forms of their publishers."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.release_catalog import (
    CatalogLocation,
    KubernetesRelease,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.feeds import (
    members_not_believed,
    releases_without_dates,
    versions_in,
    with_versions,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SCHEDULE = {
    "schedules": [
        {
            "release": "1.35",
            "endOfLifeDate": "2026-12-28",
            "next": {"release": "1.35.3", "targetDate": "2026-04-14"},
            "previousPatches": [
                {"release": "1.35.2", "targetDate": "2026-03-10"},
                {"release": "1.35.0", "targetDate": "2025-12-17"},
            ],
        },
        {"release": "1.31", "endOfLifeDate": "2025-10-28", "previousPatches": [{"release": "1.31.9"}]},
    ]
}
END_OF_LIFE = [
    {"cycle": "1.35", "latest": "1.35.2", "latestReleaseDate": "2026-02-10", "eol": "2026-12-28"},
    {"cycle": "1.30", "latest": "1.30.14", "latestReleaseDate": "2025-06-17", "eol": "2025-06-28"},
    {"cycle": "1.29", "latest": "1.29.14", "eol": True},
]
AKS = {
    "values": [
        {"version": "1.34", "isPreview": None, "patchVersions": {"1.34.2": {}, "1.34.1": {"upgrades": ["1.34.2"]}}},
        {"version": "1.35", "isPreview": True, "patchVersions": {"1.35.0": {}}},
    ]
}
GKE = {"validMasterVersions": ["1.34.1-gke.200", "1.33.5-gke.100"], "channels": []}
EKS = {
    "clusterVersions": [
        {"clusterVersion": "1.34", "kubernetesPatchVersion": "1.34.1", "versionStatus": "STANDARD_SUPPORT"},
        {"clusterVersion": "1.30", "status": "extended-support"},
    ]
}


def told(feed: t.Any) -> list[tuple[str, str]]:
    return [(each.version, each.status) for each in versions_in(feed, "feed", NOW)]


@pytest.mark.parametrize(
    ("feed", "wanted"),
    [
        ("v1.36.3\nv1.35.4", [("1.35.4", "ga"), ("1.36.3", "ga")]),
        (["1.36.0-rc.1", "1.35.4"], [("1.35.4", "ga"), ("1.36.0-rc.1", "preview")]),
        ("1.30 v1.31", [("1.30.0", "ga"), ("1.31.0", "ga")]),
        (["v1.30", "1.30.1"], [("1.30.0", "ga"), ("1.30.1", "ga")]),
        (SCHEDULE, [("1.31.9", "deprecated"), ("1.35.0", "ga"), ("1.35.2", "ga")]),
        (END_OF_LIFE, [("1.29.14", "deprecated"), ("1.30.14", "deprecated"), ("1.35.2", "ga")]),
        (AKS, [("1.34.1", "ga"), ("1.34.2", "ga"), ("1.35.0", "preview")]),
        (GKE, [("1.33.5-gke.100", "ga"), ("1.34.1-gke.200", "ga")]),
        ({"clusterVersions": [{"kubernetesPatchVersion": "1.34"}]}, [("1.34.0", "deprecated")]),
        (EKS, [("1.30.0", "deprecated"), ("1.34.1", "ga")]),
    ],
)
def test_each_form(feed: t.Any, wanted: list[tuple[str, str]]) -> None:
    assert told(feed) == wanted


def test_a_day_to_come_is_kept() -> None:
    (_old, _first, coming) = versions_in(SCHEDULE, "feed", NOW)
    assert coming.available_from == datetime(2026, 3, 10, tzinfo=UTC)


@pytest.mark.parametrize("feed", [None, 5, {}, [], [5], {"schedules": "x"}, {"values": {}}])
def test_what_is_no_feed_is_refused(feed: t.Any) -> None:
    with pytest.raises(FleetError) as error:
        versions_in(feed, "versions.json", NOW)
    assert error.value.code == "unknown-feed" and "endoflife.date" in str(error.value)


@pytest.mark.parametrize(
    "feed",
    [
        "none such",
        ["x"],
        [{"cycle": "1.35"}],
        [{"latest": "1.35.1", "latestReleaseDate": "soon"}],
        {"schedules": ["x"]},
        {"schedules": [{"previousPatches": [{}]}]},
        {"values": [{"version": "1.34"}]},
        {"clusterVersions": [5]},
        {"values": ["1.30"]},
        [{"latest": 1.30}],
        {"schedules": [{"previousPatches": [{"release": 1.30}]}]},
        {"values": [{"patchVersions": {1.30: {}}}]},
        {"validMasterVersions": [1.30]},
        {"clusterVersions": [{"clusterVersion": 1.30}]},
    ],
)
def test_what_cannot_be_read_in_it_is_refused(feed: t.Any) -> None:
    with pytest.raises(FleetError) as error:
        versions_in(feed, "versions.json", NOW)
    assert error.value.code == "bad-feed" and "versions.json" in str(error.value)
    assert "object has no attribute" not in str(error.value)


@pytest.mark.parametrize(
    "feed",
    [
        [{"latest": "1.30"}],
        [{"latest": "1.34-eks-10"}],
        {"values": [{"patchVersions": {"1.30": {}}}]},
        {"validMasterVersions": ["1.30"]},
    ],
)
def test_where_patches_are_listed_a_version_without_its_patch_is_refused(feed: t.Any) -> None:
    """A minor alone is the newest patch there, or what a platform makes of it, and not patch 0."""
    with pytest.raises(FleetError, match="not a full version") as error:
        versions_in(feed, "versions.json", NOW)
    assert (error.value.code, error.value.where) == ("bad-feed", "versions.json")


def test_a_number_is_no_version() -> None:
    """YAML reads 1.30 as 1.3, which is another minor."""
    with pytest.raises(FleetError, match="a version in quotes is wanted"):
        versions_in([{"latest": 1.30}], "versions.yml", NOW)


def test_versions_that_were_known_stay() -> None:
    before = (
        CatalogLocation(name="*", versions=releases_without_dates(["1.34.1", "1.35.0"])),
        CatalogLocation(name="west"),
    )
    gone = KubernetesRelease(version="1.34.1", status="deprecated")
    (everywhere, west) = with_versions(before, "*", [gone, *releases_without_dates(["1.36.0"])], exact=False)
    assert [(each.version, each.status) for each in everywhere.versions] == [
        ("1.34.1", "deprecated"),
        ("1.35.0", "ga"),
        ("1.36.0", "ga"),
    ]
    assert west is before[1]
    (only, _west) = with_versions(before, "*", releases_without_dates(["1.36.0"]), exact=True)
    assert [each.version for each in only.versions] == ["1.36.0"]
    assert [each.name for each in with_versions(before, "east", [], exact=False)] == ["*", "west", "east"]


@pytest.mark.parametrize(
    ("reported", "told", "alone"),
    [
        ({"a": "v1.34.7", "canary": "v1.35.4"}, [], ()),
        ({"a": "v1.34.7", "b": "v1.34.8", "odd": "v1.99.0"}, [], ("odd",)),
        ({"a": "v1.34.7", "b": "v1.36.0", "c": "v1.36.1"}, [], ()),
        ({"a": "v1.34.7", "odd": "v1.99.0", "odder": "v2.0.0"}, [], ("odder", "odd")),
        ({"odd": "v1.0.0", "a": "v1.34.7", "b": "v1.35.4"}, [], ()),
        ({"a": "v1.34.7", "b": "v1.35.0", "c": "v1.36.0"}, [], ()),
        ({"a": "v1.34.7", "b": "v1.36.0"}, ["1.35.4"], ()),
        ({"only": "v1.36.0"}, [], ()),
        ({"only": "v1.99.0"}, ["1.36.0"], ("only",)),
    ],
)
def test_a_minor_far_above_all_others_takes_more_than_one_member(
    reported: dict[str, str], told: list[str], alone: tuple[str, ...]
) -> None:
    """A member that is upgraded by hand first is one minor ahead; who claims more would be the goal of all."""
    assert members_not_believed(reported, releases_without_dates(told)) == alone
