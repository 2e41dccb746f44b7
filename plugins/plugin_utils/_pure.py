# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small base of every filter and test of templates: arguments made plain, without Ansible's tags; refusals
(FleetError) and wrong arguments as AnsibleFilterError; functions imported at their first use.

Private to this collection.
"""

from __future__ import annotations

import inspect
import json
import typing as t
from datetime import date, datetime

from ansible.errors import AnsibleFilterError

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.templates.present import utc_text


def pure(load: t.Callable[[], t.Callable[..., t.Any]]) -> t.Callable[..., t.Any]:
    """A function for templates: arguments are made ``plain``; a FleetError, arguments that the function does not take
    and what is no data become AnsibleFilterError, to which Ansible adds the name of the plugin. ``load`` imports the
    function, each time it is called: Ansible loads all filters of a collection for any of them, and again in every
    worker."""

    def called(*given: t.Any, **named: t.Any) -> t.Any:
        """The answer of the loaded function to the plain arguments. AnsibleFilterError as of ``pure``."""
        try:
            arguments = [plain(each) for each in given], {key: plain(each) for key, each in named.items()}
        except (TypeError, ValueError, RecursionError) as error:
            raise AnsibleFilterError(f"this value is no data: {error}") from None
        answer = load()
        try:
            inspect.signature(answer).bind(*arguments[0], **arguments[1])
        except TypeError as error:
            raise AnsibleFilterError(str(error)) from None
        try:
            return answer(*arguments[0], **arguments[1])
        except FleetError as error:
            raise AnsibleFilterError(str(error)) from None

    return called


def plain(value: t.Any) -> t.Any:
    """The value without the tags of Ansible's data model; instants and days that YAML has read become text again, sets
    and tuples are lists, and keys of mappings texts. TypeError, ValueError or RecursionError for what is no JSON, such
    as a day as a key; NaN and Infinity pass."""
    return json.loads(json.dumps(value, default=_text))


def _text(value: t.Any) -> t.Any:
    """An instant as of ``utc_text``, a day as ``2026-11-28``, sets and tuples as lists. TypeError for anything else."""
    if isinstance(value, datetime):
        return utc_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
