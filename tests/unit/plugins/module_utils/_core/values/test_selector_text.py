# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Label selectors written as text."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import (
    label_selector,
    matches,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector_text import (
    parse_selector,
    selector_text,
)

GOLD = {"tier": "gold", "region": "eu", "in": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "tier=gold",
        "tier==gold",
        " tier = gold , region=eu ",
        "tier!=silver",
        "ring!=silver",
        "region in (us, eu)",
        "region in(us,eu)",
        "region notin (us)",
        "ring notin (us)",
        "tier",
        "!ring",
        "! ring",
        "tier in (gold,in)",
        "ring notin ()",
        "tier=gold,region in (eu,us),!ring",
    ],
)
def test_d3_15_what_selects_the_member(text):
    assert matches(parse_selector(text), GOLD)


@pytest.mark.parametrize("text", ["tier=silver", "tier=", "tier in ()", "ring", "!tier", "tier=gold,ring=1", "ring=in"])
def test_what_does_not(text):
    assert not matches(parse_selector(text), GOLD)


def test_an_empty_value_is_a_value():
    assert matches(parse_selector("a=,b in (,x)"), {"a": "", "b": ""})
    assert matches(parse_selector("a=in"), {"a": "in"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a label key is wanted, not 'the end'"),
        ("  ", "a label key is wanted"),
        ("=a", "a label key is wanted, not '='"),
        ("a=b,", "not 'the end'"),
        ("a,,b", "not ','"),
        ("in (a)", "a label key is wanted"),
        ("a in b", "parentheses"),
        ("a in (b", "')' is wanted, not 'the end'"),
        ("a in (b=c)", "')' is wanted, not '='"),
        ("a > 1", "'>' is none of"),
        ("a like b", "'like' is none of"),
        ("a=b c", "',' is wanted before 'c'"),
        ("!a=b", "',' is wanted before '='"),
        ("a=b=c", "',' is wanted before '='"),
        ("-a=b", "is not a label key"),
        ("a=-b", "is not a label value"),
        ("a in (b,-c)", "is not a label value"),
    ],
)
def test_what_is_no_selector(text, words):
    with pytest.raises(ValueError, match=".") as refused:
        parse_selector(text)
    assert words in str(refused.value)


def test_a_selector_of_a_manifest_is_written_as_api_servers_take_it():
    rules = [
        {"key": "region", "operator": "In", "values": ["eu", "us"]},
        {"key": "ring", "operator": "NotIn", "values": ["0"]},
        {"key": "tier", "operator": "Exists"},
        {"key": "canary", "operator": "DoesNotExist"},
    ]
    selector = label_selector({"matchLabels": {"b": "2", "a": ""}, "matchExpressions": rules})
    written = selector_text(selector)
    assert written == "a=,b=2,region in (eu,us),ring notin (0),tier,!canary"
    assert selector_text(parse_selector(written)) == "a in (),b in (2),region in (eu,us),ring notin (0),tier,!canary"
    assert selector_text(label_selector({})) == ""
