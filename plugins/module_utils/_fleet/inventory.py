# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The fleet as hosts of an Ansible inventory: hub and members, each with what is known of it and how it is reached
(``fleet_role`` and so on), from records or the output of a stack (``bad-inventory``); no credentials."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import asdict, dataclass, field

from .._core.errors import FleetError, Problem
from .._core.schema.codec import encode
from .members.members import Member, recorded_members
from .session import open_session

SCHEMA = 1
_TEXTS = ("name", "backend", "version", "region", "group", "kubeconfig", "context")


@dataclass(frozen=True, kw_only=True)
class InventoryHost:
    """A cluster. ``role`` is hub or member; of a Secret on the hub ``secret`` has name, namespace and key."""

    name: str
    role: str
    group: str = ""
    region: str = ""
    version: str = ""
    environment: str = ""
    kubeconfig: str = ""
    context: str = ""
    secret: t.Mapping[str, str] = field(default_factory=dict)
    in_cluster: bool = False
    driver: str = ""
    provider: str = ""
    labels: t.Mapping[str, str] = field(default_factory=dict)

    def variables(self) -> dict[str, t.Any]:
        """A host variable for each field but the name, empty ones too: ``fleet_role`` and so on."""
        return {f"fleet_{key}": value for key, value in asdict(self).items() if key != "name"}


def recorded_hosts(records: t.Mapping[str, t.Any], environ: t.Mapping[str, str]) -> tuple[InventoryHost, ...]:
    """The recorded members, by name; not the hub. ``records`` is the option of verbs of that name. FleetError as of
    ``Session.refuse_no_records``, ``open_session`` and ``recorded_members``."""
    with open_session({"records": records}, environ, writes=False) as session:
        session.refuse_no_records("name them by records; members are recorded when they join")
        return tuple(_member(name, each) for name, each in recorded_members(session.records).items())


def hosts_of_output(value: t.Any, where: str = "") -> tuple[InventoryHost, ...]:
    """The hub and then the members, as they are listed, of ``fleet_inventory``, the output of the program in
    ``pulumi/environments``: a mapping with ``schema_version`` 1, ``environment``, ``hub``, which has to be there, and
    ``members``. Each cluster is a mapping with ``name`` and, as far as it has them, texts ``backend``, ``version``,
    ``region``, ``group``, ``kubeconfig`` and ``context``, and ``labels``. FleetError ``bad-inventory`` with all that is
    wrong, a text that is None too, or with another ``schema_version`` alone. ``where`` begins the places in
    problems."""
    if not isinstance(value, dict) or value.get("schema_version") != SCHEMA:
        told = value.get("schema_version") if isinstance(value, dict) else type(value).__name__
        text = f"schema_version is {told!r}, and {SCHEMA} is what is read here"
        raise FleetError(
            "bad-inventory", text, where, "name an output of pulumi/environments; update the older of both"
        )
    members = value.get("members")
    found = members if isinstance(members, list) else []
    rows: list[tuple[str, str, t.Any]] = [("hub", "hub", value.get("hub"))]
    rows += [(f"members[{number}]", "member", row) for number, row in enumerate(found)]
    problems = [problem for place, _role, row in rows for problem in _problems(row, f"{where} {place}".strip())]
    if found is not members and members is not None:
        problems.append(Problem("bad-inventory", f"{members!r:.80} is no list of clusters", f"{where} members".strip()))
    names = Counter(
        row["name"] for _place, _role, row in rows if isinstance(row, dict) and isinstance(row.get("name"), str)
    )
    twice = sorted(name for name, count in names.items() if name and count > 1)
    problems += [Problem("bad-inventory", f"{name!r:.80} is there twice", where) for name in twice]
    if problems:
        raise FleetError.of(problems)
    environment = str(value.get("environment") or "")
    return tuple(_row(role, environment, row) for _place, role, row in rows)


def _member(name: str, member: Member) -> InventoryHost:
    """The host of a recorded member, its environment empty."""
    spec, connection = member.fleet.spec, member.fleet.spec.connection
    labels = dict(member.cluster.metadata.labels or {})
    return InventoryHost(
        name=name,
        role="member",
        group=spec.group,
        region=spec.location,
        version=member.fleet.status.version,
        kubeconfig=connection.kubeconfig,
        context=connection.context,
        secret=encode(connection.secret_ref) if connection.secret_ref else {},
        in_cluster=connection.in_cluster,
        driver=spec.driver,
        provider=spec.provider,
        labels=labels,
    )


def _problems(row: t.Any, where: str) -> t.Iterator[Problem]:
    """What is wrong with the row of one cluster: it is no map, has no name, a text of another type, or labels that are
    no texts."""
    if not isinstance(row, dict):
        yield Problem("bad-inventory", f"{row!r:.80} is no cluster", where)
        return
    for key in _TEXTS:
        if not isinstance(row.get(key, ""), str):
            yield Problem("bad-inventory", f"{row[key]!r:.80} is no text", f"{where}.{key}")
    if not row.get("name"):
        yield Problem("bad-inventory", "it has no name", where)
    labels = row.get("labels") or {}
    if not isinstance(labels, dict) or not all(isinstance(each, str) for pair in labels.items() for each in pair):
        yield Problem("bad-inventory", f"{labels!r:.80} are no labels", f"{where}.labels")


def _row(role: str, environment: str, row: t.Mapping[str, t.Any]) -> InventoryHost:
    """The host of a row without problems: its driver is ``local`` for a member of the backend ``local``, else empty;
    fields that a row does not have stay empty."""
    texts = {key: row.get(key, "") for key in _TEXTS if key not in ("backend",)}
    driver = "local" if row.get("backend") == "local" and role == "member" else ""
    return InventoryHost(role=role, environment=environment, driver=driver, labels=row.get("labels") or {}, **texts)
