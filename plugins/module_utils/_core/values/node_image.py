# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Names of node images: a family and a version, which versions are newer than others, and the oldest of several
images."""

from __future__ import annotations

import typing as t

from .kube_version import pieces_in_order

ImageOrder = tuple[tuple[int, int, str], ...]


def image_order(version: str) -> ImageOrder:
    """A sort key for versions, or full names, of images of one family, newer ones later: piece by piece as of
    ``pieces_in_order``, numbers behind words."""
    return tuple(pieces_in_order(version, number=1, word=0))


def split_image(name: str) -> tuple[str, str]:
    """Family and version of a full name such as ``AKSUbuntu-2204gen2containerd-202309.26.0``, parted at its last dash;
    without one, the version is empty."""
    family, dash, version = name.rpartition("-")
    return (family, version) if dash else (name, "")


def oldest_image(images: t.Iterable[str]) -> str:
    """The oldest of versions of one family of images, any of equally old ones; a single image itself. Empty for none,
    several families, or one of several without a version."""
    found = set(images)
    if len(found) == 1:
        return found.pop()
    named = {name: split_image(name) for name in found}
    if not named or len({family for family, _version in named.values()}) > 1 or not all(v for _f, v in named.values()):
        return ""
    return min(named, key=lambda name: image_order(named[name][1]))
