# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Objects of our kinds that people put on a hub beside the records, listed from every namespace."""

from __future__ import annotations

import typing as t

from .._core.errors import FleetError
from .._kube.client import KubeClient
from .._kube.lists import read_list
from .kinds import resource_of


def hub_objects(hub: KubeClient, kind: str, metadata_only: bool = False) -> t.Sequence[dict[str, t.Any]]:
    """All of a kind of ours, in every namespace; none where the kind is not served. With ``metadata_only`` the rest of
    them is left out. FleetError as of ``read_list`` if they cannot be read; KeyError for a kind that is not ours."""
    try:
        return read_list(hub, resource_of(kind).path(), metadata_only=metadata_only).items
    except FleetError as error:
        if error.code == "not-found":
            return ()
        raise
