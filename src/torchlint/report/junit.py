"""JUnit XML, for CI servers: one suite a file, one failed case a finding."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from itertools import groupby
from typing import TextIO

from torchlint.findings import Finding
from torchlint.report import Context, clean, place
from torchlint.report.escapes import in_xml

# What XML 1.0 cannot hold at all, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print one XML document. A clean run has one suite with one case that passed, for servers that insist on one."""
    told = len(findings) + len(context.problems) + len(context.notes)
    top = ElementTree.Element("testsuites", name=context.tool, tests=str(told or 1), failures=str(len(findings)),
                              errors=str(len(context.problems)))
    for filename, group in groupby(findings, key=lambda finding: finding.location.filename):
        members = list(group)
        suite = _suite(top, _text(filename), len(members), failures=len(members))
        for finding in members:
            at = finding.location
            case = ElementTree.SubElement(suite, "testcase", name=f"{finding.code} {finding.name}",
                                          classname=_text(filename), line=str(at.row), column=str(at.column))
            failure = ElementTree.SubElement(
                case, "failure", message=_text(finding.message), type=finding.severity.value
            )
            lines = [f"{place(at)}: {finding.code} {clean(finding.message)}"]
            lines += [f"{place(item.location)}: {clean(item.message)}" for item in finding.related]
            lines += [f"help: {clean(finding.help)}"] if finding.help else []
            failure.text = _text("\n".join(lines))
    for number, problem in enumerate(context.problems, 1):
        suite = _suite(top, f"not judged {number}", 1, errors=1)
        case = ElementTree.SubElement(suite, "testcase", name="judged", classname=context.tool)
        ElementTree.SubElement(case, "error", message=_text(clean(problem.line)))
    for number, note in enumerate(context.notes, 1):
        suite = _suite(top, f"{note.code} {number}", 1)
        case = ElementTree.SubElement(suite, "testcase", name=note.code, classname=context.tool)
        ElementTree.SubElement(case, "system-out").text = _text(clean(note.line))
    if not told:
        ElementTree.SubElement(_suite(top, context.tool, 1), "testcase", name="no findings", classname=context.tool)
    ElementTree.indent(top)
    text = ElementTree.tostring(top, encoding="unicode")
    out.write(f'<?xml version="1.0" encoding="utf-8"?>\n{in_xml(text)}\n')


def _suite(top: ElementTree.Element, name: str, tests: int, failures: int = 0, errors: int = 0) -> ElementTree.Element:
    return ElementTree.SubElement(top, "testsuite", name=name, tests=str(tests), failures=str(failures),
                                  errors=str(errors))


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
