# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of a stack that are no texts, and a cache that another release has written."""

from __future__ import annotations

import typing as t
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.inventory import fleet
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.inventory import InventoryHost

HOST = vars(InventoryHost(name="east", role="member"))
STACK = {"project_dir": "p", "stack": "dev", "backend_url": "file:///s"}


class Inventory(fleet.InventoryModule):
    """Without a file: its options and what is cached are given."""

    def __init__(self, cached: t.Any) -> None:
        super().__init__()
        self._cache = {"key": cached}
        self.added: list[str] = []
        self.asked = 0

    def _read_config_data(self, path: str) -> t.Any:
        return {}

    def get_cache_key(self, path: str) -> str:
        return "key"

    def get_option(self, option: str, *_more: t.Any, **_named: t.Any) -> t.Any:
        return option == "cache"

    def _hosts(self, path: str) -> tuple[InventoryHost, ...]:
        self.asked += 1
        return (InventoryHost(name="fresh", role="member"),)

    def _add(self, host: InventoryHost) -> None:
        self.added.append(host.name)


@pytest.mark.parametrize(
    "cached",
    [
        *(None, "x", 5, [5], [[]], [{}]),
        [{**HOST, "colour": "red"}],
        [{key: value for key, value in HOST.items() if key != "driver"}],
        [HOST, {"name": "west"}],
    ],
)
def test_what_another_release_has_cached_is_read_anew(cached: t.Any) -> None:
    inventory = Inventory(cached)
    inventory.parse(mock.Mock(), mock.Mock(), "my.fleet.yml")
    assert (inventory.asked, inventory.added) == (1, ["fresh"])


def test_what_this_release_has_cached_is_used() -> None:
    inventory = Inventory([HOST])
    inventory.parse(mock.Mock(), mock.Mock(), "my.fleet.yml")
    assert (inventory.asked, inventory.added) == (0, ["east"])


@pytest.mark.parametrize("key", ["project_dir", "stack", "backend_url", "home", "passphrase_file", "output"])
@pytest.mark.parametrize("value", [5, ["a"], {"a": "b"}, True])
def test_options_of_a_stack_are_texts(monkeypatch: pytest.MonkeyPatch, key: str, value: t.Any) -> None:
    inventory = fleet.InventoryModule()
    monkeypatch.setattr(inventory, "get_option", lambda _option: {**STACK, key: value})
    with pytest.raises(FleetError) as refused:
        inventory._hosts("my.fleet.yml")
    assert (refused.value.code, f"{key} is no text" in refused.value.message) == ("bad-option", True)


@pytest.mark.parametrize("value", ["true", 1, None])
def test_what_may_be_absent_is_true_or_false(monkeypatch: pytest.MonkeyPatch, value: t.Any) -> None:
    inventory = fleet.InventoryModule()
    monkeypatch.setattr(inventory, "get_option", lambda _option: {**STACK, "allow_absent": value})
    with pytest.raises(FleetError) as refused:
        inventory._hosts("my.fleet.yml")
    assert (refused.value.code, refused.value.message) == ("bad-option", "allow_absent is neither true nor false")


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("file://state", "file:///srv/100%25/state"),
        ("file://../my%20state?metadata=", "file:///srv/100%25/../my%20state?metadata="),
        ("file:///srv/state", "file:///srv/state"),
        ("file://~/state", "file://~/state"),
        ("file://", "file://"),
        ("file://?no_tmp_dir=true", "file://?no_tmp_dir=true"),
        ("s3://bucket", "s3://bucket"),
    ],
)
def test_a_state_in_files_is_looked_for_beside_the_inventory(
    monkeypatch: pytest.MonkeyPatch, given: str, used: str
) -> None:
    inventory, asked = fleet.InventoryModule(), []
    monkeypatch.setattr(inventory, "get_option", lambda _option: {**STACK, "backend_url": given})
    monkeypatch.setattr(fleet, "output", lambda options, *_more: asked.append(options["backend_url"]))
    monkeypatch.setattr(fleet, "hosts_of_output", lambda *_given: ())
    assert inventory._hosts("/srv/100%/my.fleet.yml") == () and asked == [used]


@pytest.mark.parametrize("key", ["project_dir", "home", "passphrase_file", "python"])
@pytest.mark.parametrize(("given", "used"), [("../x", "/srv/fleet/../x"), ("/x", "/x")])
def test_every_path_of_a_stack_begins_beside_the_inventory(
    monkeypatch: pytest.MonkeyPatch, key: str, given: str, used: str
) -> None:
    inventory, asked = fleet.InventoryModule(), []
    monkeypatch.setattr(inventory, "get_option", lambda _option: {**STACK, key: given})
    monkeypatch.setattr(fleet, "output", lambda options, *_more: asked.append(options[key]))
    monkeypatch.setattr(fleet, "hosts_of_output", lambda *_given: ())
    assert inventory._hosts("/srv/fleet/my.fleet.yml") == () and asked == [used]
