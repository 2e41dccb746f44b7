# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The sentence for each code of the linter, and the table of codes as Markdown; those that are no rule of
``schema.rules`` stand here.

``python -m ...lint.codes`` prints them as Markdown.
"""

from __future__ import annotations

import typing as t

from ..schema.rules import RULES

FILES: t.Mapping[str, str] = {
    "missing-library": "The Python library PyYAML is not installed.",
    "bad-yaml": "The file cannot be parsed.",
    "duplicate-key": "A mapping has a key twice; most readers silently keep the last one.",
    "bad-key": "A key is not text, or what is merged in is no mapping.",
    "bad-number": "JSON has no such number.",
    "unknown-tag": "A YAML tag means nothing in a manifest.",
    "too-deep": "The document is nested too deep.",
    "too-big": "The file, or what its aliases unfold to, is larger than manifests are, or has more in it.",
    "more-findings": "There are more findings than are told.",
    "not-utf-8": "The file is not UTF-8 text.",
    "no-such-file": "There is no such file or folder.",
    "unreadable": "The file or folder cannot be read.",
    "not-a-manifest": "The document has neither apiVersion nor kind, so that nothing is checked.",
    "stand-in": "A value comes from elsewhere ($NAME, <name>, {{ name }}) and is not judged.",
    "not-checked": "The kind is known, and there are no rules for it here.",
    "duplicate-object": "An object stands in two places.",
}
NODE_POOLS: t.Mapping[str, str] = {
    "patch-only": "A part of an object, which can change one and not create it.",
    "alternatives": "Documentation's A | B stands where one value has to be chosen.",
    "expireAfter-misplaced": "expireAfter stands under spec.disruption, where v1 drops it.",
    "expireAfter-conflict": "expireAfter stands in both places with two values.",
    "expiry-ignores-budgets": "Expiry is forceful: no budget and no annotation holds it back.",
    "expiry-without-deadline": "An expired node that cannot be drained stays without end.",
    "template-change-drifts": "Applying a change of the template replaces all nodes of the pool.",
    "do-not-disrupt-in-template": "The annotation in the template replaces all nodes, to protect new ones.",
    "do-not-disrupt-unreadable": "The value of the annotation protects nothing.",
    "do-not-disrupt-not-on-pods": "The annotation stands on a workload and not on its pods.",
    "do-not-disrupt-and-expiry": "The annotation does not hold back expiry.",
    "feature-gate-gone": "A feature gate is named that Karpenter has no longer.",
    "restricted-label": "Karpenter keeps a label for itself.",
    "values-missing": "A requirement has not the values that its operator needs.",
    "min-values-too-large": "More different values are wanted than are listed.",
    "not-with-replicas": "A pool of a fixed number of nodes has a weight, or a limit other than that of nodes.",
    "role-or-profile": "Not exactly one of role and instanceProfile.",
    "alias-alone": "An alias of an image stands beside other fields or terms.",
    "empty-term": "A term selects by nothing.",
    "no-such-fips": "FIPS is asked for an image that has none.",
    "alias-of-another-family": "The alias of an image is of another family than amiFamily.",
    "id-alone": "An id stands beside other fields in a term of images, or in all terms of another list.",
    "name-alone": "Every term of security groups has a name beside other fields.",
    "empty-tag": "A tag has an empty key.",
    "restricted-tag": "The provider sets a tag itself.",
    "two-root-volumes": "Several block devices are the root volume.",
    "name-or-id": "Not exactly one of name and id.",
    "no-primary-interface": "No interface stands at the first place of the first card.",
    "duplicate-interface": "Two interfaces stand at one place, or a card has two of type efa-only.",
    "swap-refused": "Swap is asked for, and the kubelet refuses it.",
    "port-range": "The range of local ports is not one that is taken.",
    "dns-zones": "One of the two zones that are always wanted is missing.",
    "dns-forward": "A zone is forwarded to whom does not know it.",
    "stale-over-tcp": "Old answers cannot be verified over TCP alone.",
    "threshold-order": "Two thresholds are in the wrong order.",
    "two-prices": "Both price and priceAdjustment are given.",
    "restricted-capacity": "An overlay changes what the machine itself has.",
    "invalid-nodes": "nodes is neither a number nor a percentage, as text.",
    "invalid-schedule": "The schedule has not the form of five fields or a macro.",
    "invalid-duration": "The text is no duration of the form that the field takes.",
    "duplicate-value": "A value stands twice in a set.",
    "schedule-without-duration": "Of schedule and duration one is missing.",
    "schedule-unreadable": "The schedule is admitted and cannot be read, which closes the pool.",
    "schedule-never-fires": "The schedule never fires, which counts as always active.",
    "nodes-unreadable": "nodes is admitted and cannot be read, which closes the pool.",
    "nodes-overflow": "nodes does not fit 32 bits and counts as another number.",
    "reasons-empty": "An empty list of reasons covers none.",
    "window-empty": "A window of no length never opens.",
    "windows-overlap": "The schedule fires again before the window has ended.",
    "budget-never-permits": "The budgets together permit nothing, ever.",
    "no-budget": "Nothing limits disruption.",
    "reason-without-budget": "No budget covers a reason.",
    "unlimited-outside-windows": "Nothing limits disruption outside the windows.",
    "budget-never-binds": "The budget never decides.",
    "reason-never-binds": "The budget never decides for one of its reasons.",
}
PLACEMENTS: t.Mapping[str, str] = {
    "overridden-twice": "Two overrides of one kind name the same resource.",
    "budget-for-pick-all": "The budget of a PickAll placement is no minAvailable in whole clusters.",
    "namespaced-selected": "A ClusterResourcePlacement selects a kind that lies in a namespace.",
    "cluster-scoped-selected": "A ResourcePlacement selects a kind that lies in no namespace.",
    "reserved-selected": "A namespace is selected that is never placed.",
    "spread-in-words": "What a spread constraint asks for, where the number of clusters is missing.",
    "bad-ignore": "The annotation gitops.fleet/ignore names what cannot be ignored, or is no list of paths.",
    "eviction-from-pick-fixed": "An eviction is to take a cluster off a placement that names its clusters.",
}
TEXTS: t.Mapping[str, str] = {**FILES, **NODE_POOLS, **PLACEMENTS, **{rule.code: rule.text for rule in RULES}}


def text_of(code: str) -> str:
    """The sentence that explains a code of the linter or of a rule; where none is written, one made of its words (``Foo
    bar.``)."""
    return TEXTS.get(code) or f"{code.replace('-', ' ').capitalize()}."


def as_markdown() -> str:
    """The table of ``docs/lint.md`` in Markdown: codes and sentences of what ``docs/objects.md`` does not list."""
    rows = [f"| `{code}` | {text} |" for part in (FILES, NODE_POOLS, PLACEMENTS) for code, text in part.items()]
    return "\n".join(["| code | what is said |", "|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")  # pylint: disable=ansible-bad-function  # a command
