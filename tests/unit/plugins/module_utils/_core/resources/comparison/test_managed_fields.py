# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Items of keyed lists: found as by comparing each with each, and without the work of that."""

from __future__ import annotations

import json
import sys
import typing as t
from functools import partial
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison import managed_fields
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.compare import (
    added_by_others,
    differences,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.fields import ABSENT, same_json
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.given_up import given_up
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.managed_fields import (
    MOST_FORMS,
    LiveItems,
    check_managed_fields,
    json_word,
    keys_of,
    match_items,
)

Keys = t.Mapping[str, t.Any]
Known = list[tuple[str, Keys]]
Object = dict[str, t.Any]

NAN, OURS = float("nan"), "gitops-fleet"
EQUAL_IN_PARTS = [0, 0.0, -0.0, False, "0", 1, 1.0, True, "1", None, "null", "", "a", 0.5, "0.5"]
NUMBERS = [2**53, float(2**53), 2**53 + 1, 10**23, 1e23, int(1e23), float("inf"), -float("inf"), NAN]
NESTED = [[], {}, [1], [1.0], [True], [[]], [NAN], {"a": 1}, {"a": 1.0}, {"a": True}, {"a": None}, {"a": 1, "b": []}]
TURNED = [{"b": [], "a": 1.0}, {"a": {"b": 0}}, {"a": {"b": False}}, ["\ud83d\ude00"], ["\N{GRINNING FACE}"]]
VALUES = [*EQUAL_IN_PARTS, *NUMBERS, *NESTED, *TURNED]
NO_JSON: list[t.Any] = [(), (1,), {1}, b"a", {1: "a"}, {None: 1}, [(1,)], object(), 1j]


def fits(item: t.Any, keys: Keys, *, complete: bool) -> bool:
    named = [name for name in keys if name in item] if isinstance(item, dict) else []
    same = all(same_json(item[name], keys[name]) for name in named)
    return bool(named) and same and not (complete and len(named) < len(keys))


def plainly_matched(items: list[t.Any], keys: Known) -> Known:
    """``match_items`` by comparing each item with each key."""
    found: dict[int, tuple[str, Keys]] = {}
    for place, item in enumerate(items):
        if exact := [key for key in keys if fits(item, key[1], complete=True)]:
            found[place] = exact[0]
    taken = {name for name, _fields in found.values()}
    for place, item in enumerate(items):
        free = [key for key in keys if key[0] not in taken and fits(item, key[1], complete=False)]
        if place not in found and free:
            found[place] = free[0]
            taken.add(free[0][0])
    names = dict.fromkeys(name for _key, fields in keys for name in fields)
    own = [{name: item[name] for name in names if isinstance(item, dict) and name in item} for item in items]
    return [found.get(place, ("", own[place])) for place in range(len(items))]


def plainly_found(items: t.Any, keys: Keys) -> t.Any:
    return next((item for item in items if fits(item, keys, complete=True)), ABSENT)


def some_fields(random: Random, values: list[t.Any], names: str) -> dict[str, t.Any]:
    chosen = random.sample(names, random.randint(0, len(names)))
    return {name: random.choice(values) for name in chosen}


def some_keys(random: Random, values: list[t.Any]) -> Known:
    """Key fields as a tree has them: mostly one set, now and then others; some differ in their text alone."""
    names = random.choice(("ab", "abc"))
    rows = [
        {name: random.choice(values) for name in names} if random.random() < 0.7 else some_fields(random, values, "abc")
        for _row in range(random.randint(0, 6))
    ]
    texts = (json.dumps(row, indent=random.choice((None, 1))) for row in rows)
    return keys_of([{f"k:{text}": {}} for text in texts])


def cases(count: int) -> t.Iterator[tuple[list[t.Any], Known]]:
    for seed in range(count):
        random = Random(seed)
        values = random.sample(VALUES, random.randint(1, 4))
        keys = some_keys(random, values)
        items: list[t.Any] = [some_fields(random, values, "abcd") for _item in range(random.randint(0, 6))]
        items += random.sample([None, "a", ["a"], 1, {}, *({**fields, "d": 1} for _name, fields in keys)], 2)
        random.shuffle(items)
        yield items, keys


def told(found: Known) -> list[tuple[str, list[tuple[str, t.Any]]]]:
    """With the order of the fields; NaN, which equals nothing, stays the one it was."""
    return [(name, list(fields.items())) for name, fields in found]


def test_items_are_matched_as_by_comparing_each_with_each() -> None:
    exact = part = 0
    for items, keys in cases(400):
        found = match_items(items, keys)
        assert told(found) == told(plainly_matched(items, keys)), (items, keys)
        whole = [fits(item, found[place][1], complete=True) for place, item in enumerate(items) if found[place][0]]
        exact += whole.count(True)
        part += whole.count(False)
    assert exact > 100
    assert part > 100


DNS_TREE = {f'k:{{"containerPort":53,"protocol":"{name}"}}': {".": {}, "f:protocol": {}} for name in ("UDP", "TCP")}
DNS = [{"containerPort": 53, "protocol": name} for name in ("UDP", "TCP")]


def dns(count: int) -> Object:
    """A live object with port 53, over UDP alone or over both protocols."""
    return an_object({"f:ports": dict(list(DNS_TREE.items())[:count])}, ports=DNS[:count])


def test_a_port_without_a_protocol_is_not_the_udp_port_of_its_number() -> None:
    """The server fills in TCP. So the port is missing where only the other one is live, and takes its place."""
    plain: Object = {"spec": {"ports": [{"containerPort": 53}]}}
    both: Object = {"spec": {"ports": [DNS[0], {"containerPort": 53}]}}
    missing = '.spec.ports[containerPort=53,protocol="TCP"]'
    assert [one.path for one in differences(plain, dns(1))] == [missing]
    assert [one.path for one in differences(both, dns(1))] == [missing]
    assert differences(both, dns(2)) == differences(plain, dns(2)) == ()
    assert [one.path for one in given_up(plain, dns(1), OURS)] == ['.spec.ports[containerPort=53,protocol="UDP"]']


def test_a_key_field_that_the_manifest_leaves_out_is_not_given_up() -> None:
    """An item cannot lose what tells it from others."""
    assert given_up({"spec": {"ports": [DNS[0], {"containerPort": 53}]}}, dns(2), OURS) == ()


def test_live_items_are_found_as_by_comparing_each_with_each() -> None:
    hits = 0
    for items, keys in cases(400):
        there = LiveItems(items)
        for fields in [*(fields for _name, fields in keys), *filter(lambda item: isinstance(item, dict), items)]:
            found = there.having(fields)
            assert found is plainly_found(items, fields), (items, fields)
            hits += found is not ABSENT
    assert hits > 200
    assert LiveItems({"a": 1}).having({"a": 1}) is LiveItems(None).having({"a": 1}) is ABSENT


def test_values_share_a_word_where_they_are_the_same_json() -> None:
    for one in VALUES:
        for other in [*VALUES, *NO_JSON]:
            assert (json_word(one) == json_word(other)) == same_json(one, other), (one, other)


def held(value: t.Any, values: list[t.Any]) -> bool:
    return any(same_json(value, one) for one in values)


def test_elements_of_sets_are_told_apart_as_by_comparing_each_with_each() -> None:
    for seed in range(300):
        random = Random(seed)
        wanted, there, owned = (random.choices(VALUES, k=random.randint(1, 5)) for _list in range(3))
        desired = {"spec": {"tags": wanted}}
        live = an_object({"f:tags": {f"v:{json.dumps(value)}": {} for value in owned}}, tags=there)
        lost = [(value, None) for value in wanted if not held(value, there)]
        more = [(None, value) for value in there if not held(value, wanted)]
        found = differences(desired, live, full=True)
        assert repr([(one.desired, one.live) for one in found]) == repr(lost + more)
        ours = [json.loads(text) for text in dict.fromkeys(map(json.dumps, owned))]
        gone = [value for value in ours if held(value, there) and (value is None or not held(value, wanted))]
        assert repr([one.live for one in given_up(desired, live, OURS)]) == repr(gone)


def test_what_is_nested_too_deep_to_compare_is_like_nothing() -> None:
    deep: t.Any = "end"
    for _level in range(sys.getrecursionlimit() * 2):
        deep = [deep]
    assert json_word(deep) != json_word(deep)
    assert match_items([{"a": deep}, {"a": 1}], [('k:{"a":1}', {"a": 1})])[1] == ('k:{"a":1}', {"a": 1})


def test_keys_of_more_sets_of_fields_than_a_schema_has_are_left_out() -> None:
    tree: Object = {f'k:{{"a{number % 40}":{number}}}': {} for number in range(80)}
    assert [number for _name, fields in keys_of((tree,)) for number in fields.values()] == [
        number for number in range(80) if number % 40 < MOST_FORMS
    ]


def an_object(fields: Object, **spec: t.Any) -> Object:
    entry = {"manager": OURS, "operation": "Apply", "fieldsV1": {"f:spec": fields}}
    live = {"metadata": {"managedFields": [entry]}, "spec": spec}
    check_managed_fields(live)
    return live


def by_keys(rows: list[t.Any], items: list[t.Any]) -> Object:
    return an_object({"f:ports": {f"k:{json.dumps(row)}": {".": {}} for row in rows}}, ports=items)


def ports(count: int) -> Object:
    rows = [{"port": number, "protocol": "TCP"} for number in range(count)]
    return by_keys(rows, rows)


def incomplete(count: int) -> Object:
    rows = [{"port": number, "protocol": "TCP"} for number in range(count)]
    return by_keys(rows, [{"port": number - number % 3} for number in range(count)])


def nothing_in_common(count: int) -> Object:
    rows = [{"port": number, "protocol": "TCP"} for number in range(count)]
    return by_keys(rows, [{"port": -number, "protocol": "TCP"} for number in range(count)])


def each_with_its_own_field(count: int) -> Object:
    rows = [{f"port{number}": number} for number in range(count)]
    return by_keys(rows, rows)


def each_without_other_fields(count: int) -> Object:
    rows = [{f"port{bit}": number for bit in range(12)} for number in range(count)]
    items = [{f"port{bit}": -1 for bit in range(12) if number & 1 << bit} for number in range(1, count)]
    return by_keys(rows, items)


def one_set(count: int) -> Object:
    return an_object({"f:ports": {f'v:"{number}"': {} for number in range(count)}}, ports=list(map(str, range(count))))


def calls(work: t.Callable[[], object]) -> int:
    """How many functions are called, each step of a generator among them."""
    count, before = 0, sys.getprofile()

    def step(_frame: t.Any, event: str, _function: t.Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(step)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


SHAPES = (ports, incomplete, nothing_in_common, each_with_its_own_field, each_without_other_fields, one_set)


@pytest.mark.parametrize("judged", [added_by_others, given_up])
@pytest.mark.parametrize("shape", SHAPES)
def test_twice_as_many_items_are_twice_the_work(
    shape: t.Callable[[int], Object], judged: t.Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(managed_fields, "_MOST_PARTS", 8)
    desired = {"spec": {"ports": [{"port": 1}, "1"]}}
    manager = OURS if judged is given_up else "other"
    few, many = (calls(partial(judged, desired, shape(count), manager)) for count in (200, 400))
    assert few > 200
    assert many < 2.3 * few
