# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""From the option ``drivers`` to the driver of each member (``no-driver``, ``driver-without-options``, ``bad-option``),
with all options of each driver; whether a driver declares that nodes do not update by themselves."""

from __future__ import annotations

import json
import os
import shlex
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.values.listed import listed
from ..._kube.client import KubeClient
from ..._kube.login.credentials import connection_from_kubeconfig
from ..._local.spec import TIMEOUT
from ..._local.state import default_root
from ..members.members import Clients
from .by_provider import PROVIDERS, command_problems, options_of, split_problems
from .choosing import (
    CLUSTER_API,
    COMMAND,
    DEFAULTS,
    LOCAL,
    ROLE,
    SUPPORTED,
    definition_problems,
    filled_in,
    member_settings,
    topology_problems,
    unsupported,
)
from .clouds.ready import DEFINITIONS, argv_of, environ_of
from .cluster_api import ClusterApiDriver
from .command import CommandDriver
from .contract import Driver
from .jobs.options import executor_problems, job_settings, runs_as_job
from .jobs.role_job import RoleJobDriver
from .local import LocalDriver
from .option_values import why_wrong
from .placeholders import NAMES, unknown_placeholders
from .role import RoleDriver

Options = t.Mapping[str, t.Any]

# Declared by whoever writes commands or a role: no node updates its operating system by itself any more.
UNATTENDED = "stops_unattended_updates"
_WITHOUT_REFERENCE = tuple(name for name in NAMES if name != "reference")
# Option of each driver: its kind, and whether it has to be there.
_KNOWN: t.Mapping[str, t.Mapping[str, tuple[str, bool]]] = {
    LOCAL: {"root": ("path", False), "binaries_dir": ("path", False), "timeout": ("seconds", False)},
    CLUSTER_API: {
        "kubeconfig": ("path", True),
        "context": ("name", False),
        "namespace": ("name", False),
        "name": ("name", False),
        "timeout": ("seconds", False),
    },
    COMMAND: {
        "providers": ("settings", False),
        "definition": ("name", False),
        "settings": ("settings", False),
        "members": ("settings", False),
        "begin": ("argv", True),
        "observe": ("argv", False),
        "poll": ("argv", False),
        "begin_pool": ("argv", False),
        "environment": ("texts", False),
        "timeout": ("seconds", False),
        UNATTENDED: ("flag", False),
    },
    ROLE: {
        "role": ("path", True),
        "inventory": ("texts", False),
        "extra_vars": ("mapping", False),
        "environment": ("texts", False),
        "roles_path": ("texts", False),
        "collections_path": ("texts", False),
        "executor": ("settings", False),
        UNATTENDED: ("flag", False),
    },
}
_PLACEHOLDERS = {
    "observe": ("member",),
    "begin": _WITHOUT_REFERENCE,
    "begin_pool": _WITHOUT_REFERENCE,
    "poll": NAMES,
}
_NAMED = 10


@dataclass(frozen=True, kw_only=True)
class OptionPlace:
    """Where drivers work: ``operations`` has a folder for each operation, and has to be kept from run to run.
    ``environ`` is the environment of the task; ``cwd`` is where relative paths begin."""

    operations: Path
    environ: t.Mapping[str, str] = field(repr=False)
    cwd: Path


def drivers_from(
    options: Options, members: t.Mapping[str, FleetMember], clients: Clients, place: OptionPlace
) -> dict[str, Driver]:
    """The driver of each member by its ``spec.driver``, in the order of names; ``options`` has a mapping for each
    driver, by name, which is checked though no member has that driver. Members of the same options share one object,
    but for ``cluster_api`` and a ``definition``, of which each has its own.

    ``local``:   ``root``, ``binaries_dir``, ``timeout`` (seconds, 120). Needs no options.
    ``command``: ``begin``, ``observe``, ``poll``, ``begin_pool`` (lists of arguments), or ``definition`` with
                 ``settings``, and ``members`` with settings of single ones; ``environment`` (names), ``timeout`` (60),
                 ``stops_unattended_updates``. Or ``providers``, with all of these for members of each provider.
    ``cluster_api``: ``kubeconfig``, ``context``, ``namespace``, ``name``, ``timeout`` (10).
    ``role``:    ``role``, ``inventory``, ``extra_vars``, ``environment``, ``roles_path``, ``collections_path``,
                 ``stops_unattended_updates``, and ``executor`` with its ``kind`` and what ``JobSettings`` has.

    FleetError with problems, those of options for single members only where there are no others: ``no-driver``,
    ``driver-not-supported``, ``driver-without-options``, ``bad-option``, also where one of the ``members`` and another
    of those of ``clients`` would be one cluster; and as of ``connection_from_kubeconfig`` where Jobs run in a cluster
    of their own.
    """
    used: dict[str, list[str]] = {}
    for name in sorted(members):
        used.setdefault(members[name].spec.driver, []).append(name)
    problems = [*_choice_problems(options, used), *_option_problems(options, place.cwd, clients.hub is not None)]
    if not problems:
        for driver, judge in ((COMMAND, command_problems), (CLUSTER_API, topology_problems)):
            mine = [members[name] for name in used.get(driver, ())]
            fleet = [each for each in clients.members.values() if each.spec.driver == driver]
            problems += judge(options[driver], mine, fleet, f"drivers.{driver}") if mine else ()
    if problems:
        raise FleetError.of(problems)
    makers = {LOCAL: _local, COMMAND: _command, ROLE: _role}
    shared: dict[tuple[str, str], Driver] = {}

    def driver_of(member: FleetMember) -> Driver:
        """The driver of the member: one of its own where its name is filled in, else one with all members of the same
        options."""
        name = member.spec.driver
        given = options_of(options.get(name) or {}, member)
        if name == CLUSTER_API:
            return _cluster_api(given, member, clients, place)
        if given.get("definition"):
            return _defined(given, member, clients, place)
        key = (name, member.spec.provider if given is not options.get(name) else "")
        if key not in shared:
            shared[key] = makers[name](given, clients, place)
        return shared[key]

    return {name: driver_of(members[name]) for name in sorted(members)}


def stops_unattended_updates(options: Options, member: FleetMember) -> bool:
    """Whether the member's driver declares that its nodes do not update the operating system by themselves any more;
    False where nothing is said. FleetError ``bad-option`` for options of its driver that are no mapping; nothing else
    is checked."""
    where = f"drivers.{member.spec.driver}"
    given = _mapping(options.get(member.spec.driver), where)
    if given.get(PROVIDERS):
        where = f"{where}.{PROVIDERS}"
        given = _mapping(_mapping(given[PROVIDERS], where).get(member.spec.provider), f"{where}.{member.spec.provider}")
    return bool(given.get(UNATTENDED))


def _mapping(given: t.Any, where: str) -> Options:
    """The options, none for None. FleetError ``bad-option`` for what is no map."""
    if given is not None and not isinstance(given, t.Mapping):
        raise FleetError("bad-option", "a mapping of options is wanted", where)
    return given or {}


def _choice_problems(options: Options, used: t.Mapping[str, t.Sequence[str]]) -> t.Iterator[Problem]:
    """What is wrong with drivers that members name: ``no-driver``, ``driver-not-supported``,
    ``driver-without-options``."""
    for driver, names in used.items():
        where = f"member{'s' if len(names) > 1 else ''} {listed(names, _NAMED)}"
        if not driver:
            given = json.dumps({"members": [{"name": name} for name in names[:_NAMED]]})
            command = f"ansible-playbook gitops.fleet.join -e {shlex.quote(given)} -e driver=DRIVER"
            hint = f"give it one ({', '.join(SUPPORTED)}): {command}"
            yield Problem("no-driver", "nothing says how to upgrade the cluster", where, hint)
        elif driver not in SUPPORTED:
            yield unsupported(driver, where)
        elif driver != LOCAL and not options.get(driver):
            needed = ", ".join(name for name, (_kind, needs) in _KNOWN[driver].items() if needs)
            needed += ", definition or providers" if driver == COMMAND else ""
            hint = f"give drivers.{driver} with at least {needed}"
            yield Problem("driver-without-options", f"the driver {driver} has no options", where, hint)


def _option_problems(options: Options, cwd: Path, hub: bool) -> t.Iterator[Problem]:
    """``bad-option`` for all that is wrong with the options themselves, whether a member has that driver or not;
    ``hub`` is whether there is one."""
    for driver, given in options.items():
        where = f"drivers.{driver}"
        if driver not in _KNOWN:
            yield Problem("bad-option", "there is no such driver", where, f"one of {', '.join(_KNOWN)}")
        elif given is not None and not isinstance(given, t.Mapping):
            yield Problem("bad-option", "a mapping of options is wanted", where)
        elif given:
            yield from _problems_of(driver, given, where, cwd)
            if driver == ROLE:
                yield from executor_problems(given, where, hub)


def _problems_of(driver: str, given: Options, where: str, cwd: Path) -> t.Iterator[Problem]:
    """``bad-option`` for what is wrong with options of one driver, but for its executor; those of each provider are
    looked at by themselves. Looks whether the folder of a role is there."""
    known = _KNOWN[driver]
    if driver == COMMAND and given.get(PROVIDERS) is not None:
        problems = list(split_problems(given, where))
        yield from problems
        for provider, its in () if problems else given[PROVIDERS].items():
            yield from _problems_of(driver, its, f"{where}.{PROVIDERS}.{provider}", cwd)
        return
    if driver == COMMAND:
        yield from definition_problems(given, where)
    for name in given:
        if name not in known:
            yield Problem("bad-option", "there is no such option", f"{where}.{name}", f"one of {', '.join(known)}")
    for name, (kind, needed) in known.items():
        value = given.get(name)
        if value is None:
            if needed and not given.get("definition"):
                yield Problem("bad-option", "this option is needed", f"{where}.{name}")
            continue
        why = why_wrong(kind, value)
        if why:
            yield Problem("bad-option", why, f"{where}.{name}")
        elif kind == "argv":
            for word in unknown_placeholders(value, _PLACEHOLDERS[name]):
                hint = "known here: " + ", ".join(f"{{{one}}}" for one in _PLACEHOLDERS[name])
                yield Problem("bad-option", f"nothing stands for {{{word}}}", f"{where}.{name}", hint)
        elif name == "role" and os.sep in value and not runs_as_job(given) and not _path(value, cwd).is_dir():
            yield Problem("bad-option", f"there is no folder {_path(value, cwd)}", f"{where}.{name}")


def _local(given: Options, clients: Clients, place: OptionPlace) -> Driver:
    """By good options; without ``root`` the clusters are in the folder of the user."""
    root = _path(given["root"], place.cwd) if given.get("root") else default_root(place.environ)
    return LocalDriver(
        clients=clients,
        root=root.resolve(),
        operations=place.operations,
        environ=place.environ,
        binaries_dir=_path(given["binaries_dir"], place.cwd) if given.get("binaries_dir") else None,
        timeout=float(given.get("timeout") or TIMEOUT),
    )


def _command(given: Options, clients: Clients, place: OptionPlace) -> Driver:
    """By good options without a definition, for all members that have these."""
    return CommandDriver(
        clients=clients,
        operations=place.operations,
        environ=place.environ,
        cwd=place.cwd,
        begin_argv=tuple(given["begin"]),
        observe_argv=tuple(given.get("observe") or ()),
        poll_argv=tuple(given.get("poll") or ()),
        pool_argv=tuple(given.get("begin_pool") or ()),
        environment=tuple(given.get("environment") or ()),
        timeout=float(given.get("timeout") or 60.0),
    )


def _defined(given: Options, member: FleetMember, clients: Clients, place: OptionPlace) -> Driver:
    """By a ready definition, with the settings of that member."""
    name, settings = given["definition"], member_settings(given, member)
    return CommandDriver(
        clients=clients,
        operations=place.operations,
        environ=environ_of(place.environ),
        cwd=place.cwd,
        begin_argv=argv_of(name, "begin", settings),
        observe_argv=argv_of(name, "observe", settings),
        poll_argv=argv_of(name, "poll", settings),
        pool_argv=argv_of(name, "begin_pool", settings),
        environment=(*DEFINITIONS[name].environment, *(given.get("environment") or ())),
        timeout=float(given.get("timeout") or 60.0),
        by_exit_code=False,
    )


def _cluster_api(given: Options, member: FleetMember, clients: Clients, place: OptionPlace) -> Driver:
    """By good options, for that member: without others, the Cluster of its name in the namespace ``default``."""
    return ClusterApiDriver(
        clients=clients,
        kubeconfig=str(_path(given["kubeconfig"], place.cwd)),
        context=given.get("context") or "",
        namespace=filled_in(given.get("namespace") or DEFAULTS["namespace"], member),
        name=filled_in(given.get("name") or DEFAULTS["name"], member),
        timeout=float(given.get("timeout") or 10.0),
    )


def _role(given: Options, clients: Clients, place: OptionPlace) -> Driver:
    """By good options: in Jobs if the executor says so, else in processes of this machine; a role with a ``/`` is a
    path. FleetError as of ``_job_cluster``."""
    role = given["role"]
    if runs_as_job(given):
        return RoleJobDriver(
            clients=clients,
            operations=place.operations,
            environ=place.environ,
            jobs=_job_cluster(given["executor"], clients, place),
            settings=job_settings(given),
            role=role,
            inventories=tuple(given.get("inventory") or ()),
            extra_vars=dict(given.get("extra_vars") or {}),
        )
    return RoleDriver(
        clients=clients,
        operations=place.operations,
        environ=place.environ,
        cwd=place.cwd,
        role=str(_path(role, place.cwd)) if os.sep in role else role,
        inventories=tuple(given.get("inventory") or ()),
        extra_vars=dict(given.get("extra_vars") or {}),
        environment=tuple(given.get("environment") or ()),
        roles_path=tuple(given.get("roles_path") or ()),
        collections_path=tuple(given.get("collections_path") or ()),
    )


def _job_cluster(executor: Options, clients: Clients, place: OptionPlace) -> KubeClient:
    """A client of the cluster that the kubeconfig leads to, else of the hub. FleetError of the kubeconfig."""
    if not executor.get("kubeconfig"):
        if clients.hub is None:
            raise AssertionError("refused before")
        return clients.hub
    path = str(_path(executor["kubeconfig"], place.cwd))
    return KubeClient(connection_from_kubeconfig(path, executor.get("context") or ""), timeout=clients.timeout)


def _path(text: str, cwd: Path) -> Path:
    """The path with its ``~`` replaced, below ``cwd`` if it is relative."""
    return cwd / os.path.expanduser(text)
