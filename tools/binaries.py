# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make binaries`: gets what local control planes and Pulumi programs need, where it is not there."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.environ["ANSIBLE_COLLECTIONS_PATH"])

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import provide
from ansible_collections.gitops.fleet.plugins.module_utils._local.pulumi_engine import get_engine
from ansible_collections.gitops.fleet.plugins.module_utils._local.recipes import RECIPES


def build() -> None:
    """A complete cache is found in a second. A pulumi of the user is taken if it is new enough. Raises FleetError."""
    for one in RECIPES:
        folder = get_engine(os.environ, say=_say).folder if one.family == "pulumi" else provide(one, say=_say)
        _say(f"{one.product} {one.version}: {folder}")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    try:
        build()
    except FleetError as error:
        sys.exit(str(error))
