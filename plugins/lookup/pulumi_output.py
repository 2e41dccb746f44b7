# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: pulumi_output
short_description: An output of a Pulumi stack as a value in templates, none that is secret
version_added: 0.1.0
description:
  - The value of one output or of several. A stack or an output that is not there is an error.
  - A secret one, or one with a secret in it, is not given.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.stack
options:
  _terms:
    description: Names of outputs.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Say which members there are
  ansible.builtin.debug:
    msg: "{{ lookup('gitops.fleet.pulumi_output', 'fleet_inventory', project_dir='pulumi/environments', stack='dev',
      backend_url='file:///srv/fleet-state').members | map(attribute='name') }}"
"""

RETURN = r"""
_raw:
  description: The values.
  type: list
  elements: raw
"""

import os
import typing as t

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.showing import plain_json
from ..module_utils._fleet.stacks.info import output


class LookupModule(LookupBase):
    """Outputs of a stack."""

    def run(self, terms: list[str], variables: t.Any = None, **kwargs: t.Any) -> list[t.Any]:
        """The values of the outputs named by ``terms``, in their order; the stack is read anew for each.
        AnsibleLookupError for a stack or an output that is not there, a secret one, and what else ``output``
        refuses."""
        self.set_options(var_options=variables, direct=kwargs)
        options = {**self.get_options(), "config": {}}
        try:
            return [plain_json(output(options, name, os.environ, lambda _text: None)) for name in terms]
        except FleetError as error:
            raise AnsibleLookupError(str(plain_json(str(error)))) from None
