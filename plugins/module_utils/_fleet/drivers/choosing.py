# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which drivers can be carried out (``driver-not-supported``); settings of a ready definition for a member, with
``{member}``, ``{location}`` and ``{group}`` filled in; names that no object can have, and members that would all be one
cluster."""

from __future__ import annotations

import re
import typing as t

from ..._core.errors import Problem
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.values.listed import listed
from ..._store.kinds import is_label, is_name
from .clouds.definition import PACE
from .clouds.ready import DEFINITIONS, settings_of
from .option_values import MOST_SECONDS, WANTED_SECONDS

LOCAL, COMMAND, ROLE, CLUSTER_API = "local", "command", "role", "cluster_api"
SUPPORTED = (LOCAL, CLUSTER_API, COMMAND, ROLE)
# Names in settings, and what of a member stands for them.
_NAMES: t.Mapping[str, t.Callable[[FleetMember], str]] = {
    "member": lambda member: member.name,
    "location": lambda member: member.spec.location,
    "group": lambda member: member.spec.group,
}
_PLACEHOLDER = re.compile(r"\{(" + "|".join(_NAMES) + r")\}")
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|^-")
# Where the Cluster of a member is looked for, unless options say otherwise.
DEFAULTS = {"namespace": "default", "name": "{member}"}
_NAMED = 10
Options = t.Mapping[str, t.Any]


def unsupported(driver: str, where: str) -> Problem:
    """The problem ``driver-not-supported``, of a driver that FleetMembers may name and that is not among SUPPORTED."""
    hint = f"use one of {', '.join(SUPPORTED)}"
    return Problem("driver-not-supported", f"the driver {driver} cannot be used yet", where, hint)


def definition_problems(given: Options, where: str) -> t.Iterator[Problem]:
    """``bad-option`` for what is wrong with a ``definition``, its ``settings`` and those by member, for commands beside
    it, and for settings without one. A definition that is no text is passed over."""
    own = [name for name in ("begin", "observe", "poll", "begin_pool") if given.get(name)]
    name = given.get("definition")
    if not name:
        for each in ("settings", "members"):
            if given.get(each):
                yield Problem("bad-option", "only a ready definition has settings", f"{where}.{each}")
        return
    if not isinstance(name, str):
        return
    if name not in DEFINITIONS:
        hint = f"one of {', '.join(sorted(DEFINITIONS))}"
        yield Problem("bad-option", f"there is no ready definition {name!r:.80}", f"{where}.definition", hint)
        return
    for each in own:
        yield Problem("bad-option", f"the definition {name} has a command for this", f"{where}.{each}")
    yield from _settings_problems(name, given.get("settings"), f"{where}.settings")
    members = given.get("members") or {}
    if not isinstance(members, t.Mapping):
        yield Problem("bad-option", "settings by name of the member are wanted", f"{where}.members")
        return
    for member, settings in members.items():
        yield from _settings_problems(name, settings, f"{where}.members.{member}")


def setting_problems(given: Options, members: t.Iterable[FleetMember], where: str) -> t.Iterator[Problem]:
    """``bad-option`` for settings of a good definition that cannot be put on a command line, member by member, then for
    each missing setting, with the members that lack it."""
    lacking: dict[str, list[str]] = {}
    for member in members:
        for name, value in _filled(given, member).items():
            if value is None or (not value and _needed(given["definition"], name)):
                lacking.setdefault(name, []).append(member.name)
            elif _UNFIT.search(value):
                words = f"{value!r:.80} begins with - or holds control characters"
                yield Problem("bad-option", words, f"{where}.settings.{name}", f"of member {member.name}")
    for name, names in lacking.items():
        hint = f"give it in settings, or in members.{names[0]}"
        if _PLACEHOLDER.search(str(settings_of(given["definition"])[name] or "")):
            hint += "; without it, what the FleetMember says counts"
        words = f"nothing says the {name} of {listed(names, _NAMED)}"
        yield Problem("bad-option", words, f"{where}.settings.{name}", hint)


def one_cluster_problems(
    given: Options, members: t.Sequence[FleetMember], fleet: t.Sequence[FleetMember], where: str
) -> t.Iterator[Problem]:
    """``bad-option`` where all settings of a good definition, but for its pace, are the same for one of the members and
    for another of them or of the ``fleet``: upgrading one would upgrade the other, before its turn. One problem for
    each such cluster."""

    def place(member: FleetMember) -> tuple[t.Any, ...]:
        """The name of the cluster, and all other settings, by which it is found."""
        settings = {name: value for name, value in _filled(given, member).items() if name not in PACE}
        return settings["name"], *sorted(settings.items())

    hint = "write {member} in it, or give each its own in members"
    for (name, *_settings), names in _alike(members, fleet, place):
        yield _one_cluster(str(name), names, f"{where}.settings.name", hint)


def topology_problems(
    given: Options, members: t.Sequence[FleetMember], fleet: t.Sequence[FleetMember], where: str
) -> t.Iterator[Problem]:
    """``bad-option`` as of ``unfit_name_problems``, and where options ``namespace`` and ``name`` are, filled in, the
    same for several, as of ``one_cluster_problems``."""

    def place(member: FleetMember) -> tuple[t.Any, ...]:
        """Namespace and name of the Cluster."""
        return tuple(filled_in(given.get(key) or DEFAULTS[key], member) for key in DEFAULTS)

    yield from unfit_name_problems(given, members, where)
    for found, names in _alike(members, fleet, place):
        yield _one_cluster("/".join(found), names, f"{where}.name", "write {member} in it")


def _alike(
    members: t.Sequence[FleetMember],
    fleet: t.Sequence[FleetMember],
    place: t.Callable[[FleetMember], tuple[t.Any, ...]],
) -> t.Iterator[tuple[tuple[t.Any, ...], list[str]]]:
    """Each place that one of the members and another, of them or of the fleet, have, with the names of who has it."""
    mine = {each.name for each in members}
    whose: dict[tuple[t.Any, ...], list[str]] = {}
    for name, member in sorted({each.name: each for each in (*fleet, *members)}.items()):
        whose.setdefault(place(member), []).append(name)
    yield from ((at, names) for at, names in whose.items() if len(names) > 1 and mine.intersection(names))


def _one_cluster(place: str, names: t.Sequence[str], where: str, hint: str) -> Problem:
    """The problem of members that would all be the cluster of that place."""
    return Problem("bad-option", f"{listed(names, _NAMED)} would all be one cluster, {place!r:.80}", where, hint)


def unfit_name_problems(given: Options, members: t.Iterable[FleetMember], where: str) -> t.Iterator[Problem]:
    """``bad-option``, for each member and option, where ``namespace`` or ``name``, filled in, is no name that a
    namespace, or an object, can have; one that is not given is fine."""
    for member in members:
        for name, fits, what in (("namespace", is_label, "a namespace"), ("name", is_name, "an object")):
            found = filled_in(given.get(name) or "x", member)
            if not fits(found):
                words = f"{found!r:.80} is no name of {what}"
                yield Problem("bad-option", words, f"{where}.{name}", f"of member {member.name}")


def member_settings(given: Options, member: FleetMember) -> dict[str, str]:
    """All settings of the definition for that member, by name and with their defaults, for options without problems."""
    return {name: value or "" for name, value in _filled(given, member).items()}


def placeholders_of(member: FleetMember) -> dict[str, str]:
    """What stands for ``{member}``, ``{location}`` and ``{group}``, by these names, as the FleetMember has it."""
    return {name: value(member) for name, value in _NAMES.items()}


def filled_in(text: str, member: FleetMember) -> str:
    """The text with what the FleetMember says in place of ``{member}``, ``{location}`` and ``{group}``; other braces
    stay."""
    known = placeholders_of(member)
    return _PLACEHOLDER.sub(lambda place: known[place[1]], text)


def _filled(given: Options, member: FleetMember) -> dict[str, str | None]:
    """All settings of the definition for the member, with placeholders filled in: what is given for the member counts
    before what is given for all, and that before the default. None where nothing is said."""
    mine = (given.get("members") or {}).get(member.name) or {}
    found = {**settings_of(given["definition"]), **(given.get("settings") or {}), **mine}

    return {name: None if value is None else filled_in(str(value), member) for name, value in found.items()}


def _needed(definition: str, name: str) -> bool:
    """Whether the definition needs that setting, so that it may not be empty."""
    return settings_of(definition)[name] != ""


def _settings_problems(definition: str, settings: t.Any, where: str) -> t.Iterator[Problem]:
    """``bad-option`` for settings that are no map, that the definition does not have, or whose value is none."""
    known = settings_of(definition)
    if settings is not None and not isinstance(settings, t.Mapping):
        yield Problem("bad-option", "a mapping of settings is wanted", where, f"known: {', '.join(known)}")
        return
    for name, value in (settings or {}).items():
        if name not in known:
            yield Problem("bad-option", "there is no such setting", f"{where}.{name}", f"one of {', '.join(known)}")
        elif isinstance(value, bool) or not isinstance(value, (str, int, float)):
            yield Problem("bad-option", "a text or a number is wanted", f"{where}.{name}")
        elif name in ("patience", "interval") and not _are_seconds(value):
            yield Problem("bad-option", WANTED_SECONDS, f"{where}.{name}")


def _are_seconds(value: t.Any) -> bool:
    """Whether it is a number above 0, or the text of one, and MOST_SECONDS at most."""
    try:
        return 0 < float(value) <= MOST_SECONDS
    except (ValueError, OverflowError):
        return False
