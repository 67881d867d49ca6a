"""Fixes: what they must leave alone, and what must be true of every file that they change."""

import json
import os
import re
import stat
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

from tests.torchlint.test_pages import BLOCKS, block_id
from torchlint.catalogue.fixable import FIXABLE
from torchlint.catalogue.pages import DEFAULT_GROUPS, catalogue
from torchlint.cli import main
from torchlint.engine import Engine
from torchlint.files import notebook
from torchlint.findings import Edit, Location
from torchlint.fixes.diff import diff
from torchlint.fixes.edits import EditError, apply
from torchlint.fixes.fixer import Fixer, write
from torchlint.run.judge import Judge
from torchlint.run.runner import Runner
from torchlint.settings.config import Config

ROOT = Path(__file__).parents[3]
BAD = [(page, block) for page, block in BLOCKS if block.bad]
MISTAKES = """import torch


def predict(model, x):
    model.eval  # évaluation
    with torch.no_grad:
        return model(x)
"""
MENDED = MISTAKES.replace("model.eval ", "model.eval() ").replace("torch.no_grad:", "torch.no_grad():")


def fixer(tmp_path, code=None, unsafe=True):
    rules = [rule for rule in catalogue() if rule.group in DEFAULT_GROUPS or rule.code == code]
    return Fixer(Runner(Config(tmp_path), rules, catalogue()), unsafe)


def edit(text, row, column, end_column=None, end_row=None, cell=None, old=""):
    return Edit(Location("f.py", row, column, end_row or row, end_column or column, cell), text, old)


@pytest.mark.parametrize(("page", "block"), BAD, ids=[block_id(*item) for item in BAD])
def test_pages(page, block, tmp_path):
    """On each bad block of each page: the result parses, what was fixed is gone, nothing is gained, and that was all."""
    one, path = fixer(tmp_path, page.code), str(tmp_path / "example.py")
    raw = block.code.encode()
    before = one._findings(path, raw)
    mended = one.mend(path, raw)
    fixable = Counter(item.code for item in before if item.fix is not None)
    if mended is None:
        assert not fixable, "a fix that does not mend its own page's example"
        return
    compile(mended.after, path, "exec")
    after = Counter(item.code for item in fixer(tmp_path, page.code)._findings(path, mended.after))
    assert not after - Counter(item.code for item in before)
    assert not fixable & after or all(after[code] <= Counter(i.code for i in before)[code] - fixable[code] for code in fixable)
    assert fixer(tmp_path, page.code).mend(path, mended.after) is None
    assert mended.after.count(b"#") == raw.count(b"#"), "a comment was lost"


def test_bytes_stay_as_they_are(tmp_path, capfd, monkeypatch):
    """Line ends, byte-order mark, encoding and mode of a mended file are those it had."""
    monkeypatch.chdir(tmp_path)
    latin = "# -*- coding: latin-1 -*-\n"
    files = {
        "dos.py": (MISTAKES.replace("\n", "\r\n").encode(), MENDED.replace("\n", "\r\n").encode()),
        "mark.py": (b"\xef\xbb\xbf" + MISTAKES.encode(), b"\xef\xbb\xbf" + MENDED.encode()),
        "latin.py": ((latin + MISTAKES).encode("latin-1"), (latin + MENDED).encode("latin-1")),
        "open.py": (MISTAKES.rstrip("\n").encode(), MENDED.rstrip("\n").encode()),
    }
    for name, (raw, _) in files.items():
        (tmp_path / name).write_bytes(raw)
    os.chmod(tmp_path / "dos.py", 0o751)
    assert main(["--fix", "--no-cache", "--isolated"]) == 0
    for name, (_, wanted) in files.items():
        assert (tmp_path / name).read_bytes() == wanted, name
    assert stat.S_IMODE(os.stat(tmp_path / "dos.py").st_mode) == 0o751
    assert sorted(os.listdir(tmp_path)) == sorted(files)
    assert "mended 8 findings in 4 files (TL132 8)" in capfd.readouterr().err


def test_notebook_cells_are_mended_and_the_rest_stays(tmp_path, monkeypatch):
    """The JSON around a changed row stays byte by byte, whatever its layout."""
    monkeypatch.chdir(tmp_path)
    source = MISTAKES.splitlines(keepends=True)
    book = {"cells": [
        {"cell_type": "markdown", "source": ["é"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import torch"], "outputs": [{"data": 1e-7}]},
        {"cell_type": "code", "source": source, "outputs": []},
        {"cell_type": "code", "source": "".join(source[3:]).replace("predict", "again")},
    ], "metadata": {}, "nbformat": 4}
    for indent, ascii_only in ((1, False), (None, True), (4, True)):
        text = json.dumps(book, indent=indent, ensure_ascii=ascii_only).replace("1e-07", "1.0E-7")
        (tmp_path / "n.ipynb").write_text(text, encoding="utf-8")
        assert main(["--fix", "--no-cache", "--isolated", "-q", "-f", "concise"]) == 0
        wanted = text.replace("model.eval ", "model.eval() ").replace("torch.no_grad:", "torch.no_grad():")
        assert (tmp_path / "n.ipynb").read_text(encoding="utf-8") == wanted


def test_magic_lines_are_left_alone(tmp_path):
    """Where IPython's syntax stands, what was judged is not what stands there."""
    cells = [{"cell_type": "code", "source": ["import torch\n", "model = torch.nn.Linear(2, 2)\n", "%time model.eval\n"]}]
    raw = json.dumps({"cells": cells}).encode()
    path = str(tmp_path / "n.ipynb")
    assert [item.code for item in fixer(tmp_path)._findings(path, raw)] == ["TL132"]
    assert fixer(tmp_path).mend(path, raw) is None


def test_a_notebook_is_read_once_before_and_once_after(tmp_path, monkeypatch):
    """All cells are parsed to see which do: not again for each question that is asked on the way."""
    asked = Counter()
    parses = notebook._parses
    monkeypatch.setattr(notebook, "_parses", lambda code: asked.update([code]) or parses(code))
    cells = [{"cell_type": "code", "source": source} for source in ("import torch\nmodel = torch.nn.Linear(2, 2)", "model.eval")]
    path = str(tmp_path / "n.ipynb")
    mended = fixer(tmp_path).mend(path, json.dumps({"cells": cells}).encode())
    assert "+model.eval()" in diff(mended, "n.ipynb")
    assert asked == {cells[0]["source"]: 2, "model.eval": 1, "model.eval()": 1}


def test_edits():
    assert apply("f.py", b"a\r\nbc", [edit("X", 2, 2), edit("\n", 1, 2)]) == b"a\r\n\r\nbXc"
    assert apply("f.py", b"abc\nd", [edit("", 1, 2, 2, end_row=2, old="bc\nd")]) == b"a"
    with pytest.raises(EditError, match="overlap"):
        apply("f.py", b"abcd", [edit("1", 1, 1, 3, old="ab"), edit("2", 1, 2, 4)])
    with pytest.raises(EditError, match="outside"):
        apply("f.py", b"ab\ncd", [edit("1", 1, 4)])
    with pytest.raises(EditError, match="ascii"):
        apply("f.py", b"# coding: ascii\nx", [edit("é", 2, 1)])
    with pytest.raises(EditError, match="utf-7"):  # the form feed would be written "+AAw", before the "#"
        apply("f.py", b"\x0c# coding: utf-7\nx", [edit("y", 2, 1)])
    book = json.dumps({"cells": [{"source": ["ab\n", "cd\n", "ef"]}]}).encode()
    assert json.loads(apply("n.ipynb", book, [edit("-", 1, 2, 2, end_row=3, cell=1, old="b\ncd\ne")]))["cells"][0]["source"] == ["a-", "", "f"]


def test_what_adds_a_finding_is_taken_back(tmp_path):
    """`optimizer.step` that is called at last shows that nothing clears the gradients: that is for a person to mend."""
    text = """import torch


def train(model, loader, loss_fn):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss_fn(model(x), y).backward()
        optimizer.step
"""
    path = str(tmp_path / "train.py")
    found = fixer(tmp_path)._findings(path, text.encode())
    assert [item.code for item in found] == ["TL132"] and found[0].fix is not None
    assert fixer(tmp_path).mend(path, text.encode()) is None


def test_safe_and_unsafe(tmp_path):
    raw = b"import torch\n\n\ndef load(m, path):\n    m.load_state_dict(torch.load(path, weights_only=False))\n"
    path = str(tmp_path / "load.py")
    assert fixer(tmp_path, 909, unsafe=False).mend(path, raw) is None
    assert fixer(tmp_path, 909).mend(path, raw).after == raw.replace(b"=False", b"=True")
    data = raw.replace(b"m.load_state_dict", b"m.append")
    assert fixer(tmp_path, 909).mend(path, data) is None, "what is loaded may be no weights"


def test_what_noqa_hides_is_not_mended(tmp_path):
    raw = MISTAKES.replace("no_grad:", "no_grad:  # noqa: TL132").encode()
    after = fixer(tmp_path).mend(str(tmp_path / "a.py"), raw).after
    assert b"no_grad:  # noqa" in after and b"model.eval()" in after


def test_diff_changes_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(MISTAKES)
    assert main(["--diff", "--no-cache", "--isolated"]) == 1
    out = capfd.readouterr().out
    assert "-    model.eval  # é" in out and "+    model.eval()  # é" in out and out.startswith("--- a.py\n+++ a.py\n")
    assert (tmp_path / "a.py").read_text() == MISTAKES
    (tmp_path / "a.py").write_text(MENDED)
    assert main(["--diff", "--no-cache", "--isolated"]) == 0
    assert main(["--unsafe-fixes"]) == 0


def test_assigning_back_binds_no_new_name(tmp_path):
    """A global name that a function does not own is left alone: assigning it would make it local."""
    text = """import torch

scale = torch.ones(3)


def forward(x, device):
    scale.to(device)
    x = torch.zeros(3)
    x.to(device)
    return x * scale
"""
    path = str(tmp_path / "a.py")
    after = fixer(tmp_path).mend(path, text.encode()).after.decode()
    assert "    scale.to(device)\n" in after and "    x = x.to(device)\n" in after


def test_what_cannot_be_written_is_said(tmp_path, monkeypatch, capfd):
    """A file that is read-only, a link that leads out of the project: one line each, exit status 2, nothing changed."""
    project, outside = tmp_path / "project", tmp_path / "outside.py"
    project.mkdir()
    monkeypatch.chdir(project)
    for path in (outside, project / "locked.py", project / "open.py"):
        path.write_text(MISTAKES)
    os.chmod(project / "locked.py", 0o444)
    (project / "link.py").symlink_to(outside)
    (project / "inner.py").symlink_to(project / "open.py")
    assert main(["--fix", "--no-cache", "--isolated", "-q", "link.py", "locked.py", "inner.py"]) == 2
    error = capfd.readouterr().err
    assert "link.py: cannot be mended: it is a link to" in error
    assert "locked.py: cannot be mended: it is read-only" in error
    assert error.count("cannot be mended") == 2
    assert outside.read_text() == (project / "locked.py").read_text() == MISTAKES
    assert (project / "open.py").read_text() == MENDED and (project / "inner.py").is_symlink()
    assert not [name for name in os.listdir(project) if name.startswith(".torchlint-")]


def test_a_file_that_changes_meanwhile_is_left_alone(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(MISTAKES)
    done = fixer(tmp_path).mend(str(path), path.read_bytes())
    path.write_text(MISTAKES + "# more\n")
    with pytest.raises(OSError, match="changed"):
        write(done, tmp_path)
    assert path.read_text() == MISTAKES + "# more\n"


def test_only_files_that_were_asked_for(tmp_path, monkeypatch):
    """A helper that another file calls is judged with it, and told and mended only where it was named."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper.py").write_text("def prepare(model):\n    model.eval\n")
    main_text = "import torch\nfrom helper import prepare\n\nprepare(torch.nn.Linear(2, 2))\n"
    (tmp_path / "main.py").write_text(main_text)
    assert main(["--fix", "--no-cache", "--isolated", "-q", "main.py"]) == 0
    assert (tmp_path / "helper.py").read_text() == "def prepare(model):\n    model.eval\n"
    assert main(["--fix", "--no-cache", "--isolated", "-q", "main.py", "helper.py"]) == 0
    assert (tmp_path / "helper.py").read_text() == "def prepare(model):\n    model.eval()\n"


def test_the_list_of_fixes_is_true():
    """docs/fixes.md has a row for each rule whose examples are mended, with its link, and says what is safe."""
    text = (ROOT / "docs/fixes.md").read_text()
    rows = re.findall(r"^\| \[TL(\d+)\]\(\.\./(rules/\S+?)\) \| (safe|unsafe|both) \|", text, re.M)
    told = {int(code): kind for code, _, kind in rows}
    assert len(told) == len(rows) == text.count("| [TL")
    assert all((ROOT / path).is_file() and f"/{code}-" in path for code, path, _ in rows)
    found: dict[int, set[str]] = {}
    # What TL901 mends is told of older releases alone.
    older = (catalogue().rules[901], "import torch\n\n\ndef load(m, path):\n    m.load_state_dict(torch.load(path))\n", (2, 5))
    for page, code, release in [*((page, block.code, None) for page, block in BAD), older]:
        for finding in Engine([page], torch_version=release).check("example.py", code).findings:
            if finding.fix is not None:
                found.setdefault(page.code, set()).add(finding.fix.applicability)
    assert found.keys() == told.keys()
    assert FIXABLE == told, "src/torchlint/catalogue/fixable.py"
    wrong = {code: kinds for code, kinds in found.items() if told[code] != "both" and kinds != {told[code]}}
    assert not wrong


def test_fixes_of_several_rows_in_a_notebook(tmp_path):
    """An import in one cell and its uses in another; rows that are indented, put in and taken away."""
    cells = [
        "import torch\nfrom torch.cuda.amp import autocast",
        "def predict(model, x):\n    torch.no_grad()  # é\n    # all\n    return model(x)",
        "class Net(torch.nn.Module):\n    def __init__(self):\n        self.fc = torch.nn.Linear(2, 2)\n"
        "        super().__init__()\n\n    def forward(self, x):\n        with autocast():\n            return self.fc(x)\n",
    ]
    wanted = [
        "import torch\nfrom torch.amp import autocast",
        "def predict(model, x):\n    with torch.no_grad():  # é\n        # all\n        return model(x)",
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = torch.nn.Linear(2, 2)\n\n    def forward(self, x):\n        with autocast(\"cuda\"):\n"
        "            return self.fc(x)\n",
    ]
    for lines in (True, False):
        def book(texts):
            sources = [text.splitlines(keepends=True) if lines else text for text in texts]
            return json.dumps({"cells": [{"cell_type": "code", "outputs": [], "source": one} for one in sources]})

        path = str(tmp_path / "n.ipynb")
        after = fixer(tmp_path).mend(path, book(cells).encode()).after
        given = ["".join(cell["source"]) for cell in json.loads(after)["cells"]]
        assert given == wanted
        assert fixer(tmp_path).mend(path, after) is None


def tabs(code):
    return re.sub(r"(?m)^( {4})+", lambda found: "\t" * (len(found[0]) // 4), code)


SHAPES = {
    "tabs": tabs,
    "dos": lambda code: code.replace("\n", "\r\n"),
    "mark": lambda code: "\ufeff" + code,
    "comments": lambda code: code.replace("# <- ", "# naïve 😀 <- "),
    "form feeds": lambda code: code.replace("\n\n\n", "\n\n\f\n"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_pages_in_other_shapes(shape, tmp_path):
    """A block that is written otherwise is mended to what its mended text is, written so."""
    change, path = SHAPES[shape], str(tmp_path / "example.py")
    for page, code, mended in mendable():
        after = Fixer(Runner(Config(tmp_path), [page], catalogue()), True).mend(path, change(code).encode())
        assert after is not None and after.after == change(mended).encode(), page.name


@lru_cache(maxsize=1)
def mendable():
    """Blocks that their page's own rule mends, with what they become: (page, code, mended code)."""
    found = []
    for page, block in BAD:
        if any(finding.fix for finding in Engine([page]).check("example.py", block.code).findings):
            one = Fixer(Runner(Config(Path("/nowhere")), [page], catalogue()), True)
            done = one.mend("/nowhere/e.py", block.code.encode())
            if done is not None and '"""' not in block.code:
                found.append((page, block.code, done.after.decode()))
    assert len(found) > 30
    return found


@pytest.fixture
def judged(monkeypatch):
    """The names of the files that were judged, in order."""
    names = []

    def source(judge, given, digest=""):
        names.append(Path(given.filename).name)
        return real(judge, given, digest)

    real = Judge.source
    monkeypatch.setattr(Judge, "source", source)
    return names


@pytest.mark.parametrize("options", [[], ["--no-cache"]])
def test_a_file_is_judged_once_before_it_is_mended_and_once_after(tmp_path, monkeypatch, judged, options):
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(MISTAKES, "utf-8")
    Path("b.py").write_text("import torch\n")
    assert main(["--fix", "--isolated", *options, "."]) == 0
    assert Path("a.py").read_text("utf-8") == MENDED
    assert judged.count("a.py") == 2
    if not options:
        assert judged.count("b.py") == 1
        assert main(["--isolated", "."]) == 0 and len(judged) == 3  # what came of it is in the cache


def test_what_depends_on_a_mended_file_is_judged_again(tmp_path, monkeypatch, judged):
    monkeypatch.chdir(tmp_path)
    Path("helper.py").write_text(MISTAKES, "utf-8")
    Path("train.py").write_text("import torch\nfrom helper import predict\n\nmodel = torch.nn.Linear(2, 2)\n"
                                "print(predict(model, torch.ones(1, 2)))\nmodel.eval\n")
    main(["--fix", "--isolated", "-j", "1", "."])
    assert Path("helper.py").read_text("utf-8") == MENDED and "model.eval()" in Path("train.py").read_text()
    # As it is and as it is mended; the user of a mended file besides with that file as it was, as it is to be, and as it is.
    assert judged.count("helper.py") == 2 and judged.count("train.py") == 5


def test_what_a_cache_says_is_not_written(tmp_path, monkeypatch, judged):
    """A cache may come with the tree."""
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(MISTAKES, "utf-8")
    main(["--isolated", "."])
    assert main(["--fix", "--isolated", "."]) == 0
    assert judged == ["a.py"] * 3 and Path("a.py").read_text("utf-8") == MENDED
