"""For coding agents: all that is needed to mend a finding, in as few words as it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchlint.findings import Finding
from torchlint.report import Context, clean, fixable_line, path, place
from torchlint.report.concise import line_of


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print a line for each finding, with the other lines that matter and the help, and below it the fix as a diff; then a
    line that sums up. A help that was given is not given again."""
    helped: set[str] = set()
    for finding in findings:
        line = f"{place(finding.location)}: {finding.severity.value} {finding.code} {clean(finding.message)}"
        for item in finding.related:
            at = item.location
            same_file = at.filename == finding.location.filename
            where = ("" if at.cell is None else f"cell {at.cell}:") + f"{at.row}" if same_file else path(at.filename) + f":{at.row}"
            line += f"; {where}: {clean(item.message)}"
        if finding.help and finding.help not in helped:
            helped.add(finding.help)
            line += f"; help: {clean(finding.help)}"
        out.write(f"{line}\n")
        _fix(finding, out, context)
    for note in context.told:
        out.write(line_of(note))
    if context.files is not None:
        out.write(_summary(findings, context) + "\n")


def _fix(finding: Finding, out: TextIO, context: Context) -> None:
    if finding.fix is None:
        return
    option = "--fix" if finding.fix.applicability == "safe" else "--fix --unsafe-fixes"
    out.write(f"  fix ({option}): {clean(finding.fix.message)}\n")
    for line in (context.diff(finding) or "").split("\n"):
        if line:
            out.write(f"  {clean(line)}\n")


def _summary(findings: Sequence[Finding], context: Context) -> str:
    files = f"{context.files} file{'' if context.files == 1 else 's'}"
    if not findings:
        return f"no findings in what could be judged of {files}" if context.told else f"no findings in {files}"
    count = f"{len(findings)} finding{'' if len(findings) == 1 else 's'} in {files}."
    codes = sorted({finding.code for finding in findings})
    return " ".join(filter(None, (
        count, fixable_line(findings, context), f"Why, and when it is right: torchlint explain {codes[0]}",
    )))
