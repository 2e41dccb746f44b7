# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Changes of objects in one sentence, as entries of an audit have it."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.changes import (
    CHANGED,
    MOST_TOLD,
    NEW,
    ClusterChanges,
    FieldChange,
    ObjectChange,
    changes_sentence,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import CONFIG, EXTRA, NAMESPACE

IMAGE = FieldChange(".spec.image", "web:1", "web:2")
GIVEN_UP = FieldChange(".spec.replicas", 5, None, "goes to the server's default, 1")


def on(*objects: ObjectChange) -> ClusterChanges:
    return ClusterChanges(clusters=("a",), objects=objects)


def test_objects_are_told_with_what_their_fields_were_and_become() -> None:
    changed = ObjectChange(id=EXTRA, action=CHANGED, fields=(IMAGE, GIVEN_UP))
    new = ObjectChange(id=NAMESPACE, action=NEW)
    assert changes_sentence([on(changed), on(changed, new)], 900) == (
        'changes Deployment test/web: .spec.image: "web:1" -> "web:2",'
        " .spec.replicas: 5 is given up: it goes to the server's default, 1; new Namespace test"
    )
    assert changes_sentence([], 900) == ""


def test_many_fields_are_counted() -> None:
    fields = tuple(FieldChange(f".data.k{number}", "a", "b" * 99) for number in range(30))
    told = changes_sentence([on(ObjectChange(id=CONFIG, action=CHANGED, fields=fields))], 10_000)
    assert told.count(".data.k") == MOST_TOLD and told.endswith("; and 20 more")
    assert "bbb... (61 more characters)" in told


def test_what_has_no_room_is_counted() -> None:
    fields = tuple(FieldChange(f".data.k{number}", "a", "b" * 40) for number in range(8))
    objects = (ObjectChange(id=CONFIG, action=CHANGED, fields=fields), ObjectChange(id=EXTRA, action=NEW))
    told = changes_sentence([on(*objects)], 300)
    assert len(told) < 340 and told.startswith("changes ConfigMap test/test-1: .data.k0: ")
    assert told.endswith(f"and {8 - told.count('.data.k') + (EXTRA.name not in told)} more")
