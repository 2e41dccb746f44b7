# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A digest that somebody gives back for what was shown, whole or as much of it as tables and messages show: whether it
approves that, and the refusal (``digest-mismatch``) of another or too short one."""

from __future__ import annotations

from ..errors import FleetError

SHORTEST = 12
ALGORITHM = "sha256:"


def approves(given: str, digest: str) -> bool:
    """Whether ``given`` is the digest or begins it, with 12 hexadecimal digits or more; False for an empty text. Either
    may lack ``sha256:``; case and spaces around do not count."""
    start = _digits(given)
    return len(start) >= SHORTEST and _digits(digest).startswith(start)


def refuse_another(given: str, digest: str, whose: str, where: str, hint: str) -> None:
    """Raises FleetError ``digest-mismatch`` if a digest was given and does not approve this one, a too short one too;
    an empty text means that none was given, and passes, but spaces alone do not. ``whose`` has its verb: ``the run
    has``."""
    if given and not approves(given, digest):
        message = f"approved was {given}, {whose} {digest}{too_short_words(given)}"
        raise FleetError("digest-mismatch", message, where, hint)


def too_short_words(given: str) -> str:
    """What to say, behind a sentence, of a digest that is too short to stand for anything: ``; it has 5 digits and
    needs 12 at least``; empty for others."""
    count = len(_digits(given))
    return f"; it has {count} digits and needs {SHORTEST} at least" if count < SHORTEST else ""


def _digits(digest: str) -> str:
    """The digest without spaces around and ``sha256:``, in any case, in lower case; its form is not judged."""
    return digest.strip().lower().removeprefix(ALGORITHM)
