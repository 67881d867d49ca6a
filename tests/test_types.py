"""Both packages tell type checkers what they give: a user's script passes `mypy --strict`, and a wrong one does not."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RIGHT = {
    "lint": """
from pathlib import Path

import torchlint
from torchlint import Finding, Location, Severity

findings: list[Finding] = torchlint.check([Path("src")], select="correctness", torch_version="2.6")
more = torchlint.check(text="import torch", filename="a.py", isolated=True, cache=False)
for finding in [*findings, *more]:
    at: Location = finding.location
    row: int = at.row + (at.end_row or 0)
    worst: bool = finding.severity is Severity.ERROR
    if finding.fix is not None and finding.fix.applicability == "safe":
        print(finding.code, finding.message, row, worst, [edit.content for edit in finding.fix.edits])
print([problem.message for problem in more.problems], more.warnings, torchlint.__version__)

session = torchlint.Session("src", ignore=["TL202"])
found: list[Finding] = session.check("src/a.py", text="x = 1")
session.forget("src/a.py")
""",
    "san": """
from collections.abc import Callable

import torch
import torchsan
from torchsan import Finding, Watch


def tell(finding: Finding) -> None:
    print(finding.code, finding.step)


model = torch.nn.Linear(1, 1)
with torchsan.watch(model, on_finding=tell, level="thorough", ignore=["TS109"]) as san:
    model(torch.zeros(1, 1))
watch: Watch = torchsan.watch(model, on_finding="raise")
text: str = san.report()
first: list[Finding] = san.findings
steps: int = san.steps


@torchsan.watch(model)
def train(rate: float) -> float:
    return rate


result: float = train(0.1)
""",
}
WRONG = {
    "lint": """
import torchlint

torchlint.check(pats="src")
torchlint.check("src")[0].line
if (fix := torchlint.check("src")[0].fix) is not None and fix.applicability == "perhaps":
    pass
""",
    "san": """
import torchsan

torchsan.watch(on_finding="shout")
torchsan.watch(level="through")
""",
}


def mypy(folder, text):
    command = next((found for found in (os.environ.get("MYPY"), shutil.which("mypy")) if found), None)
    if command is None and importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    script = folder / "script.py"
    script.write_text(text)
    done = subprocess.run(
        [*([command] if command else [sys.executable, "-m", "mypy"]), "--strict", "--follow-imports=silent", "--strict-equality",
         "--python-executable", sys.executable, "--cache-dir", folder.parent / "mypy", script],  # torch is read once for all
        cwd=folder, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("package", RIGHT)
def test_a_script_that_is_right(tmp_path, package):
    if package == "san":
        pytest.importorskip("torch")
    assert mypy(tmp_path, RIGHT[package]).startswith("Success"), mypy(tmp_path, RIGHT[package])


@pytest.mark.parametrize(("package", "rows"), [("lint", (4, 5, 6)), ("san", (4, 5))])
def test_a_script_that_is_wrong(tmp_path, package, rows):
    if package == "san":
        pytest.importorskip("torch")
    said = mypy(tmp_path, WRONG[package])
    assert [row for row in range(1, 9) if f"script.py:{row}: error" in said] == list(rows), said


def test_the_mark_for_type_checkers_is_there():
    for package in ("torchlint", "torchsan"):
        assert (ROOT / "src" / package / "py.typed").is_file()


def test_the_names_for_type_checkers_are_those_that_there_are():
    """`__init__.pyi` says what the module gives."""
    import ast

    import torchlint

    stub = ast.parse((ROOT / "src/torchlint/__init__.pyi").read_text())
    told = {alias.asname: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert sorted(told) == sorted(torchlint.__all__) and told == torchlint._PUBLIC
    assert all(getattr(torchlint, name).__name__ == name for name in told)
