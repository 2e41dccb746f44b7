# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The linter on files of 9.6 MB that are made of the smallest manifests."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._store.documents_in_files import MAX_BYTES

BYTES = MAX_BYTES * 96 // 100
SELECTORS = "{{resourceSelectors: [{{group: '', version: v1, kind: A, name: a}}]}}"
FORMS = {
    "lint_tiny_configmaps": "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{}}}\n",
    "lint_tiny_placements": "apiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterResourcePlacement\n"
    f"metadata: {{{{name: a{{}}}}}}\nspec: {SELECTORS}\n",
    "lint_tiny_notes": "apiVersion: placement.kubernetes-fleet.io/v1\nkind: Work\n# {}\n",
}
PROGRAM = """
    import resource, sys, time
    from datetime import UTC, datetime
    sys.path.insert(0, sys.argv[1])
    from ansible_collections.gitops.fleet.plugins.module_utils._fleet.lint import lint
    begun = time.process_time()
    found = lint([sys.argv[2]], datetime(2026, 1, 1, tzinfo=UTC))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(time.process_time() - begun, memory, found.documents)
"""
Row = tuple[str, float, str, str]


def bench_lint_tiny() -> list[Row]:
    rows: list[Row] = []
    tree = next(path for path in sys.path if path.endswith("collections"))
    with tempfile.TemporaryDirectory() as folder:
        for name, form in FORMS.items():
            path = Path(folder) / f"{name}.yaml"
            count = BYTES // (len(form) + 6)
            path.write_text("---\n".join(form.format(number) for number in range(count)))
            command = [sys.executable, "-c", textwrap.dedent(PROGRAM), tree, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, memory, documents = done.stdout.split()
            setup = f"{documents} documents in {path.stat().st_size / 1e6:.1f} MB"
            rows += [(name, float(seconds), "CPU-s", setup), (f"{name}_memory", float(memory), "MB", setup)]
    return rows
