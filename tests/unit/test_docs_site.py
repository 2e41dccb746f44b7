# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site of `make docs` has every page once in its menu, and what they lead to; Sphinx refuses broken links."""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import docs_site

    yield docs_site
    for name in ("docs_site", "steps"):
        sys.modules.pop(name, None)


def test_every_page_stands_in_the_menu_once(site: t.Any) -> None:
    listed = [f"{page}.md" for pages in site.MENUS.values() for page in pages if page != "verbs/index"]
    there = [path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md")]
    there += [path.relative_to(ROOT) for each in site.OTHERS for path in ROOT.glob(each)]
    assert sorted(listed) == sorted(map(str, there))


def test_what_pages_lead_to_goes_with_them(site: t.Any, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("[a](x.yml), ![b](../y.png), [c](z.md#here), [d](https://a.example), `[e](n.md)`")
    assert site.linked(tmp_path / "page.md") == [tmp_path / "x.yml", tmp_path.parent / "y.png", tmp_path / "z.md"]


def test_a_broken_link_ends_the_build(site: t.Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Sphinx warns of one; every warning is an error."""
    called: list[tuple[t.Any, ...]] = []
    monkeypatch.setattr(site, "call", lambda *words: called.append(words))
    monkeypatch.setattr(site, "SOURCE", tmp_path / "source")
    monkeypatch.setattr(site, "SITE", tmp_path / "site")
    site.build()
    assert "--fail-on-error" in called[0] and "--fail-on-warning" in called[1]
    first = (tmp_path / "source" / "index.md").read_text(encoding="utf-8")
    assert first.startswith("# gitops.fleet") and "docs/placement" in first
    assert (tmp_path / "source" / "docs" / "plan.svg").is_file()
