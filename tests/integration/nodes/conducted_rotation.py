# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation that is conducted in a process of its own, to be killed at any instant: records and definition as JSON."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / ".cache" / "collections"))

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotating import RotationWish, conduct_rotation
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import node_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import open_session


def main() -> None:
    told = json.loads(sys.argv[1])
    session = open_session({"records": told["options"]}, {}, writes=True, say=print)
    wish = RotationWish(max_idle=timedelta(seconds=60), interval=timedelta(seconds=1))
    print("begins", flush=True)
    conduct_rotation(session, told["rotation"]["metadata"]["name"], node_manifests((), [told["rotation"]]), wish)


if __name__ == "__main__":
    main()
