# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a local cluster shall be: the specification of a cluster, its node pools and token users, and all that is wrong
in one (``bad-profile``, ``bad-version`` ...); versions that its data cannot go to (``downgrade-refused``,
``minor-skipped``)."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from .._core.errors import FleetError, Problem
from .._core.values.kube_version import KubeVersion
from .._core.values.quantity import parse_quantity
from .._core.values.selector import label_key_problem, label_value_problem
from .components import PROFILES, WITH_NODES
from .state import name_problem

_NUMBER = "(0|[1-9][0-9]{0,2})"
_VERSION = re.compile(rf"v?1\.{_NUMBER}(\.{_NUMBER})?")
_AGE = re.compile(r"([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?")
_MAX_NODES = 5000
TIMEOUT = 120.0  # seconds to be ready, if nobody says another number
LONGEST_NAME = 63  # of a node, for it is the value of a label of its own
# What would end a field of the line, or the line, in which the API server reads users; and what cannot stand in a file.
_OF_LINES = re.compile(r'["\r\n\x00\ud800-\udfff]')


@dataclass(frozen=True)
class NodesSpec:
    """A pool of simulated nodes, named ``<cluster>-<pool>-<number>`` from 0 on; ``count`` is 0 to 5000. Nothing is
    checked before ``refuse_bad``.

    ``version`` is the kubelet's; empty means the cluster's at the time a node is made, so that an upgrade of the
    control plane leaves nodes behind, as it does in real life. ``age`` (``30d``, ``12h30m``) becomes an annotation: the
    API server alone sets ``metadata.creationTimestamp``. ``zone`` and ``instance_type`` become labels, empty ones none;
    ``labels`` give way to labels of ours.
    """

    count: int
    pool: str = "default"
    version: str = ""
    image: str = "Simulated Linux 1"
    age: str = ""
    cpu: str = "4"
    memory: str = "16Gi"
    pods: int = 110
    zone: str = ""
    instance_type: str = ""
    labels: t.Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TokenUser:
    """A user with a static bearer token, for tests of logins and permissions; a group holds no comma."""

    token: str = field(repr=False)
    user: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClusterSpec:
    """``version`` is a minor (``1.36``: its newest patch level at hand) or exact (``1.36.3``).

    Profiles: ``api`` is etcd and API server (namespaces are never finalized, there are no service account tokens, owned
    objects are not collected); ``control`` adds the controller manager; ``fleet`` adds scheduler and kwok, so that pods
    land on simulated nodes and become ready; ``karpenter`` adds Karpenter, which makes such nodes for pending pods and
    disrupts them as its NodePools say. ``audit`` logs every request at level Metadata. ``region`` is a label of all
    simulated nodes, empty for none.
    """

    name: str
    version: str = "1.36"
    profile: str = "api"
    nodes: tuple[NodesSpec, ...] = ()
    region: str = ""
    audit: bool = False
    tokens: tuple[TokenUser, ...] = ()


def node_name(cluster: str, pool: NodesSpec, number: int) -> str:
    """The name of one of the pool's nodes, which are numbered from 0 on."""
    return f"{cluster}-{pool.pool}-{number}"


def refuse_bad(spec: ClusterSpec) -> None:
    """Raise one FleetError with all that is wrong in ``spec``, if anything is: ``bad-name``, ``bad-version``,
    ``bad-profile``, ``bad-label``, ``bad-token``, ``bad-count``, ``bad-duration``, ``bad-quantity``,
    ``duplicate-pool``."""
    problems = tuple(_problems(spec))
    if problems:
        raise FleetError.of(problems)


def _problems(spec: ClusterSpec) -> t.Iterator[Problem]:
    """All that is wrong with the specification."""

    def problem(code: str, message: str, field_path: str, hint: str = "") -> Problem:
        """The problem, with the cluster's name and the path of the field as its place."""
        return Problem(code, message, f"local cluster {spec.name} {field_path}", hint)

    if name_problem(spec.name):
        yield problem("bad-name", name_problem(spec.name), "name")
    if not _VERSION.fullmatch(spec.version):
        yield problem("bad-version", f"{spec.version!r} is not a Kubernetes version such as 1.36 or 1.36.3", "version")
    if spec.profile not in PROFILES:
        yield problem(
            "bad-profile", f"there is no profile {spec.profile!r}", "profile", f"one of {', '.join(PROFILES)}"
        )
    elif any(pool.count for pool in spec.nodes) and spec.profile not in WITH_NODES:
        hint = f"use profile {' or '.join(WITH_NODES)}"
        yield problem("bad-profile", f"profile {spec.profile} has no simulated nodes", "nodes", hint)
    if label_value_problem(spec.region):
        yield problem("bad-label", label_value_problem(spec.region) or "", "region")
    for number, token in enumerate(spec.tokens):
        if _token_problem(token):
            yield problem("bad-token", _token_problem(token), f"tokens[{number}]")
    pools = [pool.pool for pool in spec.nodes]
    for number, pool in enumerate(spec.nodes):
        path = f"nodes[{number}]"
        if pools.index(pool.pool) != number:
            yield problem("duplicate-pool", f"pool {pool.pool!r} is there twice", f"{path}.pool")
        for part, code, message in _pool_problems(pool):
            yield problem(code, message, f"{path}.{part}")
        longest = len(node_name(spec.name, pool, max(pool.count - 1, 0)))
        if longest > LONGEST_NAME and not name_problem(spec.name) and not name_problem(pool.pool):
            text = f"names of its nodes would have {longest} characters, and {LONGEST_NAME} are the most"
            yield problem("bad-name", text, f"{path}.pool", "give the cluster or the pool a shorter name")


def _token_problem(token: TokenUser) -> str:
    """Why the user cannot stand in the API server's token file, a line of fields for each, in words; empty if it
    can."""
    if not token.token or not token.user or any(mark in token.token for mark in " ,"):
        return "a token user needs a name and a token without blanks, commas and quotes"
    if any(map(_OF_LINES.search, (token.token, token.user, *token.groups))):
        return "neither token nor user nor groups may hold quotes, line breaks or halves of characters"
    return "the name of a group holds no comma, and is not empty" if not all(map(_is_group, token.groups)) else ""


def _is_group(name: str) -> bool:
    """Whether a group of the token file can be called so: no comma, and not empty."""
    return bool(name) and "," not in name


def _pool_problems(pool: NodesSpec) -> t.Iterator[tuple[str, str, str]]:
    """(Field, code, message) of all that is wrong with the pool by itself."""
    if name_problem(pool.pool):
        yield "pool", "bad-name", name_problem(pool.pool).replace("cluster name", "pool name")
    if not 0 <= pool.count <= _MAX_NODES:
        yield "count", "bad-count", f"{pool.count} is not between 0 and {_MAX_NODES}"
    if pool.pods < 1:
        yield "pods", "bad-count", f"{pool.pods} is less than 1"
    if pool.age and not _AGE.fullmatch(pool.age):
        yield "age", "bad-duration", f"{pool.age!r} is not a duration such as 30d or 12h30m"
    for part in ("cpu", "memory"):
        try:
            if parse_quantity(getattr(pool, part)).nanos < 0:
                yield part, "bad-quantity", f"{getattr(pool, part)!r:.60} is less than 0"
        except ValueError as error:
            yield part, "bad-quantity", str(error)
    if pool.version:
        try:
            KubeVersion.parse(pool.version)
        except ValueError as error:
            yield "version", "bad-version", str(error)
    values = {"zone": pool.zone, "instance_type": pool.instance_type}
    for key, value in {**values, **{f"labels[{key}]": value for key, value in pool.labels.items()}}.items():
        why = label_value_problem(value) if isinstance(value, str) else f"{value!r:.80} is not text: put it in quotes"
        if why:
            yield key, "bad-label", why
    for key in pool.labels:
        why = label_key_problem(key) if isinstance(key, str) else f"{key!r:.80} is not text: put it in quotes"
        if why:
            yield "labels", "bad-label", why


def refuse_bad_step(name: str, current: str, wanted: str) -> None:
    """Refuse to put the API server of ``wanted`` on data that one of ``current`` has written: Kubernetes supports one
    minor up at a time, and never down (its version skew policy); here no patch level down either. FleetError
    ``downgrade-refused`` or ``minor-skipped``; ValueError for a text that is no version, and for a newer major."""
    have, want = KubeVersion.parse(current), KubeVersion.parse(wanted)
    where = f"local cluster {name} version"
    if want < have:
        raise FleetError(
            "downgrade-refused",
            f"the cluster runs {have}; its data cannot go back to {want}",
            where,
            "ask for its own version or a newer one, or make the cluster absent and present again",
        )
    distance = have.minor_distance(want)
    if distance > 1:
        raise FleetError(
            "minor-skipped",
            f"{have} to {want} skips {'a minor' if distance == 2 else f'{distance - 1} minors'}",
            where,
            f"go by way of {have.major}.{have.minor + 1}",
        )
