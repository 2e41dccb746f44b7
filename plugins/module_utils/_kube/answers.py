# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an API server sent, unpacked and decoded within bounds of size and depth, with its Date and Retry-After: a
server may be hostile, or something else than an API server.

An answer is held in memory as bytes and once more as JSON: unpacked, it has at most 32 MiB and three million JSON
values (some 300 MB in the worst case), an error 1 MiB. An object has at most 200 levels, as in a file.
"""

from __future__ import annotations

import json
import re
import typing as t
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from .._core.values.canonical import strict_json

ANSWER_BYTES, ERROR_BYTES = 32 << 20, 1 << 20
MAX_DEPTH = 200
_PIECE, _MOST_VALUES = 1 << 16, 3_000_000
_LONGEST_WAIT = 1e9


class TooLarge(Exception):
    """An answer beyond its bounds; ``what`` tells which, as the end of a sentence (``is larger than 32 MiB``)."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Broken(Exception):
    """An answer that ended too early, whose bytes are not what they say, or in an encoding that was not asked for."""


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, its body unpacked. ``content_type`` and ``date_header`` are as sent, empty where they are
    missing; ``retry_after`` is in seconds, None where no number is told."""

    status: int
    content_type: str
    data: bytes = field(repr=False)
    date_header: str = ""
    retry_after: float | None = None

    @property
    def date(self) -> datetime | None:
        """The server's clock to the second, aware, in UTC (``-0000`` is, by RFC 5322, 3.3); None if it does not tell
        one with a zone: by the zone of this machine a lease would seem to have ended hours ago."""
        try:
            found = parsedate_to_datetime(self.date_header)
            if found.tzinfo is None:
                return found.replace(tzinfo=UTC) if self.date_header.rstrip().endswith("-0000") else None
            return found.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            return None

    @property
    def document(self) -> dict[str, t.Any] | None:
        """The JSON object in it, decoded anew each time. None if there is none by ``strict_json``, if a lone surrogate
        stands in it, or if it has more than ``MAX_DEPTH`` levels (not looked at where its kind ends in ``List``).
        TooLarge if it may have more than three million values, by the commas and brackets in it."""
        return _document(self.data)


def answer_of(response: t.Any) -> Answer:
    """A response of ``urllib3``, not yet read, with its body read and unpacked. TooLarge beyond ``ANSWER_BYTES``, or
    ``ERROR_BYTES`` from status 300 on; Broken, or what ``urllib3`` raises."""
    most = ANSWER_BYTES if response.status < 300 else ERROR_BYTES
    return Answer(
        response.status,
        response.headers.get("Content-Type", ""),
        _body(response, most),
        response.headers.get("Date", ""),
        retry_after_seconds(response.headers.get("Retry-After")),
    )


def retry_after_seconds(retry_after: str | None) -> float | None:
    """Retry-After in whole seconds, 10^9 from ten digits on; None without the header, or for what is no such number, as
    a date."""
    text = (retry_after or "").strip()
    if not re.fullmatch("[0-9]+", text, re.ASCII):
        return None
    return float(text) if len(text) < 10 else _LONGEST_WAIT


def _body(response: t.Any, most: int) -> bytes:
    """The whole body, unpacked. TooLarge beyond ``most`` bytes; Broken for another encoding than gzip, or gzip that is
    damaged or cut off; what ``urllib3`` raises. The connection is given back if the body was read to its end, else
    closed."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip"):
        response.close()
        raise Broken
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding == "gzip" else None
    body = bytearray()
    try:
        while piece := response.read1(_PIECE, decode_content=False):
            body += piece if unpack is None else unpack.decompress(piece, most + 1 - len(body))
            if len(body) > most:
                raise TooLarge(f"is larger than {most >> 20} MiB")
            if unpack is not None and unpack.unused_data:
                raise Broken
        if unpack is not None and not unpack.eof:
            raise Broken
    except zlib.error:
        response.close()
        raise Broken from None
    except BaseException:
        response.close()
        raise
    response.release_conn()
    return bytes(body)


def _document(data: bytes) -> dict[str, t.Any] | None:
    """As ``Answer.document``."""
    # No value is shorter than a byte, and most answers are: then they need not be counted.
    if len(data) > _MOST_VALUES and data.count(b",") + data.count(b"[") + data.count(b"{") > _MOST_VALUES:
        raise TooLarge(f"has more than {_MOST_VALUES} values")
    try:
        document = strict_json(data.decode())
        if b"\\" in data and (b"\\ud" in data or b"\\uD" in data):
            json.dumps(document, ensure_ascii=False).encode()  # half of a pair is no text
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    # Objects in lists are looked at by who uses more of them than their names: see ``an_object``.
    if str(document.get("kind")).endswith("List") or data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return document
    return None if is_too_deep(document) else document


def is_too_deep(document: t.Mapping[str, t.Any]) -> bool:
    """Whether it has more than ``MAX_DEPTH`` levels of maps and lists, itself counted."""
    level: list[t.Any] = [document]
    for _depth in range(MAX_DEPTH):
        parts = (part for each in level for part in (each.values() if isinstance(each, dict) else each))
        level = [part for part in parts if isinstance(part, (dict, list))]
        if not level:
            return False
    return True
