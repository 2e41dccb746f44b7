# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an approval of an update run has to be (``allow_self_approval``, ``verified_approvals``, ``approval_expires``):
the terms that a conductor gives, those that its run keeps in its annotations, and the stricter of both.

A run keeps the strictest terms that it was begun or carried on with, so that whoever carries it on with fewer words has
no approvals count that did not before. They stand among the metadata, where a writer of the status does not reach.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from datetime import timedelta

SELF_APPROVAL = "gitops.fleet/allow-self-approval"
VERIFIED = "gitops.fleet/verified-approvals"
EXPIRES = "gitops.fleet/approval-expires"
# Beyond this no timedelta holds them.
_SECONDS = re.compile(r"[0-9]{1,13}")
Annotations = t.Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What an approval has to be. ``expires``: at most that old when it is used, None: of any age. Without
    ``self_approval`` it comes from somebody who neither made nor started the run; that and ``verified`` want names that
    the hub vouches for."""

    self_approval: bool = True
    verified: bool = False
    expires: timedelta | None = None

    @property
    def proof(self) -> bool:
        """Whether the approver's name has to be one that the hub vouches for."""
        return self.verified or not self.self_approval


def stricter(one: Terms, other: Terms) -> Terms:
    """Both at once: self-approval if both allow it, proof if one asks for it, the shorter expiry."""
    return Terms(
        self_approval=one.self_approval and other.self_approval,
        verified=one.verified or other.verified,
        expires=min((each.expires for each in (one, other) if each.expires is not None), default=None),
    )


def kept_terms(annotations: Annotations) -> Terms:
    """The terms that a run keeps, by its annotations. What is missing asks nothing, what cannot be read is the
    strictest: no self-approval, verified, an expiry of no time at all."""
    seconds = annotations.get(EXPIRES)
    readable = seconds is not None and _SECONDS.fullmatch(seconds)
    return Terms(
        self_approval=annotations.get(SELF_APPROVAL, "true") == "true",
        verified=annotations.get(VERIFIED, "false") != "false",
        expires=None if seconds is None else timedelta(seconds=int(seconds) if readable else 0),
    )


def terms_to_keep(annotations: Annotations, given: Terms) -> dict[str, str]:
    """The annotations to be set beside these, by which a run keeps the ``given`` terms, too; empty where it does so
    already."""
    kept, wanted = as_annotations(kept_terms(annotations)), as_annotations(stricter(kept_terms(annotations), given))
    return {name: value for name, value in wanted.items() if kept.get(name) != value}


def as_annotations(terms: Terms) -> dict[str, str]:
    """The terms as annotations of a run: ``"false"``, ``"true"`` and whole seconds, a fraction cut off; none for what
    is asked of no approval."""
    return {
        **({} if terms.self_approval else {SELF_APPROVAL: "false"}),
        **({VERIFIED: "true"} if terms.verified else {}),
        **({EXPIRES: str(int(terms.expires.total_seconds()))} if terms.expires is not None else {}),
    }


def kept_words(annotations: Annotations, given: Terms) -> str:
    """What a run keeps that is stricter than the ``given`` terms, as options in a sentence: ``approvals are judged by
    the terms that the run keeps: allow_self_approval=false``; empty where nothing is."""
    kept = as_annotations(stricter(kept_terms(annotations), given))
    mine = as_annotations(given)
    words = [f"{_OPTIONS[name]}={value}" for name, value in kept.items() if mine.get(name) != value]
    return f"approvals are judged by the terms that the run keeps: {', '.join(words)}" if words else ""


_OPTIONS = {
    SELF_APPROVAL: "allow_self_approval",
    VERIFIED: "verified_approvals",
    EXPIRES: "approval_expires",
}
