"""The pages of the rules on the site: what the catalogue, the tests and the settings know of each, around its own text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torchlint.catalogue.fixable import kind_of
from torchlint.catalogue.pages import AREAS, DEFAULT_GROUPS, GROUPS, Rule

_FIXES = {"safe": "safe", "unsafe": "unsafe", "both": "safe or unsafe", "": "none"}


def rule_page(rule: Rule, root: Path, repository: str) -> str:
    """One rule's page. Links in it are those of the page in the repository."""
    code = f"{rule.code:03d}"
    fix = kind_of(rule.code, rule.forms)
    facts = [
        ("codes", ", ".join(f"`{prefix}{code}`" for prefix, told in (("TL", rule.lint), ("TS", rule.live)) if told != "none")),
        ("told by", _told_by(rule)),
        ("group", f"{rule.group}, {'on' if rule.group in DEFAULT_GROUPS else 'off'} by default, {rule.severity.value}"),
        ("fix", _FIXES[fix] + (" ([why](../../docs/fixes.md))" if fix else "")),
        ("since", rule.since or "0.1"),
        ("torch", rule.torch or "all releases"),
        ("in tests", "silent unless `strict-tests`" if rule.tests == "silent" else "told as elsewhere"),
        ("settings", "[select, ignore, per-file-ignores, severity](../../docs/settings.md)"),
    ]
    head, *rows = (f"| {name} | {text} |" for name, text in facts)
    table = "\n".join([head, "|---|---|", *rows])
    return f"# {code} {rule.name}\n\n{rule.summary}\n\n{table}\n\n{rule.text.strip()}\n\n{_code(rule, root, repository)}"


def _told_by(rule: Rule) -> str:
    tools = (("torchlint (source)", rule.lint), ("torchsan (runs)", rule.live))
    return ", ".join(tool for tool, told in tools if told != "none") or "nothing yet ([why](../../docs/not-checked.md))"


def _code(rule: Rule, root: Path, repository: str) -> str:
    """Where the rule's code and tests are, for those who look closer."""
    area, module = AREAS[rule.code // 100], f"{rule.name.replace('-', '_')}.py"
    paths = [f"rules/{area}/{rule.code:03d}-{rule.name}.md"]
    paths += [f"src/{room}/{area}/{module}" for room in ("torchlint/rules", "torchsan/checks")]
    paths += sorted(
        path.relative_to(root).as_posix() for tool in ("torchlint/rules", "torchsan/checks")
        for path in (root / "tests" / tool / area).glob(f"test_{module}")
    )
    there = [path for path in paths if (root / path).exists()]
    links = [f"[`{path}`]({repository}/blob/main/{path})" if repository else f"`{path}`" for path in there]
    return "## In the repository\n\n" + "\n".join(f"- {link}" for link in links) + "\n"


def index_page(rules: Sequence[Rule]) -> str:
    """All rules by area, and how many there are of each group."""
    counts = ", ".join(f"{sum(rule.group == group for rule in rules)} {group}" for group in GROUPS)
    parts = [f"# Rules\n\n{len(rules)} mistakes: {counts}. A code is `TL` or `TS` and the number.\n"]
    for digit, area in sorted(AREAS.items()):
        rows = [
            f"| [{rule.code:03d}]({rule.code:03d}-{rule.name}.md) | {rule.name} | {rule.summary.replace('|', chr(92) + '|')} "
            f"| {rule.group} | {_short(rule)} | {kind_of(rule.code, rule.forms)} |"
            for rule in rules if rule.code // 100 == digit
        ]
        head = "| number | name | what goes wrong | group | told by | fix |\n|---|---|---|---|---|---|"
        parts.append("\n".join([f"## {area.capitalize()}\n", head, *rows]) + "\n")
    return "\n".join(parts)


def _short(rule: Rule) -> str:
    return " ".join(prefix for prefix, told in (("TL", rule.lint), ("TS", rule.live)) if told != "none")
