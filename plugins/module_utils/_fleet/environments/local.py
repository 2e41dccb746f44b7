# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Local clusters made, started, stopped or removed from plain options, several at once or all of a ``fleet``; their
range of ports (``bad-port-range``), the kubeconfig of all, a kubectl, and other clusters in the same folder."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..._core.errors import FleetError, Problem
from ..._local import cluster
from ..._local.binaries import get_binaries
from ..._local.outcome import LocalOutcome
from ..._local.ports import DEFAULT_PORTS, PortRange
from ..._local.spec import ClusterSpec, NodesSpec, TokenUser
from ..._local.state import resolved_root
from . import made_for

Options = t.Mapping[str, t.Any]
# Tells people a line of what goes on; called from several threads.
Say = t.Callable[[str], None]
LOCAL_UP = "local_up"
_RANGE = re.compile(r"([0-9]{1,5})-([0-9]{1,5})")


@dataclass(frozen=True, kw_only=True)
class LocalFleet:
    """``outcomes`` in the order asked for, then those of the fleet's other clusters. ``kubeconfig`` is the path of the
    kubeconfig of all clusters in the folder, which need not be there; ``kubectl`` that of one, empty where none is at
    hand or wanted. ``others`` are names of clusters in the same folder on which nothing was to be done."""

    outcomes: tuple[LocalOutcome, ...]
    kubeconfig: str
    kubectl: str
    others: tuple[str, ...]


def local_clusters(options: Options, check: bool, say: Say) -> LocalFleet:
    """Makes the clusters present, started, stopped or absent, or with ``check`` only tells. If a ``fleet`` is named,
    stopped, started and absent are meant for its other clusters, too; for present the named clusters are marked as the
    fleet's before they are made.

    ``options`` are those of the verb ``local_cluster``. FleetError ``duplicate-cluster``, ``bad-port-range``,
    ``nothing-asked``, ``cluster-of-others``, ``bad-path``, ``state-unreadable``, as of ``cluster.prepare``,
    ``cluster.work_on_clusters`` and ``made_for.mark``, or the problems of all clusters that failed; the others are done
    then.
    """
    root = Path(options["root"]) if options["root"] else None
    fleet = options.get("fleet") or ""
    options = _with_fleet(options, root, fleet)
    work = _work(options, root, check, say)
    if fleet and options["state"] == "present" and not check:
        made_for.refuse_others(resolved_root(root), list(work), fleet)  # binaries may have been built meanwhile
        for name in work:
            made_for.mark(resolved_root(root), name, fleet)
    found = cluster.work_on_clusters(work)
    if found.errors:
        raise FleetError.of(
            [
                Problem(each.code, each.message, each.where or name, each.hint)
                for name, error in found.errors.items()
                for each in error.problems
            ]
        )
    outcomes = tuple(found.outcomes[name] for name in work)
    others = tuple(each.name for each in cluster.clusters(root) if each.name not in work)
    if fleet and options["state"] != "present":
        for line in _ended(outcomes, others, options, check):
            say(line)
    return LocalFleet(
        outcomes=outcomes,
        kubeconfig=str(resolved_root(root) / "kubeconfig") if outcomes else "",
        kubectl=_kubectl(options, check) if options["state"] in ("present", "started") else "",
        others=others,
    )


def _with_fleet(options: Options, root: Path | None, fleet: str) -> Options:
    """The options with all clusters that are meant: those asked for, and with a fleet its others too, but for present.
    FleetError ``nothing-asked`` without both; for present ``cluster-of-others``; ``bad-path``, ``state-unreadable``."""
    asked = options["clusters"]
    if not fleet:
        if asked is None:
            hint = "name clusters, or a fleet to start or to end"
            raise FleetError("nothing-asked", "no cluster is named", "clusters", hint)
        return options
    names = [one["name"] for one in asked or ()]
    if options["state"] == "present":
        made_for.refuse_others(resolved_root(root), names, fleet)
        return {**options, "clusters": asked or []}
    own = made_for.clusters_of(resolved_root(root), fleet)
    if options["state"] == "absent":
        own += made_for.half_removed_of(resolved_root(root), fleet)
    return {**options, "clusters": [*(asked or ()), *({"name": name} for name in own if name not in names)]}


def _ended(outcomes: t.Sequence[LocalOutcome], others: t.Sequence[str], options: Options, check: bool) -> list[str]:
    """Lines for people: what was, or would be, started, stopped or removed, and which clusters of others are left; for
    absent how to remove these, unless it is the fleet of a playbook, for which the command is told."""
    done = [each.name for each in outcomes if each.changed]
    verb = {"absent": "removed"}.get(options["state"], options["state"])
    lines = [f"{'would be ' if check else ''}{verb}: {', '.join(done) or 'nothing'}"]
    if others:
        lines.append(f"left as they are, for others made them: {', '.join(others)}")
        if options["state"] == "absent" and options["fleet"] != LOCAL_UP:
            lines.append("to take them away too: name them with clusters")
    return lines


def _kubectl(options: Options, check: bool) -> str:
    """Path of a kubectl that is at hand, nothing is built for it, and with ``check`` no mode is changed; empty if there
    is none."""
    try:
        given = Path(options["binaries_dir"]) if options["binaries_dir"] else None
        path = get_binaries(["kubectl"], "1.36", given, build=False, check=check)["kubectl"].path
    except FleetError:
        return ""
    return str(path) if path.exists() else ""


def _work(options: Options, root: Path | None, check: bool, say: Say) -> dict[str, t.Callable[[], LocalOutcome]]:
    """What is to be done, by cluster in the order asked. For present, without ``check``, missing binaries are got
    first. FleetError ``duplicate-cluster``, ``bad-port-range``, and as of ``cluster.prepare``."""
    names = [one["name"] for one in options["clusters"]]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise FleetError("duplicate-cluster", f"named more than once: {', '.join(repeated)}", "clusters")
    if options["state"] in ("stopped", "absent"):
        end = cluster.stopped if options["state"] == "stopped" else cluster.absent
        return {name: partial(end, name, root, say, check=check) for name in names}
    binaries = Path(options["binaries_dir"]) if options["binaries_dir"] else None
    ports = port_range(options["ports"])
    how = {"binaries_dir": binaries, "ports": ports, "timeout": options["timeout"], "check": check}
    if options["state"] == "started":
        return {name: partial(cluster.started, name, root, say, **how) for name in names}
    specs = [_spec(one) for one in options["clusters"]]
    if not check:
        cluster.prepare(specs, binaries_dir=binaries, say=say)
    return {spec.name: partial(cluster.present, spec, root, say, **how) for spec in specs}


def _spec(one: Options) -> ClusterSpec:
    """The cluster as asked for; options that are None have their defaults. Keys are fields of ``ClusterSpec``, else
    TypeError."""
    given = {key: value for key, value in one.items() if value is not None}
    nodes = tuple(NodesSpec(**{k: v for k, v in pool.items() if v is not None}) for pool in given.pop("nodes", ()))
    tokens = tuple(
        TokenUser(each["token"], each["user"], tuple(each.get("groups") or ())) for each in given.pop("tokens", ())
    )
    return ClusterSpec(**given, nodes=nodes, tokens=tokens)


def port_range(text: str | None) -> PortRange:
    """The range that a text such as ``21000-21999`` names, two ports or more from 1024 to 65535; the usual one without
    a text. FleetError ``bad-port-range``."""
    if not text:
        return DEFAULT_PORTS
    found = _RANGE.fullmatch(text)
    first, last = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1024 <= first < last <= 65535:
        raise FleetError("bad-port-range", f"{text!r:.80} is not a range of ports", "ports", "such as 21000-21999")
    return PortRange(first, last)
