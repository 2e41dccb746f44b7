# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Taking the notes on the connections that a verb has used, such as certificates that were not checked, for its
result."""

from __future__ import annotations

from ..._kube.login.connection_notes import CONNECTION_NOTES


def take_connection_notes() -> dict[str, list[str]]:
    """Takes the notes on all that was used since they were taken last: by member, or by context for a hub, in the order
    of these names."""
    return CONNECTION_NOTES.take()
