# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What platforms offer where; D3-29, D3-49, D3-93, D3-111."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.releases import (
    Releases,
    exact_version,
    general_at_each_provider,
    releases,
    version_obstacle,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.node_image import image_order, split_image
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import catalogue, location
from ansible_collections.gitops.fleet.tests.data.manifest_parts import named
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import mutated
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.offered import (
    DAY,
    NOW,
    deprecated,
    ga,
    known,
    offering,
    place,
    preview,
)


def test_d3_29_the_newest_image_of_a_family_in_a_region_and_who_tells_it() -> None:
    found = known(place("a", U=["2021.10.12"]), place("b", U=["2021.10.12", "2021.10.17"], W=["1"]))
    for where, version in (("a", "2021.10.12"), ("b", "2021.10.17")):
        at = found.at("", where)
        newest = at.newest_image("U", NOW) if at else None
        assert newest and newest.version == version
        assert at and at.told_by == "release catalogue public, https://releases.example"


def test_a_place_that_is_not_listed() -> None:
    found = known(place("a", ga("1.30.1")), provider="aks")
    assert found.at("other", "a") is None, "nothing is known of that platform"
    empty = found.at("aks", "b")
    assert empty and not empty.versions and "public" in empty.told_by
    anywhere = known(place("a", ga("1.30.1")), place("*", ga("1.29.1")))
    assert [each.text for each in anywhere.at("", "b").versions] == ["1.29.1"]  # type: ignore[union-attr]


def test_one_place_in_two_catalogues_is_refused() -> None:
    one, other = (read(named(catalogue(location("a")), name=name)).object for name in ("one", "other"))
    with pytest.raises(FleetError) as refused:
        releases([one, other])
    assert refused.value.code == "duplicate-location"
    assert "release catalogue one" in refused.value.message
    assert "ReleaseCatalog/other" in refused.value.where


def test_d3_93_previews_never_count() -> None:
    found = known(place("*", [*ga("1.31.2", "1.32.0-rc.1"), *preview("1.32.0"), *deprecated("1.30.1")]))
    assert [each.text for each in found.general("", NOW)] == ["1.31.2"]
    assert found.newest_minor("", NOW) == (1, 31)
    assert found.support("", NOW) == ((1, 29), (1, 31))
    assert known(place("*", preview("1.32.0"))).support("", NOW) is None


def test_a_version_counts_from_its_day_on() -> None:
    found = known(place("*", ga("1.31.0", availableFrom="2026-08-18T00:00:00Z")))
    assert found.general("", NOW) == ()
    assert [each.text for each in found.general("", NOW + DAY)] == ["1.31.0"]


def test_generally_available_on_each_platform_that_is_described() -> None:
    one = read(named(catalogue(location("*", "1.30.1", "1.30.2"), provider="aks"), name="aks")).object
    other = read(named(catalogue(location("*", "1.30.2", "1.31.0"), provider="local"), name="local")).object
    found = releases([one, other])
    assert [str(each) for each in general_at_each_provider(found, ["aks", "local", "unknown"], NOW)] == ["v1.30.2"]
    assert general_at_each_provider(found, ["unknown"], NOW) == ()


@pytest.mark.parametrize(
    ("wanted", "offered", "there"),
    [
        ("1.30.2", "v1.30.2", True),
        ("v1.30.2", "1.30.2-gke.1234", True),
        ("1.30.2-gke.1", "1.30.2-gke.2", False),
        ("1.30.2", "1.30.2-rc.1", False),
        ("1.30.2-rc.1", "1.30.2-rc.1", True),
        ("1.30", "1.30.9", True),
        ("1.30", "1.31.0", False),
    ],
)
def test_a_vendors_build_is_that_version(wanted: str, offered: str, there: bool) -> None:
    found = version_obstacle(offering(offered).at("", "a"), wanted, "a", NOW)
    assert (found is None) is there


def test_d3_49_the_message_names_version_region_and_source() -> None:
    found = version_obstacle(known(place("r2", ga("1.28.3")), place("r1")).at("", "r1"), "1.28.3", "r1", NOW)
    assert found and found.reason == states.VERSION_NOT_AVAILABLE  # D3-51
    assert found.message == "1.28.3 is not available in r1 (release catalogue public, https://releases.example)"
    assert found.until is None


def test_a_version_that_is_announced_has_an_instant() -> None:
    at = known(place("r1", ga("1.28.3", availableFrom="2026-08-20T00:00:00Z"))).at("", "r1")
    found = version_obstacle(at, "1.28.3", "r1", NOW)
    assert found and found.until == NOW + 3 * DAY
    assert "before 2026-08-20T00:00:00Z" in found.message
    assert version_obstacle(at, "1.28.3", "r1", NOW + timedelta(days=3)) is None
    assert version_obstacle(None, "1.28.3", "r1", NOW) is None, "of an unknown platform nothing is said"


# U27: a minor as target


def test_a_minor_becomes_its_newest_patch() -> None:
    found = known(place("*", [*ga("1.33.1", "1.33.10", "1.33.9", "1.34.0"), *preview("1.33.11")]))
    assert exact_version(found, [""], "1.33", NOW) == "1.33.10"
    assert exact_version(found, [""], "v1.34", NOW) == "1.34.0"
    assert exact_version(found, [""], "1.33.2", NOW) == "1.33.2"
    assert exact_version(Releases(), [""], "1.33", NOW) == "1.33", "as it is where nothing is known"


def test_a_minor_that_is_not_offered_is_refused_with_those_that_are() -> None:
    with pytest.raises(FleetError) as refused:
        exact_version(offering("1.33.1", "1.34.0"), [""], "1.35", NOW)
    assert (refused.value.code, refused.value.hint) == ("no-such-release", "generally available are 1.33, 1.34")


def test_images_in_order() -> None:
    written = ["20348.2582.240716", "2021.9.30", "2021.10.12", "202309.26.0", "202309.6.1"]
    assert sorted(written, key=image_order) == [
        "2021.9.30",
        "2021.10.12",
        "20348.2582.240716",
        "202309.6.1",
        "202309.26.0",
    ]
    assert split_image("AKSWindows-2022-containerd-20348.2582.240716") == (
        "AKSWindows-2022-containerd",
        "20348.2582.240716",
    )
    assert split_image("kwok") == ("kwok", "")


def test_d3_111_withdrawn_and_unreleased_images_are_not_chosen() -> None:
    images = [
        "1.0",
        {"version": "2.0", "status": "withdrawn"},
        {"version": "3.0", "status": "preview"},
        {"version": "4.0", "availableFrom": "2026-08-18T00:00:00Z"},
    ]
    at = known(place("*", U=images)).at("", "")
    assert at and at.newest_image("U", NOW).version == "1.0"  # type: ignore[union-attr]
    assert at.newest_image("U", NOW + DAY).version == "4.0"  # type: ignore[union-attr]
    assert at.newest_image("V", NOW) is None


@pytest.mark.parametrize("seed", range(150))
def test_any_catalogue_that_is_read(seed: int) -> None:
    draw = Random(seed)
    versions = [*ga("1.30.1", "1.31.0-rc.1", "1.29.5+k3s1"), *preview("1.32.0")]
    good = catalogue(place("a", versions, U=["2021.10.12", "x.1"]), place("*", ga("1.28.1")))
    try:
        found = releases([read(mutated(draw, good, draw.randrange(4))).object])
        for where in ("a", "b"):
            at = found.at("", where)
            version_obstacle(at, "1.30", where, NOW)
            if at:
                at.newest_image("U", NOW)
        found.support("", NOW)
        exact_version(found, [""], "1.30", NOW)
    except FleetError as error:
        assert error.problems
