# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real control plane on this machine as a resource: read from its processes, changed in place where that can be."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pulumi
from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    CreateResult,
    DiffResult,
    ReadResult,
    Resource,
    ResourceProvider,
    UpdateResult,
)

from .collection import make_importable, quiet_server
from .engine_gone import end_with_engine

Properties = dict[str, t.Any]
_INPUTS = ("name", "version", "profile", "nodes", "region", "root", "ports", "binaries_dir", "owner")
# Of another name, or in another folder, it is another cluster. All else is changed while its objects stay.
_REPLACING = ("name", "root")


class LocalClusterProvider(ResourceProvider):
    """Kept small: the state of a stack names this class, and what it does is in the collection.

    Nothing of a key passes through it: a cluster's kubeconfig is a file, and the state has its path.
    """

    serialize_as_secret_always = False

    def check(self, olds: Properties, news: Properties) -> CheckResult:
        """The inputs with whole numbers; a failure for each thing that is wrong with them, such as a version that the
        cluster's data cannot go to, or a cluster there that was made for another stack."""
        _collection()
        from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError

        inputs = _inputs(news)
        inputs["owner"] = one_owner(olds.get("owner") or "", inputs["owner"])
        try:
            _refuse_foreign(inputs, olds.get("owner") or "")
            _refuse_bad(inputs)
        except FleetError as error:
            return CheckResult(inputs, [CheckFailure("", str(each)) for each in error.problems])
        return CheckResult(inputs, [])

    def diff(self, _id: str, _olds: Properties, news: Properties) -> DiffResult:
        """Compared with what is true now, so that a cluster that died is mended without a refresh."""
        olds, wanted = _inputs(_olds), _inputs(news)
        replaces = [name for name in _REPLACING if olds[name] != wanted[name]]
        changes = bool(replaces) or olds != wanted or bool(_steps(wanted))
        return DiffResult(changes=changes, replaces=replaces, delete_before_replace=True)

    def create(self, props: Properties) -> CreateResult:
        """Makes the cluster and starts it; its id is its folder. FleetError as of ``local_clusters`` and ``claim``."""
        return CreateResult(_identity(_inputs(props)), _made(_inputs(props)))

    def read(self, id_: str, props: Properties) -> ReadResult:
        """What its folder and processes tell now; an empty id if it is absent, or was made for another stack."""
        _collection()
        from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError

        inputs = _inputs(props)
        now = _outputs(inputs)
        try:
            _refuse_foreign(inputs)
        except FleetError:
            return ReadResult("", now)
        return ReadResult("" if now["state"] == "absent" else id_, now)

    def update(self, _id: str, olds: Properties, news: Properties) -> UpdateResult:
        """Changes it in place, and starts what does not run; its objects stay. FleetError as of ``local_clusters`` and
        ``claim``."""
        return UpdateResult(_made(_inputs(news), olds.get("owner") or ""))

    def delete(self, _id: str, props: Properties) -> None:
        """Stops it and removes its folder with all its data; absent is fine. FleetError ``cluster-of-others`` for one
        that was made for another stack: a refresh takes it out of this one."""
        _refuse_foreign(_inputs(props))
        _collection().absent(props["name"], Path(props["root"]))


class LocalCluster(Resource, module="fleet", name="LocalCluster"):
    """``state`` is running, stopped, degraded or incomplete; ``kubeconfig`` is the path of the administrator's."""

    name: pulumi.Output[str]
    version: pulumi.Output[str]
    state: pulumi.Output[str]
    running_version: pulumi.Output[str]
    server: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    context: pulumi.Output[str]
    audit_log: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        name: str,
        version: str,
        profile: str,
        nodes: t.Sequence[t.Mapping[str, t.Any]],
        region: str,
        root: str,
        ports: str,
        binaries_dir: str = "",
        owner: str = "",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        inputs: Properties = {
            "name": name,
            "version": version,
            "profile": profile,
            "nodes": [dict(each) for each in nodes],
            "region": region,
            "root": root,
            "ports": ports,
            "binaries_dir": binaries_dir,
            "owner": owner,
        }
        told = ("state", "running_version", "server", "kubeconfig", "context", "audit_log")
        super().__init__(LocalClusterProvider(), resource_name, inputs | dict.fromkeys(told), opts)


def _collection() -> t.Any:
    """The part of the collection that keeps local clusters. The engine runs a provider in a process of its own."""
    make_importable()
    end_with_engine()
    quiet_server()
    from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster

    return cluster


def _inputs(props: Properties) -> Properties:
    """What was asked for; numbers are whole again, for the engine knows floats only."""
    found: Properties = {key: props.get(key) or "" for key in _INPUTS}
    rows = [{key: int(v) if isinstance(v, float) else v for key, v in row.items()} for row in found["nodes"] or []]
    return {**found, "nodes": rows}


def one_owner(old: str, new: str) -> str:
    """``new``, but ``old`` where that only says more: the same stack, told with where its state is. A stack is the same
    whether or not a run of it is told that."""
    return old if new and old.startswith(f"{new} in ") else new


def _marks() -> t.Any:
    _collection()
    from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments import made_for

    return made_for


def _refuse_foreign(inputs: Properties, before: str = "") -> None:
    """FleetError ``cluster-of-others``."""
    _marks().refuse_foreign(Path(inputs["root"]), inputs["name"], (inputs["owner"], before))


def _identity(inputs: Properties) -> str:
    return f"{inputs['root']}/{inputs['name']}"


def _options(inputs: Properties) -> dict[str, t.Any]:
    """What is asked of the verb ``local_cluster``."""
    cluster = {key: inputs[key] for key in ("name", "version", "profile", "region")}
    nodes = [{key: value for key, value in row.items() if value not in ("", {})} for row in inputs["nodes"]]
    return {
        "state": "present",
        "root": inputs["root"],
        "binaries_dir": inputs["binaries_dir"] or None,
        "ports": inputs["ports"] or None,
        "timeout": 600.0,
        "clusters": [{**cluster, "nodes": nodes, "audit": True}],
    }


def _carry_out(inputs: Properties, check: bool) -> t.Any:
    _collection()
    from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.local import local_clusters

    (outcome,) = local_clusters(_options(inputs), check, lambda _text: None).outcomes
    return outcome


def _refuse_bad(inputs: Properties) -> None:
    """A bad specification, a version that its data cannot go to."""
    _carry_out(inputs, check=True)


def _steps(inputs: Properties) -> tuple[str, ...]:
    """What would have to be done to have it as wanted."""
    return tuple(_carry_out(inputs, check=True).changes)


def _made(inputs: Properties, before: str = "") -> Properties:
    if inputs["owner"]:
        _marks().claim(Path(inputs["root"]), inputs["name"], inputs["owner"], before)
    _carry_out(inputs, check=False)
    return _outputs(inputs)


def _outputs(inputs: Properties) -> Properties:
    now = _collection().status(Path(inputs["root"]), inputs["name"])
    return {
        **inputs,
        "state": now.state,
        "running_version": now.version,
        "server": now.server,
        "kubeconfig": now.kubeconfig,
        "context": inputs["name"],
        "audit_log": now.audit_log,
    }
