# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Catalogues from lists, members and feeds in files, over what is recorded; everything wrong is refused by name."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.automatic.catalogue import (
    CatalogSources,
    catalogue_rows,
    catalogued,
    delete_catalogue,
    known_releases,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.constraints import StartConstraints
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import (
    UpdateManifests,
    update_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[Records]:
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield found
    found.close()


def member(records: Records, name: str, version: str, provider: str = "own", location: str = "west") -> None:
    spec = {"connection": {"kubeconfig": "/none"}, "provider": provider, "location": location}
    document = {"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec}
    records.create({**document, "status": {"version": version}})


def make(records: Records, write: bool = True, **asked: t.Any) -> bool:
    return catalogued(records, UpdateManifests(), CatalogSources(**{"name": "own", **asked}), NOW, write).changed


def newest(records: Records) -> dict[str, str]:
    (catalogue,) = catalogue_rows(records, ["own"], NOW)
    found: dict[str, str] = catalogue["locations"][0]["newest"]
    return found


def test_from_everything_at_once(records: Records, tmp_path: Path) -> None:
    member(records, "a", "v1.33.2")
    member(records, "b", "v1.34.9", provider="other")
    feed = tmp_path / "feed.yml"
    feed.write_text("- 1.35.4\n- 1.36.0-rc.1\n")
    given = {"versions": ("1.34.8",), "feeds": (str(feed),), "from_members": True, "provider": "own"}
    assert make(records, write=False, **given) and not records.list("ReleaseCatalog")
    assert make(records, **given) and not make(records, **given)
    assert newest(records) == {"1.33": "1.33.2", "1.34": "1.34.8", "1.35": "1.35.4"}
    assert make(records, versions=("1.36.1",), supported_minors=2)
    (catalogue,) = catalogue_rows(records, [], NOW)
    assert catalogue["supported"] == {"oldest": "1.35", "newest": "1.36"} and catalogue["provider"] == "own"
    assert make(records, versions=("1.36.1",), exact=True) and newest(records) == {"1.36": "1.36.1"}
    assert delete_catalogue(records, "own", write=True) and not delete_catalogue(records, "own", write=True)


def test_a_version_that_one_member_claims_is_not_offered_to_all(records: Records) -> None:
    """Else its minor would be the goal of every channel, and all others too far behind it."""
    for name, version in {"a": "v1.34.7", "b": "v1.34.8", "odd": "v1.99.0"}.items():
        member(records, name, version)
    asked = CatalogSources(name="own", provider="own", from_members=True)
    made = catalogued(records, UpdateManifests(), asked, NOW, True)
    assert newest(records) == {"1.34": "1.34.8"}
    assert [(each.code, each.where) for each in made.notes] == [("told-by-one-member", "FleetMember/odd")]


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({"versions": ("{{ lookup }}",)}, "bad-feed", "versions"),
        ({"from_members": True, "provider": "none"}, "no-member", "'none'"),
        ({"from_members": True, "provider": "odd"}, "bad-feed", "from_members"),
        ({"feeds": ("/nowhere.json",)}, "feed-missing", "/nowhere.json"),
        ({}, "nothing-asked", "versions"),
        ({"name": "", "versions": ("1.36.3",)}, "which-catalogue", "name"),
        ({"name": "", "supported_minors": 2}, "which-catalogue", "supported_minors"),
        ({"supported_minors": 2}, "nothing-asked", "versions"),
    ],
)
def test_what_is_wrong_is_named(records: Records, asked: dict[str, t.Any], code: str, words: str) -> None:
    member(records, "odd", "nothing at all", provider="odd")
    with pytest.raises(FleetError) as error:
        make(records, **asked)
    assert error.value.code == code and words in str(error.value)


@pytest.mark.parametrize("text", ["[1, 2", "a: 1\n---\nb: 2\n", "", json.dumps({"schedules": [5]})])
def test_a_feed_that_cannot_be_read(records: Records, tmp_path: Path, text: str) -> None:
    feed = tmp_path / "feed.yml"
    feed.write_text(text)
    with pytest.raises(FleetError):
        make(records, feeds=(str(feed),))
    assert not records.list("ReleaseCatalog")


def test_a_place_has_one_catalogue(records: Records) -> None:
    make(records, versions=("1.36.3",))
    with pytest.raises(FleetError) as error:
        make(records, name="second", versions=("1.36.3",))
    assert error.value.code == "duplicate-location"
    with pytest.raises(FleetError) as missing:
        catalogue_rows(records, ["third"], NOW)
    assert missing.value.code == "no-such-catalogue" and "own" in str(missing.value)


def manifest(**spec: t.Any) -> UpdateManifests:
    places = [{"name": "west", "versions": [{"version": "1.36.3"}]}]
    whole = {"provider": "own", "locations": places, **spec}
    document = {"apiVersion": FLEET_API, "kind": "ReleaseCatalog", "metadata": {"name": "m"}, "spec": whole}
    return update_manifests([], [document], strict=False)


def test_what_an_option_says_wins_over_the_manifest_without_versions_too(records: Records) -> None:
    asked = CatalogSources(supported_minors=2, provider="mine")
    assert catalogued(records, manifest(supportedMinors=4), asked, NOW, write=True).changed
    (found,) = catalogue_rows(records, [], NOW)
    assert (found["provider"], found["supported"]) == ("mine", {"oldest": "1.35", "newest": "1.36"})
    assert [each["location"] for each in found["locations"]] == ["west"]
    assert make(records, name="m", supported_minors=1) and not make(records, name="m", supported_minors=1)
    (found,) = catalogue_rows(records, [], NOW)
    assert found["supported"]["oldest"] == "1.36" and found["locations"][0]["versions"] == 1


def test_an_option_that_nothing_uses_is_said(records: Records) -> None:
    asked = CatalogSources(name="other", location="east", exact=True)
    notes = catalogued(records, manifest(), asked, NOW, write=True).notes
    assert [(each.code, each.where) for each in notes] == [("not-used", at) for at in ("name", "location", "exact")]
    assert catalogued(records, manifest(), CatalogSources(name="m"), NOW, write=True).notes == ()


def test_manifests_are_recorded_as_they_are(records: Records) -> None:
    given = manifest()
    assert catalogued(records, given, CatalogSources(), NOW, write=True).changed
    more = CatalogSources(location="west", versions=("1.35.4",))
    assert [each.name for each in catalogued(records, given, more, NOW, write=True).catalogues] == ["m"]
    (found,) = catalogue_rows(records, [], NOW)
    assert found["locations"][0]["newest"] == {"1.35": "1.35.4", "1.36": "1.36.3"}


def test_a_damaged_catalogue_is_mended_by_giving_it_again(records: Records) -> None:
    """What is given stands for what is recorded under its name, which need not be readable; another one has to be."""
    locations = [{"name": "*", "versions": [{"version": "1.34.8"}]}]
    catalogue = {"apiVersion": FLEET_API, "kind": "ReleaseCatalog", "metadata": {"name": "own"}}
    given = update_manifests([], [{**catalogue, "spec": {"locations": locations}}], strict=False)
    damaged = {**catalogue, "spec": {"locations": [{"name": "*", "versions": [{"version": "nonsense"}]}]}}
    records.create(damaged)
    assert known_releases(records, given).places == StartConstraints(records, "Full", "1.34.8", given).releases().places
    assert catalogued(records, given, CatalogSources(), NOW, write=True).changed
    assert newest(records) == {"1.34": "1.34.8"}
    records.replace({**(records.get("ReleaseCatalog", "own") or {}), "spec": damaged["spec"]})
    with pytest.raises(FleetError, match="nonsense"):
        make(records, versions=("1.34.9",))
    assert make(records, versions=("1.34.9",), exact=True) and newest(records) == {"1.34": "1.34.9"}
    records.create({**damaged, "metadata": {"name": "other"}})
    with pytest.raises(FleetError, match="ReleaseCatalog/other"):
        known_releases(records, given)
