# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Errors of requests to an API server (``ApiError``): a code, a sentence, mostly a way out, made of an answer of 300 or
above; who owns the fields of a refused server-side apply.

Codes: ``unreachable``, ``timeout``, ``certificate``, ``credentials-expired``, ``unauthorized``, ``forbidden``,
``namespace-terminating``, ``not-found``, ``conflict``, ``already-exists``, ``gone``, ``invalid``,
``too-many-requests``, ``bad-answer``, ``no-version``, ``unknown-kind``, ``too-large``, ``server-error``. Statuses and
reasons as in the Kubernetes API conventions (``metav1.Status``).
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._core.errors import FleetError
from .._core.foreign import in_line, in_lines
from .secret_refusals import (
    HINT,
    REASONS,
    holds_secrets,
    refusal_message,
)

_BY_STATUS = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    409: "conflict",
    410: "gone",
    413: "invalid",
    415: "invalid",
    422: "invalid",
    429: "too-many-requests",
    504: "timeout",
}
_HINTS = {
    "unauthorized": "the server does not know these credentials; see whether kubectl with the same context works",
    "credentials-expired": "renew the credentials of this kubeconfig user",
    "forbidden": "give the account that permission; gitops.fleet.rbac prints the minimal roles for each purpose",
    "namespace-terminating": "run again when the namespace is gone; if it stays, see its status.conditions",
    "gone": "read the list again from the start",
    "too-many-requests": "try again later, or with fewer threads",
    "server-error": "see the log of the API server",
}
# Server-side apply answers with status 500 and these words where a field is unknown or of another type.
_BAD_PATCH = ("failed to create typed patch object", "failed to convert new object")
_CONFLICT = "leave these fields out of the manifest, or let apply take them over by force"
_SECRET_HINTS = {"invalid": HINT, "conflict": _CONFLICT}
_MOST_SAID, _MOST_CAUSES = 2_000, 100
# Statuses that say something of an object: a proxy that has lost its way to the server answers so, too.
_OF_OBJECTS = (404, 409, 410)
# What API servers, as all that is made with Go's net/http, say of a path that they do not have.
_NO_SUCH_PATH = b"404 page not found"


@dataclass(frozen=True)
class ApplyConflict:
    """A field that another manager owns, as server-side apply reports it; ``manager`` is its name, or the server's
    message where that quotes none."""

    manager: str
    field: str


class ApiError(FleetError):
    """A request that failed. ``status`` is that of the answer, 0 where there was none or the error is not about it;
    ``reason`` is that of the server's Status (``Unauthorized`` for any 401), empty where none may be told; without a
    ``hint`` it gets that of its code, if any. ``details`` has what is used of those of a Status: ``name``, and
    ``causes`` with reason, field and message."""

    def __init__(
        self,
        code: str,
        message: str,
        where: str = "",
        hint: str = "",
        *,
        status: int = 0,
        reason: str = "",
        details: t.Mapping[str, t.Any] | None = None,
    ) -> None:
        super().__init__(code, message, where, hint or _HINTS.get(code, ""))
        self.status = status
        self.reason = reason
        self.details: t.Mapping[str, t.Any] = details or {}

    @property
    def conflicts(self) -> tuple[ApplyConflict, ...]:
        """Managers and fields of a refused server-side apply, at most 100; empty for another error, and where a Secret
        was refused."""
        return tuple(
            ApplyConflict(_manager(cause["message"]), cause["field"])
            for cause in self.details.get("causes") or ()
            if cause["reason"] == "FieldManagerConflict"
        )


def _manager(message: str) -> str:
    """``conflict with "kubectl-edit" using apps/v1`` -> ``kubectl-edit``; the whole message where nothing is quoted in
    it."""
    parts = message.split('"')
    return parts[1] if len(parts) > 2 else message


def from_status(
    status: int,
    document: t.Mapping[str, t.Any] | None,
    request: str,
    where: str,
    body: t.Any = None,
    hide: t.Callable[[str], str] = str,
    page: bytes = b"",
) -> ApiError:
    """The error for an answer of 300 or above, given back.

    ``request`` is the verb and path, for messages; ``document`` the decoded JSON, None if the answer was none; ``page``
    the answer as it came. ``body`` is what was sent: where it, or the path, has a Secret, the message is put in our
    words (``refusal_message``), for the server's may hold values. ``hide`` takes secrets out of a text. The code goes
    by the status, or by what a Status says of an object that is there already, a namespace that is being deleted, or a
    patch of another form (``invalid``). Of what is no Status nothing is told, and ``invalid``, ``not-found``,
    ``conflict`` and ``gone`` become ``bad-answer``, but for the page that API servers send for a path that they do not
    have.
    """
    if document is None or document.get("kind") != "Status":
        return _foreign(status, request, where, page)
    secret = holds_secrets(request.partition(" ")[2], body)
    said = hide(str(document.get("message") or ""))
    reason = hide(_text(document.get("reason")))
    details = _details(document.get("details"), hide)
    code = "already-exists" if reason == "AlreadyExists" else _code(status)
    if said.startswith(_BAD_PATCH):
        code = "invalid"
    # Said with status 403, although no permission would help (NamespaceTerminatingCause in k8s.io/api).
    if any(cause["reason"] == "NamespaceTerminating" for cause in details["causes"]):
        code = "namespace-terminating"
    message, hint = in_lines(said, _MOST_SAID) or f"{request} failed with status {status}", ""
    if secret:
        message, hint = hide(refusal_message(status, document, request, body)), _SECRET_HINTS.get(code, "")
        reason, details = reason if reason in REASONS else "", {**details, "causes": []}
    error = ApiError(code, message, where, hint, status=status, reason=reason, details=details)
    if error.conflicts:
        owners = ", ".join(f"{c.field} ({c.manager})" for c in error.conflicts)
        message = f"other managers own fields that would change: {owners}"
        return ApiError(code, message, where, _CONFLICT, status=status, reason=reason, details=details)
    return error


def _details(found: t.Any, hide: t.Callable[[str], str]) -> dict[str, t.Any]:
    """Of ``details`` what is used here, as texts, ``hide`` applied. What is missing or of another type is empty."""
    details = found if isinstance(found, t.Mapping) else {}
    causes = details.get("causes")
    rows = [each for each in causes if isinstance(each, t.Mapping)][:_MOST_CAUSES] if isinstance(causes, list) else []
    texts = [{key: hide(_text(row.get(key))) for key in ("reason", "field", "message")} for row in rows]
    return {"name": hide(_text(details.get("name"))), "causes": texts}


def _text(value: t.Any) -> str:
    """A text as one line, a long one cut; empty for anything else."""
    return in_line(value) if isinstance(value, str) else ""


def _code(status: int) -> str:
    """The code for a status of 300 or above."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 300 <= status < 400:
        return "bad-answer"
    return "server-error" if status >= 500 else "invalid"


def _foreign(status: int, request: str, where: str, page: bytes) -> ApiError:
    """The error for an answer that is no Status: ``bad-answer`` where its code would be ``invalid``, or would say that
    an object is gone or another. Its text is not shown, for nobody knows what is in it."""
    code = _code(status)
    unsaid = status in _OF_OBJECTS and page.strip() != _NO_SUCH_PATH
    if unsaid or code in ("bad-answer", "invalid"):
        message = f"{request} was answered with status {status} by something that is not a Kubernetes API server"
        return ApiError(
            "bad-answer", message, where, "see what stands before the API server: a proxy, a login page", status=status
        )
    return ApiError(code, f"{request} was answered with status {status}", where, status=status)
