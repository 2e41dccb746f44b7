# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Downloads over HTTPS from a publisher's server or a mirror (``FLEET_RELEASES``): sizes, time limits, proxies, resumed
where they ended, progress; SHA-256 of a file; ``release-missing``, ``release-refused``, ``release-unreachable``,
``release-damaged``."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import queue
import re
import threading
import time
import typing as t
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from ..._core.errors import FleetError
from ..locks import make_folder

CONNECT = 4.0  # seconds for a server's name, its connection and a small text of it, all together
SILENCE = 20.0  # seconds without a byte
PAUSE = 10.0  # seconds between two lines
ATTEMPTS = 10  # each goes on where the last one ended
_CHUNK = 1 << 18
_SMALL, _MOST = 2_000_000, 2_000_000_000  # bytes of a text, of a file
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_BEGIN = re.compile(r"bytes (\d+)-")
# Tells people a line of what goes on.
Say = t.Callable[[str], None]


@dataclass(frozen=True)
class Server:
    """Where files are taken from. ``base`` is a mirror, in which a publisher's host name is the first folder; each
    publisher itself where it is empty."""

    base: str = ""

    def address(self, place: str) -> str:
        """The URL of a place, host and path such as ``dl.k8s.io/release/...``."""
        return f"{self.base}/{place}" if self.base else f"https://{place}"

    def host(self, place: str) -> str:
        """For messages: the host that is asked, with a port if one is named."""
        return urllib.parse.urlsplit(self.address(place)).netloc


def server(setting: str) -> Server | None:
    """Where ``FLEET_RELEASES`` says that files are taken from: empty, from their publishers, the address of a mirror,
    or ``off``, which is None. FleetError ``bad-option``.

    Unencrypted only from this machine, for whoever changes a file on the way would change its sum as well.
    """
    setting = setting.strip().rstrip("/")
    if setting.lower() == "off":
        return None
    if not setting:
        return Server()
    if not _is_mirror(setting):
        raise FleetError(
            "bad-option",
            "FLEET_RELEASES is neither off nor the https address of a mirror, without a user, a query or a fragment",
            "FLEET_RELEASES",
        )
    return Server(setting)


def _is_mirror(setting: str) -> bool:
    """Whether it is an https address (http only of this machine), without a user, a query and a fragment."""
    try:
        parts = urllib.parse.urlsplit(setting)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return False
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    return bool(safe and host) and parts.username is None and not (parts.query or parts.fragment)


def fetch_text(place: str, of: Server) -> str:
    """The small text at ``place`` (host and path) from the server ``of``, of a longer one the first 2 MB, within
    ``CONNECT`` seconds; bytes that are no UTF-8 are replaced. FleetError ``release-missing`` for status 404 and 410,
    ``release-refused`` for other ones, ``release-unreachable`` for whatever else comes of the server or the way there.
    RuntimeError where no thread can start."""

    def read() -> str:
        """The first 2 MB of the text."""
        with _open(of.address(place), CONNECT) as answer:
            return answer.read(_SMALL).decode("utf-8", "replace")

    return _soon(read, of.host(place))


def ask_size(place: str, of: Server) -> int:
    """How many bytes a file has, as the server tells, 0 if it does not; errors as of ``fetch_text``."""

    def ask() -> int:
        """What the server tells (HEAD), or 0; ValueError if that is no number."""
        with _open(of.address(place), CONNECT, method="HEAD") as answer:
            return int(answer.headers.get("Content-Length") or 0)

    return _soon(ask, of.host(place))


def download(place: str, part: Path, of: Server, whole: t.Callable[[Path], bool], say: Say) -> None:
    """Completes the file ``part``, made with its folder if it is missing; the beginning that it may hold is gone on
    with, and fetched anew if nothing whole comes of it. ``say`` gets a line now and then. ``place`` and ``of`` are as
    of ``fetch_text``; ``whole`` tells whether the content is what it should be. One caller at a time.

    FleetError ``release-missing`` for status 404 and 410, ``release-refused`` for other ones, ``release-unreachable``
    without a connection, and for ``ATTEMPTS`` early ends, or one without a byte more; ``release-damaged`` (``part`` is
    removed; also for a file of more than 2 GB), ``unwritable-folder``. OSError where ``part`` cannot be looked at or
    removed; what ``whole`` raises.
    """
    make_folder(part.parent)
    name, host = place.rsplit("/", 1)[-1], of.host(place)
    for _attempt in range(ATTEMPTS):
        begun = _size(part)
        if begun and whole(part):
            return
        try:
            _go_on(of.address(place), part, _Progress(name, say))
        except urllib.error.HTTPError as error:
            if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not begun:
                raise _refusal(error, host) from None
            part.unlink()
            continue
        except urllib.error.URLError as error:
            raise _unreachable(host, error) from None
        except (_CutOff, http.client.HTTPException, OSError) as error:
            if _size(part) <= begun:
                raise FleetError("release-unreachable", f"{host} ended {name} early: {_why(error)}") from None
            continue
        if whole(part):
            return
        part.unlink()
        if not begun:
            raise FleetError("release-damaged", f"{name} from {host} is not the file that was published")
    raise FleetError("release-unreachable", f"{host} ended {name} early, {ATTEMPTS} times")


def sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; OSError if it cannot be read, and for a link, which is not followed."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _CutOff(Exception):
    """The connection ended before the file did."""


class _Progress:
    """A line now and then: percent, size, and how long it will go on at the speed so far."""

    def __init__(self, name: str, say: Say) -> None:
        """``name`` is that of the file, for the lines; time counts from now on."""
        self._name, self._say = name, say
        self._first = 0
        self._began = time.monotonic()
        self._next = self._began + PAUSE

    def begin(self, done: int, whole: int) -> None:
        """Says that the download begins, or goes on behind ``done`` bytes; ``whole`` is 0 where the server does not
        tell."""
        of = f" of {_mb(whole)}" if whole else ""
        self._say(f"downloading {self._name}: {_mb(done)}{of} are here" if done else f"downloading {self._name}{of}")
        self._first = done

    def at(self, done: int, whole: int) -> None:
        """Says how far it is, if ``PAUSE`` seconds have gone by since the last time."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + PAUSE
        if not whole:
            self._say(f"downloading {self._name}: {_mb(done)}")
            return
        left = (whole - done) * (now - self._began) / max(1, done - self._first)
        self._say(f"downloading {self._name}: {100 * done // whole} % of {_mb(whole)}, about {left:.0f} s left")


def _go_on(address: str, part: Path, progress: _Progress) -> None:
    """One request for what ``part`` lacks, written behind what it has, or from its start where the server sends all of
    it. _CutOff if the answer ends early or begins elsewhere; FleetError ``release-damaged`` beyond 2 GB (``part`` is
    removed), ``unwritable-folder``; errors as of ``_open`` and of reading."""
    begun = _size(part)
    with _open(address, SILENCE, {"Range": f"bytes={begun}-"} if begun else {}) as answer:
        if answer.status == http.HTTPStatus.PARTIAL_CONTENT:
            told = _BEGIN.match(answer.headers.get("Content-Range") or "")
            if told is None or int(told[1]) != begun:
                raise _CutOff("it goes on at another place than was asked for")
        else:
            begun = 0
        length = answer.headers.get("Content-Length")
        whole = begun + int(length) if length and length.isdecimal() else 0
        progress.begin(begun, whole)
        done = begun
        with _writing(part, begun) as write:
            while chunk := answer.read(_CHUNK):
                done += len(chunk)
                if done > _MOST:
                    part.unlink()
                    raise FleetError("release-damaged", f"{part.name} has more than {_mb(_MOST)}")
                write(chunk)
                progress.at(done, whole)
    if done < whole:
        raise _CutOff(f"after {_mb(done)} of {_mb(whole)}")


@contextlib.contextmanager
def _writing(part: Path, begun: int) -> t.Iterator[t.Callable[[bytes], None]]:
    """A function that writes to ``part`` from byte ``begun`` on; from 0 in the place of all that is there. Its errors
    are none of the server's: FleetError ``unwritable-folder``."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | (0 if begun else os.O_TRUNC)

    def refused(error: OSError) -> FleetError:
        """The FleetError ``unwritable-folder``, given back, not raised."""
        return FleetError("unwritable-folder", f"{part} cannot be written: {error.strerror}")

    def write(chunk: bytes) -> None:
        """Writes all of the bytes, and at once. FleetError ``unwritable-folder``."""
        left = memoryview(chunk)
        try:
            while left:
                left = left[file.write(left) :]
        except OSError as error:
            raise refused(error) from None

    try:
        handle = os.open(part, flags, 0o600)
    except OSError as error:
        raise refused(error) from None
    file = os.fdopen(handle, "wb", buffering=0)
    try:
        file.seek(begun)
        yield write
    finally:
        try:
            file.close()  # on some file systems a full disk is told here
        except OSError as error:
            raise refused(error) from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Publishers pass requests on to other hosts; what began encrypted stays so."""

    def redirect_request(self, req: t.Any, fp: t.Any, code: int, msg: str, headers: t.Any, newurl: str) -> t.Any:
        """As the base class has it; URLError where it leads from https to anything else."""
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise urllib.error.URLError("it passes on to an unencrypted address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(address: str, timeout: float, headers: t.Mapping[str, str] | None = None, method: str = "GET") -> t.Any:
    """The answer, for the caller to close; redirects are followed. HTTPError for a status that is no success, else
    URLError, OSError or HTTPException. Proxies are those of the environment; ``timeout`` is seconds of silence. What is
    no URL is told of without its text, for a proxy's may hold a password."""
    try:
        asked = urllib.request.Request(
            address, headers={"User-Agent": "gitops-fleet", **(headers or {})}, method=method
        )
        return urllib.request.build_opener(_Redirects).open(asked, timeout=timeout)
    except (ValueError, http.client.InvalidURL):
        text = "the address of a proxy (HTTPS_PROXY, HTTP_PROXY), or one that it passes on to, is no URL"
        raise urllib.error.URLError(text) from None


T = t.TypeVar("T")


def _soon(call: t.Callable[[], T], host: str) -> T:
    """The result of ``call``, which is left alone in its thread after ``CONNECT`` seconds: the look-up of a name has no
    time limit of its own. FleetError as of ``fetch_text`` for that, and for an HTTPError, OSError, HTTPException or
    ValueError of it; RuntimeError where no thread can start."""
    answers: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()

    def work() -> None:
        """Leaves the result of the call, or its exception, for who waits."""
        try:
            answers.put((call(), None))
        except Exception as error:  # noqa: BLE001  # raised again by who waits
            answers.put((None, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        found, error = answers.get(timeout=CONNECT)
    except queue.Empty:
        raise FleetError("release-unreachable", f"{host} did not answer within {CONNECT:g} s") from None
    if isinstance(error, urllib.error.HTTPError):
        raise _refusal(error, host) from None
    if isinstance(error, (OSError, http.client.HTTPException, ValueError)):
        raise _unreachable(host, error) from None
    if error is not None:
        raise error
    return t.cast("T", found)


def _refusal(error: urllib.error.HTTPError, host: str) -> FleetError:
    """The FleetError for a status, given back: ``release-missing`` for 404 and 410, else ``release-refused``. Closes
    the answer."""
    with contextlib.suppress(OSError):
        error.close()
    gone = error.code in (http.HTTPStatus.NOT_FOUND, http.HTTPStatus.GONE)
    return FleetError("release-missing" if gone else "release-refused", f"{host} answers {error.code}")


def _unreachable(host: str, error: Exception) -> FleetError:
    """The FleetError ``release-unreachable``, given back, not raised."""
    return FleetError("release-unreachable", f"{host} cannot be reached: {_why(error)}")


def _why(error: Exception) -> str:
    """An error in words: what the system says of its reason, or the text of that, or the name of its type."""
    reason = getattr(error, "reason", None) or error
    return str(getattr(reason, "strerror", None) or "") or str(reason) or type(reason).__name__


def _size(part: Path) -> int:
    """Bytes of the file, 0 if there is none; other OSErrors are raised."""
    try:
        return part.lstat().st_size
    except FileNotFoundError:
        return 0


def _mb(count: int) -> str:
    """A number of bytes in words, rounded: ``12 MB``, or ``12 kB`` below a million."""
    return f"{count / 1e6:.0f} MB" if count >= 1_000_000 else f"{count / 1000:.0f} kB"
