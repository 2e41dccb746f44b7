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
        self._forms: frozenset[_Form] = frozenset()
        self._lock = threading.Lock()

    def add(self, *secrets: str) -> None:
        found = frozenset(form for secret in secrets if secret for form in _forms(secret))
        with self._lock:
            self._forms |= found

    def taken_out(self, text: str) -> str:
        """The text without any of them."""
        return _without([form for form in self._forms if form.text in text], text)

    def within(self, document: str) -> t.Callable[[str], str]:
        """The same function for each text of a JSON document; faster by far, as most of the secrets are in none."""
        present = [form for form in self._forms if _as_json(form.text) in document]
        return lambda text: _without(present, text)


class _Form(t.NamedTuple):
    """One text that a secret may come back as; ``inner`` is the middle of its base64 within more base64, of which the
    characters beside it tell a part too."""

    text: str
    inner: bool = False

    @property
    def pattern(self) -> str:
        text = re.escape(self.text)
        if self.inner:
            return rf"[\w+/-]{{0,4}}{text}[\w+/-]{{0,4}}"
        return text if len(self.text) >= _LONG else rf"(?<!\w){text}(?!\w)"


def _as_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _without(forms: t.Iterable[_Form], text: str) -> str:
    """The longest form first, so that no tail of one is left behind."""
    for form in sorted(forms, key=lambda form: len(form.text), reverse=True):
        text = re.sub(form.pattern, HIDDEN, text)
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


def _forms(secret: str) -> t.Iterator[_Form]:
    quoted = _as_json(secret)
    for form in (secret, quote(secret, safe=""), quote_plus(secret), quoted, json.dumps(secret)[1:-1]):
        yield _Form(form)
    yield _Form(re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", quoted))
    raw = secret.encode()
    if len(raw) >= _LONG:
        for encoded in (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()):
            yield _Form(encoded.rstrip("="))
    if len(raw) >= _LONG_ENCODED:
        for before in range(3):
            whole = base64.b64encode(b"\0" * before + raw)
            # The first and the last group of four may hold bits of what stands around the secret.
            inner = whole[4 if before else 0 : -4].decode()
            yield _Form(inner, inner=True)
            yield _Form(inner.translate(str.maketrans("+/", "-_")), inner=True)
