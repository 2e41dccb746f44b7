# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whatever is written: printing and reading is the identity, and nothing but our own error is raised."""

from __future__ import annotations

import copy
import math
import typing as t
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.checking import Check, check_object
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.envelope import (
    ClusterResourceEnvelope,
    ResourceEnvelope,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.envelope_rules import check_envelope
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.override import (
    ClusterResourceOverride,
    ResourceOverride,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.override_rules import (
    check_override,
    check_overrides,
    warn_override,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import check_update, read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.schema import decode, encode
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import (
    anything,
    mutated,
    written,
)

CLASSES: list[t.Any] = list(
    dict.fromkeys(
        [each.cls for each in KINDS]
        + [ClusterResourceOverride, ResourceOverride, ClusterResourceEnvelope, ResourceEnvelope]
    )
)
EXAMPLES = range(12)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_what_is_printed_reads_back_as_the_same(cls: t.Any) -> None:
    for seed in EXAMPLES:
        document = written(Random(seed), cls)
        before = copy.deepcopy(document)
        first = decode(cls, document)
        printed = encode(first)
        assert _same(encode(decode(cls, printed)), printed), f"seed {seed}"
        assert _same(document, before), f"seed {seed}"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_good_document_gone_wrong_is_refused_or_read(kind: t.Any) -> None:
    for seed in EXAMPLES:
        rng = Random(seed)
        document = {**written(rng, kind.cls), "apiVersion": kind.api_versions[0], "kind": kind.kind}
        document["metadata"] = {"name": "a"}
        accepted = [_read(mutated(rng, document, rng.randrange(4))) for _time in range(8)]
        good = [each for each in accepted if each is not None]
        for old, new in zip(good, good[1:], strict=False):
            check_update(old, new)


def test_random_json_is_refused() -> None:
    for seed in range(300):
        _read(anything(Random(seed), 4))


@pytest.mark.parametrize("cls", [ClusterResourceOverride, ResourceOverride])
def test_overrides_gone_wrong_are_judged(cls: t.Any) -> None:
    for seed in range(60):
        rng = Random(seed)
        check = Check()
        override = decode(cls, check_object(check, cls, _object(mutated(rng, written(rng, cls)))))
        list(check_override(override))
        list(warn_override(override))
        check_overrides([override, override])


@pytest.mark.parametrize("cls", [ClusterResourceEnvelope, ResourceEnvelope])
def test_envelopes_gone_wrong_are_judged(cls: t.Any) -> None:
    for seed in range(60):
        rng = Random(seed)
        check = Check()
        list(check_envelope(decode(cls, check_object(check, cls, _object(mutated(rng, written(rng, cls)))))))


def _read(document: t.Any) -> t.Any:
    try:
        return read(document).object
    except FleetError as error:
        assert error.problems
        return None


def _object(document: t.Any) -> t.Any:
    return document if isinstance(document, dict) else {}


def _same(one: t.Any, other: t.Any) -> bool:
    """Equality in which true is not 1 and NaN is itself."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and bool(one == other)
