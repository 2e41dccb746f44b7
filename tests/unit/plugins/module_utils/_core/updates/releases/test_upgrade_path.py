# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A cluster goes up one minor at a time, never back, and only to releases that there are."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.upgrade_path import upgrade_path

OFFERED = ("v1.32.9", "v1.33.5", "v1.33.4", "v1.34.0-rc.1", "v1.34.2", "v1.35.0-alpha.1")


@pytest.mark.parametrize(
    ("version", "target", "releases", "path"),
    [
        ("v1.33.1", "v1.33.5", (), ("v1.33.5",)),
        ("v1.33.1", "v1.34.2", (), ("v1.34.2",)),
        ("1.31.4", "1.34.2", (), ("1.32", "1.33", "1.34.2")),
        ("v1.31.4", "v1.34", OFFERED, ("v1.32.9", "v1.33.5", "v1.34.2")),
        ("1.31.4", "1.34.2", OFFERED, ("1.32.9", "1.33.5", "1.34.2")),
        ("v1.34.2", "v1.34.2", (), ()),
        ("v1.34.2", "v1.34", (), ()),
        ("v1.34.2", "v1.33.9", (), ()),
        ("v1.33.5", "v1.33.5-gke.12", (), ("v1.33.5-gke.12",)),
    ],
)
def test_the_versions_on_the_way(version, target, releases, path):
    assert upgrade_path(version, target, releases) == path


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (("latest", "newest", ("one",)), ["invalid-version"] * 3),
        ((1.34, None), ["invalid-version"] * 2),
        (("v1.33.1", "v2.0.0"), ["other-major"]),
        (("v1.30.1", "v1.34.2", OFFERED), ["no-such-release"]),
        (("v1.33.1", "v1.35", OFFERED), ["no-such-release"]),
    ],
)
def test_what_cannot_be_told_is_refused_in_words(arguments, codes):
    with pytest.raises(FleetError) as caught:
        upgrade_path(*arguments)
    assert [each.code for each in caught.value.problems] == codes
