# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""TLS contexts for the API server of one cluster: trust in its own CA (or the system's, or in anything, if
``insecure``), a client certificate and key; PEM that cannot be loaded (``kubeconfig-invalid``)."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
import typing as t

from ..._core.errors import FleetError
from .connection import Connection


class _SharedContext(ssl.SSLContext):
    """A context for connections of many threads: ``set_alpn_protocols`` does nothing, as ``tls_context`` has done it.
    urllib3 asks for it at every connection, which frees the list that OpenSSL may be copying for another thread: its
    ClientHello carried whatever the memory held by then, and was refused (``decode error``)."""

    def set_alpn_protocols(self, alpn_protocols: t.Iterable[str]) -> None:
        """Nothing."""


def tls_context(connection: Connection, cert: bytes = b"", key: bytes = b"") -> ssl.SSLContext:
    """A context that trusts the cluster's authorities only, or the system's where the connection names none (they are
    slow to load), for TLS 1.2 and newer, HTTP/1.1 and many threads at once; an ``insecure`` connection checks nothing.
    ``cert`` and ``key`` are PEM; without ``key`` it is taken to be in ``cert``. FleetError ``kubeconfig-invalid`` for a
    CA, certificate or key that cannot be loaded."""
    context = _SharedContext(ssl.PROTOCOL_TLS_CLIENT)
    ssl.SSLContext.set_alpn_protocols(context, ["http/1.1"])
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif connection.ca is None:
        context.load_default_certs()
    else:
        _trust(context, connection.ca, connection.where)
    if cert:
        _show(context, cert, key, connection.where)
    return context


def _trust(context: ssl.SSLContext, ca: bytes, where: str) -> None:
    """Has the context trust these authorities (PEM); FleetError ``kubeconfig-invalid`` for what is none."""
    try:
        context.load_verify_locations(cadata=ca.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError):
        raise FleetError(
            "kubeconfig-invalid",
            "the certificate authority is not a PEM certificate",
            where,
            "certificate-authority-data is base64 of PEM text that starts with BEGIN CERTIFICATE",
        ) from None


def _show(context: ssl.SSLContext, cert: bytes, key: bytes, where: str) -> None:
    """Has the context show this certificate; FleetError ``kubeconfig-invalid`` if it or its key cannot be loaded."""
    # The empty password keeps OpenSSL from asking for one at the terminal.
    try:
        with _nameless(cert) as cert_path, _nameless(key or cert) as key_path:
            context.load_cert_chain(cert_path, key_path, "")
    except (ssl.SSLError, ValueError):
        raise FleetError(
            "kubeconfig-invalid",
            "the client certificate and its key cannot be loaded, or do not belong together",
            where,
            "both must be PEM, and the key must not be protected by a password",
        ) from None
    except OSError as error:
        raise FleetError(
            "kubeconfig-invalid", f"the client certificate and its key cannot be loaded: {error.strerror}", where
        ) from None


@contextlib.contextmanager
def _nameless(pem: bytes) -> t.Iterator[str]:
    """A path for OpenSSL, which takes keys from files only, good while entered; the file is in no folder, so that
    nothing of it is left on this machine, however this process ends. OSError if none can be made or written."""
    with _file_without_name() as file:
        file.write(pem)
        file.seek(0)
        yield f"/dev/fd/{file.fileno()}"


def _file_without_name() -> t.BinaryIO:
    """An open file in memory; a temporary one without a name where the system has no such files. OSError."""
    try:
        return os.fdopen(os.memfd_create("gitops-fleet"), "w+b")
    except (AttributeError, OSError):  # not on Linux, or forbidden there
        # Its name, if the file system needs one at all, is gone before anything is written.
        return t.cast(t.BinaryIO, tempfile.TemporaryFile())
