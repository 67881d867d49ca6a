"""Reports as files, in the form that the file's ending says. What cannot be written is said, and the run goes on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from torchlint.findings import Finding
from torchlint.report import clean
from torchsan.own import io, os
from torchsan.report import printing
from torchsan.report.deliver import say

REPORTS = {".html": "html", ".json": "json", ".sarif": "sarif", ".xml": "junit"}


def write(path: str, san: Any, findings: Sequence[Finding], base: str, steps: int, shown: str | None = None) -> bool:
    """Write a watch's report to `path`, whole or not at all.

    Args:
        san: the watch; None where there was none.
        findings: what it and the processes that it knows of found.
        base: the folder that paths are told from.
        steps: optimizer steps that were made.
        shown: what to call the file in what is said.

    Returns:
        Whether it was written; if not, a line on standard error says why.
    """
    shown = shown or path
    kind = REPORTS.get(os.path.splitext(path)[1].lower())
    if kind is None:
        say(f"{shown} cannot be written: a report ends in {', '.join(REPORTS)}")
        return False
    try:
        _put(path, _page(san, findings, base, steps) if kind == "html" else _plain(kind, san, findings, base))
    except OSError as error:
        say(f"{shown} cannot be written: {(error.strerror or str(error)).lower()}")
        return False
    except ImportError as error:
        say(f"{shown} cannot be written: {error} (pip install 'torchlint[san]')")
        return False
    return True


def _problems(san: Any) -> list[str]:
    return [] if san is None else [clean(f"{name} was switched off: {why}") for name, why in san.off.items()]


def _plain(kind: str, san: Any, findings: Sequence[Finding], base: str) -> str:
    from torchlint import report

    out = io.StringIO()
    notes = [report.Note(report.NOT_JUDGED, None, line, line) for line in _problems(san)]
    context = printing.context(base, problems=notes)
    report.write(kind, printing.shortened(findings, base), out, context)
    return out.getvalue()


def _page(san: Any, findings: Sequence[Finding], base: str, steps: int) -> str:
    from torchsan.report.page import html
    from torchsan.report.series import lines_of

    program = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] not in ("", "-c", "-m") else ""
    if san is None:
        return html.render(html.Run(findings, steps, base, {}, program=program))
    ranks = {rank: lines_of(brief) for rank, brief in san.series_of_ranks.items()}
    if ranks and san.me is not None:
        ranks[san.me.rank] = lines_of(san.series.brief())
    return html.render(
        html.Run(findings, steps, base, san.series.lines, ranks, _problems(san), program, san.series.seconds, san.first_batch)
    )


def _put(path: str, text: str) -> None:
    """Write a file so that a full disk leaves no half of it. What is no plain file (a pipe) is written to as it is."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.replace(part, path)
    except BaseException:  # a key pressed meanwhile, too
        try:
            os.unlink(part)
        except OSError:
            pass
        raise
