# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Versions of Kubernetes."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.kube_version import KubeVersion

parse = KubeVersion.parse


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("v1.34.2", (1, 34, 2, "", "")),
        ("1.34", (1, 34, 0, "", "")),
        ("v1.33.5-gke.1234", (1, 33, 5, "gke.1234", "")),
        ("v1.30.4+k3s1", (1, 30, 4, "", "k3s1")),
        ("v1.29.3-eks-adc7111", (1, 29, 3, "eks-adc7111", "")),
        ("v1.36.0-rc.1", (1, 36, 0, "rc.1", "")),
    ],
)
def test_versions_of_servers_and_vendors_are_read(text: str, parts: tuple[int, int, int, str, str]) -> None:
    version = parse(text)
    assert (version.major, version.minor, version.patch, version.pre, version.build) == parts


@pytest.mark.parametrize("text", ["", "1", "v1.x", "1.34.2.1", "1.034", "latest", "v1.34.2 ", "1.34-"])
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes version"):
        parse(text)


def test_prereleases_come_before_and_vendor_builds_after_their_release() -> None:
    ordered = [
        "v1.33.5",
        "v1.33.5-gke.999",
        "v1.33.5-gke.1234",
        "v1.34.0-alpha.2",
        "v1.34.0-alpha.10",
        "v1.34.0-beta.0",
        "v1.34.0-rc.1",
        "v1.34.0",
        "v1.34.0+k3s1",
        "v1.34.0+k3s2",
        "v1.34.1",
        "v1.100.0",
    ]
    assert [str(version) for version in sorted(map(parse, ordered[::-1]))] == ordered


def test_minors_are_counted_with_their_direction() -> None:
    assert parse("1.33").minor_distance(parse("v1.35.4")) == 2
    assert parse("v1.35.4").minor_distance(parse("1.34")) == -1
    with pytest.raises(ValueError, match="major"):
        parse("1.33").minor_distance(parse("2.0"))


def test_suffixes_of_very_many_digits_are_compared_too() -> None:
    """Python reads no number of more than 4,300 digits."""
    ordered = [f"v1.34.0-gke.{digits}" for digits in ("9", "1" * 5000, "2" + "1" * 4999, "0" + "3" * 5000)]
    assert [str(version) for version in sorted(map(parse, ordered[::-1]))] == ordered
