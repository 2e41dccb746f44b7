# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The versions that a cluster goes through to a target: one minor after another (Kubernetes' version skew policy), with
the newest release of each where releases are given, or why there is no way (``other-major``, ``invalid-version``)."""

from __future__ import annotations

import typing as t

from ...errors import FleetError, Problem
from ...values.kube_version import KubeVersion
from .versions import is_minor, minors_between, reached, required_text


def upgrade_path(version: str, target: str, releases: t.Sequence[str] = ()) -> tuple[str, ...]:
    """The versions after the present one, the target last; empty where it is reached, because no update goes back.

    With ``releases`` each minor on the way, and a target without a patch, is the newest release of that minor, no
    prerelease; a target with a patch stays. Without, minors are named as such. They are written as the target is, with
    v or without. FleetError ``invalid-version`` (for all at once), ``no-such-release`` for a minor without a release,
    ``other-major``, for a lower one too.
    """
    texts = {"the version": version, "the target": target} | {f"releases[{at}]": one for at, one in enumerate(releases)}
    problems = [Problem("invalid-version", found, place) for place, one in texts.items() if (found := _problem(one))]
    if problems:
        raise FleetError.of(problems)
    now, wanted = KubeVersion.parse(version), KubeVersion.parse(target)
    if now.major != wanted.major:
        raise FleetError("other-major", f"{version} and {target} differ in the major version")
    if reached(version, target):
        return ()
    known = sorted(each for each in map(KubeVersion.parse, releases) if not each.is_prerelease)
    minors = [KubeVersion.parse(each) for each in minors_between(now, wanted)]
    steps = [_newest(each, known) if releases else f"v{each.major}.{each.minor}" for each in minors]
    last = _newest(wanted, known) if releases and is_minor(target) else target
    return tuple(_spelled_as(target, each) for each in (*steps, last))


def _newest(minor: KubeVersion, known: t.Sequence[KubeVersion]) -> str:
    """The newest release of the minor; ``known`` are releases from the oldest on. FleetError ``no-such-release``
    without one."""
    found = [each for each in known if (each.major, each.minor) == (minor.major, minor.minor)]
    if not found:
        there = ", ".join(str(each) for each in known[-5:]) or "none"
        text = f"there is no release of v{minor.major}.{minor.minor}; the newest there are: {there}"
        raise FleetError("no-such-release", text, "releases")
    return str(found[-1])


def _spelled_as(target: str, version: str) -> str:
    """The version with a ``v`` if the target has one, else without."""
    plain = version.removeprefix("v")
    return f"v{plain}" if target.startswith("v") else plain


def _problem(text: t.Any) -> str:
    """Why this is no version; empty if it is one."""
    try:
        KubeVersion.parse(required_text(text))
    except ValueError as error:
        return str(error)
    return ""
