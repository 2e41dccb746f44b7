# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Tokens, passwords and keys that we show to API servers, found again in what these say, in base64 and escapes too, and
taken out (``(hidden)``); which secrets a connection or a URL has.

A server, or a proxy before it, may send back what it was given, in whatever it says. Each secret is known as it is, in
base64 (at any place within more text), percent-encoded, and with the escapes of JSON and Go, of JSON in JSON too.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import json
import re
import threading
import typing as t
from urllib.parse import quote, quote_plus, unquote, urlsplit

from .connection import Connection, Credential, proxy_authorization

HIDDEN = "(hidden)"
# Shorter ones are masked where they stand alone: within other words they would be found by chance, and "la(hidden)"
# instead of "latest" gives a password away.
_LONG = 8
_TOKEN = 20
# Shorter ones say nothing in base64 at a place that is not their own.
_LONG_ENCODED = 12
_WORD, _BASE64 = re.compile(r"\w"), re.compile(r"[\w+/-]")
_PIECE = 8
_INDEXED = 2 * _PIECE - 1


class KnownSecrets:
    """Secrets that are taken out of texts. Safe for threads; what it holds is not in its repr.

    Every text of a thousand members is searched for a thousand tokens, so long forms are looked up by pieces of
    ``_PIECE`` characters: of a text only the piece at each ``_PIECE``th place is looked at, and wherever a form of
    ``_INDEXED`` characters or more stands, one of its last ``_PIECE`` pieces is at such a place.
    """

    def __init__(self) -> None:
        self._forms: set[SecretForm] = set()
        self._by_piece: dict[str, tuple[SecretForm, ...]] = {}
        # Those too short for that, and those that look otherwise in JSON.
        self._short: tuple[SecretForm, ...] = ()
        self._escaped: tuple[SecretForm, ...] = ()
        self._lock = threading.Lock()
        # Who adds what another thread has just added is to end after that was told, too.
        self._adding = threading.Lock()
        self._hears: t.Callable[[frozenset[SecretForm]], None] | None = None

    def add(self, *secrets: str) -> None:
        """Looks for these from now on, in each of the forms that the module's docstring names; empty ones are passed
        over."""
        found = {form for secret in secrets if secret for form in _forms(secret)}
        with self._adding:
            fresh = self.learn(found)
            if fresh and self._hears is not None:
                self._hears(fresh)

    @property
    def forms(self) -> frozenset[SecretForm]:
        """All that is looked for: what another process has to learn."""
        with self._lock:
            return frozenset(self._forms)

    def tell_new_to(self, hears: t.Callable[[frozenset[SecretForm]], None]) -> None:
        """Each ``add`` that follows tells ``hears``, and nobody else, what is new in it before it ends, and so before
        that is shown to any server. ``hears`` must not add anything itself."""
        self._hears = hears

    def learn(self, found: t.AbstractSet[SecretForm]) -> frozenset[SecretForm]:
        """Looks for these forms from now on, and tells nobody; gives those that were not known."""
        with self._lock:
            fresh = frozenset(found - self._forms)
            self._forms |= fresh
            self._short += tuple(form for form in fresh if len(form.text) < _INDEXED)
            self._escaped += tuple(form for form in fresh if _as_json(form.text) != form.text)
            for form in fresh:
                for piece in _last_pieces(form.text):
                    self._by_piece[piece] = (*self._by_piece.get(piece, ()), form)
        return fresh

    def without_secrets(self, text: str) -> str:
        """The text with ``HIDDEN`` in the place of each of them; of those with fewer than 8 characters only where they
        stand alone. Base64 beside one within base64 goes with it, up to four characters on each side."""
        present = [form for form in self._candidates(text) if form.text in text]
        return _without(present, text) if present else text

    def may_stand_in(self, text: str) -> bool:
        """Whether the text has what a secret could come back as, even as a part of a word."""
        return any(form.text in text for form in self._candidates(text))

    def masker_of(self, document: str) -> t.Callable[[str], str]:
        """What does as ``without_secrets`` for the texts of this document (JSON with ``ensure_ascii=False``), faster by
        far. Secrets that are added later do not count."""
        candidates = {*self._candidates(document), *self._escaped}
        present = [form for form in candidates if _as_json(form.text) in document]
        return (lambda text: _without(present, text)) if present else str

    def _candidates(self, text: str) -> set[SecretForm]:
        """All that can be in the text as they are, and more."""
        found = set(self._short)
        pieces = (text[place : place + _PIECE] for place in range(0, len(text) - _PIECE + 1, _PIECE))
        for piece in self._by_piece.keys() & pieces:
            found.update(self._by_piece[piece])
        return found


class SecretForm(t.NamedTuple):
    """One text that a secret may come back as; ``inner`` is the middle of its base64 within more base64, of which the
    characters beside it tell a part too."""

    text: str
    inner: bool = False

    @property
    def is_short(self) -> bool:
        """Whether it is taken out only where it stands alone."""
        return len(self.text) < _LONG and not self.inner

    def places(self, text: str) -> t.Iterator[tuple[int, int]]:
        """Where it is to be taken out of the text, as (begin, end); they may overlap."""
        begin = text.find(self.text)
        while begin >= 0:
            end = begin + len(self.text)
            if self.inner:
                yield begin - _base64_in(text[max(begin - 4, 0) : begin][::-1]), end + _base64_in(text[end : end + 4])
            elif not (self.is_short and (_WORD.match(text[begin - 1 : begin]) or _WORD.match(text[end : end + 1]))):
                yield begin, end
            begin = text.find(self.text, begin + 1)


def _base64_in(text: str) -> int:
    """How many characters at the beginning of the text base64 may have."""
    return sum(1 for _each in itertools.takewhile(_BASE64.match, text))


def _last_pieces(text: str) -> t.Iterator[str]:
    """The last ``_PIECE`` pieces of a text, none of one with less than ``_INDEXED`` characters: the end of a token is
    its own, many begin alike."""
    for place in range(len(text) - _INDEXED, len(text) - _PIECE + 1) if len(text) >= _INDEXED else ():
        yield text[place : place + _PIECE]


def _as_json(text: str) -> str:
    """The text as it stands between the quotes of JSON with ``ensure_ascii=False``."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _quoted(text: str) -> set[str]:
    """The text between the quotes of JSON, as servers write that: as it is, in ASCII alone, and as Go does."""
    as_is = _as_json(text)
    as_go = re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", as_is)
    return {as_is, json.dumps(text)[1:-1], as_go}


def _without(forms: t.Collection[SecretForm], text: str) -> str:
    """The text with ``HIDDEN`` for each of the forms, once for those that overlap, so that no tail of one is left
    behind; the short ones last, for one behind a longer one then stands alone."""
    for short in (False, True):
        text = _hidden(text, sorted(place for form in forms if form.is_short is short for place in form.places(text)))
    return text


def _hidden(text: str, places: t.Iterable[tuple[int, int]]) -> str:
    """The text with ``HIDDEN`` in these places, which are in the order of their beginnings."""
    parts, shown = [], 0
    for begin, end in places:
        if begin >= shown:
            parts += [text[shown:begin], HIDDEN]
        shown = max(shown, end)
    return "".join((*parts, text[shown:]))


# Tokens and passwords that this process has shown to any server.
SHOWN = KnownSecrets()


def secrets_of(credential: Credential, connection: Connection) -> tuple[str, ...]:
    """Tokens and passwords that go to the server or to a proxy with this credential; those to a proxy only where its
    URL has a password, or a user of 20 characters and more, which is taken for a token. Some of the texts may be
    empty."""
    passwords = (*passwords_in(connection.proxy), *_token_in(connection.proxy))
    to_proxy = _authorization(proxy_authorization(connection.proxy)) if any(passwords) else ()
    return (*_authorization(credential.authorization), connection.token, *to_proxy, *passwords)


def _token_in(url: str) -> tuple[str, ...]:
    """The user of a URL without a password, as it is and percent-decoded, if it is as long as tokens are."""
    try:
        parts = urlsplit(url)
        user = "" if parts.password else parts.username or ""
    except ValueError:
        return ()
    return (user, unquote(user)) if len(user) >= _TOKEN else ()


def other_secrets_of(connection: Connection, credential: Credential) -> tuple[str, ...]:
    """What else only we and this one server have to know: the lines of private keys (PEM, of 8 characters or more), but
    not of a key that is in the certificate's PEM alone, and the values of headers of impersonation."""
    keys = [key for key in (credential.client_key, connection.client_key) if isinstance(key, bytes)]
    lines = [line for key in keys for line in key.decode("ascii", "replace").split("\n")]
    named = (value for _header, value in connection.impersonate)
    return (*(line for line in lines if len(line) >= _LONG and not line.startswith("-")), *named)


def _authorization(header: str) -> tuple[str, ...]:
    """What is secret in an Authorization header: all behind the scheme; of Basic also user and password together, and
    the password."""
    scheme, _space, value = header.partition(" ")
    if scheme != "Basic":
        return (value,)
    try:
        pair = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return (value,)
    return value, pair, pair.partition(":")[2]


def passwords_in(url: str) -> tuple[str, ...]:
    """The passwords in the URL, that of its user and those of its query (``password``, ``sslpassword``), as they are
    and percent-decoded; some of the texts may be empty, nothing for what is no URL."""
    try:
        parts = urlsplit(url)
        own = parts.password or ""
    except ValueError:
        return ()
    asked = (each.partition("=") for each in parts.query.split("&"))
    found = (own, *(value for name, _is, value in asked if name.lower().endswith("password")))
    return tuple(form for each in found for form in (each, unquote(each)))


def _forms(secret: str) -> t.Iterator[SecretForm]:
    """Each form in which a server may give the secret back; in base64 from 8 bytes on, and within more base64 from 12
    on."""
    for form in (secret, quote(secret, safe=""), quote_plus(secret)):
        yield SecretForm(form)
    for form in _quoted(secret):
        yield SecretForm(form)
        yield from map(SecretForm, _quoted(form))
    raw = secret.encode()
    if len(raw) >= _LONG:
        for encoded in (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()):
            yield SecretForm(encoded.rstrip("="))
    if len(raw) >= _LONG_ENCODED:
        for before in range(3):
            whole = base64.b64encode(b"\0" * before + raw)
            # The first and the last group of four may hold bits of what stands around the secret.
            inner = whole[4 if before else 0 : -4].decode()
            yield SecretForm(inner, inner=True)
            yield SecretForm(inner.translate(str.maketrans("+/", "-_")), inner=True)
