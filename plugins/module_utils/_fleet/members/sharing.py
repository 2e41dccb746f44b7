# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Reading members in several processes at once (``workers``), each its share of them, where one is too slow for all;
what they learned taken over, and members of a process that was lost (``NotAsked``, ``worker-lost``)."""

from __future__ import annotations

import typing as t
import zlib
from dataclasses import dataclass
from functools import partial

from ..._core.errors import FleetError, Problem
from ..._kube.login.connection_notes import CONNECTION_NOTES
from ..._kube.login.known_secrets import SHOWN, SecretForm
from ..in_processes import in_processes
from .members import Clients

T = t.TypeVar("T")
Answers = t.Mapping[str, t.Union[T, FleetError]]  # noqa: UP007  # pylint takes the other form for an error
# An answer, or the FleetError of it, for each of these members; called in this process or in one that was forked from
# it, with clients of that one. What it gives there goes through a pipe.
Reads = t.Callable[[Clients, t.Sequence[str]], Answers[T]]


class NotAsked(FleetError):
    """Says nothing of the member: another process of this machine, which was to ask it, failed as a whole or was
    lost."""


@dataclass(frozen=True, kw_only=True)
class _Share(t.Generic[T]):
    """What a process has found out of its members, and what it has come to know on the way."""

    answers: t.Mapping[str, T]
    failed: t.Mapping[str, tuple[Problem, ...]]
    seen: t.Mapping[str, str]
    unknown: t.Mapping[str, Problem]
    uses: t.Mapping[str, list[str]]
    shown: frozenset[SecretForm]


def shared_out(clients: Clients, names: t.Iterable[str], workers: int, read: Reads[T]) -> dict[str, T | FleetError]:
    """What ``read`` says of each member, by name in the order given; up to ``workers`` (1 or more) processes read at
    once, each its share. What they learned of connections, UIDs and secrets to hide is known in this process
    afterwards.

    For members of another process that raised, or ended without an answer, stands a ``NotAsked`` with the code of that,
    ``worker-lost`` for the latter. What ``read`` raises in this process is raised, and ``no-workers`` as of
    ``in_processes``.
    """
    names = tuple(names)
    shares: dict[int, list[str]] = {}
    for name in names:
        shares.setdefault(zlib.crc32(name.encode()) % workers, []).append(name)
    if len(shares) < 2:
        return dict(read(clients, names))
    first, *others = shares.values()
    work: list[t.Callable[[], t.Any]] = [partial(read, clients, first)]
    work += [partial(_read_apart, clients, share, read) for share in others]
    here, *apart = in_processes(work)
    found: dict[str, T | FleetError] = dict(t.cast("Answers[T]", here))
    for share, each in zip(others, apart, strict=True):
        if isinstance(each, FleetError):
            found |= {name: NotAsked(each.code, each.message, name, each.hint) for name in share}
        else:
            found |= _taken_over(clients, each)
    return {name: found[name] for name in names}


def _read_apart(clients: Clients, names: t.Sequence[str], read: Reads[T]) -> _Share[T]:
    """What a process of its own does: reads these members by connections of its own, for ``_taken_over``."""
    with clients.apart() as own:
        answers = read(own, names)
        return _Share(
            answers={name: each for name, each in answers.items() if not isinstance(each, FleetError)},
            failed={name: each.problems for name, each in answers.items() if isinstance(each, FleetError)},
            seen=own.identities.seen,
            unknown=own.identities.unknown,
            uses=CONNECTION_NOTES.take(),
            shown=SHOWN.forms,
        )


def _taken_over(clients: Clients, share: _Share[T]) -> dict[str, T | FleetError]:
    """Learns what another process has come to know, and gives its answers and errors by member."""
    SHOWN.learn(share.shown)
    CONNECTION_NOTES.add_taken(share.uses)
    clients.identities.take_over(share.seen, share.unknown)
    return {**share.answers, **{name: FleetError.of(problems) for name, problems in share.failed.items()}}
