#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lint
short_description: Find what is wrong with manifests, and show them mended
version_added: 0.1.0
description:
  - Reads any folder of manifests and tells everything that can be told without a cluster, with file, line, field path,
    code, severity and, where the meaning is clear, the mended form.
  - Checked are the kinds of this collection and of KubeFleet, Karpenter's NodePools whole, as patches and as fragments
    of them or of their budgets, NodeClaims, NodeOverlays and node classes, PodDisruptionBudgets, the JSON of Azure
    Fleet and of maintenance configurations, and annotations of Karpenter on manifests of other kinds. What budgets say
    is proved over a year.
  - Bad YAML and files that cannot be read are findings too.
  - Asks no cluster, reads no records, and changes none of the files.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
options:
  src:
    description:
      - Files and folders with manifests. Folders are read with all folders below, but for hidden ones; in them files
        that end with C(.yaml), C(.yml) and C(.json) count.
      - Of the files in folders those that hold no manifest, and nothing that is unmistakably a part of one, are passed
        over in a count; what cannot be told is judged if its file is named here.
    type: list
    elements: path
    required: true
  exclude:
    description:
      - Patterns of files and folders in the folders of O(src) that are not read, such as C(charts/) or
        C(**/test/*.yml).
      - Those of a file C(.fleetlintignore) in such a folder, one in a line, hold too.
    type: list
    elements: str
    default: []
  strict:
    description: Whether warnings fail the task too, and not only errors.
    type: bool
    default: false
  consent:
    description:
      - Whether RV(mended) takes in repairs that replace existing nodes when they are applied.
      - Each of them is told of as a finding in any case.
    type: bool
    default: false
  holes:
    description:
      - Whether a literal C(...), by which documentation leaves something out, is a note and not an error. The rest is
        checked either way.
    type: bool
    default: false
  now:
    description: Instant at which the year begins over which budgets are proved; the present if absent.
    type: str
  write_json:
    description: File for all findings as JSON. In check mode it is not written.
    type: path
  write_sarif:
    description:
      - File for all findings as SARIF 2.1.0, which code hosts show beside the lines. In check mode it is not written.
    type: path
"""

EXAMPLES = r"""
- name: Check the manifests of a repository
  gitops.fleet.lint:
    src: [placements, pools, updates]
    strict: true
    write_sarif: build/lint.sarif
"""

RETURN = r"""
findings:
  description:
    - What was found, by file and line, each with C(file), C(line), C(object), C(path), C(code), C(level),
      C(message), C(mended) and C(consent).
    - C(level) is V(error), V(warning) or V(note). C(mended) maps field paths to what should stand there, V(null) to
      nothing. C(consent) says what is disrupted by applying the mended form.
  returned: success, and failure because of findings
  type: list
  elements: dict
mended:
  description: Documents with the mended forms in them, each with C(where), C(object) and C(document).
  returned: success, and failure because of findings
  type: list
  elements: dict
counts:
  description: Number of findings of each level.
  returned: success, and failure because of findings
  type: dict
documents:
  description: Number of documents that were read.
  returned: success, and failure because of findings
  type: int
checked:
  description: Number of those of kinds that there are rules for.
  returned: success, and failure because of findings
  type: int
passed_over:
  description: Number of files in folders that are none of ours.
  returned: success, and failure because of findings
  type: int
silenced:
  description: "Number of findings that a comment C(fleetlint: ignore CODE) silences."
  returned: success, and failure because of findings
  type: int
table:
  description: The findings as lines of text, as wide as the terminal, 80 columns without one; long words stay whole.
  returned: success, and failure because of findings
  type: list
  elements: str
"""
