# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""docs/architecture.md is true: its picture shows the rooms, arrows and floors that hold, and its files are there."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.tests.arrows import ARROWS, FLOORS, OWN, imports, room_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ROOT / "plugins" / "module_utils"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"
PICTURE = ET.parse(ROOT / "docs" / "rooms.svg").getroot()
JOURNEYS = ("A placement, from file to member", "An update run", "A NodePool, to a rotation", "A lint")
IN_A_ROOM = re.compile(r"`(_[a-z]+/[\w/]+\.py)`")
OUTSIDE = re.compile(r"`((?:plugins|playbooks|tests)/[\w/]+\.\w+)`")
ROW = re.compile(r"^\| (?!step |word |room |floor |---)(.+) \|$", re.MULTILINE)


def section(title: str) -> str:
    (found,) = (each for each in PAGE.split("\n## ") if each.startswith(f"{title}\n"))
    return found


def files(text: str) -> list[Path]:
    return [ROOMS / each for each in IN_A_ROOM.findall(text)] + [ROOT / each for each in OUTSIDE.findall(text)]


def rectangle(element: ET.Element) -> tuple[float, float, float, float]:
    """Left, top, right, bottom."""
    x, y, width, height = (float(element.attrib[name]) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


BOXES = {each.attrib["id"]: rectangle(each[0]) for each in PICTURE.iter(f"{SVG}g") if "id" in each.attrib}
LINES = [each for each in PICTURE.iter(f"{SVG}line") if each.get("class") == "arrow"]


def test_the_picture_shows_the_rooms_and_no_other():
    assert set(BOXES) == set(ARROWS)
    assert {each.name for each in ROOMS.iterdir() if each.is_dir() and any(each.glob("*.py"))} == set(ARROWS) - {
        "skins"
    }
    titles = {each.attrib["id"]: each.findtext(f"{SVG}text") for each in PICTURE.iter(f"{SVG}g") if "id" in each.attrib}
    assert all(name == title for name, title in titles.items())


def test_the_picture_shows_the_arrows_and_no_other():
    drawn = sorted((each.attrib["data-from"], each.attrib["data-to"]) for each in LINES)
    assert drawn == sorted((here, there) for here, targets in ARROWS.items() for there in targets)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.get('data-from')}-{line.get('data-to')}")
def test_an_arrow_begins_and_ends_where_it_says_and_crosses_no_other_room(line):
    """What is written in the file is what is seen."""
    x, begin, end = (float(line.attrib[name]) for name in ("x1", "y1", "y2"))
    assert line.attrib["x2"] == line.attrib["x1"]
    here, there = BOXES[line.attrib["data-from"]], BOXES[line.attrib["data-to"]]
    assert here[0] < x < here[2] and begin == here[3]
    assert there[0] < x < there[2] and end == there[1]
    crossed = [name for name, (left, top, right, low) in BOXES.items() if left < x < right and begin < top < end > low]
    assert crossed == []


def test_the_picture_shows_the_floors_from_the_top():
    floors = [each for each in PICTURE.iter(f"{SVG}g") if each.get("class") == "floor"]
    assert [tuple(name.text for name in each.iter(f"{SVG}text")) for each in floors] == list(reversed(FLOORS))
    tops = [rectangle(rect)[1] for each in floors for rect in each.iter(f"{SVG}rect")]
    assert tops == sorted(tops)
    left, top, right, low = BOXES["_core"]
    for each in floors:
        for rect in each.iter(f"{SVG}rect"):
            inner = rectangle(rect)
            assert left < inner[0] and top < inner[1] and inner[2] < right and inner[3] < low


def test_the_tables_have_a_row_for_each_room_and_each_floor():
    rows = [row.split(" | ") for row in ROW.findall(section("The rooms"))]
    assert [tuple(re.findall(r"`(\w+)`", row[0])) for row in rows if len(row) == 2] == list(reversed(FLOORS))
    assert sorted(row[0].strip("`") for row in rows if len(row) == 3) == sorted(ARROWS)


def test_every_file_is_there():
    assert len(files(PAGE)) > 100
    assert [str(each.relative_to(ROOT)) for each in files(PAGE) if not each.is_file()] == []


@pytest.mark.parametrize("title", JOURNEYS)
def test_every_step_of_a_journey_names_its_files(title):
    rows = ROW.findall(section(title))
    assert len(rows) >= 10
    assert [row for row in rows if not files(row)] == []


@pytest.mark.parametrize("title", JOURNEYS)
def test_a_journey_is_one_way_through_the_code(title):
    """Imports lead from its plugins to every file that its steps name."""
    named = {each for row in ROW.findall(section(title)) for each in files(row) if each.suffix == ".py"}
    skins = {each for each in named if room_of(each, ROOT) == "skins"}
    assert skins
    # Filters and tests name what they call in words.
    templates = {each for each in named if each.parent.name == "templates"}
    assert sorted(str(each.relative_to(ROOT)) for each in named - reached(skins | templates)) == []


def reached(begins: Iterable[Path]) -> set[Path]:
    seen: set[Path] = set()
    waiting = list(begins)
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting += needed(here)
    return seen


@cache
def needed(file: Path) -> frozenset[Path]:
    """The files of ours that a file imports: a module each, or something in one."""
    found = set()
    for one in imports(file, ROOT):
        if one.room is not None:
            path = ROOT.joinpath(*one.target[len(OWN) :])
            found |= {each for each in (path.with_suffix(".py"), path.parent.with_suffix(".py")) if each.is_file()}
    return frozenset(found)


def test_a_word_has_one_sentence_and_a_place():
    rows = [row.split(" | ") for row in ROW.findall(section("Words"))]
    words = [row[0] for row in rows]
    assert len(words) >= 30 and len(set(words)) == len(words)
    assert all(len(row) == 3 and row[1] and files(row[2]) for row in rows)
    asked = "placement binding snapshot member hub records plan brake gate stage group claim lease machine decision"
    assert {*asked.split(), "ApplySet parent", "driver", "executor", "conductor"} <= set(words)
