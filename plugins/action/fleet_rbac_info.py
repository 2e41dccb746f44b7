# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.files import refuse_unwritable, write_file
from ..module_utils._fleet.members.rights import as_yaml, rights
from ..module_utils._report.rights_text import written_lines
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """The smallest set of rights for one purpose, as manifests, printed or written to ``dest``."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Gives the manifests for the ``purpose``, as data and as YAML, and writes that to ``dest``, not in check mode;
        without it, it is printed. FleetError ``unwritable-file``, and as of ``rights``."""
        refuse_unwritable(options["dest"])
        found = rights(options["purpose"], options["subject"], options["kinds"], options["resources"])
        text = as_yaml(found)
        if options["dest"] and not run.check_mode:
            write_file(options["dest"], text)
        for line in written_lines(found, options["dest"], run.check_mode) if options["dest"] else text.splitlines():
            run.say(line)
        return Answer(changed=False, data={"manifests": found, "yaml": text})
