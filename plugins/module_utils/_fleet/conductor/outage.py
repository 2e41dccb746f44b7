# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Records that do not answer for a while, as while their API server restarts: since when, for how long that is borne,
and what people are told of it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..._core.errors import FleetError
from ..._core.values.duration import span_words
from ..._core.values.instants import SECONDS, write_time

GOES_ON = "nothing is lost: what was begun is on record, and goes on from there when it is started again"


def out_of_reach(error: FleetError, code: str, since: str) -> FleetError:
    """The error of that ``code``, given back and not raised, that the records have not answered for so long (``since``,
    in words), with what comes next; ``error`` is the last that they gave."""
    hint = "; ".join(filter(None, (error.hint, GOES_ON)))
    return FleetError(code, f"the records have not answered {since}: {error.message}", error.where, hint)


@dataclass
class Outage:
    """While records do not answer; for ``most`` that is borne. ``say`` tells people a line when it begins and ends."""

    say: t.Callable[[str], None]
    most: timedelta
    _since: tuple[timedelta, datetime] | None = None

    def failed(self, error: FleetError, ran: timedelta, now: datetime) -> None:
        """The records have not answered, ``now``, after ``ran`` of running; said the first time. FleetError with the
        same code once that has lasted for ``most``."""
        if self._since is None:
            self._since = ran, now
            self.say(
                f"the records do not answer since {write_time(now, SECONDS)}, and are asked again for"
                f" {span_words(self.most)}; nothing is lost, and what is in flight goes on: {error.message}"
            )
        began, at = self._since
        if ran - began >= self.most:
            raise out_of_reach(error, error.code, f"since {write_time(at, SECONDS)}, for {span_words(ran - began)}")

    def answered(self, ran: timedelta) -> None:
        """The records have answered, when the loop had run for ``ran`` in all; said if they had not before."""
        if self._since is not None:
            self.say(f"the records answer again, after {span_words(ran - self._since[0])}; it goes on")
        self._since = None

    def begin_anew(self) -> None:
        """Forgets an outage that goes on, so that it is borne for ``most`` from its next failure on."""
        self._since = None
