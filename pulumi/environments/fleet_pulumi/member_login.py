# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubeconfig file of a member's service account as a resource: made, seen to be good, renewed in time, removed."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta
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
from .local_cluster import one_owner

Properties = dict[str, t.Any]
_INPUTS = ("kubeconfig", "context", "namespace", "account", "path", "name", "days", "owner")


class MemberLoginProvider(ResourceProvider):
    """Its state has the file's path and the end of its token, never the token."""

    serialize_as_secret_always = False

    def check(self, olds: Properties, news: Properties) -> CheckResult:
        """The inputs; a failure if the file is there, and was made for another stack."""
        before = olds.get("owner") or ""
        inputs = {**news, "owner": one_owner(before, news.get("owner") or "")}
        problem = _foreign(inputs, before)
        return CheckResult(inputs, [CheckFailure("", problem)] if problem else [])

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """Whether inputs differ, or the file has to be made again as of ``login_problem``; another path replaces it."""
        same = all(olds.get(key) == news.get(key) for key in _INPUTS)
        return DiffResult(
            changes=not same or bool(_problem(news)),
            replaces=["path"] if olds.get("path") != news.get("path") else [],
            delete_before_replace=False,
        )

    def create(self, props: Properties) -> CreateResult:
        """Writes the file, as ``make_login``; its id is the path."""
        return CreateResult(props["path"], _made(props))

    def read(self, id_: str, props: Properties) -> ReadResult:
        """What is known of it; an empty id if the file is gone, or was made for another stack."""
        ours = Path(props["path"]).is_file() and not _foreign(props)
        return ReadResult(id_ if ours else "", dict(props))

    def update(self, _id: str, olds: Properties, news: Properties) -> UpdateResult:
        """Writes the file again, with a new token."""
        return UpdateResult(_made(news, olds.get("owner") or ""))

    def delete(self, _id: str, props: Properties) -> None:
        """Removes the file, unless it was made for another stack; its token is good until it ends."""
        if not _foreign(props):
            Path(props["path"]).unlink(missing_ok=True)


class MemberLogin(Resource, module="fleet", name="MemberLogin"):
    """``path`` is the file's; ``expires`` the end of its token (RFC 3339)."""

    path: pulumi.Output[str]
    expires: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        kubeconfig: pulumi.Input[str],
        context: pulumi.Input[str],
        namespace: str,
        account: str,
        path: str,
        name: str,
        days: int,
        owner: str = "",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        inputs: Properties = {
            "kubeconfig": kubeconfig,
            "context": context,
            "namespace": namespace,
            "account": account,
            "path": path,
            "name": name,
            "days": days,
            "owner": owner,
        }
        super().__init__(MemberLoginProvider(), resource_name, {**inputs, "expires": None}, opts)


def _collection() -> t.Any:
    make_importable()
    end_with_engine()
    quiet_server()
    from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments import member_login

    return member_login


def _account(props: Properties) -> t.Any:
    return _collection().Account(
        kubeconfig=props["kubeconfig"], context=props["context"], namespace=props["namespace"], name=props["account"]
    )


def _problem(props: Properties) -> str:
    """Why the file is not what it shall be. What is not known before the clusters are made says nothing."""
    if any(props.get(key) == pulumi.runtime.rpc.UNKNOWN for key in ("kubeconfig", "context")):
        return "its cluster is not there yet"
    life = timedelta(days=props["days"])
    return str(_collection().login_problem(_account(props), Path(props["path"]), life, datetime.now(UTC)))


def _foreign(props: Properties, before: str = "") -> str:
    """Why the file is another stack's; empty if it is not there, ours, or does not tell."""
    login = _collection()
    from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError

    try:
        login.refuse_foreign(Path(props["path"]), (props.get("owner") or "", before))
    except FleetError as error:
        return str(error)
    return ""


def _made(props: Properties, before: str = "") -> Properties:
    life, owner = timedelta(days=props["days"]), props.get("owner") or ""
    ends = _collection().make_login(_account(props), Path(props["path"]), props["name"], life, owner, before)
    return {**{key: props.get(key) for key in _INPUTS}, "expires": ends.isoformat()}
