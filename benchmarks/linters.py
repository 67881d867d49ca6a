"""The linters that `compare.py` runs: how each is installed and called, and what it prints turned into findings."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

# mldoct's command prints a table without lines, one file a call; the function behind it gives the lines, too.
MLDOCT = """
import json, sys
from pathlib import Path
from mldoctor.linter import lint_script
out = []
for path in sorted(p for root in sys.argv[1:] for p in Path(root).rglob("*.py")):
    try:
        out += [{**item, "path": str(path)} for item in lint_script(str(path))[0]]
    except Exception as error:
        out.append({"path": str(path), "crash": repr(error)})
print(json.dumps(out))
"""
TORCHFIX = re.compile(r"^(?P<file>.+?\.pyi?):(?P<line>\d+):\d+: (?P<code>TOR\d+) (?:\[\*\] )?(?P<message>.*)$", re.M)


def binaries_of(folder: Path) -> Path:
    """The `bin` folder of a virtual environment."""
    return folder / ("Scripts" if sys.platform == "win32" else "bin")


def environment(folder: Path, *packages: str) -> Path | None:
    """The `bin` folder of a new environment with these packages, installed in order; None where pip cannot have one."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    binaries = binaries_of(folder)
    for package in packages:
        done = subprocess.run([str(binaries / "python"), "-m", "pip", "install", "--quiet", package], check=False)
        if done.returncode:
            return None
    return binaries


@dataclass(frozen=True, order=True)
class Finding:
    """`line` is 0 where the tool names the file alone; `level` is the tool's own word for how bad it is."""

    file: str
    line: int
    code: str
    level: str = ""
    message: str = ""


@dataclass
class Run:
    """What one call of a tool gave, and the CPU seconds (user and system, with its child processes) it took."""

    findings: list[Finding]
    crashes: list[str]  # files that the tool could not judge, with its reason
    seconds: float = 0.0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Run:
        data = json.loads(text)
        return cls([Finding(**item) for item in data["findings"]], data["crashes"], data["seconds"])


def parse_torchlint(out: str, err: str) -> Run:
    findings = [
        Finding(item["filename"], item["location"]["row"], item["code"], item["group"], item["message"])
        for item in json.loads(out)
    ]
    said = [line.removeprefix("torchlint: ") for line in err.splitlines() if line.startswith("torchlint: ")]
    return Run(findings, said)


def parse_torchfix(out: str, err: str) -> Run:
    """TorchFix prints patches between its findings, and the names of files that it gave up in stderr."""
    findings = [Finding(m["file"], int(m["line"]), m["code"], "", m["message"]) for m in TORCHFIX.finditer(out)]
    return Run(findings, [line for line in err.splitlines() if line.startswith("Failed to codemod")])


def parse_preflight(out: str, err: str) -> Run:
    data = json.loads(out)
    findings = [
        Finding(item["path"], item["line"], item["code"], item["severity"], item["message"])
        for item in data["diagnostics"]
    ]
    return Run(findings, [f"{item['path']}: {item['error']}" for item in data.get("failures", ())])


def parse_mldoct(out: str, err: str) -> Run:
    """A file that does not parse is a finding to mldoct: here it is one that it could not judge, as with the others."""
    run = Run([], [])
    for item in json.loads(out):
        if "crash" in item or item["type"] == "syntax_error":
            run.crashes.append(f"{item['path']}: {item.get('crash') or item['message']}")
        else:
            level = item["severity"].lower()
            run.findings.append(Finding(item["path"], item["line"] or 0, item["type"], level, item["message"]))
    return run


@dataclass(frozen=True)
class Tool:
    """A linter.

    `package` is its name on PyPI, "" for the torchlint of this environment; `first` what pip installs before it;
    `command` makes the arguments of a call out of the environment's `bin` folder and the folders to judge.
    """

    name: str
    package: str
    command: Callable[[Path, list[str]], list[str]]
    parse: Callable[[str, str], Run]
    first: tuple[str, ...] = field(default=())

    def install(self, envs: Path) -> Path | None:
        """The `bin` folder of an environment that has the tool; None where pip cannot find it."""
        if not self.package:
            return Path(sys.executable).parent
        folder = envs / self.package
        binaries = binaries_of(folder)
        return binaries if self.version(binaries) else environment(folder, *self.first, self.package)

    def version(self, binaries: Path) -> str:
        """The installed version, "" where there is none."""
        if not (binaries / "python").exists():
            return ""
        code = f"import importlib.metadata as m; print(m.version({self.package or 'torchlint'!r}))"
        done = subprocess.run([str(binaries / "python"), "-c", code], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    def run(self, binaries: Path, folders: list[Path]) -> Run:
        """One call over all `folders`, on one process."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = self.command(binaries, [str(folder) for folder in folders])
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # findings make some exit with 1
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            run = self.parse(done.stdout, done.stderr)
        except ValueError:
            raise SystemExit(f"{self.name}: exit status {done.returncode}\n{done.stderr[-2000:]}") from None
        run.seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return run


def torchlint(*options: str) -> Callable[[Path, list[str]], list[str]]:
    base = ["-m", "torchlint", "--no-cache", "-j", "1", "--output-format", "json", *options]
    return lambda binaries, folders: [str(binaries / "python"), *base, *folders]


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("torchlint", "", torchlint(), parse_torchlint),
        Tool("torchlint-all", "", torchlint("--select", "ALL"), parse_torchlint),
        Tool(
            "TorchFix", "TorchFix",
            lambda bin_, folders: [str(bin_ / "torchfix"), "-j", "1", "--select", "ALL", "--show-stderr", *folders],
            parse_torchfix,
        ),
        Tool(
            "torch-preflight", "torch-preflight",
            lambda binaries, folders: [str(binaries / "torch-preflight"), "check", "-f", "json", "-j", "1", *folders],
            parse_preflight,
        ),
        Tool(
            "mldoct", "mldoct", lambda binaries, folders: [str(binaries / "python"), "-c", MLDOCT, *folders],
            parse_mldoct, ("torch==2.13.0",),  # pip would take its newest torch otherwise, with gigabytes for CUDA
        ),
        # Told of here and there, but not to be had from PyPI when this was written: what it prints is not known.
        Tool("trainlint", "trainlint", lambda bin_, folders: [str(bin_ / "trainlint"), *folders], parse_torchfix),
    )
}
