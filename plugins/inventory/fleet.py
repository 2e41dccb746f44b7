# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: fleet
short_description: The fleet as an inventory, from its records or from a Pulumi stack, with groups, variables, cache
version_added: 0.1.0
description:
  - Each cluster is a host, in the group C(fleet_hub) or C(fleet_members), a member of an update group also in
    C(fleet_group_<name>), with C(_) for what Ansible takes in no name of a group, such as C(fleet_group_eu_west).
  - Its variables are C(fleet_role), C(fleet_group), C(fleet_region), C(fleet_version), C(fleet_environment),
    C(fleet_labels), C(fleet_driver), C(fleet_provider), and how it is reached, C(fleet_kubeconfig), C(fleet_context),
    C(fleet_secret) or C(fleet_in_cluster). These are references; no credential is among them.
  - Tasks run on the controller, as with connection V(local), by the Python that Ansible itself runs with.
  - No cluster is asked, but for records on a hub.
  - The file's name ends with C(fleet.yml) or C(fleet.yaml).
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.records
  - ansible.builtin.constructed
  - ansible.builtin.inventory_cache
options:
  plugin:
    description: The name of this plugin.
    type: str
    required: true
    choices: [gitops.fleet.fleet]
  stack:
    description:
      - A Pulumi stack that is read instead of records, with the options C(project_dir), C(stack), C(backend_url),
        C(home), C(passphrase_file) and C(python) of M(gitops.fleet.pulumi_stack), and C(output), the name of the
        output, C(fleet_inventory) if absent.
      - With C(allow_absent=true) a stack that is not there, or has no such output yet, is an inventory without hosts,
        for the play that makes it and then says C(refresh_inventory); otherwise it is an error.
      - Relative paths begin at the folder of the inventory file, also that of a state in files (C(file://../state)).
    type: dict
"""

EXAMPLES = r"""
# production.fleet.yml: what the records say
plugin: gitops.fleet.fleet
records:
  path: /srv/fleet/records.db
keyed_groups:
  - key: fleet_labels.environment
    prefix: environment

# dev.fleet.yml: what a stack says
# plugin: gitops.fleet.fleet
# stack:
#   project_dir: pulumi/environments
#   stack: dev
#   backend_url: file:///srv/fleet-state
#   passphrase_file: /run/secrets/passphrase
"""

import os
import sys
import typing as t
from dataclasses import fields

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

from ..module_utils._core.errors import FleetError, Problem
from ..module_utils._fleet.files import from_home
from ..module_utils._fleet.inventory import InventoryHost, hosts_of_output, recorded_hosts
from ..module_utils._fleet.showing import plain_json
from ..module_utils._fleet.stacks.info import output
from ..module_utils._fleet.stacks.place import files_url

OF_STACKS = ("project_dir", "stack", "backend_url", "home", "passphrase_file", "python", "output", "allow_absent")
NEEDED = ("project_dir", "stack", "backend_url")
PATHS = ("project_dir", "home", "passphrase_file", "python")
FILES = "file://"
ABSENT = ("no-such-stack", "no-such-output")
FIELDS = frozenset(each.name for each in fields(InventoryHost))


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """Hosts from records or from a stack."""

    NAME = "gitops.fleet.fleet"

    def verify_file(self, path: str) -> bool:
        """Whether the file can be read, and its name ends with ``fleet.yml`` or ``fleet.yaml``."""
        return bool(super().verify_file(path)) and path.endswith(("fleet.yml", "fleet.yaml"))

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        """Adds the hosts that the file ``path`` asks for to the ``inventory``, from the cache if that is on, ``cache``
        says so and it has them in the form of this release; what was read is kept there. AnsibleParserError for
        records, stacks and options that are refused, and as of Ansible for the file; AnsibleError as of ``_add``, after
        which the cache and the hosts before that one stay."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        key = self.get_cache_key(path)
        kept = self.get_option("cache") and cache
        rows = self._cache.get(key) if kept else None
        if not _are_hosts(rows):
            try:
                rows = [vars(each) for each in self._hosts(path)]
            except FleetError as error:
                raise AnsibleParserError(str(plain_json(str(error)))) from None
        if self.get_option("cache"):
            self._cache[key] = rows
        for row in rows:
            self._add(InventoryHost(**plain_json(row)))

    def _hosts(self, path: str) -> tuple[InventoryHost, ...]:
        """The hosts from the records, or from the stack if one is given, relative paths of which begin at the folder of
        the file ``path``; none for a stack or output that is not there and may be absent. FleetError ``bad-option``,
        and as of ``recorded_hosts``, ``output`` and ``hosts_of_output``."""
        stack = self.get_option("stack")
        if not stack:
            return recorded_hosts(self.get_option("records") or {}, os.environ)
        problems = tuple(_problems(stack))
        if problems:
            raise FleetError.of(problems)
        folder = os.path.dirname(os.path.abspath(path))
        paths = {key: os.path.join(folder, from_home(stack[key])) for key in PATHS if stack.get(key)}
        state = str(stack["backend_url"])
        named = state.removeprefix(FILES)
        if state != named and named and not named.startswith(("/", "~", "?")):  # a path, and relative
            paths["backend_url"] = f"{files_url(folder)}/{named}"
        name = stack.get("output") or "fleet_inventory"
        try:
            value = output({**stack, **paths}, name, os.environ, lambda _text: None)
        except FleetError as error:
            if stack.get("allow_absent") is True and error.code in ABSENT:
                return ()
            raise
        return hosts_of_output(value, f"stack {stack['stack']}, output {name}:")

    def _add(self, host: InventoryHost) -> None:
        """Adds one host with its groups and variables, and what the options ``compose``, ``groups`` and
        ``keyed_groups`` make of these. AnsibleError of Ansible where ``strict`` is on and one of them cannot be."""
        groups = ["fleet_hub" if host.role == "hub" else "fleet_members"]
        groups += [f"fleet_group_{host.group}"] if host.group else []
        self.inventory.add_host(host.name)
        for group in groups:
            self.inventory.add_host(host.name, group=self.inventory.add_group(self._sanitize_group_name(group)))
        facts = {**host.variables(), "ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        for key, value in facts.items():
            self.inventory.set_variable(host.name, key, value)
        strict = self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), facts, host.name, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), facts, host.name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), facts, host.name, strict=strict)


def _are_hosts(rows: t.Any) -> bool:
    """Whether what was cached is a list of hosts with just the fields that this release knows; an empty list is."""
    return isinstance(rows, list) and all(isinstance(row, dict) and row.keys() == FIELDS for row in rows)


def _problems(stack: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    """A problem ``bad-option`` for each option of the stack that is not known, is missing, or is of another type."""
    for key in (key for key in stack if key not in OF_STACKS):
        yield Problem("bad-option", f"there is no option {key!r:.80}", "stack")
    for key in NEEDED:
        if not stack.get(key):
            yield Problem("bad-option", f"{key} is missing", "stack")
    for key in OF_STACKS:
        if key != "allow_absent" and not isinstance(stack.get(key) or "", str):
            yield Problem("bad-option", f"{key} is no text", "stack", "put it in quotes")
    if not isinstance(stack.get("allow_absent", False), bool):
        yield Problem("bad-option", "allow_absent is neither true nor false", "stack", "write it without quotes")
