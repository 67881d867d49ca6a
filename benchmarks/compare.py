"""torchlint beside the other linters for PyTorch: on labelled bugs, and on code that people trust.

    python benchmarks/compare.py --corpus LAID_OUT --labels labels.json --trusted examples/ timm/

LAID_OUT has the labelled files (see `scoring.py`), `--trusted` names folders whose findings are judged one by one in
`verdicts.csv`. Each tool is installed from PyPI into an environment of its own in the work folder, runs on one process,
and what it says is kept there: `--run torchlint` runs that tool anew and takes the others from what was kept.
Writes COMPARISON.md, and prints the findings that nobody has judged yet.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from linters import TOOLS, Finding, Run  # noqa: E402
from scoring import Score, covered, score  # noqa: E402

from torchlint.catalogue.pages import DEFAULT_GROUPS, catalogue  # noqa: E402

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
VERDICTS = ("true", "false", "opinion")


@dataclass(frozen=True)
class Row:
    """A line of the tables: a tool, and which of its findings its user sees in this setting."""

    title: str
    tool: str
    keeps: Callable[[Finding], bool] = lambda finding: True


ROWS = (
    Row("torchlint", "torchlint"),
    Row("torchlint --select ALL", "torchlint-all"),
    Row("TorchFix", "TorchFix", lambda finding: not finding.code.startswith(("TOR3", "TOR4", "TOR9"))),
    Row("TorchFix --select ALL", "TorchFix"),
    Row("torch-preflight", "torch-preflight"),
    Row("torch-preflight, without notes", "torch-preflight", lambda finding: finding.level != "note"),
    Row("mldoct", "mldoct"),
    Row("mldoct, without INFO", "mldoct", lambda finding: finding.level != "info"),
    Row("trainlint", "trainlint"),
)
CORPUS_ONLY = {"torchlint-all"}  # performance and advice are asked for: whether they help cannot be told from source
SEES_NOT = {  # codes that a setting leaves out
    "TorchFix": ("TOR3", "TOR4", "TOR9"),
    "torch-preflight, without notes": ("TG004", "TG008"),
    "mldoct, without INFO": ("missing_clip",),
}

LEGEND = """\
- **bugs found**: of all labelled bugs; **of its own matter**: of those whose pitfall one of its rules is about, by
  [peer_codes.toml](peer_codes.toml). **traps**: sound code that a simple rule would flag, and it does. **fixed, still
  flagged**: the mended file has the finding still.
- **true**: what the finding says is so, and a reader who knows the program would change it. **false**: it is not so, or
  what it advises is of no use there or does harm. **opinion**: it is so, and whether to change it is a matter of taste,
  of the data or of the machine. A true finding about what torchlint's catalogue does not have is true all the same.
  Every verdict and its reason: [verdicts.csv](verdicts.csv).
- CPU seconds are user and system time of one call on one process; other work was on the machine, so take them as rough.
  Settings of one tool that share a run share the time. mldoct reads one file a call; here it is called through Python
  for all files at once, which is faster than its command.
"""


def short(path: str, folders: list[Path]) -> str:
    """A path beginning with the name of the folder that has it."""
    for folder in folders:
        if Path(path).resolve().is_relative_to(folder.resolve()):
            return str(folder.name / Path(path).resolve().relative_to(folder.resolve()))
    raise ValueError(path)


def peer_numbers(text: str) -> dict[str, dict[str, set[int]]]:
    """The table of codes: {tool: {code: numbers}}."""
    tools = tomllib.loads(text)
    return {tool: {code: set(numbers) for code, numbers in codes.items()} for tool, codes in tools.items()}


def own_numbers() -> dict[str, dict[str, set[int]]]:
    """The same of torchlint, for its default groups and for all."""
    rules = [rule for rule in catalogue().rules.values() if rule.lint != "none"]
    default = [rule for rule in rules if rule.group in DEFAULT_GROUPS]
    return {
        name: {f"TL{rule.code:03d}": {rule.code} for rule in group}
        for name, group in (("torchlint", default), ("torchlint-all", rules))
    }


def read_verdicts(path: Path) -> dict[tuple[str, str, int, str], str]:
    """{(tool, file, line, code): verdict} of a table with these columns and `reason`."""
    verdicts = {}
    with path.open(encoding="utf-8", newline="") as file:
        for item in csv.DictReader(file):
            if item["verdict"] not in VERDICTS:
                raise ValueError(f"{path.name}: {item['verdict']!r} is not a verdict: {item}")
            verdicts[item["tool"], item["file"], int(item["line"]), item["code"]] = item["verdict"]
    return verdicts


def percent(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "-"


def cpu(run: Run) -> str:
    """The CPU seconds of a run; "-" where its findings were taken over without them."""
    return f"{run.seconds:.0f}" if run.seconds else "-"


def bugs_row(row: Row, version: str, run: Run, result: Score, numbers: set[int]) -> list[str]:
    """A line of the table about the labels."""
    bugs = len(result.caught) + len(result.missed)
    return [
        row.title, version, str(sum(map(row.keeps, run.findings))), percent(len(result.caught), bugs),
        percent(*result.within(covered(numbers))), f"{len(result.sprung)} of {result.traps}",
        f"{len(result.still)} of {result.twins}", cpu(run), str(len(run.crashes)),
    ]


def trusted_row(row: Row, run: Run, verdicts: dict[tuple[str, str, int, str], str], lines: int) -> list[str]:
    """A line of the table about trusted code; the files of `run` are short."""
    seen = [finding for finding in run.findings if row.keeps(finding)]
    count = Counter(verdicts.get((row.tool, item.file, item.line, item.code), "not read") for item in seen)
    speed = f"{lines / run.seconds:,.0f}" if run.seconds else "-"
    return [
        row.title, str(len(seen)), *(str(count[word]) for word in (*VERDICTS, "not read")),
        percent(count["true"], len(seen)), cpu(run), speed, str(len(run.crashes)),
    ]


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def machine() -> str:
    """The machine in a line."""
    info = Path("/proc/cpuinfo")
    names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")] \
        if info.exists() else []
    return f"{names[0] if names else platform.machine()}; {platform.system()}, Python {platform.python_version()}"


def collect(tool: str, folders: dict[str, list[Path]], work: Path, again: bool) -> tuple[str, dict[str, Run]] | None:
    """The version of a tool and its runs, from the work folder where they are kept; None where pip cannot get it."""
    kept = {part: work / "runs" / f"{tool}.{part}.json" for part in folders}
    binaries = TOOLS[tool].install(work / "envs")
    if binaries is None:
        return None
    runs = {}
    for part, paths in folders.items():
        if again or not kept[part].exists():
            print(f"{tool} on {part} ...", file=sys.stderr)
            run = TOOLS[tool].run(binaries, paths)
            run.findings = sorted(replace(item, file=short(item.file, paths)) for item in run.findings)
            kept[part].parent.mkdir(parents=True, exist_ok=True)
            kept[part].write_text(run.to_json())
        runs[part] = Run.from_json(kept[part].read_text())
    return TOOLS[tool].version(binaries), runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--labels", type=Path, required=True)
    parser.add_argument("--trusted", type=Path, nargs="+", required=True)
    parser.add_argument("--work", type=Path, default=Path("build/compare"), help="environments and what the tools said")
    parser.add_argument("--run", default="", help="tools to run anew although their findings are kept; or ALL")
    args = parser.parse_args()
    anew = set(TOOLS) if args.run == "ALL" else set(args.run.split(","))
    args.corpus, args.trusted = args.corpus.resolve(), [folder.resolve() for folder in args.trusted]

    labels = json.loads(args.labels.read_text(encoding="utf-8"))
    numbers = own_numbers() | peer_numbers((HERE / "peer_codes.toml").read_text(encoding="utf-8"))
    verdicts = read_verdicts(HERE / "verdicts.csv")
    files = [path for folder in args.trusted for path in folder.rglob("*.py")]
    lines = sum(len(path.read_bytes().splitlines()) for path in files)
    names = " and ".join(folder.name for folder in args.trusted)

    bugs, trusted, absent, collected = [], [], [], {}
    for row in ROWS:
        if row.tool not in collected:
            folders = {"corpus": [args.corpus]} | ({} if row.tool in CORPUS_ONLY else {"trusted": args.trusted})
            collected[row.tool] = collect(row.tool, folders, args.work, row.tool in anew)
        if collected[row.tool] is None:
            absent.append(f"{row.title}: pip found no such package.")
            continue
        version, runs = collected[row.tool]
        seen = [
            replace(item, file=str(args.corpus.parent / item.file))
            for item in runs["corpus"].findings if row.keeps(item)
        ]
        hidden = SEES_NOT.get(row.title, ())
        codes = {code: what for code, what in numbers[row.tool].items() if not code.startswith(hidden)}
        result = score(labels, args.corpus, seen, numbers[row.tool])
        bugs.append(bugs_row(row, version, runs["corpus"], result, set().union(*codes.values())))
        if "trusted" in runs:
            trusted.append(trusted_row(row, runs["trusted"], verdicts, lines))
            for item in runs["trusted"].findings:
                if row.keeps(item) and (row.tool, item.file, item.line, item.code) not in verdicts:
                    print(f"not read: {row.tool},{item.file},{item.line},{item.code}  {item.message}")

    bug_count = sum(label["split"] != "trap" for label in labels)
    parts = [
        "# torchlint beside other linters for PyTorch",
        f"Made by `python benchmarks/compare.py` on {date.today()}, whose docstring says how. {machine()}.",
        "## Labelled bugs: the development split",
        f"{bug_count} bugs and {len(labels) - bug_count} traps in public repositories, each read by hand, most of "
        "the bugs confirmed by an issue or a fix. torchlint was developed against these labels; the other tools were "
        "not.",
        table(
            ["tool", "version", "findings", "bugs found", "of its own matter", "traps", "fixed, still flagged", "CPU s",
             "files it could not judge"],
            bugs,
        ),
        f"## Trusted code: {names}",
        f"{len(files)} files, {lines:,} lines.",
        table(
            ["tool", "findings", *VERDICTS, "not read", "share true", "CPU s", "lines per CPU s",
             "files it could not judge"],
            trusted,
        ),
        *absent,
        "## What the columns mean",
        LEGEND.rstrip(),
    ]
    (HERE / "COMPARISON.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
