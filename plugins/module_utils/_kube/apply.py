# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Server-side apply of one Kubernetes object (dry run, ``force``), and its deletion (by uid or resourceVersion)."""

from __future__ import annotations

import typing as t

from .._core.resources.applyset import MANAGER
from .client import KubeClient
from .discovery import resource_for
from .errors import ApiError
from .paths import object_path


def apply_object(
    client: KubeClient,
    manifest: t.Mapping[str, t.Any],
    manager: str = MANAGER,
    *,
    force: bool = False,
    dry_run: bool = False,
) -> dict[str, t.Any]:
    """Makes or changes the object that ``manifest`` describes, by server-side apply as field manager ``manager``; gives
    it as the server has it then (with ``dry_run`` as it would be).

    ApiError ``conflict`` where another manager owns a field that would change (see ``ApiError.conflicts``), unless
    ``force`` takes it over; unknown fields are refused (``fieldValidation=Strict``); errors as of ``request``,
    ``resource_for`` and ``object_path``. ``metadata.managedFields`` must not be set.
    """
    resource = resource_for(client, str(manifest.get("apiVersion", "")), str(manifest.get("kind", "")))
    path = object_path(resource, manifest, client.server_name)
    query: dict[str, str | int | bool] = {"fieldManager": manager, "force": force, "fieldValidation": "Strict"}
    if dry_run:
        query["dryRun"] = "All"
    return client.request("PATCH", path, manifest, query, content_type="application/apply-patch+yaml")


def delete_object(
    client: KubeClient,
    path: str,
    uid: str = "",
    resource_version: str = "",
    propagation: str = "Background",
    dry_run: bool = False,
) -> bool:
    """Deletes the object at ``path``; False if there was none. With ``dry_run`` the answer is the same, and nothing is
    deleted. True does not mean gone: the object may linger while finalizers run.

    With ``uid`` or ``resource_version`` another object, or another state of it, is left alone: ApiError ``conflict``;
    other FleetErrors as of ``request``. ``propagation`` is Background, Foreground or Orphan.
    """
    options: dict[str, t.Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
    preconditions = {key: value for key, value in (("uid", uid), ("resourceVersion", resource_version)) if value}
    if preconditions:
        options["preconditions"] = preconditions
    if dry_run:
        options["dryRun"] = ["All"]
    try:
        client.delete(path, options)
    except ApiError as error:
        if error.code == "not-found":
            return False
        raise
    return True
