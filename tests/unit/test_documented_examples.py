# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Pages show the examples that are run elsewhere, as they are, without their licence headers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "updates"
PAGES = "\n".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("updates.md", "drivers.md"))
BLOCKS = re.findall(r"^```(?:yaml|sh)\n(.*?)^```$", PAGES, re.MULTILINE | re.DOTALL)
HEADER = re.compile(r"\A(?:---\n|#!.*\n)?(?:# (?:Copyright|GNU General|SPDX).*\n){3}(?:#\n)?")
SHOWN = (
    "release/strategy.yml",
    "release/run.yml",
    "with_commands.yml",
    "cloud.sh",
    "with_aks.yml",
    "with_eks.yml",
    "with_gke.yml",
    "with_several_clouds.yml",
    "with_role.yml",
    "upgrade_cluster/tasks/main.yml",
    "with_steps.yml",
    "with_jobs.yml",
)


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_is_shown_as_it_is(name: str):
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    shown, headers = HEADER.subn("", text)
    assert headers == 1
    assert shown in BLOCKS


def test_every_example_is_shown_or_used_by_one_that_is():
    files = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*") if path.is_file()}
    assert files == {*SHOWN, "steps/note.yml"}


RENDERING = sorted((ROOT / "examples" / "rendering").glob("*.yml"))


@pytest.mark.parametrize("file", RENDERING, ids=lambda file: file.stem)
def test_manifests_of_overrides_and_envelopes_are_shown_as_they_are_run(file: Path):
    shown, headers = HEADER.subn("", file.read_text(encoding="utf-8"))
    assert headers == 1 and f"```yaml\n{shown}```" in (ROOT / "docs" / "placement.md").read_text(encoding="utf-8")


def test_the_cheapest_clusters_are_asked_for_as_they_are_picked_in_a_test():
    shown, headers = HEADER.subn("", (ROOT / "examples" / "picking" / "cheapest.yml").read_text(encoding="utf-8"))
    assert headers == 1 and f"```yaml\n{shown}```" in (ROOT / "docs" / "placement.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["placement", "strategy", "run"])
def test_manifests_of_staged_runs_are_shown_as_they_are_run(name: str):
    shown, headers = HEADER.subn("", (ROOT / "examples" / "staged" / f"{name}.yml").read_text(encoding="utf-8"))
    assert headers == 1 and f"```yaml\n{shown}```" in (ROOT / "docs" / "rollout.md").read_text(encoding="utf-8")


def test_the_smallest_workflow_is_shown_as_it_is():
    """``tests/integration/examples/test_pipelines.py`` runs its steps."""
    file = ROOT / "examples" / "github" / ".github" / "workflows" / "fleet-lint.yml"
    shown = file.read_text(encoding="utf-8").removeprefix("---\n")
    assert f"```yaml\n{shown}```" in (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")


# By page, the test that holds its example; the others have one that test_page_examples.py runs.
HELD = {
    "drivers": "tests/integration/examples/test_update_examples.py",
    "objects": "tests/unit/plugins/module_utils/_core/objects/test_documented.py",
    "pipelines": "tests/integration/examples/test_pipelines.py",
    "pulumi": "tests/integration/pulumi/test_engine.py",
    "rollout": "tests/integration/playbooks/test_plays.py",
    "updates": "tests/integration/examples/test_update_examples.py",
}
RUN = "From a checkout"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_every_page_has_an_example_that_a_test_holds(page: Path):
    text = page.read_text(encoding="utf-8")
    assert re.search(r"^```(?:sh|yaml|console)$", text, re.MULTILINE)
    assert (page.stem in HELD) != (RUN in text), "either is run by test_page_examples.py, or another test holds it"
    assert page.stem not in HELD or (ROOT / HELD[page.stem]).is_file()
