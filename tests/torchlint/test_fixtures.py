"""Whole small projects: what torchlint says of each is what its expected.json holds, no more and no less."""

import json
from pathlib import Path

import pytest

from torchlint.cli import main

PROJECTS = Path(__file__).parents[2] / "fixtures" / "lint"
NAMES = sorted(path.parent.name for path in PROJECTS.glob("*/expected.json"))


def as_expected(finding):
    """A finding of the JSON report in the form of expected.json."""
    entry = {"file": finding["filename"].replace("\\", "/"), "line": finding["location"]["row"], "code": finding["code"]}
    if finding.get("cell") is not None:
        entry["cell"] = finding["cell"]
    return entry


def in_order(entries):
    return sorted(entries, key=lambda e: (e["file"], e.get("cell", 0), e["line"], e["code"]))


def test_every_project_has_its_expectations():
    folders = sorted(path.name for path in PROJECTS.iterdir() if path.is_dir())
    assert folders == NAMES
    for name in NAMES:
        if name.endswith("_broken"):
            assert name.replace("_broken", "_sound") in NAMES, f"{name} has no sound twin"


@pytest.mark.parametrize("name", NAMES)
def test_project(name, monkeypatch, capsys):
    expected = json.loads((PROJECTS / name / "expected.json").read_text(encoding="utf-8"))
    assert bool(expected) == name.endswith("_broken")
    monkeypatch.chdir(PROJECTS / name)
    status = main([".", "--output-format", "json", "--no-cache", "--isolated", "--jobs", "1", "--quiet"])
    out, err = capsys.readouterr()
    assert err == ""
    assert in_order(map(as_expected, json.loads(out))) == in_order(expected)
    assert status == (1 if expected else 0)
