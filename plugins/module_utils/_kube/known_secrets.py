# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What we show to API servers to be let in, found again in what they say, and taken out.

A server, or a proxy before it, may send back what it was given: in a message, a page, a version, a name. Each secret is
known as it is, in base64 (at any place within more text), percent-encoded, and with the escapes of JSON and Go.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
import typing as t
from urllib.parse import quote, quote_plus, unquote, urlsplit

from .connection import Connection, Credential

HIDDEN = "(hidden)"
# Shorter ones are masked where they stand alone: within other words they would be found by chance, and "la(hidden)"
# instead of "latest" gives a password away.
_LONG = 8
# Shorter ones say nothing in base64 at a place that is not their own.
_LONG_ENCODED = 12


class KnownSecrets:
    """Secrets that are taken out of texts. Safe for threads; what it holds is not in its repr."""

    def __init__(self) -> None:
        self._forms: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def add(self, *secrets: str) -> None:
        found = frozenset(form for secret in secrets if secret for form in _forms(secret))
        with self._lock:
            self._forms |= found

    def taken_out(self, text: str) -> str:
        """The text without any of them."""
        return _without([form for form in self._forms if form in text], text)

    def within(self, texts: str) -> t.Callable[[str], str]:
        """The same function for each of many texts that stand in ``texts``, as JSON for example; faster by far, as most
        of the secrets are in none of them."""
        present = [form for form in self._forms if form in texts]
        return lambda text: _without(present, text)


def _without(forms: t.Iterable[str], text: str) -> str:
    """The longest form first, so that no tail of one is left behind."""
    for form in sorted(forms, key=len, reverse=True):
        if len(form) >= _LONG:
            text = text.replace(form, HIDDEN)
        else:
            text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", HIDDEN, text)
    return text


# Tokens and passwords that this process has shown to any server.
SHOWN = KnownSecrets()


def secrets_of(credential: Credential, connection: Connection) -> tuple[str, ...]:
    """Token or password that goes to the server or to a proxy with this credential."""
    return (*_authorization(credential.authorization), connection.token, *_userinfo(connection.proxy))


def private_to(connection: Connection, credential: Credential) -> tuple[str, ...]:
    """What else only we and this one server have to know: keys, and in whose name we ask."""
    keys = [key for key in (credential.client_key, connection.client_key) if isinstance(key, bytes)]
    lines = [line for key in keys for line in key.decode("ascii", "replace").split("\n")]
    named = (value for _header, value in connection.impersonate)
    return (*(line for line in lines if len(line) >= _LONG and not line.startswith("-")), *named)


def _authorization(header: str) -> tuple[str, ...]:
    scheme, _space, value = header.partition(" ")
    if scheme != "Basic":
        return (value,)
    try:
        pair = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return (value,)
    return value, pair, pair.partition(":")[2]


def _userinfo(url: str) -> tuple[str, ...]:
    try:
        password = urlsplit(url).password or ""
    except ValueError:
        return ()
    return password, unquote(password)


def _forms(secret: str) -> t.Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield quote_plus(secret)
    quoted = json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quoted
    yield json.dumps(secret)[1:-1]
    yield re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", quoted)
    raw = secret.encode()
    if len(raw) >= _LONG:
        for encoded in (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()):
            yield encoded.rstrip("=")
    if len(raw) >= _LONG_ENCODED:
        for before in range(3):
            whole = base64.b64encode(b"\0" * before + raw)
            # The first and the last group of four may hold bits of what stands around the secret.
            inner = whole[4 if before else 0 : -4].decode()
            yield inner
            yield inner.translate(str.maketrans("+/", "-_"))
