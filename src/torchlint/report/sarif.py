"""SARIF 2.1.0, for code scanning services."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, TextIO
from urllib.parse import quote

from torchlint.catalogue.pages import Rule
from torchlint.findings import Finding, Location, Related, Severity
from torchlint.report import Context, fingerprints, write_json

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
HOME = "https://torchlint.readthedocs.io"
# The name says how it is made, so that services never compare fingerprints of different kinds.
_FINGERPRINT = "torchlintFinding/v1"


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print one SARIF run."""
    write_json(as_log(findings, context), out)


def as_log(findings: Sequence[Finding], context: Context) -> dict[str, Any]:
    """The SARIF log in plain types."""
    # Codes that are broken come with their rule even where the catalogue of this run lacks it.
    rules = {f"{context.prefix}{number}": rule for number, rule in context.rules.items()}
    rules = {code: _rule(code, rule) for code, rule in rules.items()}
    for finding in findings:
        rules.setdefault(finding.code, _bare_rule(finding))
    index = {code: number for number, code in enumerate(rules)}
    invocation: dict[str, Any] = {"executionSuccessful": not context.problems}
    if context.problems:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": line}} for line in context.problems
        ]
    driver = {"name": context.tool, "informationUri": HOME, "rules": list(rules.values())}
    if context.version:
        driver["version"] = context.version
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": _results(findings, index, context),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _results(findings: Sequence[Finding], index: dict[str, int], context: Context) -> list[dict[str, Any]]:
    results = []
    for finding, fingerprint in zip(findings, fingerprints(findings, context)):
        message = finding.message + (f"\n\n{finding.help}" if finding.help else "")
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": index[finding.code],
            "level": finding.severity.value,
            "message": {"text": message},
            "locations": [_location(finding.location)],
            "partialFingerprints": {_FINGERPRINT: fingerprint},
        }
        if finding.related:
            result["relatedLocations"] = [_related(number, item) for number, item in enumerate(finding.related)]
        if finding.count > 1:
            result["occurrenceCount"] = finding.count
        properties: dict[str, Any] = {"group": finding.group}
        if finding.step is not None:
            properties["step"] = finding.step
        if finding.ranks:
            properties["ranks"] = list(finding.ranks)
        if finding.details:
            properties["details"] = finding.details
        results.append({**result, "properties": properties})
    return results


def _rule(code: str, rule: Rule) -> dict[str, Any]:
    level = rule.severity.value
    return {
        "id": code,
        "name": _pascal(rule.name),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": _first_paragraph(rule.text) or rule.summary},
        "help": {"text": rule.help or rule.summary, "markdown": rule.text.strip() or rule.summary},
        "helpUri": rule.url,
        "defaultConfiguration": {"level": level},
        "properties": {"group": rule.group, "tags": ["pytorch", rule.group], "problem.severity": _problem(level)},
    }


def _bare_rule(finding: Finding) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": finding.code, "name": _pascal(finding.name), "properties": {"group": finding.group}}
    if finding.url:
        rule["helpUri"] = finding.url
    return rule


def _problem(level: str) -> str:
    return "recommendation" if level == Severity.NOTE.value else level


def _pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("-"))


def _first_paragraph(text: str) -> str:
    """The first paragraph of a page that is no heading, on one line."""
    parts = (part.strip() for part in re.split(r"\n\s*\n|^#.*$", text, flags=re.MULTILINE))
    return " ".join(next((part for part in parts if part), "").split())


def _location(at: Location) -> dict[str, Any]:
    path = PurePath(at.filename)
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}
    }
    if at.cell is None:
        physical["region"] = _region(at)
        return {"physicalLocation": physical}
    # Rows count within the cell, which SARIF cannot say: the file is named, and the cell in words.
    return {
        "physicalLocation": physical,
        "logicalLocations": [{"name": f"cell {at.cell}, line {at.row}, column {at.column}", "kind": "member"}],
    }


def _region(at: Location) -> dict[str, int]:
    region = {"startLine": at.row, "startColumn": at.column}
    if at.end_row is not None:
        region["endLine"] = at.end_row
    if at.end_column is not None:
        region["endColumn"] = at.end_column
    return region


def _related(number: int, item: Related) -> dict[str, Any]:
    return {"id": number, "message": {"text": item.message}, **_location(item.location)}
