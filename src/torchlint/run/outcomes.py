"""The outcomes of several projects as one."""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.run.runner import Outcome


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcomes of all parts as one. Two projects may see one line that both call: it is told once."""
    if len(outcomes) == 1:
        return outcomes[0]
    findings = {finding.sort_key: finding for outcome in reversed(outcomes) for finding in outcome.findings}
    problems = {problem: None for outcome in outcomes for problem in outcome.problems}
    return Outcome(
        sorted(findings.values(), key=lambda finding: finding.sort_key),
        sorted(problems, key=lambda one: (one.filename, one.cell or 0, one.row or 0, one.message)),
        sum(outcome.files for outcome in outcomes), [line for outcome in outcomes for line in outcome.warnings],
        [finding for outcome in outcomes for finding in outcome.elsewhere],
    )
