# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What documents laid over NodePools and node classes that members have would do there, member by member: fields
changed, nodes drifted, what speaks against it (``no-such-object``, ``unread-field``, ``refused``, ``confirmed``)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import FleetError, Problem
from ...foreign import shown_value
from ...objects.karpenter.node_class import NodeClass
from ...objects.karpenter.node_pool import KIND as NODE_POOL
from ...objects.karpenter.node_pool import NodePool
from ...values.merge_patch import merge_patched
from ..budgets.lint import ERROR, WARNING, Lint
from ..drift_edits import FIELD_CLASSES
from ..node_source import NodeSource, effect_of
from ..subnet_change import ROUTES, Network
from .member_nodes import UNWANTED, Document, MemberNodes

KINDS = tuple(FIELD_CLASSES)


@dataclass(frozen=True, kw_only=True)
class ClassChange:
    """One object on one member. ``changed`` are the paths of fields with their class; ``drifted`` the nodes that are
    replaced by it, ``unsure`` those of which nobody can tell, each with why. ``count``: how many nodes come from the
    object. ``findings`` are about its subnet, and ``unread-field``."""

    member: str
    kind: str
    name: str
    count: int
    changed: tuple[tuple[str, str], ...]
    drifted: t.Mapping[str, str]
    unsure: t.Mapping[str, str]
    findings: tuple[Lint, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What speaks against it: the findings that are errors, in their order."""
        where = f"{self.member} {self.kind}/{self.name}"
        return tuple(Problem(each.code, each.message, where) for each in self.findings if each.level == ERROR)

    @property
    def routes_confirmed(self) -> bool:
        """Whether nothing is left that only a person can see: the routes of another subnet."""
        return all(each.code != ROUTES for each in self.findings)

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: ``changed`` as class by path, of findings code, level and message alone; with ``refused``
        and ``confirmed``."""
        return {
            "member": self.member,
            "kind": self.kind,
            "name": self.name,
            "count": self.count,
            "changed": dict(self.changed),
            "drifted": dict(self.drifted),
            "unsure": dict(self.unsure),
            "findings": [{"code": each.code, "level": each.level, "message": each.message} for each in self.findings],
            "refused": bool(self.problems),
            "confirmed": self.routes_confirmed,
        }


def class_changes(
    members: t.Iterable[MemberNodes], wanted: t.Iterable[Document], network: Network, override: bool = False
) -> tuple[ClassChange, ...]:
    """What the ``spec`` of each document does to its object on each member that has it, document by document, members
    in their order; two documents of one object are two rows, each over the object as it is. A field that a document
    leaves out stays, one that is null goes, ``userData`` is not compared; ``network`` and ``override`` as of
    ``check_subnet_change``. FleetError ``no-such-object`` with all objects that no member has, or may tell,
    ``wrong-type``, ``unknown-kind``, ``undecodable``."""
    given, documents = tuple(members), tuple(wanted)
    _refuse_misshapen(documents)
    found = [each for document in documents for each in _everywhere(given, document, network, override)]
    there = {(each.kind, each.name) for each in found}
    problems = [
        Problem("no-such-object", "no member has it, or may tell it", f"{kind}/{name}")
        for kind, name in map(_identity, documents)
        if (kind, name) not in there
    ]
    if problems:
        raise FleetError.of(problems)
    return tuple(found)


def _refuse_misshapen(documents: t.Iterable[Document]) -> None:
    """Raises FleetError ``wrong-type``, with all problems, for ``metadata`` or ``spec`` that is no object; absent and
    empty ones may be."""
    problems = [
        Problem("wrong-type", f"an object is wanted as {key}", f"{shown_value(document.get('kind'))} {key}")
        for document in documents
        for key in ("metadata", "spec")
        if not isinstance(document.get(key) or {}, Mapping)
    ]
    if problems:
        raise FleetError.of(problems)


def _identity(document: Document) -> tuple[str, str]:
    """Kind and name of a document, each empty where it is missing."""
    return str(document.get("kind") or ""), str((document.get("metadata") or {}).get("name") or "")


def _everywhere(
    members: tuple[MemberNodes, ...], document: Document, network: Network, override: bool
) -> t.Iterator[ClassChange]:
    """The changes that a document makes, a row for each member that has its object. FleetError ``unknown-kind``, and as
    of ``effect_of``."""
    kind, name = _identity(document)
    if kind not in KINDS:
        raise FleetError("unknown-kind", f"changes are foreseen of {', '.join(KINDS)}", f"{kind}/{name}")
    for member in members:
        before = source_on(member, kind, name)
        if before is not None:
            yield _change(member, kind, before, document, network, override)


def source_on(member: MemberNodes, kind: str, name: str) -> Document | None:
    """The NodePool or node class as the member has it, of a class only kind, name, spec without ``userData`` and the
    subnets found; None if it has none."""
    pools: tuple[NodePool | NodeClass, ...] = member.pools if kind == NODE_POOL else member.classes
    for each in pools:
        if each.name == name and isinstance(each, NodePool):
            return dict(each.manifest)
        if each.name == name and isinstance(each, NodeClass) and each.kind == kind:
            subnets = [{"id": one.id, "zone": one.zone} for one in each.status.subnets]
            return {
                "kind": kind,
                "metadata": {"name": name},
                "spec": _seen(each.spec),
                "status": {"subnets": subnets},
            }
    return None


def as_edited(before: Document, wanted: t.Any) -> Document:
    """The object once the spec ``wanted`` is laid over its own, ``userData`` apart; parts are shared."""
    return {**before, "spec": merge_patched(before.get("spec"), _seen(wanted))}


def _seen(spec: t.Any) -> Document:
    """A spec without the fields that are never read, for they may hold secrets; empty for what is no map."""
    if not isinstance(spec, Mapping):
        return {}
    return {key: each for key, each in spec.items() if key not in UNWANTED}


def _change(
    member: MemberNodes, kind: str, before: Document, document: Document, network: Network, override: bool
) -> ClassChange:
    """What a document does to the object ``before`` of a member, whose subnet findings come after those of ``_unread``.
    FleetError as of ``effect_of``."""
    wanted = document.get("spec") or {}
    change = NodeSource(kind, _identity(document)[1], before, as_edited(before, wanted))
    found = effect_of(change, member.state, network, override)
    return ClassChange(
        member=member.name,
        kind=kind,
        name=change.name,
        count=found.count,
        changed=found.changed,
        drifted=found.drifted,
        unsure=found.unsure,
        findings=(*_unread(kind, wanted), *found.findings),
    )


def _unread(kind: str, wanted: Mapping[str, t.Any]) -> t.Iterator[Lint]:
    """The warning ``unread-field`` if the document of a class writes a field that no member is asked for."""
    keys = [key for key in UNWANTED if key in wanted]
    if keys and kind != NODE_POOL:
        text = f"{', '.join(keys)} is never read: whether it changes, and drifts every node, is not known"
        yield Lint(code="unread-field", level=WARNING, path=f"spec.{keys[0]}", message=text)
