# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The linter for one document, by what it is (an object of ours or KubeFleet's, a NodePool, a fragment, a strategy,
Azure's JSON, another: ``not-checked``, ``not-a-manifest``), and how that is mended."""

from __future__ import annotations

import copy
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ..disruption.budgets.lint import (
    ERROR,
    NOTE,
    Lint,
    lint_budgets,
)
from ..disruption.lint_pool import lint_examined
from ..objects.api_groups import CLUSTER_GROUP, FLEET_GROUP, PLACEMENT_GROUP
from ..objects.karpenter.manifests import (
    JUDGEMENTS,
    Judgement,
    check_written_metadata,
    judge_written,
)
from ..objects.karpenter.node_pool import decode_budgets
from ..objects.karpenter.node_pool_schema import BUDGETS
from ..objects.karpenter.reading import Examined, examine
from ..objects.kinds import KIND_OF
from ..objects.placements.placeholders import HOLES
from ..objects.reading import judge
from ..objects.service_json import ServiceResource, resources
from ..objects.updates.strategy_json import judge_strategy
from ..schema.checking import Written, no_written_text
from ..schema.finding import Finding
from ..schema.hints import did_you_mean
from ..schema.rules import indexes_at
from ..values.field_path import field, set_at, value_at
from .annotations import judge_other_kind
from .kinds import UNCHECKED
from .older_pool import OLDER, as_v1
from .placement import (
    UNDECIDED,
    cluster_scoped_selected,
    selected_in_vain,
    spread_in_words,
)
from .remark import (
    LintProblem,
    of_finding,
    of_found,
    of_lint,
)
from .service import judge_resource
from .stand_ins import without_stand_ins

KARPENTER_GROUP = "karpenter.sh"
BUDGET_FIELDS = ("nodes", "schedule", "duration", "reasons")
STRATEGY_FRAMES = ("properties", "spec", "strategy")


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A document and its remarks. ``object`` is ``kind/name``, as far as they are there; ``checked`` tells whether
    there are rules for it here. ``inside`` is what the paths of the remarks begin with and the document lacks: a
    fragment starts further in. ``whole`` is the document in the place where it belongs, not mended."""

    object: str
    remarks: tuple[LintProblem, ...]
    whole: t.Any
    checked: bool = True
    inside: str = ""


def judge_document(document: t.Any, start: datetime, holes: bool = False, written: Written = no_written_text) -> Judged:
    """All remarks on a document, whatever it is, in the order in which they are found. Errors and warnings about a
    value that stands for another one (``$NAME``, ``<name>``) become notes ``stand-in``, as of ``without_stand_ins``.
    Statements about budgets are proved over the year after ``start``, an aware instant.

    ``holes`` makes a note of every literal ``...``, which is an error otherwise. ``written`` gives what is written at a
    field path of the document where YAML reads another value. File and line are left to the caller.
    """
    judged = _judged(document, start, written)
    if not judged.remarks:
        return judged
    kept = without_stand_ins(judged.remarks, document, judged.inside)
    remarks = (replace(each, object=judged.object) for each in kept)
    if holes:
        remarks = (replace(each, level=NOTE) if each.code in HOLES else each for each in remarks)
    return replace(judged, remarks=tuple(remarks))


def mend(judged: Judged, consent: bool = False) -> t.Any:
    """A copy of the document, in the place where it belongs (``judged.whole``), with the mended forms in it; None if
    nothing is mended, for want of consent too. What disrupts nodes by being applied stays as it was, unless there is
    consent. A later remark with a form for a place that an earlier one has mended is left out, its other places too."""
    if not any(remark.mended for remark in judged.remarks):
        return None
    out = copy.deepcopy(judged.whole)
    done: set[str] = set()
    for remark in judged.remarks:
        if remark.mended and done.isdisjoint(remark.mended) and (consent or not remark.consent):
            for path, value in remark.mended.items():
                set_at(out, path, copy.deepcopy(value))
            done.update(remark.mended)
    return out if done else None


def _judged(document: t.Any, start: datetime, written: Written) -> Judged:
    """The document judged by what it is, before stand-ins and holes are considered and objects named in remarks."""
    if found := tuple(resources(document)):
        return _service(document, found)
    if isinstance(document, Mapping):
        if "apiVersion" in document or "kind" in document:
            return _object(document, start, written)
        if _is_strategy(document):
            return _strategy(document)
        if "budgets" in document or "disruption" in document or _has_disruption(document.get("spec")):
            return _pool(document, start, written)
        text = "neither apiVersion nor kind is here, so that nothing is checked"
        return _unknown(document, LintProblem(code="not-a-manifest", level=NOTE, message=text))
    if isinstance(document, list) and document and all(_is_budget(each) for each in document):
        return _pool(document, start, written)
    text = f"a manifest is a mapping, not {'a list' if isinstance(document, list) else 'a single value'}"
    return _unknown(document, LintProblem(code="not-an-object", level=ERROR, message=text))


def _unknown(document: t.Any, remark: LintProblem) -> Judged:
    """A document for which there are no rules, with that remark alone."""
    return Judged(object="", remarks=(remark,), whole=document, checked=False)


def _object(document: Mapping[str, t.Any], start: datetime, written: Written) -> Judged:
    """A document with ``apiVersion`` or ``kind``, judged by these. Of kinds that are none of ours, KubeFleet's or
    Karpenter's only annotations and feature gates are judged, and kinds of KubeFleet without rules here are noted."""
    api_version, kind = (_text(document.get(key)) for key in ("apiVersion", "kind"))
    group = api_version.rpartition("/")[0]
    name = _title(kind, document)
    if group == KARPENTER_GROUP and kind == "NodePool":
        return _pool(document, start, written)
    if kind in JUDGEMENTS and group == JUDGEMENTS[kind].group:
        return _beside(document, name, JUDGEMENTS[kind], written)
    if kind in UNCHECKED.get(group, ()):
        text = f"objects of kind {kind} are known to KubeFleet and not checked here"
        remark = LintProblem(code="not-checked", level=NOTE, message=text, path="kind")
        return Judged(object=name, remarks=(remark,), whole=document, checked=False)
    ours = group in (FLEET_GROUP, PLACEMENT_GROUP, CLUSTER_GROUP) or group.endswith("kubefleet.dev")
    if ours or not (api_version and kind):
        return _read(document, name, written)
    return Judged(object=name, remarks=tuple(judge_other_kind(document)), whole=document, checked=False)


def _read(document: Mapping[str, t.Any], name: str, written: Written) -> Judged:
    """An object of ours or KubeFleet's, or one without one of ``apiVersion`` and ``kind``: its problems, findings and,
    of placements, what they select and spread by."""
    judged = judge(document, written=written)
    remarks = [of_found(each) for each in judged.problems] + _of_findings(judged.findings, document)
    if any(each.code == UNDECIDED for each in judged.problems):
        remarks += spread_in_words(document, [each.path for each in judged.problems])
    if document.get("kind") == "ClusterResourcePlacement":
        remarks += selected_in_vain(document)
    if document.get("kind") == "ResourcePlacement":
        remarks += cluster_scoped_selected(document)
    return Judged(object=name, remarks=tuple(_shorter(each, document) for each in remarks), whole=document)


def _of_findings(findings: t.Iterable[Finding], document: t.Any) -> list[LintProblem]:
    """Warnings for findings, in order; a limit of a group that is left out is worth a note, as
    ``docs/compatibility.md`` has it."""
    remarks = [of_finding(each) for each in findings]
    left_out = [each.code == "group-limit-stricter" and value_at(document, each.path) is None for each in remarks]
    return [replace(each, level=NOTE) if out else each for each, out in zip(remarks, left_out, strict=True)]


def _shorter(remark: LintProblem, document: Mapping[str, t.Any]) -> LintProblem:
    """The remark; one about an unknown kind names the kind or group that is meant, for the list of all kinds is
    long."""
    if remark.code != "unknown-kind":
        return remark
    text = f"{document.get('kind')} is no kind of {str(document.get('apiVersion')).rpartition('/')[0]}"
    if remark.mended:  # the kind is right, and the group is not
        (meant,) = remark.mended.values()
        return replace(remark, message=f"{text} (write {meant})", path="apiVersion", mended={"apiVersion": meant})
    hint = did_you_mean(str(document.get("kind")), KIND_OF)
    return replace(remark, message=f"{text} ({hint})" if hint else text, path="kind")


def _beside(document: Mapping[str, t.Any], name: str, known: Judgement, written: Written) -> Judged:
    """An object of Karpenter's other kinds, by the rules that are ``known`` for it."""
    problems, findings = judge_written(document, known, written)
    remarks = [of_found(each) for each in problems] + [of_finding(each) for each in findings]
    return Judged(object=name, remarks=tuple(remarks), whole=document)


def _pool(document: t.Any, start: datetime, written: Written) -> Judged:
    """A NodePool, a part of one, or a list of budgets: problems of its fields, then hazards. One of v1beta1 is judged
    as v1 would have it."""
    remarks: list[LintProblem] = []
    given = document
    if isinstance(document, Mapping) and ("apiVersion" in document or "kind" in document):
        remarks += [of_found(each) for each in check_written_metadata(document)]
        if document.get("apiVersion") == OLDER:
            given, older = as_v1(document)
            remarks.append(older)
    inside = _inside(document)
    examined = examine(given, written=lambda path: written(path.removeprefix(inside).lstrip(".")))
    whole = document if given is not document else examined.written
    remarks += [of_lint(each) for each in lint_examined(examined, start)]
    if examined.budgets is None:
        remarks += [of_lint(each) for each in _single_budgets(examined, start)]
    return Judged(object=_title("NodePool", whole), remarks=tuple(remarks), whole=whole, inside=inside)


def _inside(document: t.Any) -> str:
    """What paths in a pool begin with that a fragment of one lacks; empty for what begins at the top."""
    if not isinstance(document, Mapping):
        return BUDGETS
    if "apiVersion" in document or "kind" in document:
        return ""
    return "spec.disruption." if "budgets" in document else "spec." if "disruption" in document else ""


def _single_budgets(examined: Examined, start: datetime) -> t.Iterator[Lint]:
    """Where one budget is wrong, the errors of each of the others, judged alone: nothing else is true of the list."""
    rows = field(examined.stored, BUDGETS)
    wrong = indexes_at((each.path for each in examined.problems), BUDGETS)
    for index, row in enumerate(rows if isinstance(rows, list) else ()):
        here = f"{BUDGETS}[{index}]"
        if str(index) not in wrong:
            for each in lint_budgets(decode_budgets([row]), start):
                if each.level == ERROR:
                    mended = {path.replace(f"{BUDGETS}[0]", here): value for path, value in each.mended.items()}
                    yield replace(each, path=each.path.replace(f"{BUDGETS}[0]", here), mended=mended)


def _strategy(document: Mapping[str, t.Any]) -> Judged:
    """A strategy of updates without ``apiVersion`` and ``kind``, as Azure writes it."""
    problems, findings = judge_strategy(document)
    remarks = [of_found(each) for each in problems] + _of_findings(findings, document)
    return Judged(object=_title("UpdateStrategy", {"metadata": document}), remarks=tuple(remarks), whole=document)


def _service(document: t.Any, found: tuple[ServiceResource, ...]) -> Judged:
    """Resources of Azure's JSON, each as of ``judge_resource``, in order; with a title only if there is one alone."""
    remarks = tuple(remark for each in found for remark in judge_resource(each))
    titles = [_title(each.kind, {"metadata": each.value}) for each in found]
    return Judged(object=titles[0] if len(titles) == 1 else "", remarks=remarks, whole=document)


def _is_strategy(document: Mapping[str, t.Any]) -> bool:
    """Whether there is a list ``stages`` in it, right there or in frames (``properties``, ``spec``, ``strategy``)."""
    inner: t.Any = document
    while isinstance(inner, Mapping) and "stages" not in inner:
        inner = next((inner[each] for each in STRATEGY_FRAMES if isinstance(inner.get(each), Mapping)), None)
    return isinstance(inner, Mapping) and isinstance(inner["stages"], list)


def _has_disruption(spec: t.Any) -> bool:
    """Whether it is a mapping with the key ``disruption``."""
    return isinstance(spec, Mapping) and "disruption" in spec


def _is_budget(value: t.Any) -> bool:
    """Whether it is a mapping with any of the fields of a budget."""
    return isinstance(value, Mapping) and any(field in value for field in BUDGET_FIELDS)


def _title(kind: str, document: t.Any) -> str:
    """``kind/name``, or one of the two, as far as they are there; empty without both."""
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    name = _text(metadata.get("name")) if isinstance(metadata, Mapping) else ""
    return "/".join(filter(None, (kind, name)))


def _text(value: t.Any) -> str:
    """The text; empty for anything else."""
    return value if isinstance(value, str) else ""
