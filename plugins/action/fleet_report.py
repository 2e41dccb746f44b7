# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import typing as t

from ..module_utils._fleet.files import drift_file, facts_file, refuse_empty, refuse_unwritable, write_file
from ..module_utils._fleet.overview.gathering import OverviewRequest, gather, with_changes
from ..module_utils._fleet.showing import plain_json
from ..module_utils._report.overview.comment import overview_markdown
from ..module_utils._report.overview.page import report_page
from ..module_utils._report.overview.summary import overview_counts, overview_text
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """What is known of the fleet, as files for people to look at (``report.html``, ``report.md``, ``report.json``); no
    member is asked."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Writes ``report.html``, ``report.md`` and ``report.json`` into the folder ``dest``, not in check mode, and
        gives their numbers, notes and changes since an earlier report; files written before an error stay. FleetError
        ``bad-option`` for empty lists of paths, ``unwritable-file``, and as of ``gather``, ``with_changes``,
        ``facts_file`` and ``drift_file``."""
        refuse_empty(options, "src", "resources")
        paths = {kind: os.path.join(options["dest"], f"report.{kind}") for kind in ("html", "md", "json")}
        refuse_unwritable(*paths.values())
        asked = OverviewRequest(
            title=options["title"],
            src=tuple(options["src"] or ()),
            resources=tuple(options["resources"] or ()),
            facts=facts_file(options["facts"], run.now) if options["facts"] else None,
            pools=tuple(options["pools"]),
            supposed=options["what_if"],
            forecast=options["forecast"],
            look=drift_file(options["drift"], run.now) if options["drift"] else None,
        )
        with run.open(options, writes=False) as session:
            document = gather(session, asked).as_dict()
        document = plain_json(with_changes(document, options["since"]) if options["since"] else document)
        if not run.check_mode:
            write_file(paths["html"], report_page(document))
            write_file(paths["md"], overview_markdown(document))
            write_file(paths["json"], json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n")
        lines = overview_text(document, "" if run.check_mode else paths["html"])
        for line in lines:
            run.say(line)
        files = {} if run.check_mode else paths
        data = {"files": files, "summary": overview_counts(document), "notes": document["notes"], "table": lines}
        data["changes"] = document["changes"]
        return Answer(changed=False, data=data)
