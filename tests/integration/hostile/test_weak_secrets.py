# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Passwords that can be guessed, and somebody who may read plans, members and records, but has no key (F23)."""

from __future__ import annotations

import base64
import itertools
import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.cleaning import cleaned
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.sealing import (
    object_hash,
    sealed,
    without_values,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.snapshots import resource_hash
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.canonical import digest_of
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import plans_markdown
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from small_fleet import PARENTS, Document, Fleet

WEAK = ("hunter2", "letmein", "password1", "s3cret")
KNOWN_KEYS = (b"no key is kept yet", b"gitops-fleet", b"gitops.fleet", b"0", b"\0" * 32)


def secret(fleet: Fleet, value: str) -> Document:
    data = {"password": base64.b64encode(value.encode()).decode()}
    metadata = {"name": "login", "namespace": fleet.namespace, "annotations": {"kapp.k14s.io/original": value}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def guesses(fleet: Fleet) -> dict[str, str]:
    """Every hash that a reader without the key can make of a guess, and the guess."""
    found = {}
    for value in WEAK:
        manifest = cleaned(secret(fleet, value))
        others = [
            cleaned({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fleet.namespace}}),
            cleaned(fleet.configmap()),
        ]
        plain = [digest_of(manifest), digest_of(manifest["data"]), digest_of(value), object_hash(manifest)]
        keyed = [
            object_hash(sealed(manifest, key, where)) for key, where in itertools.product(KNOWN_KEYS, ("", "files"))
        ]
        sets = [resource_hash([each, *map(object_hash, others)]) for each in (*plain, *keyed)]
        found |= dict.fromkeys([*plain, *keyed, *sets], value)
    return found


def told(fleet: Fleet, report: t.Any) -> str:
    parts = [json.dumps(report.plan.as_dict()), *fleet.said]
    parts += [line for plan in report.plan.plans for line in plan_text(plan, report.outcomes_of(plan.name))]
    parts += [plans_markdown(report.plan.plans, report.plan.digest, report.plan.facts_digest, report.plan.findings)]
    parts += [json.dumps(each.as_dict()) for one in report.outcomes.values() for each in one.values()]
    return "\n".join(parts)


def assert_nothing_to_guess(fleet: Fleet, text: str) -> None:
    assert [value for digest, value in guesses(fleet).items() if digest in text] == []
    for value in WEAK:
        assert value not in text and base64.b64encode(value.encode()).decode() not in text


def without_records(fleet: Fleet, facts: FactsSnapshot) -> t.Any:
    """A plan as a pull request from a fork makes it: files and facts, and records of nobody."""
    records = open_records({"type": "sqlite", "path": str(fleet.folder / "none.db")}, {}, lambda: fleet.now)
    fleet.opened.append(records)
    return fleet.run(records=records, facts=facts, look=False)


def test_a_published_plan_without_records_lets_nobody_guess(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1")
    facts = fleet.facts()
    fleet.place()
    texts = []
    for value in WEAK:
        fleet.resources(fleet.configmap(), secret(fleet, value))
        report = without_records(fleet, facts)
        assert_nothing_to_guess(fleet, told(fleet, report))
        texts.append(told(fleet, report))
        codes = {each.code for plan in report.plan.plans for each in plan.findings}
        assert "secrets-left-out" in codes
    assert len(set(texts)) == 1, "whatever the Secret holds, the plan is the same"
    with pytest.raises(FleetError) as refused:
        fleet.apply(facts=facts, approved=report.plan.digest)
    assert refused.value.code == "digest-mismatch", "it is nothing that could be approved"


def test_with_the_key_of_the_records_the_plan_can_be_approved(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1")
    facts = fleet.facts()
    fleet.place()
    fleet.resources(fleet.configmap(), secret(fleet, WEAK[0]))
    report = fleet.look(facts=facts, look=False)
    assert_nothing_to_guess(fleet, told(fleet, report))
    fleet.resources(fleet.configmap(), secret(fleet, WEAK[1]))
    assert fleet.look(facts=facts, look=False).plan.digest != report.plan.digest
    fleet.resources(fleet.configmap(), secret(fleet, WEAK[0]))
    assert not fleet.apply(facts=facts, approved=report.plan.digest).problems


def test_what_is_on_members_and_in_records_lets_nobody_guess(fleet: Fleet) -> None:
    """And what is told of a drift, a takeover, a difference."""
    fleet.join("m1")
    fleet.place()
    fleet.resources(fleet.configmap(), secret(fleet, WEAK[0]))
    texts = [told(fleet, fleet.apply())]
    changed = {"data": secret(fleet, WEAK[1])["data"], "metadata": {"annotations": {"kapp.k14s.io/original": WEAK[1]}}}
    fleet.servers["m1"].patch(fleet.namespaced("secrets", "login"), changed)
    looked = fleet.look()
    assert [each.id.name for each in looked.outcomes_of(fleet.name)["m1"].drifted] == ["login"]
    texts.append(told(fleet, looked))
    fleet.place(strategy={"type": "ReportDiff"}, name=f"{fleet.name}-b")
    texts += [told(fleet, fleet.look()), told(fleet, fleet.apply())]
    parent = fleet.servers["m1"].get(f"{PARENTS}/{fleet.name}")
    kinds = ("ClusterResourceSnapshot", "ClusterResourcePlacement", "ClusterResourceBinding")
    texts += [json.dumps(parent), *(json.dumps(fleet.records.list(kind)) for kind in kinds)]
    assert_nothing_to_guess(fleet, "\n".join(texts))


def test_what_is_left_out_is_left_out_inside_envelopes_too(file_fleet: Fleet) -> None:
    envelope = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourceEnvelope",
        "metadata": {"name": "e", "namespace": file_fleet.namespace},
        "data": {"login": secret(file_fleet, WEAK[0])},
    }
    assert_nothing_to_guess(file_fleet, json.dumps(without_values(envelope)))
