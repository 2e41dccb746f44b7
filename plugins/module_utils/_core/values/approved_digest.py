# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Approval by digest: whether what somebody gives back, a whole or shortened digest, is that of what was shown, and the
refusal (``digest-mismatch``) of another."""

from __future__ import annotations

from ..errors import FleetError
from .listed import number_of

SHORTEST = 12
ALGORITHM = "sha256:"


def approves(given: str, digest: str) -> bool:
    """Whether ``given`` is the digest or its beginning, with 12 digits at least. Either may lack ``sha256:``; case and
    spaces around do not count."""
    start = _digits(given)
    return len(start) >= SHORTEST and _digits(digest).startswith(start)


def refuse_another(given: str, digest: str, whose: str, where: str, hint: str) -> None:
    """FleetError ``digest-mismatch`` if a digest is given and does not approve this one. ``whose`` is for the message,
    with its verb: ``the run has``."""
    if given and not approves(given, digest):
        message = f"approved was {given}, {whose} {digest}{too_short_words(given)}"
        raise FleetError("digest-mismatch", message, where, hint)


def too_short_words(given: str) -> str:
    """What a message adds about a digest of fewer than 12 digits: ``; it has 5 digits and needs 12 at least``; empty
    for others."""
    count = len(_digits(given))
    return f"; it has {number_of(count, 'digit')} and needs {SHORTEST} at least" if count < SHORTEST else ""


def _digits(digest: str) -> str:
    """The digest without spaces around and ``sha256:``, in any case, in lower case; its form is not judged."""
    return digest.strip().lower().removeprefix(ALGORITHM)
