# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Waiting until deleted objects are really gone (``patience``), for a finalizer or the contents of a namespace may keep
them, and what holds them; one object as it is now."""

from __future__ import annotations

import time
import typing as t

from ...._core.foreign import in_line
from ...._core.objects.identity import ObjectId
from ...._core.plan.member import NOT_GONE
from ...._core.plan.outcome import ObjectFailure
from ...._core.values.listed import listed
from ...._kube.client import KubeClient
from ...._kube.discovery import resource_of
from ...._kube.documents import read_object
from ...._kube.errors import ApiError

GONE = ("not-found", "unknown-kind")
OBJECTS, FINALIZERS, FINALIZER_LENGTH = 3, 5, 100
FIRST_PAUSE, LONGEST_PAUSE, TELL_EVERY = 0.1, 2.0, 15.0


def wait_until_gone(
    client: KubeClient,
    deleted: t.Mapping[ObjectId, str],
    seconds: float,
    keep: t.Callable[[], None],
    say: t.Callable[[str], None],
) -> tuple[ObjectFailure, ...]:
    """Waits until the ``deleted`` objects, given with their uids, are gone, or ``seconds`` are over; those that are
    still there then, each with what holds it. ``keep`` is called before each look but the first, and may raise; ``say``
    is told what is waited for, about every 15 s. ApiError as of ``live_object``."""
    end, told, pause = time.monotonic() + seconds, time.monotonic(), FIRST_PAUSE
    left = dict.fromkeys(deleted, "")
    while True:
        for each in list(left):
            live = live_object(client, each)
            if live is None or live["metadata"].get("uid") != deleted[each]:
                del left[each]
            else:
                left[each] = _holds(live, client.hide)
        if not left or time.monotonic() >= end:
            return tuple(
                ObjectFailure(id=each, reason=NOT_GONE, message=f"is being deleted and not gone yet: {why}")
                for each, why in left.items()
            )
        if time.monotonic() - told >= TELL_EVERY:
            told = time.monotonic()
            say(f"waits for {listed([f'{each} ({why})' for each, why in left.items()], OBJECTS, '; ')}")
        keep()
        time.sleep(min(pause, max(0.0, end - time.monotonic())))
        pause = min(2 * pause, LONGEST_PAUSE)


def live_object(client: KubeClient, each: ObjectId) -> dict[str, t.Any] | None:
    """The object as it is on the member, None if it is gone, or its kind is served there in no version. ApiError
    otherwise."""
    try:
        path = resource_of(client, each).path(each.namespace, each.name)
        return read_object(client, path, each.kind)
    except ApiError as error:
        if error.code in GONE:
            return None
        raise


def _holds(live: t.Mapping[str, t.Any], hide: t.Callable[[str], str]) -> str:
    """What holds the object, for people, and for the records: that its deletion has not begun, else up to 5 finalizers,
    each cut at 100 characters, for a member may write anything into them, else that the server is at it."""
    metadata = live["metadata"]
    named = [*_finalizers(metadata), *_finalizers(live.get("spec"))]
    if not metadata.get("deletionTimestamp"):
        return "its deletion has not begun"
    shown = [in_line(hide(str(each)), FINALIZER_LENGTH) for each in named]
    return f"finalizers {listed(shown, FINALIZERS)}" if shown else "the server is still at it"


def _finalizers(part: t.Any) -> list[t.Any]:
    """Those of an object, or of a namespace's spec, none if there are none; a spec of another kind may be anything."""
    found = part.get("finalizers") if isinstance(part, dict) else None
    return found if isinstance(found, list) else []
