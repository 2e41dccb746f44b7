# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Versions of Kubernetes as servers and vendors write them, such as ``v1.33.5-gke.1234`` and ``v1.30.4+k3s1``: read,
ordered piece by piece, minors counted."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from functools import total_ordering

NUMBER = r"(0|[1-9][0-9]{0,8})"
_VERSION = re.compile(
    rf"v?(?P<major>{NUMBER})\.(?P<minor>{NUMBER})(?:\.(?P<patch>{NUMBER}))?"
    r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+(?P<build>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)
_PIECES = re.compile(r"[0-9]+|[A-Za-z]+")
_BEFORE_RELEASE = ("alpha", "beta", "rc")

_Rank = tuple[int, tuple[tuple[int, int, str], ...]]


@total_ordering
@dataclass(frozen=True)
class KubeVersion:
    """One version. ``pre`` is its suffix after ``-``, ``build`` that after ``+``; a missing patch is 0, so that
    ``v1.34`` equals ``v1.34.0``.

    Order: alpha, beta and rc come before their release, as Kubernetes publishes them. Any other suffix is a vendor's
    build *of* the release (``-gke.1234``, ``+k3s1``) and comes after it, so that an upgrade from ``v1.33.5`` to
    ``v1.33.5-gke.1234`` is no downgrade, as it would be in Semantic Versioning.
    """

    major: int
    minor: int
    patch: int = 0
    pre: str = ""
    build: str = ""

    @classmethod
    def parse(cls, text: str) -> KubeVersion:
        """Reads a version with or without ``v``, the patch and suffixes; ValueError, which names the text, for anything
        else, also for numbers of more than nine digits."""
        found = _VERSION.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not a Kubernetes version such as v1.34.2")
        return cls(
            int(found["major"]), int(found["minor"]), int(found["patch"] or 0), found["pre"] or "", found["build"] or ""
        )

    @property
    def is_prerelease(self) -> bool:
        """Whether ``pre`` begins with alpha, beta or rc; a vendor's suffix (``-gke.1234``) does not."""
        return self.pre.startswith(_BEFORE_RELEASE)

    def minor_distance(self, other: KubeVersion) -> int:
        """Minors from this version up to ``other``, negative if that has a lower one; patches and suffixes do not
        count. ValueError across majors."""
        if self.major != other.major:
            raise ValueError(f"{self} and {other} differ in the major version")
        return other.minor - self.minor

    def __str__(self) -> str:
        text = f"v{self.major}.{self.minor}.{self.patch}"
        return text + (f"-{self.pre}" if self.pre else "") + (f"+{self.build}" if self.build else "")

    def __lt__(self, other: KubeVersion) -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[int, int, int, _Rank, _Rank, str, str]:
        """What the order goes by; the texts at the end make it differ wherever versions do."""
        return (self.major, self.minor, self.patch, _rank(self.pre), _rank(self.build), self.pre, self.build)


def _rank(suffix: str) -> _Rank:
    """Before the release (-1), the release itself (0), after it (1); then its numbers and words piece by piece, numbers
    by size and before words."""
    place = 0 if not suffix else -1 if suffix.startswith(_BEFORE_RELEASE) else 1
    return place, tuple(pieces_in_order(suffix, number=0, word=1))


def pieces_in_order(text: str, number: int, word: int) -> t.Iterator[tuple[int, int, str]]:
    """The numbers and words of a text, in parts of a sort key: (``number``, digits, text) and (``word``, 0, text), so
    that the lesser of ``number`` and ``word`` comes first. Numbers of any length go by their size; zeros in front, and
    what is between the pieces, do not count."""
    for piece in _PIECES.findall(text):
        digits = piece.lstrip("0")
        yield (number, len(digits), digits) if piece.isdigit() else (word, 0, piece)
