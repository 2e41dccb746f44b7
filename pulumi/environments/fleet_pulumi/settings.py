# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration of a stack as values: read once, all problems at once."""

from __future__ import annotations

import os
import re
import typing as t
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.network_file import read_network
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.manifests import (
    JUDGEMENTS,
    judge_written,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_class import AKS_NODE_CLASS
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.reading import read_node_pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.hints import did_you_mean
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import label_value_problem
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.local import port_range
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.rights import rights
from ansible_collections.gitops.fleet.plugins.module_utils._kube.files import with_home
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec, NodesSpec, refuse_bad

from .documents import fleet_member, member_cluster, node_class, node_pool, placement, update_strategy

BACKENDS = ("local", "kind", "existing")
_WORDS = {str: "a text", int: "a whole number", bool: "true or false", dict: "a mapping of texts", list: "a list"}
_ONLY = {
    "existing": ("kubeconfig", "context"),
    "kind": ("image", "port", "workers"),
    "local": ("version", "profile", "nodes"),
}
_OF_MEMBERS = ("labels", "group", "node_pools", "node_classes", "network", "allow_subnet_move")
_NEEDED = {"existing": ("name", "kubeconfig"), "kind": ("name", "image", "port"), "local": ()}
Raw = t.Mapping[str, t.Any]


@dataclass(frozen=True, kw_only=True)
class NodePool:
    """Simulated nodes of a local cluster; the fields are those of the verb ``local_cluster``."""

    pool: str = "default"
    count: int = 1
    version: str = ""
    cpu: str = "4"
    memory: str = "16Gi"
    zone: str = ""
    instance_type: str = ""
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Named:
    """An object: name and spec, in the words of its kind."""

    name: str = ""
    spec: dict[str, t.Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The hub or a member. ``kubeconfig`` and ``context`` are for backend ``existing``; version, profile and nodes for
    ``local``; image of the nodes, API server's loopback port and number of workers for ``kind``; region, group, labels
    and what Karpenter makes nodes from are a member's."""

    name: str = ""
    version: str = "1.36"
    profile: str = "api"
    region: str = ""
    group: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    nodes: tuple[NodePool, ...] = ()
    kubeconfig: str = ""
    context: str = ""
    image: str = ""
    port: int = 0
    workers: int = 0
    node_pools: tuple[Named, ...] = ()
    node_classes: tuple[Named, ...] = ()
    network: dict[str, t.Any] = field(default_factory=dict)
    allow_subnet_move: bool = False

    @property
    def kubeconfig_path(self) -> str:
        """That of an existing cluster, absolute; a relative one begins at the folder of the program."""
        return str(Path(with_home(self.kubeconfig, os.environ)).absolute())

    def spec(self) -> ClusterSpec:
        """What a local cluster shall be; its audit log tells who wrote what."""
        nodes = tuple(NodesSpec(**vars(pool)) for pool in self.nodes)
        return ClusterSpec(self.name, self.version, self.profile, nodes, self.region, audit=True)


@dataclass(frozen=True, kw_only=True)
class PlacedKind:
    """A kind that members' logins may apply; built-in ones need no ``plural``, as the path has it."""

    api_version: str = ""
    kind: str = ""
    plural: str = ""
    namespaced: bool = True


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that a stack is made from. ``folder`` is absolute; ``token_days`` says how long a member's login is good;
    ``owner`` tells the stack from others of its name, for people too."""

    stack: str
    folder: Path
    hub: Cluster
    members: tuple[Cluster, ...]
    backend: str = "local"
    ports: str = "21000-21999"
    placed_kinds: tuple[PlacedKind, ...] = ()
    applications: tuple[Named, ...] = ()
    update_strategies: tuple[Named, ...] = ()
    token_days: int = 90
    protect: bool = False
    skip_unreachable: bool = False
    take_over: bool = False
    owner: str = ""

    def kind_kubeconfig(self, cluster: Cluster) -> Path:
        """Where the administrator's kubeconfig of a cluster of kind is kept."""
        return self.folder / "kind" / f"{cluster.name}.kubeconfig"


def read_settings(stack: str, folder: Path, raw: Raw) -> Settings:
    """The settings that ``raw`` (keys as in Pulumi.yaml) says. FleetError with everything that is wrong in it:
    ``bad-config``, ``unknown-field``, ``missing-field``, ``kubeconfig-content``, ``duplicate-cluster``,
    ``duplicate-object``, and broken rules of objects and local clusters."""
    problems: list[Problem] = []
    plain = {name: raw[key] for name, key in _PLAIN.items() if raw.get(key) is not None}
    hub = _row(Cluster, raw.get("hub"), "hub", problems)
    members = _rows(Cluster, raw.get("members"), "members", problems)
    settings = Settings(
        stack=stack,
        folder=folder,
        hub=hub,
        members=members,
        placed_kinds=_rows(PlacedKind, raw.get("placedKinds"), "placedKinds", problems),
        applications=_rows(Named, raw.get("applications"), "applications", problems),
        update_strategies=_rows(Named, raw.get("updateStrategies"), "updateStrategies", problems),
        **plain,
    )
    if not problems:
        problems += _problems(settings, raw)
    if problems:
        raise FleetError.of(problems)
    return settings


_PLAIN = {
    "backend": "backend",
    "ports": "ports",
    "token_days": "tokenDays",
    "protect": "protect",
    "skip_unreachable": "skipUnreachable",
    "take_over": "takeOver",
}
# No path of a kubeconfig, but one itself.
_CONTENT = re.compile(r"[\n{]|\b(apiVersion|clusters|users):")
# Lists of rows in a cluster's row.
_NESTED: t.Mapping[str, type[t.Any]] = {"nodes": NodePool, "node_pools": Named, "node_classes": Named}
T = t.TypeVar("T")


def _rows(shape: type[T], raw: t.Any, where: str, problems: list[Problem]) -> tuple[T, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list):
        problems.append(Problem("bad-config", f"{raw!r:.80} is not a list", where))
        return ()
    return tuple(_row(shape, each, f"{where}[{number}]", problems) for number, each in enumerate(raw))


def _row(shape: type[T], raw: t.Any, where: str, problems: list[Problem]) -> T:
    if not isinstance(raw, dict):
        text = "is missing" if raw is None else f"{raw!r:.80} is not a mapping"
        problems.append(Problem("bad-config", text, where, "see the README beside Pulumi.yaml"))
        return shape()
    known = {each.name: each for each in fields(shape)}  # type: ignore[arg-type]  # every shape is a dataclass
    found: dict[str, t.Any] = {}
    for key, value in raw.items():
        if key not in known:
            hint = did_you_mean(str(key), known) or f"fields: {', '.join(known)}"
            problems.append(Problem("unknown-field", f"there is no field {key!r}", where, hint))
        elif key in _NESTED:
            found[key] = _rows(_NESTED[key], value, f"{where}.{key}", problems)
        else:
            default = shape().__getattribute__(key)
            fitting = isinstance(value, type(default)) and isinstance(value, bool) is isinstance(default, bool)
            if key == "labels" and fitting:
                fitting = all(isinstance(part, str) for pair in value.items() for part in pair)
            if key == "kubeconfig" and (not fitting or _CONTENT.search(value)):
                text = "this is what is in a kubeconfig, and not its path; it would stand in the state of the stack"
                hint = "write it into a file of mode 0600, and its path here; renew its keys if it was committed"
                problems.append(Problem("kubeconfig-content", text, f"{where}.{key}", hint))
            elif not fitting:
                text = f"{value!r:.80} is not {_WORDS[type(default)]}"
                problems.append(
                    Problem("bad-config", text, f"{where}.{key}", "put versions and numbers in labels in quotes")
                )
            else:
                found[key] = value
    return shape(**found)


def _problems(settings: Settings, raw: Raw) -> t.Iterator[Problem]:
    if settings.backend not in BACKENDS:
        text = f"there is no backend {settings.backend!r}"
        yield Problem("bad-config", text, "backend", f"one of {', '.join(BACKENDS)}")
        return
    if not 1 <= settings.token_days <= 3650:
        yield Problem("bad-config", f"{settings.token_days} is not between 1 and 3650 days", "tokenDays")
    yield from _stack_problems(settings)
    clusters = {"hub": settings.hub, **{f"members[{n}]": each for n, each in enumerate(settings.members)}}
    names = [each.name for each in clusters.values()]
    for where, each in clusters.items():
        written = raw["hub"] if where == "hub" else raw["members"][int(where[8:-1])]
        yield from _cluster_problems(settings.backend, each, written, where)
        if each.name and names.count(each.name) > 1:
            yield Problem("duplicate-cluster", f"{each.name!r} is there twice", f"{where}.name")
    if settings.backend == "existing":
        yield from _same_problems(clusters)
    if any(key in raw["hub"] for key in _OF_MEMBERS):
        yield Problem("bad-config", f"{', '.join(_OF_MEMBERS)} are a member's", "hub", "give them to a member")
    documents = {f"members[{n}]": member for n, member in enumerate(settings.members) if member.name}
    for where, member in documents.items():
        yield from _node_problems(member, where)
        for document in (
            member_cluster(member.name, member.labels),
            fleet_member(member.name, "/", "", member.group, "", member.region),
        ):
            yield from _object_problems(document, where)
    for key, rows, make in (
        ("applications", settings.applications, placement),
        ("updateStrategies", settings.update_strategies, update_strategy),
    ):
        yield from _twice(rows, key)
        for number, row in enumerate(rows):
            yield from _object_problems(make(row.name, row.spec), f"{key}[{number}]")


def _same_problems(clusters: t.Mapping[str, Cluster]) -> t.Iterator[Problem]:
    """Of two rows for one cluster each would own what is the other's: who takes one out deletes that of both."""
    first: dict[tuple[str, str], str] = {}
    for where, each in clusters.items():
        known = first.setdefault((each.kubeconfig_path, each.context), where)
        if each.kubeconfig and known != where:
            text = f"this is the cluster of {known}: taken out, its namespaces and logins would go from there as well"
            yield Problem("duplicate-cluster", text, f"{where}.kubeconfig", "give each cluster one row")


def _stack_problems(settings: Settings) -> t.Iterator[Problem]:
    """What is wrong with what all clusters share."""
    if label_value_problem(settings.stack):
        hint = "its name is the value of a label of every object: at most 63 letters, digits, -, _ and ."
        yield Problem("bad-config", f"the stack {settings.stack!r:.200} cannot be named in labels", "stack", hint)
    yield from _told(partial(port_range, settings.ports), "ports")
    subject = {"kind": "User", "name": "any"}
    for number, row in enumerate(settings.placed_kinds):
        where = f"placedKinds[{number}]"
        lacking = [name for name in ("api_version", "kind") if not getattr(row, name)]
        yield from (Problem("missing-field", f"{name} is missing", where) for name in lacking)
        if not lacking:
            yield from _told(partial(rights, "apply", subject, [vars(row)]), where)


def _twice(rows: t.Sequence[Named], where: str) -> t.Iterator[Problem]:
    names = [row.name for row in rows]
    for number, name in enumerate(names):
        if name and names.index(name) != number:
            yield Problem("duplicate-object", f"{name!r} is there twice", f"{where}[{number}].name")


def _told(call: t.Callable[[], object], where: str) -> t.Iterator[Problem]:
    """What a call refuses, at its place in the settings."""
    try:
        call()
    except FleetError as error:
        yield from (Problem(each.code, each.message, where, each.hint) for each in error.problems)


def _cluster_problems(backend: str, cluster: Cluster, written: Raw, where: str) -> t.Iterator[Problem]:
    for other in BACKENDS:
        for key in _ONLY[other] if other != backend else ():
            if key in written:
                text = f"{key} is for backend {other}, and this stack has {backend}"
                yield Problem("bad-config", text, f"{where}.{key}")
    for key in _NEEDED[backend]:
        if not written.get(key):
            yield Problem("missing-field", f"{key} is missing", where)
    if with_home(cluster.kubeconfig, os.environ).startswith("~"):
        text = f"there is no home for {cluster.kubeconfig!r:.200}"
        yield Problem("bad-config", text, f"{where}.kubeconfig", "write the whole path")
    if backend == "kind" and not (0 <= cluster.port <= 65535 and 0 <= cluster.workers <= 50):
        yield Problem("bad-config", "a port is at most 65535, and 50 workers are the most", where)
    if backend != "local":
        return
    try:
        refuse_bad(cluster.spec())
    except FleetError as error:
        yield from (Problem(each.code, each.message, f"{where}: {each.where}", each.hint) for each in error.problems)


def _node_problems(member: Cluster, where: str) -> t.Iterator[Problem]:
    for key, rows in (("node_pools", member.node_pools), ("node_classes", member.node_classes)):
        yield from _twice(rows, f"{where}.{key}")
    for number, row in enumerate(member.node_pools):
        yield from _object_problems(node_pool(row.name, row.spec), f"{where}.node_pools[{number}]", read_node_pool)
    for number, row in enumerate(member.node_classes):
        found, _repairs = judge_written(node_class(row.name, row.spec), JUDGEMENTS[AKS_NODE_CLASS])
        place = f"{where}.node_classes[{number}]"
        yield from (Problem(each.code, each.message, f"{place} {each.path}", each.hint) for each in found)
    try:
        read_network(member.network, f"{where}.network")
    except FleetError as error:
        yield from error.problems


def _object_problems(
    document: dict[str, t.Any], where: str, judge: t.Callable[..., object] = read
) -> t.Iterator[Problem]:
    try:
        judge(document, where, strict=True)
    except FleetError as error:
        yield from error.problems
