# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t

from ..module_utils._fleet.files import refuse_unwritable, write_file
from ..module_utils._fleet.lint import lint
from ..module_utils._fleet.showing import plain_json
from ..module_utils._fleet.templates.present import given_instant
from ..module_utils._report.lint.findings import (
    findings_data,
    findings_summary,
    findings_text,
    level_counts,
)
from ..module_utils._report.lint.sarif import sarif
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Everything that can be said about manifests without a cluster, printed and as files (JSON, SARIF); what fails the
    task (``strict``)."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Tells all findings about the manifests below ``src``, and writes them as JSON and SARIF where that is wanted,
        not in check mode. The outcome is ``failed``, with the code of the first of the worst, for errors, and with
        ``strict`` for warnings, too. FleetError ``unwritable-file``, ``invalid-time``."""
        refuse_unwritable(options["write_json"], options["write_sarif"])
        now = given_instant(options["now"]) if options["now"] else run.now
        linted = lint(options["src"], now, options["exclude"], consent=options["consent"], holes=options["holes"])
        numbers = (linted.remarks, linted.documents, linted.checked, linted.passed_over, linted.silenced)
        lines = findings_text(*numbers)
        for line in lines:
            run.say(line)
        document = findings_data(*numbers) | {"mended": [each.as_dict() for each in linted.mended]}
        if options["write_json"] and not run.check_mode:
            _write(options["write_json"], document)
        if options["write_sarif"] and not run.check_mode:
            _write(options["write_sarif"], sarif(linted.remarks))
        data = {**document, "table": lines}
        if not linted.fails(options["strict"]):
            return Answer(changed=False, data=data)
        worst = next(level for level in ("error", "warning") if level_counts(linted.remarks)[level])
        code = next(each.code for each in linted.remarks if each.level == worst)
        return Answer(changed=False, outcome="failed", code=code, message=findings_summary(*numbers), data=data)


def _write(path: str, content: t.Mapping[str, t.Any]) -> None:
    """Writes the content to the path as JSON, without credentials that we know. FleetError ``unwritable-file``."""
    write_file(path, json.dumps(plain_json(content), indent=1) + "\n")
