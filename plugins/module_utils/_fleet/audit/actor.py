# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who acts: the account as the hub sees it, or the user of this machine (USER, LOGNAME)."""

from __future__ import annotations

import os
import pwd

from ..._kube.access import who_am_i
from ..session import Session


def user(session: Session) -> str:
    """The name of who we are, as the hub sees us, asked at each call; without a hub USER or LOGNAME of the environment,
    else the account of this process. FleetError as of ``who_am_i`` if a hub does not answer, or does not say."""
    if session.hub is not None:
        return who_am_i(session.hub).name
    return session.environ.get("USER") or session.environ.get("LOGNAME") or _account()


def _account() -> str:
    """The name of the account that this process runs as, or ``uid`` and its number where it has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
