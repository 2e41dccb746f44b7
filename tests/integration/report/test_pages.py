# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports in a real browser: every page in both themes and two widths, by keyboard, on paper, without scripts."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
import re
import typing as t
from pathlib import Path

import pytest
from chromium import Browser
from sample_fleet import MARKUP
from sample_report import CANARY, CHANGED, Made
from sample_runs import ROTATED, STAGED

PAGES = ("fleet", "placements", "runs", "calendar", "drift", "what-if")
CHARTS = {"fleet": 2, "runs": 1, "calendar": 2}
VENDOR = Path(__file__).parent / "vendor"
AXE = VENDOR / "axe.min.js"
ROOT = Path(__file__).parents[3]


def turned_to(browser: Browser, page: str) -> None:
    browser.run(f"location.hash = '#{page}'")
    browser.until(f"!document.getElementById('{page}').hidden")
    browser.settled()


def text_of(browser: Browser, selector: str) -> str:
    return t.cast(str, browser.run(f"document.querySelector({selector!r}).innerText"))


def pictured(browser: Browser, name: str) -> None:
    """A picture to look at, where somebody asks for them."""
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        browser.picture(Path(folder) / f"{name}.png")


def violations(browser: Browser) -> list[str]:
    """What axe-core finds on the page as it is now: rule, help, and the first element."""
    if not browser.run("typeof axe !== 'undefined'"):
        browser.run(AXE.read_text(encoding="utf-8"))
    found = browser.run("axe.run(document, {resultTypes: ['violations']}).then((done) => done.violations)")
    return [f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:160]}" for each in found]


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_is_whole_and_can_be_used_by_all(browser: Browser, report: Made, width: int, dark: bool) -> None:
    """No word on the console, no request, nothing that axe-core finds, nothing beside the edge."""
    browser.open(report.path, width, dark=dark)
    for page in PAGES:
        turned_to(browser, page)
        pictured(browser, f"{page}-{width}-{'dark' if dark else 'light'}")
        assert browser.errors == [], page
        assert violations(browser) == [], page
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), f"{page} is wider than {width}"
        drawn = browser.run(f"document.querySelectorAll('#{page} .chart svg').length")
        assert drawn == CHARTS.get(page, 0), page
        assert browser.run(f"document.querySelector('#{page} .content').innerText.length > 40"), page
    assert [each for each in browser.asked if not each.startswith(("file:", "about:", "data:"))] == []


def test_texts_of_others_stay_texts(browser: Browser, attacked: Made) -> None:
    """They stand in labels, conditions, drift, gates and locations, and on every page they are only read."""
    browser.open(attacked.path)
    for page in PAGES:
        turned_to(browser, page)
        for selector in ("[role=gridcell]", "[role=rowheader]", "[role=columnheader]"):
            browser.run(f"document.querySelector('#{page} {selector}')?.click()")
    browser.settled()
    assert browser.run("document.title") == "Production fleet: fleet report"
    assert browser.run("document.querySelectorAll('main img, main b').length") == 0
    assert browser.errors == []
    turned_to(browser, "drift")
    assert MARKUP in text_of(browser, "#drift .content")
    assert browser.run("document.querySelectorAll('script').length") == 3


def test_the_page_of_drift_says_as_of_when_and_rows_of_clusters_count_nothing_unseen(
    browser: Browser, report: Made
) -> None:
    browser.open(report.path, page="drift")
    turned_to(browser, "drift")
    told = text_of(browser, "#drift .content")
    assert report.data["driftKnown"]["words"] in told and "gitops.fleet.drift" in told
    unseen = [each for each in report.data["clusters"] if each["drift"]["places"] and each["drift"]["objects"] is None]
    turned_to(browser, "fleet")
    assert unseen and "?" in text_of(browser, "#fleet .content")


def test_the_page_of_the_fleet_shows_what_grows_old(browser: Browser, report: Made) -> None:
    browser.open(report.path, page="fleet")
    told = text_of(browser, "#fleet .content")
    rows = report.data["clusters"]
    ending = [each for each in rows if each["certificate"]["days"] < 30]
    behind = [each for each in rows if each["kubelets"]["behind"] and not each["kubelets"]["tooOld"]]
    assert ending and behind and any(each["kubelets"]["tooOld"] for each in rows)
    ahead = [each for each in rows if each["kubelets"]["ahead"]]
    assert f"newer than their API server, which Kubernetes does not support: {ahead[0]['name']}" in told
    assert "v1.36.1 +1" in told and "by -" not in told
    assert f"{ending[0]['name']} (" in told and "Kubelets too old for their API server: " in told
    assert (
        f"Kubelets behind their API server: {len(behind)} clusters by 1 minor" in told
        and "Images of nodes: Linux 1.1 (" in told
    )
    heads = [each.lower() for each in names_of_columns(browser, "fleet")]
    assert {"kubelet", "cert. ends", "image"} <= {each.split(":")[0].split(",")[0] for each in heads}
    browser.run(typed("#fleet input", "linux 1.0"))
    wanted = sum("Linux 1.0" in each["images"] for each in rows)
    assert text_of(browser, "#fleet [role=status]") == f"{wanted} of {len(rows)} clusters"


def names_of_columns(browser: Browser, page: str) -> list[str]:
    script = (
        f"[...document.querySelectorAll('#{page} [role=columnheader]')].map((each) => each.ariaLabel || each.innerText)"
    )
    return t.cast("list[str]", browser.run(script))


def test_a_number_above_leads_to_its_page_and_runs_that_are_not_over_stand_first(
    browser: Browser, report: Made
) -> None:
    browser.open(report.path)
    browser.run(
        "[...document.querySelectorAll('.cards a')].find((each) => each.innerText.includes('not over')).click()"
    )
    browser.until("!document.getElementById('runs').hidden")
    browser.settled()
    over = [each["over"] for each in report.data["runs"]]
    assert over == sorted(over) and not over[0]
    first = report.data["runs"][0]
    assert f"{first['kind']} {first['name']}" in text_of(browser, "#runs .content")


def test_columns_without_anything_are_left_out(browser: Browser, report: Made) -> None:
    """Nothing is forecast of a rotation."""
    browser.open(report.path, 1900, page="runs")
    for name, forecast in ((ROTATED, False), ("to-1-36", True)):
        (place,) = (at for at, each in enumerate(report.data["runs"]) if each["name"] == name)
        browser.run(f"{{ const found = document.querySelector('#runs select'); found.value = '{place}';"
                    " found.dispatchEvent(new Event('change')) }")  # fmt: skip
        browser.settled()
        told = " ".join(names_of_columns(browser, "runs"))
        assert ("Expected end" in told) is ("Nine of ten" in told) is forecast and "Start" in told


def test_a_run_that_will_fail_is_told_so_with_who_fails(browser: Browser, report: Made) -> None:
    """Two minors at once are refused when the member's turn comes."""
    browser.open(report.path, page="runs")
    (place,) = (at for at, each in enumerate(report.data["runs"]) if each["name"] == "to-1-36")
    browser.run(f"{{ const found = document.querySelector('#runs select'); found.value = '{place}';"
                " found.dispatchEvent(new Event('change')) }")  # fmt: skip
    browser.settled()
    told = text_of(browser, "#runs .content")
    assert "Expected to fail 2026-" in told and "Failed by then: pilot-northeurope-22." in told
    bars = [each for each in report.data["runs"][place]["bars"] if each["what"] == "member"]
    assert {each["name"]: each["waitsFor"] for each in bars if each["start"] and each["waitsFor"]} == {}
    assert any("2 minors ahead" in each["waitsFor"] for each in bars)


def test_tab_and_card_say_the_same_of_drift(browser: Browser, report: Made) -> None:
    browser.open(report.path)
    tab = text_of(browser, "#tab-drift .count")
    assert tab == (str(report.data["driftKnown"]["objects"]) if report.data["driftKnown"]["objects"] else "?")
    card = "[...document.querySelectorAll('.cards a')].find((each) => each.innerText.includes('drifted')).innerText"
    assert browser.run(card).split()[0] == tab


def test_a_script_that_gets_in_does_not_run(browser: Browser, report: Made) -> None:
    """The policy of the page names the hashes of its two scripts and permits no other, and no address at all."""
    browser.open(report.path)
    browser.run(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
    )
    image = "<img src=x onerror='window.ran = 1'>"
    browser.run(f"document.body.append(Object.assign(document.createElement('p'), {{innerHTML: {image!r}}}))")
    browser.run("fetch('http://127.0.0.1:9/').then(() => { window.ran = 1 }, () => 0)")
    browser.settled()
    assert browser.run("window.ran") is None
    assert any("Content Security Policy" in each for each in browser.errors)


def test_no_secret_is_in_a_report(attacked: Made) -> None:
    """What a Secret holds is neither in the page nor in the data that it carries."""
    page = attacked.path.read_text(encoding="utf-8")
    found = re.search(r'id="data">([^<]+)<', page)
    assert found is not None
    data = gzip.decompress(base64.b64decode(found[1])).decode()
    assert f'"{CHANGED}"' in data and MARKUP.split('"', maxsplit=1)[0] in data
    for text in (page, data, (attacked.path.parent / "report.json").read_text(encoding="utf-8")):
        assert CANARY not in text and base64.b64encode(CANARY.encode()).decode() not in text


def test_a_cell_says_why_by_keyboard_alone(browser: Browser, report: Made) -> None:
    """Tabs by arrows, cells by arrows, Enter: the words are those of an explanation."""
    browser.open(report.path)
    browser.run("document.querySelector('[role=tab]').focus()")
    browser.key("ArrowRight")
    assert browser.run("document.activeElement.id") == "tab-placements"
    browser.run("document.querySelector('#placements [role=grid] [tabindex=\"0\"]').focus()")
    browser.key("ArrowRight")
    for _press in range(3):
        browser.key("ArrowDown")
    browser.key("Enter")
    placement, cluster = report.data["placements"][0], report.data["clusters"][3]
    why = report.data["reasons"][placement["why"][3]]
    told = text_of(browser, "#placements .detail")
    assert f"{placement['name']} on {cluster['name']}" in told and f"{cluster['name']} {why}" in told
    assert browser.run("document.activeElement.getAttribute('aria-label')").startswith(
        f"{placement['name']} on {cluster['name']}: "
    )
    browser.key("End")
    assert browser.run("document.activeElement.getAttribute('aria-colindex')") == str(
        len(report.data["placements"]) + 1
    )


def test_the_waves_of_a_plan_are_told(browser: Browser, report: Made) -> None:
    browser.open(report.path, height=860, dark=True, page="placements")
    (changed,) = (each for each in report.data["placements"] if each["name"] == CHANGED)
    assert len(changed["waves"]) > 1
    browser.run(f"[...document.querySelectorAll('#placements [role=columnheader]')].find((each) =>"
                f" each.ariaLabel.startsWith('{CHANGED},')).click()")  # fmt: skip
    told = text_of(browser, "#placements .detail")
    assert f"{len(changed['waves'])} waves" in told and changed["waves"][0][0] in told
    pictured(browser, "waves")
    gained = changed["waves"][1][0]
    browser.run(typed("#placements input", gained))
    browser.settled()
    browser.run(f"[...document.querySelectorAll('#placements [role=gridcell]')].find((each) =>"
                f" each.ariaLabel.startsWith('{CHANGED} on {gained}')).click()")  # fmt: skip
    assert f"Wave 2 of {len(changed['waves'])}." in text_of(browser, "#placements .detail")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("name", "seen"),
    [
        (STAGED, ("staged run", "snapshot 7 of placement payments", "stage pilot", "completed by ana@example.com",
                  f"approve {STAGED}-before-prod", "wait 2h")),
        (ROTATED, ("rotation", "3/12 nodes, 1 left as it was", "wave 1", "wave not begun",
                   "node prod-eastus-3/node-5", "Draining", "blocked since")),
    ],
)  # fmt: skip
def test_staged_runs_and_rotations_are_drawn_and_told(
    browser: Browser, report: Made, name: str, seen: tuple[str, ...], width: int, dark: bool
) -> None:
    """What each stage or wave, cluster or node, gate and wait came to, in the chart and in the table below it."""
    browser.open(report.path, width, dark=dark, page="runs")
    (place,) = (at for at, each in enumerate(report.data["runs"]) if each["name"] == name)
    browser.run(f"{{ const found = document.querySelector('#runs select'); found.value = '{place}';"
                " found.dispatchEvent(new Event('change')) }")  # fmt: skip
    browser.settled()
    pictured(browser, f"{name}-{width}-{'dark' if dark else 'light'}")
    rows = [
        " ".join(str(each[key]) for key in ("what", "name", "state", "why"))
        for each in report.data["runs"][place]["bars"]
    ]
    told = "\n".join([text_of(browser, "#runs .content"), *rows])
    assert [word for word in seen if word not in told] == []
    lines = browser.run("document.querySelector('#runs [role=grid]').getAttribute('aria-rowcount')")
    assert int(lines) == len(rows) + 1
    drawn = browser.run("document.querySelectorAll('#runs .chart svg path').length")
    assert drawn > len(rows)
    assert browser.errors == [] and violations(browser) == []
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")


def test_search_and_filters_leave_what_was_asked_for(browser: Browser, report: Made) -> None:
    browser.open(report.path)
    browser.run(typed("#fleet input", "stage=canary"))
    wanted = [each["name"] for each in report.data["clusters"] if each["labels"]["stage"] == "canary"]
    assert text_of(browser, "#fleet [role=status]") == f"{len(wanted)} of 24 clusters"
    names = browser.run("[...document.querySelectorAll('#fleet [role=rowheader]')].map((each) => each.innerText)")
    assert names == wanted
    browser.run(typed("#fleet input", ""))
    browser.run("[...document.querySelectorAll('#fleet [role=columnheader]')][3].click()")
    nodes = browser.run(
        "[...document.querySelectorAll('#fleet [aria-colindex=\"4\"]')].slice(1).map((each) => +each.innerText)"
    )
    assert nodes == sorted(nodes) and len(nodes) > 5
    turned_to(browser, "placements")
    browser.run("{ const found = document.querySelector('#placements select'); found.value = 'l';"
                " found.dispatchEvent(new Event('change')) }")  # fmt: skip
    losing = sum(any(each["cells"][at] == "l" for each in report.data["placements"]) for at in range(24))
    assert text_of(browser, "#placements [role=status]").startswith(f"{losing} cluster")


def typed(selector: str, text: str) -> str:
    """A script that types a text into a field."""
    return (
        f"{{ const found = document.querySelector({selector!r}); found.value = {text!r};"
        " found.dispatchEvent(new Event('input')) }"
    )


def test_the_theme_is_that_of_the_system_until_somebody_chooses(browser: Browser, report: Made) -> None:
    browser.open(report.path, dark=True)
    ground = "getComputedStyle(document.body.parentElement).backgroundColor"
    dark = browser.run(ground)
    assert text_of(browser, "#theme") == "Light theme"
    browser.run("document.getElementById('theme').click()")
    light = browser.run(ground)
    assert light == "rgb(255, 255, 255)" != dark and text_of(browser, "#theme") == "Dark theme"
    browser.run("document.getElementById('theme').click()")
    assert browser.run(ground) == dark
    browser.run("localStorage.clear()")


def test_paper_has_all_pages(browser: Browser, report: Made) -> None:
    browser.open(report.path, dark=True)
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    shown = browser.run("[...document.querySelectorAll('[role=tabpanel]')].map((each) => each.offsetHeight > 60)")
    assert shown == [True] * len(PAGES)
    assert browser.run("getComputedStyle(document.body.parentElement).backgroundColor") == "rgb(255, 255, 255)"
    paper = base64.b64decode(browser.call("Page.printToPDF")["data"])
    assert paper.startswith(b"%PDF") and browser.errors == []


def test_without_scripts_the_numbers_are_there(browser: Browser, report: Made) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.call("Page.navigate", url=report.path.as_uri())
        browser.until("document.readyState === 'complete' && document.querySelector('.cards') !== null")
        assert "report.md" in text_of(browser, "noscript") and "24" in text_of(browser, ".cards")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_files_of_others_are_as_they_were_published() -> None:
    """Name, version, licence and hash of each stand beside it."""
    folders = (VENDOR, ROOT / "plugins" / "module_utils" / "_report" / "overview" / "files" / "vendor")
    for folder in folders:
        rows = re.findall(
            r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|$", (folder / "README.md").read_text(), re.MULTILINE
        )
        assert {name for name, _hash in rows} == {each.name for each in (*folder.glob("*.js"), *folder.glob("*.js.gz"))}
        for name, wanted in rows:
            found = (folder / name).read_bytes()
            text = gzip.decompress(found) if name.endswith(".gz") else found
            assert hashlib.sha256(text).hexdigest() == wanted, name
