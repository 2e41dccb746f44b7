# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that is there already as a resource: looked at, and neither made, changed nor deleted."""

from __future__ import annotations

import typing as t

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, ReadResult, Resource, ResourceProvider, UpdateResult

from .collection import make_importable, quiet_server
from .engine_gone import end_with_engine

Properties = dict[str, t.Any]
_INPUTS = ("kubeconfig", "context", "skip_unreachable")
_TOLD = ("version", "labels", "uid")
AWAY = ("unreachable", "timeout", "server-error")


class ExistingClusterProvider(ResourceProvider):
    """Its state has the path of a kubeconfig, never what is in the file."""

    serialize_as_secret_always = False

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """Whether inputs differ, or the cluster, which is asked, tells something else than before: an upgrade that
        others made is seen without a refresh. Nothing is ever replaced, and another cluster refused."""
        told = _outputs(news, olds)
        same = all(olds.get(key) == news.get(key) for key in _INPUTS)
        return DiffResult(changes=not same or told != _outputs_of(olds), replaces=[])

    def create(self, props: Properties) -> CreateResult:
        """Asks the cluster what it is; nothing is made. FleetError if it cannot be asked."""
        return CreateResult(f"{props['kubeconfig']}#{props['context']}", {**_inputs(props), **_outputs(props, {})})

    def read(self, id_: str, props: Properties) -> ReadResult:
        """Asks the cluster what it is now, also one that was made anew. FleetError if it cannot be asked and
        ``skip_unreachable`` is not set."""
        return ReadResult(id_, {**_inputs(props), **_outputs(props, props, anew=True)})

    def update(self, _id: str, olds: Properties, news: Properties) -> UpdateResult:
        """Asks it again; nothing is changed there. FleetError as of ``read``, ``other-cluster``."""
        return UpdateResult({**_inputs(news), **_outputs(news, olds)})


class ExistingCluster(Resource, module="fleet", name="ExistingCluster"):
    """``version`` such as ``1.36.3``; ``labels`` are what its nodes tell of their cloud; ``uid`` says which cluster it
    is."""

    kubeconfig: pulumi.Output[str]
    context: pulumi.Output[str]
    version: pulumi.Output[str]
    labels: pulumi.Output[dict[str, str]]
    uid: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        kubeconfig: str,
        context: str,
        skip_unreachable: bool,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        inputs = {"kubeconfig": kubeconfig, "context": context, "skip_unreachable": skip_unreachable}
        super().__init__(ExistingClusterProvider(), resource_name, {**inputs, **dict.fromkeys(_TOLD)}, opts)


def _inputs(props: Properties) -> Properties:
    return {key: props[key] for key in _INPUTS}


def _outputs_of(props: Properties) -> Properties:
    return {key: props[key] for key in _TOLD if key in props}


def _outputs(props: Properties, before: Properties, anew: bool = False) -> Properties:
    """What the cluster tells; of one that does not answer, if that is to be borne, what it told before. Labels are
    those of the day when it joined: later it cannot move itself into other placements by what it says. FleetError
    ``other-cluster``, unless it may have been made ``anew``: what this stack has made in the former one would be taken
    for what is in this one, and deleted there."""
    make_importable()
    end_with_engine()
    quiet_server()
    from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
    from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.existing import ask_existing

    try:
        told = ask_existing(props["kubeconfig"], props["context"])
    except FleetError as error:
        if props["skip_unreachable"] and error.code in AWAY and before.get("version"):
            return _outputs_of(before)
        raise
    known = before.get("uid") or ""
    if known and told.uid and told.uid != known and not anew:
        text = f"another cluster answers by {props['kubeconfig']} {props['context']}".rstrip()
        hint = "give it a name of its own, or lead back to the former; one that was made anew: pulumi refresh"
        raise FleetError("other-cluster", text, "", hint)
    joined = before.get("labels") is not None and _place(before) == _place(props)
    labels = before["labels"] if joined else dict(told.labels)
    return {"version": told.version, "labels": labels, "uid": told.uid or known}


def _place(props: Properties) -> tuple[t.Any, t.Any]:
    return props["kubeconfig"], props["context"]
