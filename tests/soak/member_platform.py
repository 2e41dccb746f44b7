# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The platform of the soak's members: a member's version stands in a ConfigMap on the member itself.

``observe KUBECONFIG`` prints it; ``begin KUBECONFIG TARGET LOG OPERATION`` notes the operation in LOG, works for a
while, and sets it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".cache" / "collections"))

from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig

PLACE = "/api/v1/namespaces/default/configmaps/platform"
SECONDS = 0.5


def main(verb: str, kubeconfig: str, *more: str) -> None:
    with KubeClient(connection_from_kubeconfig(kubeconfig)) as client:
        if verb == "observe":
            print(client.get(PLACE)["data"]["version"])
            return
        target, log, operation = more
        line = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(line, f"{operation}\n".encode())
        os.close(line)
        time.sleep(SECONDS)
        patch = {"data": {"version": f"v{target}"}}
        client.request("PATCH", PLACE, patch, {"fieldManager": "platform"}, "application/merge-patch+json")


if __name__ == "__main__":
    main(*sys.argv[1:])
