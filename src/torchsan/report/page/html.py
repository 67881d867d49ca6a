"""The report as one page of HTML that needs nothing else: findings with their source, and the course of the run.

jinja2 (which torch needs, too) fills `page.html`, escaping everything that comes from the program; `style.css` is put
inside, and so is `page.js`, the one script that the page's own policy lets run: it sorts, filters and zooms. Nothing is fetched
when the page is opened, and where no script may run the page shows all that it has.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from torchlint import __version__
from torchlint.catalogue.pages import Rule
from torchlint.findings import Finding, Location, Severity
from torchlint.report import place
from torchsan.own import time
from torchsan.report import first_batch, printing, wording
from torchsan.report.first_batch import FirstBatch
from torchsan.report.page.charts import Mark, heat_map, legend, plot
from torchsan.report.page.code import with_code
from torchsan.report.page.numbers import short
from torchsan.report.series import Line

_FOLDER = Path(__file__).parent
_AROUND = 2  # lines before and after the one of a finding
_OPEN = 20  # findings that are unfolded from the start
_CHARTS = (
    ("loss", "Loss", "The value that backward began at, before any scaling; of a tiny model, of some steps."),
    ("gradient norm", "Gradient norm", "L2, over all parameters of an optimizer, as its step used them; of the first "
     "steps and then of one in 16 or fewer, and of all with level=\"thorough\"."),
    ("learning rate", "Learning rate", ""),
)
_ALL = ", all its batches and ranks together"
_MAPS = (
    ("gradients", "Gradients by layer", "L2 norm of the gradients of each layer; brighter is larger."),
    ("updates", "Updates by layer", "Size of a step's update against the size of the weights; about 0.001 is usual."),
    ("dead", "Silent units by layer", "Share of units that have given zero for a while; brighter is larger."),
    ("saturated", "Saturated units by layer", "Share of units at the flat ends of sigmoid or tanh."),
)


class Run(msgspec.Struct):
    """What a page tells of.

    `findings` have the files' full names, `base` is the folder that these are told from. `kept` are the series by their
    full names; `ranks` those of other ranks. `problems` are lines about what was not watched.
    """

    findings: Sequence[Finding]
    steps: int
    base: str
    kept: Mapping[str, Any]
    ranks: Mapping[int, Mapping[str, Any]] = {}
    problems: Sequence[str] = ()
    program: str = ""
    seconds: float | None = None
    first_batch: FirstBatch | None = None


def render(run: Run) -> str:
    """The page.

    Raises:
        ImportError: jinja2 is not there.
    """
    short_ones = printing.shortened(run.findings, run.base)
    found = [
        {
            **_told(finding, run.base),
            "anchor": f"finding-{number}",
            "related": [{"message": r.message, "place": place(r.location), "lines": _excerpt(r.location, run.base, 1)}
                        for r in finding.related],
            "open": number <= _OPEN,
        }
        for number, finding in enumerate(short_ones, 1)
    ]
    marks = [
        Mark(f.step, f.code, f"finding-{number}", f.severity.value)
        for number, f in enumerate(short_ones, 1) if f.step is not None
    ]
    charts = [
        {"title": title, "text": text or _samples(run.kept), "svg": svg, "legend": legend(lines), "more": len(lines) - len(legend(lines))}
        for kind, title, text in _CHARTS
        if (lines := _of(run.kept, kind)) and (svg := _chart(kind, lines, marks, title))
    ]
    maps = [
        {"title": title, "text": text, "svg": svg, "least": _ends(lines)[0], "most": _ends(lines)[1]}
        for kind, title, text in _MAPS if (lines := _of(run.kept, kind)) and (svg := heat_map(lines, title))
    ]
    return _template().render(
        findings=found, rules=_rules(short_ones), charts=charts, maps=maps, lost=_lost(run), ranks=_ranks(run), problems=run.problems,
        steps=printing.counted(run.steps, "optimizer step"), count=printing.counted(len(found), "finding"),
        program=run.program, version=__version__, when=time.strftime("%Y-%m-%d %H:%M"),
        duration=_duration(run.seconds) if run.seconds else "", style=_text("style.css"), script=_text("page.js"), script_hash=_script_hash(),
        severities=_severities(short_ones), finding_ranks=sorted({rank for finding in short_ones for rank in finding.ranks}),
        batch_head=first_batch.head(run.first_batch) if run.first_batch else "", batch=_batch(run),
        rank_plot=plot(_rank_losses(run), marks, "loss by rank") if run.ranks else "",
        rank_legend=legend(_rank_losses(run)) if run.ranks else (),
    )


def _batch(run: Run) -> Any:
    from markupsafe import Markup

    return Markup(first_batch.as_html(run.first_batch)) if run.first_batch else ""


def _chart(kind: str, lines: Mapping[str, Line], marks: Sequence[Mark], title: str) -> str:
    """A schedule that ends near zero is a curve that people know, and findings have little to do with it."""
    return plot(lines, (), title, linear=True) if kind == "learning rate" else plot(lines, marks, title)


def _samples(kept: Mapping[str, Any]) -> str:
    """How many samples a step was made of, by optimizer where they differ."""
    sizes = {name: int(line.last) for name, line in _of(kept, "samples").items()}
    if len(set(sizes.values())) < 2:
        return f"A step was made of {printing.counted(min(sizes.values()), 'sample')}{_ALL}." if sizes else ""
    return "Samples of a step" + _ALL + ": " + ", ".join(f"{name} {size}" for name, size in sizes.items()) + "."


def _told(finding: Finding, base: str) -> dict[str, Any]:
    return {
        "code": finding.code, "name": finding.name, "severity": finding.severity.value, "message": finding.message,
        "help": finding.help, "place": place(finding.location), "lines": _excerpt(finding.location, base, _AROUND),
        # A page of the user's may hold any address: only such as lead to the web become links.
        "url": finding.url if finding.url.startswith(("https://", "http://")) else "",
        "rule": _page_of(finding) is not None, "often": printing.how_often(finding), "step": finding.step,
        "count": finding.count, "ranks": finding.ranks, "path": finding.location.filename, "row": finding.location.row,
        "details": [(key, str(value)) for key, value in finding.details.items()],
    }


def _page_of(finding: Finding) -> Rule | None:
    return wording.rules().find(finding.code)


def _rules(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """The pages of the rules that findings are of, so that the reader needs no other place. The pages are ours; HTML in them
    stays text, and no picture is loaded."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    markdown.add_render_rule("link_open", _link)
    pages = {page.code: (finding, page) for finding in findings if (page := _page_of(finding)) is not None}
    return [
        {"code": finding.code, "name": page.name, "severity": page.severity.value, "text": Markup(markdown.render(page.text))}
        for _, (finding, page) in sorted(pages.items())
    ]


def _link(renderer: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """The start of a link that does not tell where its reader comes from."""
    tokens[at].attrSet("rel", "noreferrer")
    return renderer.renderToken(tokens, at, options, env)


def _excerpt(location: Location, base: str, around: int) -> list[tuple[int, str, bool]]:
    """Rows about a location: number, text, and whether it is the one."""
    context = printing.context(base)
    rows = []
    for row in range(max(1, location.row - around), location.row + around + 1):
        text = context.lines(msgspec.structs.replace(location, row=row))
        if text is not None:
            rows.append((row, text.expandtabs(4), row == location.row))
    return rows


def _of(kept: Mapping[str, Any], kind: str) -> dict[str, Line]:
    return {name[len(kind) + 1:]: line for name, line in kept.items() if name.startswith(f"{kind}/")}


def _ends(lines: Mapping[str, Line]) -> tuple[str, str]:
    values = [mean for line in lines.values() for _, mean, _, _ in line.points() if 0 < mean < float("inf")]
    return short(min(values)), short(max(values))


def _lost(run: Run) -> list[dict[str, Any]]:
    """Times by what they were lost to, the longest first, and how much of the run that was."""
    times = sorted(_of(run.kept, "time").items(), key=lambda item: -item[1].total)
    whole = run.seconds or sum(line.total for _, line in times)
    return [
        {"name": name, "total": _duration(line.total), "count": f"{line.count:,}", "seconds": line.total,
         "seconds_each": line.total / line.count, "each": _duration(line.total / line.count), "share": min(100.0, 100 * line.total / whole) if whole else 0.0}
        for name, line in times if line.count
    ]


def _duration(seconds: float) -> str:
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def _ranks(run: Run) -> list[dict[str, Any]]:
    """A row for each rank: how many findings, the newest loss and gradient norm, the time that it lost."""
    seen = {rank for finding in run.findings for rank in finding.ranks} | set(run.ranks)
    rows = []
    for rank in sorted(seen) if len(seen) > 1 or run.ranks else ():
        kept = run.ranks.get(rank, {})
        total = sum(line.total for line in _of(kept, "time").values())
        losses, norms = (list(_of(kept, kind).values())[:1] for kind in ("loss", "gradient norm"))
        rows.append({
            "rank": rank, "findings": sum(rank in finding.ranks for finding in run.findings),
            "loss": short(losses[0].means[-1]) if losses and len(losses[0].means) else "–",
            "norm": short(norms[0].means[-1]) if norms and len(norms[0].means) else "–",
            "lost": _duration(total) if total else "–", "seconds_lost": total,
        })
    return rows


def _rank_losses(run: Run) -> dict[str, Line]:
    return {
        f"rank {rank}": next(iter(losses.values()))
        for rank, kept in sorted(run.ranks.items()) if (losses := _of(kept, "loss"))
    }


@lru_cache(maxsize=1)
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader

    folder = FileSystemLoader(str(_FOLDER), encoding="utf-8")
    environment = Environment(loader=folder, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["with_code"] = with_code
    return environment.get_template("page.html")


def _severities(findings: Sequence[Finding]) -> list[tuple[str, int]]:
    """How many findings there are of each severity that there is one of, the gravest first."""
    counts = Counter(finding.severity.value for finding in findings)
    return [(severity.value, counts[severity.value]) for severity in Severity if counts[severity.value]]


@lru_cache(maxsize=2)
def _text(name: str) -> Any:
    """A file of ours that goes into the page as it is."""
    from markupsafe import Markup

    return Markup((_FOLDER / name).read_text(encoding="utf-8"))


def _script_hash() -> str:
    """What the page's policy knows the script by; see https://www.w3.org/TR/CSP3/#grammardef-hash-source."""
    return "sha256-" + base64.b64encode(hashlib.sha256(_text("page.js").encode()).digest()).decode()
