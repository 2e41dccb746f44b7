# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Local clusters, several at once, from plain options."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..._core.errors import FleetError, Problem
from ..._local import cluster
from ..._local.binaries import find
from ..._local.outcome import LocalOutcome
from ..._local.ports import DEFAULT_PORTS, PortRange
from ..._local.spec import ClusterSpec, NodesSpec, TokenUser

Options = t.Mapping[str, t.Any]
Say = t.Callable[[str], None]
_RANGE = re.compile(r"([0-9]{1,5})-([0-9]{1,5})")


@dataclass(frozen=True, kw_only=True)
class LocalFleet:
    """Outcomes in the order asked for; ``kubeconfig`` has a context for each cluster, ``kubectl`` may be empty.
    ``others`` are names of clusters in the same folder that were not asked for."""

    outcomes: tuple[LocalOutcome, ...]
    kubeconfig: str
    kubectl: str
    others: tuple[str, ...]


def local_clusters(options: Options, check: bool, say: Say) -> LocalFleet:
    """Makes the clusters present, stopped or absent, with ``check`` only told. FleetError ``duplicate-cluster``,
    ``bad-port-range``, or the problems of all that failed, each with its cluster."""
    root = Path(options["root"]) if options["root"] else None
    work = _work(options, root, check, say)
    found = cluster.many(work)
    if found.errors:
        raise FleetError.of(
            [
                Problem(each.code, each.message, each.where or name, each.hint)
                for name, error in found.errors.items()
                for each in error.problems
            ]
        )
    outcomes = tuple(found.outcomes[name] for name in work)
    folder = outcomes[0].after.folder if outcomes else ""
    return LocalFleet(
        outcomes=outcomes,
        kubeconfig=str(Path(folder).parent / "kubeconfig") if folder else "",
        kubectl=_kubectl(options) if options["state"] == "present" else "",
        others=tuple(each.name for each in cluster.clusters(root) if each.name not in work),
    )


def _kubectl(options: Options) -> str:
    """Path of a kubectl that is at hand, or nothing."""
    try:
        given = Path(options["binaries_dir"]) if options["binaries_dir"] else None
        path = find(["kubectl"], "1.36", given, build=False)["kubectl"].path
    except FleetError:
        return ""
    return str(path) if path.exists() else ""


def _work(options: Options, root: Path | None, check: bool, say: Say) -> dict[str, t.Callable[[], LocalOutcome]]:
    names = [one["name"] for one in options["clusters"]]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise FleetError("duplicate-cluster", f"named more than once: {', '.join(repeated)}", "clusters")
    if options["state"] != "present":
        end = cluster.stopped if options["state"] == "stopped" else cluster.absent
        return {name: partial(end, name, root, say, check=check) for name in names}
    specs = [_spec(one) for one in options["clusters"]]
    binaries = Path(options["binaries_dir"]) if options["binaries_dir"] else None
    ports = port_range(options["ports"])
    if not check:
        cluster.prepare(specs, binaries_dir=binaries, say=say)
    return {
        spec.name: partial(
            cluster.present,
            spec,
            root,
            say,
            binaries_dir=binaries,
            ports=ports,
            timeout=options["timeout"],
            check=check,
        )
        for spec in specs
    }


def _spec(one: Options) -> ClusterSpec:
    given = {key: value for key, value in one.items() if value is not None}
    nodes = tuple(NodesSpec(**{k: v for k, v in pool.items() if v is not None}) for pool in given.pop("nodes", ()))
    tokens = tuple(
        TokenUser(each["token"], each["user"], tuple(each.get("groups") or ())) for each in given.pop("tokens", ())
    )
    return ClusterSpec(**given, nodes=nodes, tokens=tokens)


def port_range(text: str | None) -> PortRange:
    """The range that a text such as ``21000-21999`` names; the usual one without any. FleetError ``bad-port-range``."""
    if not text:
        return DEFAULT_PORTS
    found = _RANGE.fullmatch(text)
    first, last = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1024 <= first < last <= 65535:
        raise FleetError("bad-port-range", f"{text!r:.80} is not a range of ports", "ports", "such as 21000-21999")
    return PortRange(first, last)
