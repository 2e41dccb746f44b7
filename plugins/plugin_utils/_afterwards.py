# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verb asks only to tell more of something that is done: an error of it is a warning, and takes nothing back.

Private to this collection.
"""

from __future__ import annotations

import typing as t

from ..module_utils._core.errors import FleetError

Found = t.TypeVar("Found")


def asked_afterwards(
    ask: t.Callable[[], Found], otherwise: Found, unknown: str, warn: t.Callable[[str], None]
) -> Found:
    """What ``ask`` gives. Where it raises a FleetError that is told by ``warn``, behind what is ``unknown`` now, such
    as ``who approved``, and ``otherwise`` is given."""
    try:
        return ask()
    except FleetError as error:
        warn(f"{unknown} is not known: {error}")
        return otherwise
