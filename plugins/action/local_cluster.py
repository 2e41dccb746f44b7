# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from functools import partial
from pathlib import Path

from ..module_utils._core.errors import FleetError, Problem
from ..module_utils._local import cluster
from ..module_utils._local.binaries import find
from ..module_utils._local.ports import DEFAULT_PORTS, PortRange
from ..module_utils._local.spec import ClusterSpec, NodesSpec, TokenUser
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Local control planes: present, stopped, absent."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        root = Path(options["root"]) if options["root"] else None
        work = _work(options, root, run)
        found = cluster.many(work)
        if found.errors:
            raise FleetError.of(
                [
                    Problem(each.code, each.message, each.where or name, each.hint)
                    for name, error in found.errors.items()
                    for each in error.problems
                ]
            )
        outcomes = [found.outcomes[name] for name in work]
        return Answer(
            changed=any(each.changed for each in outcomes),
            data={
                "clusters": [{**each.after.as_dict(), "changes": list(each.changes)} for each in outcomes],
                "kubeconfig": str(Path(outcomes[0].after.folder).parent / "kubeconfig")
                if outcomes and outcomes[0].after.folder
                else "",
                "kubectl": _kubectl(options) if options["state"] == "present" and not run.check_mode else "",
            },
            diff=[
                {"before": each.before.as_diff(), "after": each.after.as_diff(), "before_header": each.name}
                for each in outcomes
                if each.changed
            ],
        )


def _kubectl(options: dict[str, t.Any]) -> str:
    """Path of a kubectl that is at hand, or nothing."""
    try:
        given = Path(options["binaries_dir"]) if options["binaries_dir"] else None
        path = find(["kubectl"], "1.36", given, build=False)["kubectl"].path
    except FleetError:
        return ""
    return str(path) if path.exists() else ""


def _work(options: dict[str, t.Any], root: Path | None, run: Run) -> dict[str, t.Callable[[], t.Any]]:
    names = [one["name"] for one in options["clusters"]]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise FleetError("duplicate-cluster", f"named more than once: {', '.join(repeated)}", "clusters")
    if options["state"] != "present":
        end = cluster.stopped if options["state"] == "stopped" else cluster.absent
        return {name: partial(end, name, root, run.say, check=run.check_mode) for name in names}
    specs = [_spec(one) for one in options["clusters"]]
    binaries = Path(options["binaries_dir"]) if options["binaries_dir"] else None
    ports = _ports(options["ports"])
    if not run.check_mode:
        cluster.prepare(specs, binaries_dir=binaries, say=run.say)
    return {
        spec.name: partial(
            cluster.present,
            spec,
            root,
            run.say,
            binaries_dir=binaries,
            ports=ports,
            timeout=options["timeout"],
            check=run.check_mode,
        )
        for spec in specs
    }


def _spec(one: dict[str, t.Any]) -> ClusterSpec:
    given = {key: value for key, value in one.items() if value is not None}
    nodes = tuple(NodesSpec(**{k: v for k, v in pool.items() if v is not None}) for pool in given.pop("nodes", ()))
    tokens = tuple(
        TokenUser(each["token"], each["user"], tuple(each.get("groups") or ())) for each in given.pop("tokens", ())
    )
    return ClusterSpec(**given, nodes=nodes, tokens=tokens)


def _ports(text: str | None) -> PortRange:
    if not text:
        return DEFAULT_PORTS
    first, _dash, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and 1024 <= int(first) < int(last) <= 65535):
        raise FleetError("bad-port-range", f"{text!r} is not a range of ports", "ports", "such as 21000-21999")
    return PortRange(int(first), int(last))
