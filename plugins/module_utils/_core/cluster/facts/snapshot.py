# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The facts snapshot, written, read (``facts-invalid``, ``facts-too-new``) and hashed: everything a plan needs to know
of the fleet, in one file, with the instant of its capture, what could not be read (``failed``, ``partly-read``), and
where its costs are from."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from ...errors import FleetError, Problem
from ...objects.clusters.fleet_member import CertificateEnds
from ...objects.clusters.member_cluster import MemberCluster
from ...schema.codec import decode, encode
from ...schema.metadata_rules import name_problem
from ...values.canonical import digest_of
from ...values.clock_skew import CLOCK_SKEW, is_ahead
from ...values.instants import SECONDS, parse_time, write_time
from ...values.listed import listed
from ...values.parts import is_whole_number, mapping, text, texts
from ...values.parts import name as called
from .held import Holdings, read_holdings, write_holdings
from .member import NODES
from .node import NodeFacts, amount_texts
from .prices import Cost, PriceSource, costs_of

# A snapshot without what the fleet holds is still of the first schema, which earlier versions read.
FACTS_ALONE, SCHEMA = 1, 2
WHY = ("code", "message")
PARTLY_READ, OLDER = "partly-read", "what was read of it before still stands"


@dataclass(frozen=True, kw_only=True)
class FactsSnapshot:
    """``nodes`` and ``failed`` are by member. ``failed`` says why one could not be read, as ``code`` and ``message``;
    its older facts still stand. ``missing`` says the same of parts, such as ``nodes`` or ``pods``, by member and part.

    ``prices`` is where the costs of those that were read come from; None if no price list was given. ``held`` is what
    was recorded of placements at that time, ``certificates`` are those of members that were read. ``digest`` is that of
    the document that it was read from, where that was given.
    """

    captured_at: datetime
    members: tuple[MemberCluster, ...]
    nodes: t.Mapping[str, tuple[NodeFacts, ...]] = field(default_factory=dict)
    failed: t.Mapping[str, t.Mapping[str, str]] = field(default_factory=dict)
    prices: PriceSource | None = None
    missing: t.Mapping[str, t.Mapping[str, t.Mapping[str, str]]] = field(default_factory=dict)
    held: Holdings | None = None
    certificates: t.Mapping[str, CertificateEnds] = field(default_factory=dict)
    digest: str = field(default="", compare=False)

    def costs(self, member: MemberCluster) -> tuple[Cost, ...]:
        """The costs that are known of the member, from ``prices``; without ``origin`` where there is none, or the
        member or its nodes could not be read: nobody knows the prices that its older costs were made with."""
        older = member.name in self.failed or NODES in self.missing.get(member.name, ())
        return costs_of(member, None if older else self.prices)

    @property
    def costs_from(self) -> str:
        """In words, from which price lists the costs are, and whose are left of an earlier capture, with the first and
        the last instant (UTC) at which those were made, where known. Only for a snapshot with costs."""
        left = {each.name: each for each in self.members if any(cost.origin is None for cost in self.costs(each))}
        properties = (each.status.properties[cost.name] for each in left.values() for cost in self.costs(each))
        made = {each.observation_time for each in properties}
        times = sorted(write_time(each, SECONDS) for each in made if each)
        ends = " to ".join(dict.fromkeys((*times[:1], *times[-1:])))
        earlier = "from prices of an earlier capture" + (f", made {ends}" if ends else "")
        if self.prices is None:
            return earlier
        return f"from {self.prices.text}" + (f"; those of {listed(sorted(left))} {earlier}" if left else "")

    @property
    def partly_read_problems(self) -> tuple[Problem, ...]:
        """A Problem ``partly-read`` for every part of a member that could not be read, by member and part."""
        return tuple(
            Problem(PARTLY_READ, f"{part} were not read: {why['message']} [{why['code']}]", f"{name} {part}", OLDER)
            for name, parts in sorted(self.missing.items())
            for part, why in sorted(parts.items())
        )


def write_snapshot(snapshot: FactsSnapshot) -> dict[str, t.Any]:
    """The snapshot as JSON data, members in name order, nodes of each in the order given and without their ``mode``;
    instants of capture and of nodes are cut to whole seconds."""
    document: dict[str, t.Any] = {
        "schema": FACTS_ALONE if snapshot.held is None else SCHEMA,
        "capturedAt": write_time(snapshot.captured_at, SECONDS),
        "members": [encode(each) for each in sorted(snapshot.members, key=lambda each: each.name)],
        "nodes": {name: [_node(each) for each in nodes] for name, nodes in sorted(snapshot.nodes.items())},
        "failed": {name: dict(why) for name, why in sorted(snapshot.failed.items())},
    }
    if snapshot.missing:
        document["missing"] = {
            name: {part: dict(why) for part, why in sorted(parts.items())}
            for name, parts in sorted(snapshot.missing.items())
        }
    if snapshot.certificates:
        document["certificates"] = {name: encode(ends) for name, ends in sorted(snapshot.certificates.items())}
    if snapshot.held is not None:
        document |= write_holdings(snapshot.held)
    return document | ({"prices": snapshot.prices.as_dict()} if snapshot.prices else {})


def read_snapshot(
    document: t.Any, where: str, now: datetime | None = None, *, with_nodes: bool = True
) -> FactsSnapshot:
    """The snapshot that ``write_snapshot`` wrote, without ``digest``; ``where`` is its file, for errors. FleetError
    ``facts-invalid`` for another document or form, for a member that stands twice, and for facts of somebody who is
    none of the members; ``facts-too-new`` for a later schema.

    Given ``now``, an aware instant, one that was captured later than that by more than 5 minutes is ``facts-invalid``
    too. Not ``with_nodes``, what stands there of nodes is passed over, right or wrong.
    """
    schema = document.get("schema") if isinstance(document, t.Mapping) and "capturedAt" in document else None
    if not is_whole_number(schema, 1):
        raise FleetError(
            "facts-invalid", "this is no facts snapshot", where, "write one with the verb gitops.fleet.fleet_facts"
        )
    if schema > SCHEMA:
        raise FleetError(
            "facts-too-new",
            f"the facts snapshot has schema {schema}, this version reads up to {SCHEMA}",
            where,
            "use the newer collection, or capture the facts again",
        )
    try:
        captured_at = parse_time(document["capturedAt"])
        members = tuple(decode(MemberCluster, each) for each in document.get("members") or ())
        rows_of = _by_name(document, "nodes") if with_nodes else {}
        nodes = {name: tuple(_read_node(each) for each in rows) for name, rows in rows_of.items()}
        failed = {name: {key: text(why, key) for key in WHY} for name, why in _by_name(document, "failed").items()}
        missing = {
            name: {part: {key: text({key: why[key]}, key) for key in WHY} for part, why in parts.items()}
            for name, parts in _by_name(document, "missing").items()
        }
        ends = {name: decode(CertificateEnds, each) for name, each in _by_name(document, "certificates").items()}
        prices = PriceSource(**texts(document, "prices")) if document.get("prices") else None
        held = read_holdings(document) if schema > FACTS_ALONE and document.get("held") is not None else None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FleetError("facts-invalid", f"the facts snapshot cannot be read: {error}", where) from error
    except RecursionError:
        raise FleetError("facts-invalid", "the facts snapshot cannot be read: it is nested too deep", where) from None
    found = FactsSnapshot(
        captured_at=captured_at,
        members=members,
        nodes=nodes,
        failed=failed,
        prices=prices,
        missing=missing,
        held=held,
        certificates=ends,
    )
    problems = [*_name_problems(found, where), *_time_problems(captured_at, now, where)]
    if problems:
        raise FleetError.of(problems)
    return found


def _name_problems(snapshot: FactsSnapshot, where: str) -> t.Iterator[Problem]:
    """A Problem for each member whose name cannot be one or that stands twice, and for each name in another part that
    is no member's."""
    names = [each.name for each in snapshot.members]
    hint = "capture the facts again; nobody writes them by hand"
    for name, count in Counter(names).items():
        wrong = name_problem(name)
        if wrong:
            yield Problem("facts-invalid", f"members: {wrong}", where, hint)
        elif count > 1:
            yield Problem("facts-invalid", f"members: {name} stands there {count} times", where, hint)
    for part in ("nodes", "failed", "missing", "certificates"):
        for name in sorted(getattr(snapshot, part).keys() - set(names)):
            yield Problem("facts-invalid", f"{part}: {name!r:.80} is none of the members", where, hint)


def _time_problems(captured_at: datetime, now: datetime | None, where: str) -> t.Iterator[Problem]:
    """A Problem if it was captured later than ``now`` by more than 5 minutes; none without ``now``."""
    if now is not None and is_ahead(captured_at, now):
        ahead = int((captured_at - now).total_seconds())
        message = f"capturedAt is {ahead} s ahead of this machine's clock; {CLOCK_SKEW.seconds} s are allowed"
        yield Problem("facts-invalid", message, where, "set the clocks right, then capture the facts again")


def snapshot_digest(snapshot: FactsSnapshot) -> str:
    """The hash by which an approved plan names its facts: ``digest``, if there is one, or else that of what
    ``write_snapshot`` writes, as of ``digest_of``, whose errors come through."""
    return snapshot.digest or digest_of(write_snapshot(snapshot))


def _node(node: NodeFacts) -> dict[str, t.Any]:
    """The row of a node without its ``mode`` and what is empty; the instant is cut to whole seconds."""
    row: dict[str, t.Any] = {
        "name": node.name,
        "pool": node.pool,
        "createdAt": write_time(node.created_at, SECONDS) if node.created_at else "",
        "version": node.version,
        "image": node.image,
        "instanceType": node.instance_type,
        "ready": node.ready,
        "unschedulable": node.unschedulable,
        "capacity": dict(node.capacity),
        "allocatable": dict(node.allocatable),
    }
    return {name: value for name, value in row.items() if value not in ("", {})}


def _by_name(document: t.Mapping[str, t.Any], key: str) -> t.Mapping[str, t.Any]:
    """What stands there by member, empty where it is absent or empty; ValueError if it is no mapping, or a name is no
    text."""
    found = mapping(document, key) if document.get(key) else {}
    if not all(isinstance(name, str) for name in found):
        raise ValueError(f"{key}: names are wanted")
    return found


def _read_node(row: t.Mapping[str, t.Any]) -> NodeFacts:
    """The node of a row that ``_node`` wrote; ValueError for another form. What is absent is empty or False."""
    created = text(row, "createdAt")
    return NodeFacts(
        name=called(row),
        pool=text(row, "pool"),
        created_at=parse_time(created) if created else None,
        version=text(row, "version"),
        image=text(row, "image"),
        instance_type=text(row, "instanceType"),
        ready=row.get("ready") is True,
        unschedulable=row.get("unschedulable") is True,
        capacity=amount_texts(row, "capacity"),
        allocatable=amount_texts(row, "allocatable"),
    )
