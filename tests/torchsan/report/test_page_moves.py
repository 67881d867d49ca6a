"""What the report's page does in a browser: sorting, filtering, looking closer, light and dark, three widths, paper."""

import itertools
import re

import pytest

from tests.torchsan.report.browser import CHROMIUM, Browser
from tests.torchsan.report.test_page import NASTY, finding, lines, shown
from torchlint.findings import Severity
from torchsan.report.page import html

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
CODES = "[...document.querySelectorAll('details.finding:not([hidden]) summary .chip')].map(e => e.textContent).join(' ')"
ROWS = "[...document.querySelectorAll('table.findings tbody tr:not([hidden]) .chip')].map(e => e.textContent).join(' ')"
POINTS = "document.querySelector('polyline').getAttribute('points').split(/[ ,]/).map(Number)"
STEPS = "document.querySelector('g.steps').textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A run with five findings of three severities, curves, two ranks."""
    folder = tmp_path_factory.mktemp("page")
    program = folder / "train.py"
    program.write_text("\n".join(f"line_{row} = {row}" for row in range(1, 60)), encoding="utf-8")
    warning, note = {"severity": Severity.WARNING, "group": "suspicious"}, {"severity": Severity.NOTE, "group": "opt-in"}
    found = [
        finding(program, row=40, code="TS201", name="missing-eval", step=30, count=2, ranks=(0,), **warning),
        finding(program, row=7, code="TS501", name="modules-in-plain-container", step=None, count=1, ranks=(0, 1)),
        finding(program, row=20, code="TS124", name="adam-with-weight-decay", step=0, count=9, ranks=(1,), **note),
        finding(program, row=9, code="TS101", name="missing-zero-grad", step=4, count=40, ranks=(0, 1)),
        finding(program, row=8, code="TS111", name="scheduler-cadence", step=90, count=1, ranks=(0,), message=NASTY, **warning),
    ]
    kept = lines(100, names=("loss/loss", "gradient norm/optimizer", "gradients/a", "gradients/b", "time/loader", "time/copies"))
    place = folder / "report.html"
    place.write_text(shown(folder, found, kept, ranks={0: kept, 1: kept}, seconds=60.0), encoding="utf-8")
    return place


@pytest.fixture
def opened(browser, page):
    browser.said.clear()
    browser.size(1000)
    browser.open(page)
    yield browser
    assert browser.said == []


def order_by(browser, value):
    browser.ask(f"document.querySelector('#order').value = '{value}';"
                "document.querySelector('#order').dispatchEvent(new Event('input', {bubbles: true}))")
    return browser.ask(CODES)


def test_findings_are_sorted(opened):
    assert opened.ask(CODES) == opened.ask(ROWS) == "TS201 TS501 TS124 TS101 TS111"
    assert order_by(opened, "severity") == opened.ask(ROWS) == "TS501 TS101 TS201 TS111 TS124"
    assert order_by(opened, "place") == "TS501 TS111 TS101 TS124 TS201"
    assert order_by(opened, "step") == "TS124 TS101 TS201 TS111 TS501"
    assert order_by(opened, "often") == "TS101 TS124 TS201 TS501 TS111"
    opened.ask("document.querySelector('table.findings th[data-by=code] button').click()")
    assert opened.ask(CODES) == opened.ask(ROWS) == "TS101 TS111 TS124 TS201 TS501"
    assert opened.ask("document.querySelector('th[data-by=code]').getAttribute('aria-sort')") == "ascending"


def test_findings_are_filtered(opened):
    opened.ask("document.querySelector('input[value=warning]').click()")
    assert opened.ask(CODES) == "TS501 TS124 TS101" and opened.ask("document.querySelector('#shown').textContent") == "3 of 5"
    opened.ask("document.querySelector('input[value=warning]').click()")
    opened.ask("document.querySelector('#words').focus()")
    opened.call("Input.insertText", text="PLAIN container")
    assert opened.ask(CODES) == opened.ask(ROWS) == "TS501"
    opened.ask("document.querySelector('#words').value = ''; document.querySelector('#rank').value = '1';"
               "document.querySelector('#rank').dispatchEvent(new Event('input', {bubbles: true}))")
    assert opened.ask(CODES) == "TS501 TS124 TS101"


def test_all_is_folded_and_unfolded(opened):
    count = "document.querySelectorAll('details.finding[open]').length"
    assert opened.ask(count) == 5
    opened.ask("document.querySelector('#unfold').click()")
    assert opened.ask(count) == 0
    opened.ask("document.querySelector('#unfold').click()")
    assert opened.ask(count) == 5


def test_tables_of_numbers_are_sorted_both_ways(opened):
    column = "[...document.querySelectorAll('table.sortable:not(.findings) tbody tr td:first-child')].map(e => e.textContent).slice(0, 2).join(' ')"
    click = "document.querySelector('table.sortable th button').click()"
    opened.ask(click)
    first = opened.ask(column)
    opened.ask(click)
    assert {first, opened.ask(column)} == {"copies loader", "loader copies"}


def box(browser):
    return browser.ask("(() => { const b = document.querySelector('svg.plot').getBoundingClientRect();"
                       " return [b.left, b.top, b.width, b.height] })()")


def test_a_curve_is_looked_at_closer_with_the_mouse(opened):
    opened.ask("document.querySelector('svg.plot').scrollIntoView({block: 'center'})")
    before, points = opened.ask(STEPS), opened.ask(POINTS)
    left, top, width, height = box(opened)
    at = top + height / 2
    opened.mouse(("mouseMoved", left + width * 0.4, at))
    assert re.fullmatch(r"step \d+, loss [\d.]+", opened.ask("document.querySelector('.chart output').textContent"))
    opened.mouse(("mousePressed", left + width * 0.4, at), ("mouseMoved", left + width * 0.5, at), ("mouseReleased", left + width * 0.6, at))
    assert opened.ask(STEPS) != before and opened.ask(POINTS) != points
    assert opened.ask("new Set([...document.querySelectorAll('g.steps')].map(g => g.textContent)).size") == 1  # all curves show the same
    assert opened.ask("[...document.querySelectorAll('.chart')].every(c => c.classList.contains('closer'))")
    opened.ask("document.querySelector('svg.plot').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))")
    assert opened.ask(POINTS) == points


def test_a_value_is_read_off_a_curve(opened):
    """The series is 10 / (step + 1) on a logarithmic scale."""
    opened.ask("document.querySelector('svg.plot').scrollIntoView({block: 'center'})")
    left, top, width, height = box(opened)
    opened.mouse(("mouseMoved", left + width * 0.5, top + height / 2))
    step, value = re.fullmatch(r"step (\d+), loss ([\d.]+)", opened.ask("document.querySelector('.chart output').textContent")).groups()
    assert float(value) == pytest.approx(10 / (int(step) + 1), rel=0.03)


def test_a_curve_is_moved_with_the_keys(opened):
    opened.ask("document.querySelector('.chart').focus()")
    seen = [opened.ask(STEPS)]
    for key in ("+", "+", "ArrowRight", "ArrowLeft", "-", "0"):
        opened.key(key)
        seen.append(opened.ask(STEPS))
    assert all(one != other for one, other in itertools.pairwise(seen[:-1])) and seen[-1] == seen[0]


def test_every_control_is_reached_with_the_keyboard(opened):
    reached = set()
    for _ in range(60):
        opened.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", windowsVirtualKeyCode=9)
        opened.call("Input.dispatchKeyEvent", type="keyUp", key="Tab", windowsVirtualKeyCode=9)
        reached.add(opened.ask("document.activeElement.id || document.activeElement.getAttribute('class') || document.activeElement.tagName"))
    assert {"scheme", "words", "order", "unfold", "rank", "BUTTON", "SUMMARY"} <= reached and any("chart" in one for one in reached)
    nameless = ("[...document.querySelectorAll('button, select, input')].filter(e => !(e.textContent.trim() || e.labels?.length))"
                ".map(e => e.outerHTML)")
    assert opened.ask(nameless) == []


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_sticks_out(opened, width):
    opened.size(width)
    assert opened.ask("document.documentElement.scrollWidth") <= width
    pictures = []
    for scheme in ("light", "dark"):
        opened.ask(f"document.documentElement.dataset.scheme = '{scheme}'")
        pictures.append(opened.picture())
    assert pictures[0] != pictures[1] and min(map(len, pictures)) > 15_000


def test_light_and_dark(opened):
    colour = "getComputedStyle(document.body).backgroundColor"
    first = opened.ask(colour)
    opened.ask("document.querySelector('#scheme').click()")
    assert opened.ask(colour) != first
    opened.ask("document.querySelector('#scheme').click()")
    assert opened.ask(colour) == first


def test_paper_has_everything(opened):
    """What is folded on the screen is unfolded on paper; controls are left out; the screen is as it was afterwards."""
    opened.ask("document.querySelector('#unfold').click()")
    pdf = opened.call("Page.printToPDF")["data"]
    assert len(pdf) > 20_000 and opened.ask("document.querySelectorAll('details.finding[open]').length") == 0
    opened.call("Emulation.setEmulatedMedia", media="print")
    assert opened.ask("getComputedStyle(document.querySelector('#tools')).display") == "none"
    opened.call("Emulation.setEmulatedMedia", media="")


def test_without_script_all_is_there(page, browser):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        assert browser.ask(CODES) == "TS201 TS501 TS124 TS101 TS111" and browser.ask("document.querySelector('#tools').hidden")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(part * weight for part, weight in zip(parts, (0.2126, 0.7152, 0.0722), strict=True))


def test_contrast_is_enough():
    """WCAG 2.2, 1.4.3: text at least 4.5 : 1; 1.4.11: curves 3 : 1, on both backgrounds of a scheme."""
    text = str(html._text("style.css"))
    schemes = re.findall(r"--back: (#\w+); --card: (#\w+);[^}]*", text)
    assert len(schemes) == 4  # light, dark twice, paper
    for part in re.findall(r"--back: [^}]*", text):
        values = dict(re.findall(r"--(\w+): (#\w{6})", part))
        for name, least in [(one, 4.5) for one in ("text", "quiet", "link", "error", "warning", "note", "good")] + [(f"c{n}", 3) for n in range(6)]:
            for back in ("back", "card"):
                high, low = sorted((luminance(values[name]), luminance(values[back])), reverse=True)
                assert (high + 0.05) / (low + 0.05) >= least, (name, back, values[name], values[back])
