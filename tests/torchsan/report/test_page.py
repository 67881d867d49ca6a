"""The report as a page: what is in it, what it must not do, and that a browser shows it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
import torch
from torch import nn

import torchsan
from torchlint.findings import Finding, Location, Related, Severity
from torchsan.report.page import html
from torchsan.report.page.charts import heat_map, plot
from torchsan.report.reports import write
from torchsan.report.series import MOST_POINTS, Line, Series, lines_of

pytest.importorskip("jinja2")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --window-size=1000,1600 "
    "--enable-logging=stderr"
).split()
NASTY = "<script>alert(1)</script>\"'&"


def finding(path, row=2, step=3, **more):
    given = {
        "code": "TS101", "name": "missing-zero-grad", "message": f"`loss.backward()` {NASTY}",
        "location": Location(str(path), row), "group": "correctness", "severity": Severity.ERROR,
        "help": "call `zero_grad`", "url": "https://example.org/101", "step": step, **more,
    }
    return Finding(**given)


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(f"first = 1\nloss.backward()  # {NASTY}\nthird = 3\n", encoding="utf-8")
    return path


def lines(count=40, names=("loss/loss",)):
    series = Series()
    for name in names:
        for step in range(count):
            series.record(name, step, 10.0 / (step + 1))
    return series.lines


class Tags(HTMLParser):
    """Tags, attributes and text of a page; complains of a tag that is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self._open = [], [], [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        if tag not in ("meta", "br", "input"):
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def shown(tmp_path, findings=(), kept=None, **more):
    return html.render(html.Run(findings, 40, str(tmp_path), kept or {}, **more))


def test_text_of_the_program_is_only_text(program, tmp_path):
    one = finding(
        program, related=(Related(Location(str(program), 1), NASTY),), details={NASTY: NASTY}, name=NASTY, help=NASTY
    )
    kept = lines(names=(f"loss/{NASTY}", f"gradients/{NASTY}", f"time/{NASTY}"))
    text = shown(
        tmp_path, [one, finding(program, url="javascript:alert(1)")], kept, program=NASTY, problems=[NASTY],
        ranks={0: kept, 1: kept},
    )
    tags = Tags(text)
    assert tags.tags.count("script") == 1 and NASTY in "".join(tags.words)
    assert f"<script>{html._text('page.js')}</script>" in text and f"script-src '{html._script_hash()}'" in text
    assert not [a for a in tags.attributes if a[1].startswith("on") or "javascript:" in a[2]]


def test_nothing_is_fetched(program, tmp_path):
    text = shown(tmp_path, [finding(program)], lines(names=("loss/a", "gradients/b", "time/loader")))
    tags = Tags(text)
    assert not {"link", "img", "iframe", "object"} & set(tags.tags)
    assert not [a for a in tags.attributes if a[1] in ("src", "srcset", "xlink:href")]
    assert "@import" not in text and "url(" not in text
    links = {value for _, name, value in tags.attributes if name == "href"}
    anchors = {value for _, name, value in tags.attributes if name == "id"}
    assert {link for link in links if not link.startswith("https://docs.pytorch.org/")} == {"https://example.org/101", "#finding-1"}
    assert "finding-1" in anchors


def test_labels_of_an_axis_differ():
    line = Line()
    for step, value in enumerate((5.9841, 5.9838, 5.982, 5.981)):
        line.add(step, value)
    labels = re.findall(r'text-anchor="end">([\d.]+)</text>', str(plot({"loss": line})))
    assert len(labels) > 3 and len(set(labels)) == len(labels), labels


def test_a_page_carries_the_text_of_its_rules(program, tmp_path):
    text = shown(tmp_path, [finding(program, url=""), finding(program, row=3, code="TS999", name="unknown", url="")], lines())
    assert '<a href="#rule-TS101">' in text and '<div id="rule-TS101">' in text
    assert "#rule-TS999" not in text
    assert "adds to <code>.grad</code>, it does not replace it" in text
    outside = re.findall(r'<a href="https://[^>]*>', text)
    assert outside and all('rel="noreferrer"' in link for link in outside)


def test_a_finding_has_its_source_and_its_marks(program, tmp_path):
    text = shown(tmp_path, [finding(program)], lines())
    here = re.search(r'<tr class="here">.*?</tr>', text)[0]
    assert ">2<" in here and "loss.backward()" in here
    assert "first = 1" in text and "third = 3" in text
    assert "train.py:2" in text and "first in step 3" in text
    assert '<a href="#finding-1" data-step="3"><line class="mark error"' in text


def test_a_run_without_findings_or_numbers(tmp_path):
    assert "Nothing was found" in shown(tmp_path)
    assert "<svg" not in shown(tmp_path)
    Tags(shown(tmp_path))


def test_a_chart_stands_values_that_are_not_finite():
    line = Line()
    for step, value in enumerate([1.0, float("nan"), float("inf"), -1e30, 0.0]):
        line.add(step, value)
    assert "nan" not in plot({"a": line}) and "inf" not in plot({"a": line})
    empty = Line()
    empty.add(0, float("nan"))
    assert plot({"a": empty}) == "" and heat_map({"a": empty}) == ""
    one = Line()
    one.add(7, 0.0)
    assert "<circle" in plot({"a": one})


def test_a_map_of_many_layers_stays_small():
    rows = lines(600, [f"gradients/blocks.{number}.weight" for number in range(900)])
    assert len(heat_map(rows)) < 300_000


def test_a_long_series_is_thinned_and_keeps_its_peaks():
    line = Line()
    peaks = {257: 10.0, 30_001: 20.0, 40_000: -5.0, 77_777: 40.0}
    for step in range(100_000):
        line.add(step, peaks.get(step, 1.0))
    assert len(line.steps) <= MOST_POINTS and line.count == 100_000 and line.total == 100_061
    assert {10.0, 20.0, 40.0} <= set(line.highs) and min(line.lows) == -5.0
    assert list(line.steps) == sorted(line.steps)


def test_series_go_to_another_process_in_brief():
    series = Series()
    for step in range(300):
        series.record("loss/loss", step, float("nan") if step == 0 else step)
        series.record("gradients/layer", step, step)
    brief = series.brief()
    assert list(brief) == ["loss/loss"] and len(brief["loss/loss"]["steps"]) <= 128
    assert lines_of(brief)["loss/loss"].count == 300


def trained(path, **options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchsan.watch(model, on_finding="collect", **options) as san:
        for _ in range(12):
            loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
            loss.backward()
            optimizer.step()
    san.report(path)
    return san


def test_a_watch_writes_its_page(tmp_path):
    san = trained(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "missing-zero-grad" in text and "<h2>Loss</h2>" in text and "Gradients by layer" in text
    assert san.series["loss/loss"].count == san.series["gradient norm/optimizer"].count + 4 == 12
    assert list(san.series.of("gradients")) == ["0", "2"]
    assert os.listdir(tmp_path) == ["report.html"]


def test_every_step_is_kept_at_the_thorough_level(tmp_path):
    assert trained(tmp_path / "report.html", level="thorough").series["gradient norm/optimizer"].count == 12


def test_how_many_samples_a_step_is_made_of(tmp_path):
    """Three batches of 8 for a step of one optimizer, one for a step of the other; the page says so."""
    def accumulated(loader, every):
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for at, (x,) in enumerate(loader, 1):
            (model(x).square().mean() / every).backward()
            if at % every == 0:
                optimizer.step()
                optimizer.zero_grad()

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(100, 4)), 8)
    for every, said in (3, "24 samples"), (1, "8 samples"):
        with torchsan.watch(on_finding="collect", ignore=["TS105"]) as san:
            accumulated(loader, every)
        san.report(tmp_path / "report.html")
        assert f"A step was made of {said}, all its" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_gradient_norms_are_those_that_torch_computes():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with torchsan.watch(model, on_finding="collect") as san:
        model(torch.randn(8, 4)).square().mean().backward()
        before = model[1].weight.detach().clone()
        optimizer.step()
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters()])
    assert san.series["gradient norm/optimizer"].last == pytest.approx(norm.item())
    layer = nn.utils.get_total_norm([p.grad for p in model[1].parameters()])
    assert san.series["gradients/1"].last == pytest.approx(layer.item())
    update = (model[1].weight.detach() - before).norm() / before.norm()
    assert san.series["updates/1"].last == pytest.approx(update.item(), rel=1e-5)


def test_layers_without_a_shape_yet_are_waited_for():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.LazyLinear(3))
    used, later = model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchsan.watch(model, on_finding="collect") as san:
        for step in range(4):
            out = used(torch.randn(8, 4))
            if step > 1:
                out = later(out)
            optimizer.zero_grad()
            out.square().mean().backward()
            optimizer.step()
    assert "Recorder" not in san.off
    assert (san.series["gradients/0"].count, san.series["gradients/1"].count) == (4, 2)


def test_what_cannot_be_written_is_said(tmp_path, capsys):
    (tmp_path / "full.html").symlink_to("/dev/full")
    for path, why in (
        (tmp_path / "nowhere" / "report.html", "no such file or directory"),
        (tmp_path / "full.html", "no space left on device"),
        (tmp_path / "report.pdf", "a report ends in .html, .json, .sarif, .xml"),
    ):
        assert trained(path).report().startswith("torchsan: 1 finding")
        said = capsys.readouterr().err
        assert said == f"torchsan: {path} cannot be written: {why}\n"
    assert os.listdir(tmp_path) == ["full.html"]


def test_a_report_that_was_there_stays_where_a_new_one_fails(tmp_path, monkeypatch, capsys):
    def full(*args):
        raise OSError(28, "No space left on device")

    (tmp_path / "report.html").write_text("old", encoding="utf-8")
    monkeypatch.setattr("torchsan.report.reports.os.replace", full)
    assert not write(str(tmp_path / "report.html"), None, [], str(tmp_path), 0)
    assert "cannot be written: no space left on device" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["report.html"] and (tmp_path / "report.html").read_text() == "old"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
def test_a_browser_shows_it(program, tmp_path):
    """Light and dark are drawn differently, nothing is complained of, and every part is there."""
    kept = lines(names=("loss/loss", "gradient norm/optimizer", "gradients/a", "gradients/b", "time/loader"))
    many = [finding(program, step=step) for step in range(0, 40, 4)]
    (tmp_path / "report.html").write_text(
        shown(tmp_path, many, kept, ranks={0: kept, 1: kept}, seconds=60.0), encoding="utf-8"
    )
    pictures = []
    for scheme in (0, 1):  # dark, light
        at = tmp_path / f"{scheme}.png"
        said = browse(tmp_path, f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={at}")
        assert "CONSOLE" not in said, said
        pictures.append(at.read_bytes())
    assert pictures[0] != pictures[1] and min(map(len, pictures)) > 20_000


def browse(folder, *flags):
    """What Chromium says while it shows a page."""
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags, (folder / "report.html").as_uri()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr
