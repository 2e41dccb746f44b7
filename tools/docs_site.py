# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make docs`: the site in build/site, from the Markdown of the repository and the documentation of our own plugins.

It runs in the environment of requirements-docs.txt: `tools/in_venv docs python tools/docs_site.py`. Sphinx reads the
Markdown as it is; antsibull-docs writes a page for every plugin and role. A warning, as of a broken link, ends it.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from steps import ROOT, StepFailed, call

SOURCE, SITE = ROOT / "build" / "site-source", ROOT / "build" / "site"
# In the order of the menu, by their paths.
MENUS: dict[str, tuple[str, ...]] = {
    "Use": (
        "docs/placement",
        "docs/rollout",
        "docs/updates",
        "docs/drivers",
        "docs/disruption",
        "docs/report",
        "docs/lint",
        "docs/pipelines",
        "docs/pulumi",
        "docs/playbooks",
    ),
    "Modules, filters, roles": ("verbs/index", "roles/local_fleet/README", "roles/cluster_upgrade/README"),
    "Reference": (
        "docs/objects",
        "docs/records",
        "docs/security",
        "docs/reliability",
        "docs/performance",
        "docs/compatibility",
        "docs/comparison",
        "docs/stability",
        "CHANGELOG",
    ),
    "Work on it": (
        "docs/architecture",
        "docs/files",
        "docs/development",
        "docs/requirements",
        "CONTRIBUTING",
        "SECURITY",
        "CODE_OF_CONDUCT",
    ),
}
# Pages outside docs/.
OTHERS = ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md", "roles/*/README.md")
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]+)")
# The theme lists the headings of a page beside it, and refuses a second list.
CONTENTS = re.compile(r"^\.\. contents::\n(?: +:.*\n)*", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def build() -> None:
    """Raises StepFailed."""
    for folder in (SOURCE, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    pages = sorted([*(ROOT / "docs").glob("*.md"), *(page for each in OTHERS for page in ROOT.glob(each))])
    for page in pages:
        put(page, page.read_text(encoding="utf-8"))
    put(ROOT / "index.md", (ROOT / "README.md").read_text(encoding="utf-8") + menus())
    for page in (*pages, ROOT / "README.md"):
        for file in linked(page):
            target = SOURCE / file.relative_to(ROOT)
            if file.is_file() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
    shutil.copyfile(ROOT / "tools" / "docs_conf.py", SOURCE / "conf.py")
    verbs = SOURCE / "verbs"
    verbs.mkdir(mode=0o755)
    words = ("--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir", verbs)
    call("antsibull-docs", "collection", *words, "gitops.fleet")
    for page in verbs.glob("*.rst"):
        page.write_text(CONTENTS.sub("", page.read_text(encoding="utf-8")), encoding="utf-8")
    call("sphinx-build", "--fail-on-warning", "--keep-going", "--quiet", "--jobs", "auto", SOURCE, SITE)
    print(f"the site is {SITE / 'index.html'}")


def put(page: Path, text: str) -> None:
    """The page at its place; the README is the first page of the site."""
    target = SOURCE / page.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(re.sub(r"\]\(((?:\.\./)*)README\.md", r"](\1index.md", text), encoding="utf-8")


def menus() -> str:
    """The menu of the site: a page that stands in none of its lists ends the build."""
    found = ""
    for name, pages in MENUS.items():
        found += f"\n```{{toctree}}\n:hidden:\n:caption: {name}\n\n" + "".join(f"{page}\n" for page in pages) + "```\n"
    return found


def linked(page: Path) -> list[Path]:
    """Files and folders of the repository that a page leads to."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return [(page.parent / path).resolve() for path in LINK.findall(text)]


if __name__ == "__main__":
    try:
        build()
    except StepFailed as error:
        sys.exit(str(error))
