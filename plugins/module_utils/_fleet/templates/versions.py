# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The versions of Kubernetes on the way to a target, minor by minor (filter ``upgrade_path``), out of a list of
``releases`` or as minors alone."""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError
from ..._core.foreign import shown_value
from ..._core.updates.releases import upgrade_path as core


def upgrade_path(version: t.Any, target: t.Any, releases: t.Any = ()) -> list[str]:
    """The versions after the present one, minor by minor, the target last, as of the function of this name in
    ``_core``. FleetError ``bad-argument``, and as there."""
    if not isinstance(releases, (list, tuple)):
        raise FleetError("bad-argument", f"a list of versions is wanted, not {shown_value(releases, 60)}", "releases")
    return list(core.upgrade_path(version, target, releases))
