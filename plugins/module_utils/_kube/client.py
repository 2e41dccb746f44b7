# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Requests to one API server, dict in, dict out, from many threads: time limits, retries, secrets hidden; its clock."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import urlencode, urlsplit

from .._core.values.instants import SECONDS, write_time
from . import clocks, transport
from .answers import (
    Answer,
    Broken,
    TooLarge,
    answer_of,
)
from .errors import ApiError, from_status
from .login.connection import Connection, Credential, bearer
from .login.connection_notes import CONNECTION_NOTES
from .login.expiry import certificate_ends, token_ends
from .login.known_secrets import (
    SHOWN,
    KnownSecrets,
    other_secrets_of,
    secrets_of,
)
from .login.tls import tls_context

JSON = "application/json"
_SAFE = ("GET", "HEAD")
_DEFINING = ("/apis/apiextensions.k8s.io/", "/apis/apiregistration.k8s.io/")
_TRIES = 3
_MOST_WAITS = 100
# Seconds after which the server's clock is looked at again.
_TIMED_AGAIN = 60.0

Query = t.Mapping[str, "str | int | bool"]


@dataclass(frozen=True)
class Timeouts:
    """Seconds: to connect; for an answer as a whole, until its last byte has come; to wait, in all for one request,
    when the server asks for it by Retry-After; for all that is asked of it in one go (``start_time_budget``)."""

    connect: float = 5.0
    read: float = 30.0
    wait: float = 30.0
    whole: float = 600.0

    @classmethod
    def connecting(cls, connect: float) -> Timeouts:
        """With these seconds to connect, and at least as many for an answer."""
        return cls(connect=connect, read=max(cls.read, connect))


class KubeClient:
    """One API server as one user, by ``threads`` kept connections; more are closed after use. ``send`` tries reads
    again, up to thrice in all, after a broken answer, a connection closed without one, or status 500, 502 or 503; any
    request, up to 99 times, after 429 or 503 with Retry-After, within ``timeout.wait`` seconds of waits; once after
    401, with renewed credentials. Failures are ApiErrors, or FleetErrors of its credentials, ``tls_context`` and
    ``transport.pool``, without secrets. Redirects are not followed. ``ahead`` is how far the server's clock is ahead of
    ours, ``server_until`` the earliest end of a certificate it showed; None until known."""

    def __init__(
        self,
        connection: Connection,
        timeout: Timeouts = Timeouts(),
        threads: int = 16,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self.connection = connection
        self.timeout = timeout
        self._threads = threads
        self._sleep = sleep
        self._lock = threading.Lock()
        self._pool: t.Any = None
        self._pool_cert: bytes | str = b""
        self._end: float | None = None
        self._mine = threading.local()
        self._shown: Credential | None = None
        self._secrets = KnownSecrets()
        url = urlsplit(connection.server)
        self._prefix, self._secure = url.path.rstrip("/"), url.scheme == "https"
        self.ahead: timedelta | None = None
        self.server_until: datetime | None = None
        self._timed = -_TIMED_AGAIN
        self.discovered: t.Any = None  # kept by discovery.py, as is the lock
        self.definitions = 0  # how often we have written what defines kinds
        self.discovery_lock = threading.Lock()

    @property
    def server_name(self) -> str:
        """What messages call the server: the connection's name, or its URL."""
        return self.connection.where

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start_time_budget(self) -> None:
        """Leaves ``timeout.whole`` seconds from now on, then ApiError ``timeout``; without it there is no such end."""
        self._end = time.monotonic() + self.timeout.whole

    @contextlib.contextmanager
    def without_time_budget(self) -> t.Iterator[None]:
        """Requests of this thread in here have the time of one answer each, whatever is left; not to be nested."""
        self._mine.without_time_budget = True
        try:
            yield
        finally:
            self._mine.without_time_budget = False

    def hide(self, text: str) -> str:
        """The text with secrets hidden: those of this client, and tokens and passwords shown to any other server."""
        return SHOWN.without_secrets(self._secrets.without_secrets(text))

    def close(self) -> None:
        """Closes its connections; a later request opens new ones."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
            self._pool = None

    def get(self, path: str, query: Query | None = None) -> dict[str, t.Any]:
        """``request`` with GET; ApiError ``not-found`` where there is nothing."""
        return self.request("GET", path, query=query)

    def post(self, path: str, body: t.Mapping[str, t.Any], query: Query | None = None) -> dict[str, t.Any]:
        """``request`` with POST; ApiError ``already-exists``."""
        return self.request("POST", path, body, query)

    def put(self, path: str, body: t.Mapping[str, t.Any], query: Query | None = None) -> dict[str, t.Any]:
        """``request`` with PUT: the object as it is then; ApiError ``conflict`` for another resourceVersion."""
        return self.request("PUT", path, body, query)

    def delete(self, path: str, body: t.Any = None, query: Query | None = None) -> dict[str, t.Any]:
        """``request`` with DELETE; ``body`` are the DeleteOptions; ApiError ``not-found`` where there is nothing."""
        return self.request("DELETE", path, body, query)

    def request(
        self,
        method: str,
        path: str,
        body: t.Any = None,
        query: Query | None = None,
        content_type: str | None = None,
        accept: str = JSON,
    ) -> dict[str, t.Any]:
        """The decoded JSON object, a read being sent up to thrice for one. Errors as of ``send`` and ``decode``."""
        return self.sized(method, path, body, query, content_type, accept)[0]

    def sized(
        self,
        method: str,
        path: str,
        body: t.Any = None,
        query: Query | None = None,
        content_type: str | None = None,
        accept: str = JSON,
    ) -> tuple[dict[str, t.Any], int]:
        """As ``request``, and how many bytes the body of the answer had, unpacked."""
        for attempt in range(1, _TRIES + 1):
            answer = self.send(method, path, body, query, content_type, accept)
            try:
                return self.decode(answer, f"{method} {path}"), len(answer.data)
            except ApiError as error:
                if method not in _SAFE or attempt == _TRIES or error.code != "bad-answer":
                    raise
                self._sleep(_backoff(attempt))
        raise AssertionError("the loop returns or raises")

    def send(
        self,
        method: str,
        path: str,
        body: t.Any = None,
        query: Query | None = None,
        content_type: str | None = None,
        accept: str = JSON,
        expect: t.Container[int] = (),
    ) -> Answer:
        """The answer, for paths that do not answer with JSON or whose Date matters. ApiError without an answer, and for
        a status of 300 or above that is not in ``expect``; other FleetErrors, and new tries, as of the class."""
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        target = self._prefix + path + (f"?{_encoded(tuple(_words(query).items()))}" if query else "")
        waited, attempt, renewed, credential = 0.0, 0, False, self._credential()
        while True:
            attempt += 1
            answer, error = None, None
            try:
                answer = self._once(method, target, data, content_type or JSON, accept, credential)
                if method not in _SAFE and path.startswith(_DEFINING):
                    self.definitions += 1
                if answer.status < 300 or answer.status in expect:
                    return answer
                error = self._error(answer, f"{method} {path}", body, credential)
            except ApiError as broken:
                error = broken
            if error.status == 401 and not renewed:
                renewed, fresh = True, self._renewed(credential)
                if fresh is not None:
                    credential = fresh
                    continue
            pause = self._pause(answer, error, method, attempt, waited)
            if pause is None:
                raise error
            waited += pause if answer and answer.retry_after is not None else 0.0
            self._sleep(pause)

    def decode(self, answer: Answer, request: str) -> dict[str, t.Any]:
        """The JSON object in an answer. ApiError ``bad-answer`` if it is not sent as JSON, is none, or is the Status of
        a failure; ``too-large``; ``request`` (method and path) is for the message."""
        if "json" not in answer.content_type.lower():
            kind = self.hide(answer.content_type).split(";")[0][:100] or "no content type"
            raise self._bad(f"{request} was answered with {kind} instead of JSON", answer)
        try:
            document = answer.document
        except TooLarge as error:
            raise self._too_large(error, request) from None
        if document is None:
            raise self._bad(f"the answer to {request} is not a whole JSON object, or has too many levels", answer)
        if document.get("kind") == "Status" and document.get("status") == "Failure":
            raise self._bad(f"the answer to {request} is a failure with status {answer.status}", answer)
        return document

    def _too_large(self, error: TooLarge, request: str) -> ApiError:
        hint = "see what is kept there, and whether this is an API server at all"
        return ApiError("too-large", f"the answer to {request} {error.what}", self.server_name, hint)

    def _bad(self, message: str, answer: Answer) -> ApiError:
        hint = "see what stands before the API server: a proxy, a login page"
        return ApiError("bad-answer", message, self.server_name, hint, status=answer.status)

    def _pause(self, answer: Answer | None, error: ApiError, method: str, attempt: int, waited: float) -> float | None:
        """Seconds to wait before the same request is sent again; None to give up."""
        if answer and answer.status in (429, 503) and answer.retry_after is not None:
            asked = max(answer.retry_after, 0.05)  # Retry-After: 0 must not make us spin
            return asked if waited + asked <= self.timeout.wait and attempt < _MOST_WAITS else None
        half = isinstance(error, transport.Unanswered) or error.status == 0 and error.code == "bad-answer"
        broken = half or error.status in (500, 502, 503)
        return _backoff(attempt) if broken and method in _SAFE and attempt < _TRIES else None

    def _once(
        self, method: str, target: str, data: bytes | None, content_type: str, accept: str, credential: Credential
    ) -> Answer:
        """The answer to one sending, whatever its status; notes its Date. ApiError, FleetError of ``_pool_for``."""
        pairs = [("Accept", accept), ("User-Agent", "gitops-fleet")]
        if method in _SAFE:
            pairs.append(("Accept-Encoding", "gzip"))
        if data is not None:
            pairs.append(("Content-Type", content_type))
        # As kubectl does: nothing that identifies us goes over an unencrypted connection.
        if self._secure and credential.authorization:
            pairs.append(("Authorization", credential.authorization))
        pool, headers = self._pool_for(credential), dict(pairs)
        if self.connection.impersonate:
            headers = transport.header_dict((*pairs, *self.connection.impersonate))
        read, answering = self._left(), False
        asked = datetime.now(UTC)
        try:
            response = pool.request(
                method,
                target,
                body=data,
                headers=headers,
                redirect=False,
                retries=False,
                preload_content=False,
                timeout=transport.timeouts(min(self.timeout.connect, read), read),
            )
            answering = True
            answer = answer_of(response)
            self._note_clock(answer, asked)
            return answer
        except TooLarge as error:
            raise self._too_large(error, f"{method} {target.partition('?')[0]}") from None
        except Broken as error:
            raise transport.as_api_error(error, self.connection, answering) from None
        except Exception as error:
            if not transport.is_failure(error):
                raise
            raise transport.as_api_error(error, self.connection, answering) from None

    def _note_clock(self, answer: Answer, asked: datetime) -> None:
        """Notes how far the server's clock is ahead, for people too, each ``_TIMED_AGAIN`` seconds, if it tells."""
        if time.monotonic() < self._timed + _TIMED_AGAIN or answer.date is None:
            return
        self.ahead, self._timed = clocks.ahead(answer.date, asked, datetime.now(UTC)), time.monotonic()
        CONNECTION_NOTES.note(self.connection, clocks.difference_words(self.ahead))

    def _note_certificate_end(self, ends: datetime) -> None:
        """Keeps the earliest end of a server's certificate: several servers may stand behind one address."""
        self.server_until = ends if self.server_until is None else min(self.server_until, ends)

    @property
    def client_until(self) -> datetime | None:
        """When the kubeconfig's client certificate ends, not a plugin's; None without one, or if it cannot be read."""
        return certificate_ends(self.connection.client_cert)

    def _left(self) -> float:
        """Seconds that the next answer may take. ApiError ``timeout`` once ``timeout.whole`` is over."""
        end = None if getattr(self._mine, "without_time_budget", False) else self._end
        left = self.timeout.read if end is None else min(self.timeout.read, end - time.monotonic())
        if left <= 0:
            text = f"{self.connection.server} took more than {self.timeout.whole:g} s in all"
            raise ApiError("timeout", text, self.server_name, "is the API server overloaded?")
        return left

    def _pool_for(self, credential: Credential) -> t.Any:
        """Connections that show the credential's certificate, else the kubeconfig's; made anew when that is another.
        FleetError as of ``tls_context`` and ``transport.pool``."""
        cert = credential.client_cert or self.connection.client_cert
        pool = self._pool
        if pool is not None and self._pool_cert == cert:
            return pool
        with self._lock:
            if self._pool is None or self._pool_cert != cert:
                key = credential.client_key if credential.client_cert else self.connection.client_key
                context = tls_context(self.connection, cert, key) if self._secure else None
                self._pool = transport.pool(self.connection, context, self._threads, self._note_certificate_end)
                self._pool_cert = cert
            return self._pool

    def _credential(self) -> Credential:
        """What is shown now, its secrets noted. FleetError of its source."""
        source = self.connection.credentials
        return self._known(Credential(authorization=bearer(self.connection.token)) if source is None else source.get())

    def _renewed(self, refused: Credential) -> Credential | None:
        """Others than those refused, their secrets noted; None if there are none. FleetError of their source."""
        fresh = None if self.connection.credentials is None else self.connection.credentials.renew(refused)
        return None if fresh is None else self._known(fresh)

    def _known(self, credential: Credential) -> Credential:
        """The same, after its secrets were noted as something that is never to be told."""
        if credential != self._shown:
            secrets = secrets_of(credential, self.connection)
            SHOWN.add(*secrets)
            self._secrets.add(*secrets, *other_secrets_of(self.connection, credential))
            self._shown = credential
        return credential

    def _error(self, answer: Answer, request: str, body: t.Any, credential: Credential) -> ApiError:
        """The ApiError, given back, for an answer of 300 or above."""
        where = self.server_name
        if answer.status == 401:
            return self._unauthorized(answer, credential)
        try:
            document = answer.document
        except TooLarge:
            document = None
        error = from_status(answer.status, document, request, where, body, self.hide, answer.data)
        if answer.status == 429 and answer.retry_after is not None:
            asked, most = answer.retry_after, self.timeout.wait
            text = f"{error.message} (it asks us to wait {asked:g} s; we wait {most:g} s in all)"
            return ApiError(error.code, text, where, status=429, reason=error.reason, details=error.details)
        return error

    def _unauthorized(self, answer: Answer, credential: Credential) -> ApiError:
        """The error for 401: ``credentials-expired`` if they say so, by the server's clock, else ``unauthorized``."""
        now = answer.date or datetime.now(UTC)
        cert = credential.client_cert or self.connection.client_cert
        ends = {
            "client certificate": certificate_ends(cert),
            "token": credential.expires or token_ends(credential.authorization),
        }
        for what, end in ends.items():
            if end is not None and end <= now:
                text = f"the {what} for {self.connection.server} expired at {write_time(end, SECONDS)}"
                return ApiError("credentials-expired", text, self.server_name, status=401, reason="Unauthorized")
        shown = "the credentials" if cert or credential.authorization else "a request without credentials"
        text = f"{self.connection.server} refused {shown}"
        return ApiError("unauthorized", text, self.server_name, status=401, reason="Unauthorized")


@lru_cache(maxsize=64)
def _encoded(words: tuple[tuple[str, str], ...]) -> str:
    """The query of a URL; kept, for of the queries of a run most are alike."""
    return urlencode(words)


def _words(query: Query) -> dict[str, str]:
    """Values as texts; ``true`` and ``false`` for booleans."""
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in query.items()}


def _backoff(attempt: int) -> float:
    """Seconds to wait after a failed attempt, counted from 1."""
    return 0.2 * attempt
