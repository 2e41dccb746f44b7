# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where the process of an operation (upgrade) runs: on which machine, boot and namespace of processes, and below which
folder; the reference that says so before it is begun (the intent), and its words for people."""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
from pathlib import Path
from urllib.parse import quote, unquote

from ..._core.errors import FleetError
from ..._core.foreign import in_line
from ..._local.locks import make_folder, unwritable_as_error
from ..._local.private import own_folder, write_private

PREFIX = "process:"
# Beside the folders of operations, the names of all that were begun.
BEGUN = ".begun"
_ID = ".id"


def machine() -> str:
    """``process:<host>/<boot>/<process namespace>``: one boot of one machine, as one namespace of processes sees it; a
    part that Linux does not tell is empty."""
    boot, namespace = "", ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    with contextlib.suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    return f"{PREFIX}{platform.node()}/{boot}/{namespace}"


def is_earlier_boot(place: str) -> bool:
    """Whether that, as of ``machine``, is this machine and namespace of processes before a restart, so that none of its
    processes is left. False where a part is not known."""
    then, now = place.split("/"), machine().split("/")
    return all((*then, *now)) and then[::2] == now[::2] and len(then) == len(now) and then != now


def intent_reference(operations: Path) -> str:
    """The machine and the folder of operations, by its path and by its number; what is not there yet is made. The same
    text until the machine is restarted or the folder moved; another path to it gives another one.

    Record it with the intent: whoever takes the operation up then knows whether it would see what was begun, and begins
    nothing if it would not. FleetError ``unwritable-folder``; ``unsafe-folder`` where others may write to it.
    """
    make_folder(operations, 0o700)
    with unwritable_as_error(operations):
        own_folder(operations)
    found = folder_number(operations) or _make_number(operations)
    return f"{machine()}/{found}@{quote(str(operations.absolute()))}"


def folder_number(operations: Path) -> str:
    """The number of a folder of operations, made once by ``intent_reference``; empty if there is none, or it cannot be
    read."""
    try:
        return (operations / _ID).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def is_intent(reference: str) -> bool:
    """Whether the reference says only where an operation is about to be begun; False for an empty one, and for those of
    other drivers."""
    return reference.startswith(PREFIX) and ":" not in reference.removeprefix(PREFIX)


def place_words(reference: str) -> str:
    """On which machine, and in which folder, that was begun, in words; empty if the reference does not say."""
    place, _colon, _process = reference.removeprefix(PREFIX).partition(":")
    if not reference.startswith(PREFIX) or not place:
        return ""
    at, _at, folder = place.partition("@")
    return f"on {at.partition('/')[0]}" + (f", with its operations in {in_line(unquote(folder))}" if folder else "")


def _make_number(operations: Path) -> str:
    """Makes the number of the folder, and gives it; of several that come at once one makes it, whole. FleetError
    ``unwritable-folder``."""
    mine = operations / f"{_ID}.{secrets.token_hex(8)}"
    try:
        write_private(mine, f"{secrets.token_hex(8)}\n".encode())
        with contextlib.suppress(FileExistsError):
            os.link(mine, operations / _ID)
        mine.unlink()
    except OSError as error:
        hint = "give a folder that you may write to"
        raise FleetError("unwritable-folder", f"{operations} cannot be written: {error.strerror}", hint=hint) from None
    return folder_number(operations)
