# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""An overview of the fleet as one HTML page, with charts and tabs, that needs no server, no network and no file beside
it.

The data travel packed, so that no text of theirs is part of the markup; scripts run by their hashes alone, and put
texts into elements only as text.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import typing as t
from pathlib import Path

try:
    import jinja2
    from markupsafe import Markup
except ImportError:  # both come with ansible-core
    jinja2 = None  # type: ignore[assignment]

from ..markdown import SHOWN
from .summary import ENDING, TOO_NEW, TOO_OLD, UNKNOWN, Report, counted_words, drifted_number

FOLDER = Path(__file__).resolve().parent / "files"
VENDOR = FOLDER / "vendor" / "echarts.min.js.gz"
# The page that a number above them is about; the others are about the fleet.
OF_CARDS = {
    "placements": "placements",
    "gained": "placements",
    "lost": "placements",
    "drifted": "drift",
    "runs": "runs",
}
SCRIPTS = ("basics", "charts", "grid", "fleet", "matrix", "runs", "calendar", "drift", "start")


def report_page(report: Report) -> str:
    """The page of an overview's JSON data; equal data give equal bytes. It needs jinja2, which comes with ansible-core
    (AttributeError without)."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(_text(FOLDER / "page.html.j2"))
    ours = "\n".join(_text(FOLDER / "scripts" / f"{name}.js") for name in SCRIPTS)
    return template.render(
        report=report,
        style=_markup(_text(FOLDER / "style.css")),
        scripts=[
            _script(gzip.decompress(VENDOR.read_bytes()).decode()),
            _script(f'"use strict";\n(() => {{\n{ours}}})();\n'),
        ],
        data=_packed(report),
        cards=list(_cards(report)),
        tabs=list(_tabs(report)),
        shown=SHOWN,
    )


def _cards(report: Report) -> t.Iterator[dict[str, t.Any]]:
    """For each number of ``counted_words`` that stands above the page: ``number`` as text, ``words``, ``mark``
    (``bad``, ``warn``, or empty, as for 0 and what is not known), and ``page``, the tab that it opens."""
    marks = {"not ready": "bad", "lost": "bad", "drifted": "warn", ENDING: "warn", TOO_NEW: "warn", TOO_OLD: "warn"}
    for name, number, words in counted_words(report):
        mark = marks.get(name, "") if number not in ("0", UNKNOWN) else ""
        yield {"number": number, "words": words, "mark": mark, "page": OF_CARDS.get(name, "fleet")}


def _tabs(report: Report) -> t.Iterator[dict[str, t.Any]]:
    """Each tab of the page in order: ``id``, ``words`` and ``count``, a number or text, None where nothing is
    counted."""
    rows = (
        ("fleet", "Fleet", len(report["clusters"])),
        ("placements", "Placements", len(report["placements"])),
        ("runs", "Runs", len(report["runs"])),
        ("calendar", "Disruption calendar", len(report["pools"]) or None),
        ("drift", "Drift", drifted_number(report)),
        ("what-if", "What if", None if report["whatIf"] is None else len(report["whatIf"])),
    )
    for name, words, count in rows:
        yield {"id": name, "words": words, "count": count}


def _packed(report: Report) -> str:
    """The data as JSON, packed by gzip, in base64; what UTF-8 lacks becomes ``?``."""
    text = json.dumps(report, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return base64.b64encode(gzip.compress(text.encode(errors="replace"), mtime=0)).decode()


def _script(text: str) -> dict[str, t.Any]:
    """A script of ours or of the library; nobody else's text is ever in one. ``text``, and as ``hash`` how a content
    security policy names it. ValueError as of ``_markup``."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"text": _markup(text), "hash": _markup(f"'sha256-{digest}'")}


def _markup(text: str) -> Markup:
    """A text of ours (script, style, hash) as markup, which the template does not escape. ValueError for one with
    ``</script`` or ``<!--`` in it, with which a script would end too early or too late."""
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("a script that ends early")
    return Markup(text)


def _text(path: Path) -> str:
    """The content of a file in UTF-8."""
    return path.read_text(encoding="utf-8")
