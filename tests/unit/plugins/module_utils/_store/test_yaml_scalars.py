# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._store.yaml_scalars import resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("yes", True),
        ("on", True),
        ("No", False),
        ("off", False),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("1_000", 1000),
        ("0777", 511),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b101", 5),
        ("1.5", 1.5),
        ("1e3", 1000),
        ("5.0", 5),
        (".5", 0.5),
        ("089", 89),
        ("1e21", 1e21),
        ("2026-01-02", "2026-01-02"),
        ("1:30", "1:30"),
        ("10.0.0.1", "10.0.0.1"),
        ("v1.36.3", "v1.36.3"),
        ("-", "-"),
        ("100m", "100m"),
        ("30%", "30%"),
        ("9" * 500, "9" * 500),
        ("tRue", "tRue"),
    ],
)
def test_a_plain_scalar_means_what_it_means_to_kubectl(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".NaN", "1e400"])
def test_numbers_that_json_does_not_have_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        resolve(text)
