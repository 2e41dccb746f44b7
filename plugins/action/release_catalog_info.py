# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.updates.automatic.catalogue import catalogue_rows
from ..module_utils._report.catalogue_text import catalogue_text
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Which Kubernetes versions and node images the recorded release catalogues say that each location offers now."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Gives each catalogue of these ``names``, or all, with what its locations offer now. FleetError as of
        ``catalogue_rows``."""
        with run.open(options, writes=False) as session:
            found = catalogue_rows(session.records, options["names"], session.clock())
        lines = catalogue_text(found)
        for line in lines:
            run.say(line)
        return Answer(changed=False, data={"catalogues": found, "table": lines})
