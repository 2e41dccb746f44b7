# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Messages between a process and one that was forked from it, pickled: whole, in the order sent, from any thread; its
end."""

from __future__ import annotations

import math
import pickle
import socket
import struct
import threading
import typing as t

_LENGTH = struct.Struct("!Q")
_CHUNK = 1 << 20


class MessagePipe:
    """One end. No other process can open what it goes through, and both ends are one program, so that what comes is
    trusted."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._sending = threading.Lock()
        self._come = bytearray()
        self.ended = False

    def fileno(self) -> int:
        """The descriptor, for ``select``."""
        return self._end.fileno()

    def send(self, message: t.Any) -> None:
        """Sends what ``pickle`` knows; waits while the other end does not read. OSError if nobody is there any more."""
        content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        with self._sending:
            self._end.sendall(_LENGTH.pack(len(content)) + content)

    def receive(self) -> t.Any:
        """The next message, which is waited for; EOFError at the end, also where the connection breaks. By one thread
        at a time."""
        while True:
            whole = self._whole(1)
            if whole:
                return pickle.loads(whole[0])
            if not self._more(0):
                raise EOFError

    def arrived(self) -> list[bytes]:
        """All messages that are there by now, as they were pickled, so that whoever waits for the socket is woken by
        what comes later. ``ended``: no other will come. By one thread at a time."""
        while self._more(socket.MSG_DONTWAIT):
            pass
        return self._whole(math.inf)

    def end(self) -> None:
        """Ends the connection at either end: nothing more can be sent, and nobody waits for a message any more. Called
        twice it does no harm."""
        try:
            self._end.shutdown(socket.SHUT_RDWR)
        except OSError:
            self.ended = True  # the other end was faster

    def close(self) -> None:
        """Gives the descriptor back."""
        self._end.close()

    def _more(self, flags: int) -> bool:
        """Whether anything came; it is waited for unless ``flags`` say otherwise. ``ended`` is set where nothing will
        come any more."""
        try:
            content = b"" if self.ended else self._end.recv(_CHUNK, flags)
        except BlockingIOError:
            return False
        except OSError:
            content = b""
        self.ended = not content
        self._come += content
        return bool(content)

    def _whole(self, most: float) -> list[bytes]:
        """As many messages as are there, but at most so many; they are taken out of what has come."""
        found: list[bytes] = []
        place = 0
        while len(found) < most and len(self._come) >= place + _LENGTH.size:
            start = place + _LENGTH.size
            end = start + _LENGTH.unpack_from(self._come, place)[0]
            if len(self._come) < end:
                break
            found.append(bytes(self._come[start:end]))
            place = end
        del self._come[:place]
        return found
