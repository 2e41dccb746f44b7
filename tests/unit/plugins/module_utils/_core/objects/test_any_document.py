# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whatever is written: printing and reading is the identity, and nothing but our own error is raised."""

from __future__ import annotations

import copy
import math
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.envelope import (
    ClusterResourceEnvelope,
    ResourceEnvelope,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.envelope_rules import check_envelope
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.override import (
    ClusterResourceOverride,
    ResourceOverride,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.override_rules import (
    check_override,
    check_overrides,
    warn_override,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import check_update, read
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.checking import Check, check_object
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.tests.data.good_rollout_manifests import GOOD_ROLLOUTS
from ansible_collections.gitops.fleet.tests.data.manifest_parts import Row
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import (
    any_json,
    documents_of,
    gone_wrong,
)
from hypothesis import given, settings
from hypothesis import strategies as st

CLASSES: list[t.Any] = [each.cls for each in KINDS]
FEW = settings(max_examples=settings().max_examples // 4)  # for each class


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@FEW
@given(data=st.data())
def test_what_is_printed_reads_back_as_the_same(cls: t.Any, data: st.DataObject) -> None:
    document = data.draw(documents_of(cls))
    before = copy.deepcopy(document)
    printed = encode(decode(cls, document))
    assert _same(encode(decode(cls, printed)), printed)
    assert _same(document, before)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
@FEW
@given(data=st.data())
def test_a_good_document_gone_wrong_is_refused_or_read(kind: t.Any, data: st.DataObject) -> None:
    place = {"namespace": "a"} if kind.namespaced else {}
    head = {"apiVersion": kind.api_versions[0], "kind": kind.kind, "metadata": {"name": "a", **place}}
    document = {**data.draw(documents_of(kind.cls)), **head}
    accepted = [_read(data.draw(gone_wrong(document, times))) for times in (0, 1, 2)]
    good = [each for each in accepted if each is not None]
    for old, new in zip(good, good[1:], strict=False):
        check_update(old, new)


@pytest.mark.parametrize("row", GOOD_ROLLOUTS, ids=lambda row: row.name)
@FEW
@given(data=st.data())
def test_a_good_manifest_gone_wrong_is_refused_or_read(row: Row, data: st.DataObject) -> None:
    good = read(row.manifest).object
    other = _read(data.draw(gone_wrong(row.manifest, 1)))
    if other is not None:
        check_update(good, other)
        assert read(encode(other)).object == other


@settings(max_examples=5 * settings().max_examples)
@given(document=any_json(4))
def test_random_json_is_refused(document: t.Any) -> None:
    _read(document)


@pytest.mark.parametrize("cls", [ClusterResourceOverride, ResourceOverride])
@given(data=st.data())
def test_overrides_gone_wrong_are_judged(cls: t.Any, data: st.DataObject) -> None:
    check = Check()
    written = data.draw(documents_of(cls).flatmap(gone_wrong))
    override = decode(cls, check_object(check, cls, _object(written)))
    list(check_override(override))
    list(warn_override(override))
    check_overrides([override, override])


@pytest.mark.parametrize("cls", [ClusterResourceEnvelope, ResourceEnvelope])
@given(data=st.data())
def test_envelopes_gone_wrong_are_judged(cls: t.Any, data: st.DataObject) -> None:
    check = Check()
    written = data.draw(documents_of(cls).flatmap(gone_wrong))
    list(check_envelope(decode(cls, check_object(check, cls, _object(written)))))


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
