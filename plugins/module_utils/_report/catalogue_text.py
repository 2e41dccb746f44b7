# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Release catalogues as a table: which versions and node images a platform offers where, which are supported, and which
come."""

from __future__ import annotations

import typing as t

from .text import table


def catalogue_text(catalogues: t.Sequence[t.Mapping[str, t.Any]]) -> list[str]:
    """A table with one row for each location of each catalogue: the oldest and newest supported version, the newest
    release of each minor, the last first, what comes, and images; ``catalogues`` are as results of
    ``release_catalog_info`` have them. Without any location a sentence."""
    rows = []
    for each in catalogues:
        span = each["supported"]
        supported = f"{span['oldest']} to {span['newest']}" if span else "unknown"
        for place in each["locations"]:
            offered = [", ".join(reversed(place["newest"].values()))]
            offered += [f"coming: {', '.join(place['coming'])}"] if place["coming"] else []
            offered += [f"{family} {version}" for family, version in place["images"].items()]
            named = f"{each['provider'] or 'any'}, {place['location']}"
            rows.append((each["name"], named, supported, "; ".join(filter(None, offered))))
    return (
        table(("CATALOGUE", "WHERE", "SUPPORTED", "NEWEST"), rows, "") if rows else ["no release catalogue is recorded"]
    )
