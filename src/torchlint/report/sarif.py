"""SARIF 2.1.0, for code scanning services."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, TextIO
from urllib.parse import quote

from torchlint.addresses import SITE
from torchlint.catalogue.pages import Rule
from torchlint.findings import Finding, Location, Related, Severity
from torchlint.report import Context, fingerprints, write_json
from torchlint.report import sarif_objects as sarif

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# The name says how it is made, so that services never compare fingerprints of different kinds.
_FINGERPRINT = "torchlintFinding/v1"


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print one SARIF run."""
    write_json(log_of(findings, context), out)


def log_of(findings: Sequence[Finding], context: Context) -> sarif.Log:
    """The findings as a SARIF log."""
    # The rules of the findings alone: all pages together are more than half a megabyte. A code comes with its rule even where
    # the catalogue of this run lacks it.
    rules = {f"{context.prefix}{number:03d}": rule for number, rule in context.rules.items()}
    described: dict[str, sarif.ReportingDescriptor] = {}
    for finding in sorted(findings, key=lambda finding: finding.code):
        if finding.code not in described:
            known = rules.get(finding.code)
            described[finding.code] = _bare_rule(finding) if known is None else _rule(finding.code, known)
    index = {code: number for number, code in enumerate(described)}
    driver = sarif.ToolComponent(
        name=context.tool, information_uri=SITE or None, rules=list(described.values()), version=context.version or None
    )
    invocation = sarif.Invocation(
        execution_successful=not context.problems,
        tool_execution_notifications=[
            *(sarif.Notification(level="error", message=sarif.Message(text=one.line)) for one in context.problems),
            *(sarif.Notification(level="note", message=sarif.Message(text=one.line)) for one in context.notes),
        ],
    )
    run = sarif.Run(
        tool=sarif.Tool(driver=driver), invocations=[invocation], column_kind="unicodeCodePoints",
        results=_results(findings, index, context),
    )
    return sarif.Log(schema=SCHEMA, version="2.1.0", runs=[run])


def _results(findings: Sequence[Finding], index: dict[str, int], context: Context) -> list[sarif.Result]:
    results = []
    for finding, fingerprint in zip(findings, fingerprints(findings, context)):
        properties: dict[str, Any] = {"group": finding.group}
        if finding.step is not None:
            properties["step"] = finding.step
        if finding.ranks:
            properties["ranks"] = list(finding.ranks)
        if finding.details:
            properties["details"] = finding.details
        message = finding.message + (f"\n\n{finding.help}" if finding.help else "")
        results.append(sarif.Result(
            rule_id=finding.code, rule_index=index[finding.code], level=finding.severity.value,
            message=sarif.Message(text=message), locations=[_location(finding.location)],
            partial_fingerprints={_FINGERPRINT: fingerprint},
            related_locations=[_related(number, item) for number, item in enumerate(finding.related)],
            occurrence_count=finding.count, properties=properties,
        ))
    return results


def _rule(code: str, rule: Rule) -> sarif.ReportingDescriptor:
    level = rule.severity.value
    return sarif.ReportingDescriptor(
        id=code, name=_pascal(rule.name),
        short_description=sarif.RuleText.of(rule.summary),
        full_description=sarif.RuleText.of(_first_paragraph(rule.text) or rule.summary),
        help=sarif.RuleText.of(rule.help or rule.summary, rule.text.strip() or rule.summary),
        help_uri=rule.url or None, default_configuration=sarif.Configuration(level=level),
        properties={"group": rule.group, "tags": ["pytorch", rule.group], "problem.severity": _problem(level)},
    )


def _bare_rule(finding: Finding) -> sarif.ReportingDescriptor:
    return sarif.ReportingDescriptor(
        id=finding.code, name=_pascal(finding.name), help_uri=finding.url or None, properties={"group": finding.group}
    )


def _problem(level: str) -> str:
    return "recommendation" if level == Severity.NOTE.value else level


def _pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("-"))


def _first_paragraph(text: str) -> str:
    """The first paragraph of a page that is no heading, on one line."""
    parts = (part.strip() for part in re.split(r"\n\s*\n|^#.*$", text, flags=re.MULTILINE))
    return " ".join(next((part for part in parts if part), "").split())


def _location(at: Location, **beside: Any) -> sarif.Location:
    path = PurePath(at.filename)
    file = sarif.ArtifactLocation(uri=path.as_uri() if path.is_absolute() else quote(path.as_posix()))
    if at.cell is None:
        region = sarif.Region(
            start_line=at.row, start_column=at.column, end_line=at.end_row, end_column=at.end_column
        )
        return sarif.Location(physical_location=sarif.PhysicalLocation(artifact_location=file, region=region), **beside)
    # Rows count within the cell, which SARIF cannot say: the file is named, and the cell in words.
    cell = sarif.LogicalLocation(name=f"cell {at.cell}, line {at.row}, column {at.column}", kind="member")
    return sarif.Location(
        physical_location=sarif.PhysicalLocation(artifact_location=file), logical_locations=[cell], **beside
    )


def _related(number: int, item: Related) -> sarif.Location:
    return _location(item.location, id=number, message=sarif.Message(text=item.message))
