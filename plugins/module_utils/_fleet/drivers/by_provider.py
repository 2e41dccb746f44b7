# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members of several clouds in one run: options of a driver by the ``provider`` of the FleetMember (``providers``),
what of them is missing for a member (``driver-without-options``), and which versions the platform of each never has
(``target-not-offered``)."""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.values.listed import listed
from .choosing import CLUSTER_API, COMMAND, one_cluster_problems, setting_problems
from .clouds.ready import DEFINITIONS
from .cluster_api import why_not_whole

PROVIDERS = "providers"
_NAMED = 10
Options = t.Mapping[str, t.Any]


def options_of(given: Options, member: FleetMember) -> Options:
    """The options of a driver that hold for the member: all of them, or with ``providers`` those of its
    ``spec.provider``. KeyError without any for the provider."""
    by_provider = given.get(PROVIDERS)
    return by_provider[member.spec.provider] if by_provider else given


def split_problems(given: Options, where: str) -> t.Iterator[Problem]:
    """``bad-option`` for what is wrong with the split itself, not with the options of a provider. ``given`` has
    ``providers``."""
    for name, value in given.items():
        if name != PROVIDERS and value is not None:
            yield Problem("bad-option", f"this goes into the options of one of the {PROVIDERS}", f"{where}.{name}")
    by_provider = given[PROVIDERS]
    if not isinstance(by_provider, t.Mapping) or not by_provider:
        yield Problem("bad-option", "options by provider of the member are wanted", f"{where}.{PROVIDERS}")
        return
    for name, value in by_provider.items():
        if not isinstance(value, t.Mapping) or value.get(PROVIDERS) is not None:
            yield Problem("bad-option", "a mapping of options is wanted", f"{where}.{PROVIDERS}.{name}")


def command_problems(
    given: Options, members: t.Sequence[FleetMember], fleet: t.Sequence[FleetMember], where: str
) -> t.Iterator[Problem]:
    """Problems of members with options that are good by themselves: ``driver-without-options`` where there are none for
    their provider, and as of ``setting_problems`` and ``one_cluster_problems``, the latter over the ``fleet``, too."""
    by_provider = given.get(PROVIDERS)
    if not by_provider:
        if given.get("definition"):
            yield from setting_problems(given, members, where)
            yield from one_cluster_problems(given, members, fleet, where)
        return
    strangers = [each.name for each in members if each.spec.provider not in by_provider]
    if strangers:
        known = ", ".join(map(str, by_provider))
        hint = f"set spec.provider of the FleetMember to one of {known}, or give options for its own"
        message = f"there are no options for the provider of {listed(strangers, _NAMED)}"
        yield Problem("driver-without-options", message, f"{where}.{PROVIDERS}", hint)
    for name, options in by_provider.items():
        mine, all_of_it = ([each for each in some if each.spec.provider == name] for some in (members, fleet))
        if options.get("definition"):
            yield from setting_problems(options, mine, f"{where}.{PROVIDERS}.{name}")
            yield from one_cluster_problems(options, mine, all_of_it, f"{where}.{PROVIDERS}.{name}")


def not_offered(options: Options, members: t.Iterable[FleetMember], target: str) -> dict[str, str]:
    """Why the platforms of members never have a version that is written like ``target``, by name of the member, in
    their order; members whose platform takes it, or whose driver does not tell, are left out. ``options`` are by
    driver, without problems. None for an empty ``target``; ValueError may be raised for what is no version."""
    found = {each.name: _refused(options.get(each.spec.driver) or {}, each, target) for each in members if target}
    return {name: words for name, words in found.items() if words}


def target_remarks(refused: t.Mapping[str, str], asked: t.Collection[str], where: str) -> tuple[Problem, ...]:
    """A remark ``target-not-offered`` at ``where`` for each reason (``refused``, by member) why some of the members
    ``asked`` are left out of a run, in the order of the first names. FleetError with these if that leaves out all of
    them."""
    whose: dict[str, list[str]] = {}
    for name in sorted(set(refused).intersection(asked)):
        whose.setdefault(refused[name], []).append(name)
    found = tuple(Problem("target-not-offered", f"{why}: {listed(who, _NAMED)}", where) for why, who in whose.items())
    if found and set(asked) <= set(refused):
        raise FleetError.of(list(found))
    return found


def _refused(given: Options, member: FleetMember, target: str) -> str:
    """Why the platform of the member never has that version; empty if it may, or nothing is known of the platform.
    ValueError for what is no version, where the definition tells; KeyError as of ``options_of``."""
    if member.spec.driver == CLUSTER_API:
        return why_not_whole(target)
    definition = options_of(given, member).get("definition") if member.spec.driver == COMMAND else None
    return DEFINITIONS[definition].refused(target) if definition else ""
