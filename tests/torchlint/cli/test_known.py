"""What a project can say of findings that it knows: comments, baselines; and what it can ask about itself."""

import json
import os
import re

import pytest

from tests.torchlint.support import ROOT, write
from torchlint.cli import main

LOADS = '''import torch
a = torch.load("x")
b = torch.load(
    """x
""",
    "cpu",
)
a.eval(), b.eval()
'''


@pytest.fixture
def lint(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)

    def run(*args):
        status = main([*args, "--no-cache", "-f", "concise"])
        out, err = capfd.readouterr()
        return status, out, err

    return run


def test_add_noqa(lint, tmp_path):
    """One comment a statement, where a comment can stand; nothing is found and nothing is written after that."""
    write(tmp_path, {"a.py": LOADS + "c = torch.load('y')  # noqa: E501  why\nc.eval()\n"})
    assert lint("--add-noqa")[0] == 0
    after = (tmp_path / "a.py").read_text()
    assert after == LOADS.replace('"x")\nb', '"x")  # noqa: TL901\nb').replace("\n)\n", "\n)  # noqa: TL901\n") + (
        "c = torch.load('y')  # noqa: E501, TL901  why\nc.eval()\n"
    )
    assert lint()[:2] == (0, "No mistakes found in 1 file.\n") or lint()[1] == ""
    assert lint("--add-noqa")[0] == 0 and (tmp_path / "a.py").read_text() == after
    assert lint("--unused-noqa")[2] == ""


def test_add_noqa_in_a_notebook(lint, tmp_path):
    book = json.dumps({"cells": [{"cell_type": "code", "source": LOADS.splitlines(keepends=True)}]}, indent=1)
    write(tmp_path, {"n.ipynb": book})
    assert lint("--add-noqa")[0] == 0 and lint()[1] == ""
    assert (tmp_path / "n.ipynb").read_text().replace("  # noqa: TL901", "") == book


def test_unused_noqa(lint, tmp_path):
    write(tmp_path, {"a.py": "import torch\nx = 1  # noqa: TL901\ny = 2  # noqa: E501, TL997\nz = 3  # noqa\n" + LOADS.replace(
        '"x")\n', '"x")  # noqa: TL901, TL1\n', 1)})
    status, out, err = lint("--unused-noqa")
    assert (status, err) == (1, "")
    told = [line for line in out.splitlines() if "hides nothing" in line]
    assert told == ["a.py:2:8: TL000 [*] `# noqa: TL901` hides nothing", "a.py:6:22: TL000 [*] `# noqa: TL1` hides nothing"]
    assert "hides nothing" not in lint()[1]


def test_baseline(lint, tmp_path):
    """Written once; then only what is new is told, wherever the known lines have moved to."""
    write(tmp_path, {"src/a.py": LOADS})
    status, out, err = lint("--baseline", "known.json", "--update-baseline")
    assert (status, out) == (0, "") and "2 findings written to known.json" in err
    assert lint("--baseline", "known.json")[:2] == (0, "")
    text = "import os\n\n" + LOADS + "a = torch.load('new')\na.eval()\n" + LOADS.splitlines()[1] + "\na.eval()\n"
    write(tmp_path, {"src/a.py": text})
    status, out, _ = lint("--baseline", "known.json")
    assert status == 1
    assert [line.split(" ")[0] for line in out.splitlines()] == ["src/a.py:11:5:", "src/a.py:13:5:"]
    write(tmp_path, {"known.json": "[]"})
    status, _, err = lint("--baseline", "known.json")
    assert status == 2 and "known.json: no baseline of torchlint" in err


def test_a_baseline_is_written_only_where_that_is_asked_for(lint, tmp_path, capfd):
    """A name that is misspelt hides nothing, and the run does not even begin."""
    write(tmp_path, {"a.py": LOADS})
    status, out, err = lint("--baseline", "typo.json")
    assert (status, out) == (2, "")
    assert err == "torchlint: error: typo.json: there is no such file: --update-baseline writes one\n"
    assert os.listdir(tmp_path) == ["a.py"]
    for options, what in (
        (["--update-baseline"], "together with --baseline FILE"),
        (["--update-baseline", "--baseline", "b.json", "--diff"], "together with --diff"),
        (["--update-baseline", "--baseline", "b.json", "-"], "on standard input"),
    ):
        status, out, err = lint(*options)
        assert (status, out) == (2, "") and what in err
    assert os.listdir(tmp_path) == ["a.py"]
    assert main(["--no-cache", "--baseline", "b.json", "--update-baseline"]) == 0
    out, err = capfd.readouterr()
    assert "No mistakes" not in out and err == "torchlint: 2 findings written to b.json\n"


@pytest.mark.parametrize("update", [[], ["--update-baseline"]], ids=["read", "updated"])
def test_what_is_no_baseline_is_said_and_kept(lint, tmp_path, update):
    write(tmp_path, {"a.py": LOADS, "folder/x": "", "b.json": '{"version": 1', "train.py": "x = 1\n"})
    for name, why in (("folder", "cannot be read: is a directory"), ("b.json", "no baseline of torchlint"),
                      ("train.py", "no baseline of torchlint"), ("a.py/b", "cannot be read: not a directory")):
        status, out, err = lint("--baseline", name, *update)
        assert (status, out) == (2, "") and err.startswith(f"torchlint: error: {name}: {why}") and err.count("\n") == 1
    assert (tmp_path / "b.json").read_text() == '{"version": 1' and (tmp_path / "train.py").read_text() == "x = 1\n"


def test_an_update_keeps_what_the_run_does_not_know(lint, tmp_path):
    """Findings of files and rules that it was not asked for, and of files that cannot be judged; not those of what is gone."""
    def known():
        found = json.loads((tmp_path / "k.json").read_text())["findings"]
        return {file: sum(counts.values()) for file, counts in found.items()}

    def update(*args):
        return lint("--baseline", "k.json", "--update-baseline", *args)

    write(tmp_path, {"a.py": LOADS, "b.py": LOADS, "c.py": LOADS})
    assert update()[0] == 0 and known() == {"a.py": 2, "b.py": 2, "c.py": 2}
    write(tmp_path, {"a.py": "import torch\n", "b.py": "import torch (\n"})
    assert update("b.py")[0] == 2 and known() == {"a.py": 2, "b.py": 2, "c.py": 2}
    assert update("--select", "TL101")[0] == 2 and known() == {"a.py": 2, "b.py": 2, "c.py": 2}
    (tmp_path / "c.py").unlink()
    assert update("a.py")[0] == 0 and known() == {"b.py": 2}
    write(tmp_path, {"b.py": LOADS + LOADS.splitlines()[1] + "\na.eval()\n"})
    assert update("a.py")[0] == 0 and lint("--baseline", "k.json")[0] == 1
    assert update()[0] == 0 and known() == {"b.py": 3} and lint("--baseline", "k.json")[0] == 0


def test_show_files_and_settings(lint, tmp_path):
    write(tmp_path, {
        "a.py": "", "b.txt": "", "old/c.py": "", "n.ipynb": "{}",
        "pyproject.toml": "[tool.torchlint]\nexclude = ['old']\nselect = ['TL901']\ntorch-version = '2.4'\n",
    })
    assert lint("--show-files") == (0, "a.py\nn.ipynb\n", "")
    status, out, _ = lint("--show-settings")
    assert status == 0 and out.endswith("1 active rules:\nTL901  unsafe-load\n")
    assert re.search(r"^torch-version: +2\.4$", out, re.MULTILINE) and re.search(r"^exclude: +old$", out, re.MULTILINE)


def test_the_worked_example_of_a_rule_of_ones_own(lint, tmp_path):
    """The page in docs/own-rules.md finds what it says."""
    text = (ROOT / "docs/own-rules.md").read_text()
    page = re.search(r"^````markdown\n(.*?)^````$", text, re.MULTILINE | re.DOTALL)[1]
    settings = re.search(r"^```toml\n(\[tool\.torchlint\].*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    bad = re.search(r"^```python bad\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    write(tmp_path, {"lint/rules/970-empty-cache.md": page, "pyproject.toml": settings, "train.py": bad})
    status, out, _ = lint("train.py")
    row = next(number for number, line in enumerate(bad.splitlines(), 1) if "# <- 970" in line)
    assert status == 1 and out.startswith(f"train.py:{row}:9: TL970 `torch.cuda.empty_cache()` gives the memory back")
