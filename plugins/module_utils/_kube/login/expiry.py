# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When a client certificate or a token ends, how long a token was granted for, and when the certificate that a server
shows ends."""

from __future__ import annotations

import base64
import binascii
import json
import ssl
import typing as t
from datetime import UTC, datetime, timedelta


def certificate_ends(pem: bytes) -> datetime | None:
    """``notAfter`` of the first certificate (PEM), in UTC; None if there is none, or it cannot be read, as without the
    package ``cryptography``."""
    if not pem:
        return None
    try:
        # Imported here: it takes a fiftieth of a second, which no one needs for a token.
        from cryptography import x509
    except ImportError:
        return None  # a less exact message is all that is lost
    try:
        certificate = x509.load_pem_x509_certificate(pem)
        # Before version 42 of the package there is only an instant without a zone, which is in UTC.
        return getattr(certificate, "not_valid_after_utc", None) or certificate.not_valid_after.replace(tzinfo=UTC)
    except ValueError:
        return None


def token_ends(authorization: str) -> datetime | None:
    """``exp`` of a JSON Web Token (RFC 7519) in an Authorization header, in UTC, unverified; None if there is none."""
    return _claimed(authorization, "exp")


def token_life(authorization: str) -> timedelta | None:
    """From ``iat`` to ``exp`` of a JSON Web Token in an Authorization header: what was granted, whatever was asked for.
    None unless it says both and ends after it begins."""
    begins, ends = _claimed(authorization, "iat"), _claimed(authorization, "exp")
    return ends - begins if begins is not None and ends is not None and ends > begins else None


def _claimed(authorization: str, claim: str) -> datetime | None:
    """The instant under a claim of a JSON Web Token in an Authorization header, in UTC; None if there is none."""
    parts = authorization.removeprefix("Bearer ").split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return datetime.fromtimestamp(claims[claim], tz=UTC)
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError, OSError, RecursionError):
        return None


def shown_until(sock: t.Any) -> datetime | None:
    """``notAfter`` of the certificate that a server has shown on a TLS connection and that was checked; None if it is
    not known."""
    try:
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(sock.getpeercert()["notAfter"]), tz=UTC)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
