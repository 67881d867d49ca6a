"""A session says what a cold run over the same texts says, whatever was edited, saved, or only typed."""

import ast
import os
import random
import shutil
from pathlib import Path

import pytest

import torchlint
from tests.torchlint.run.test_stale import FOLDERS, MODEL, NAMES, PARTS, PLAIN, PROGRAMS, SOFT, edit, train
from tests.torchlint.support import ROOT, fake_engine, write  # noqa: F401
from torchlint.dryrun.scout.unit import Light
from torchlint.run.runner import Runner
from torchlint.settings.choice import Choice
from torchlint.settings.config import ConfigError

FEW = "TL301,TL402"
RULES = f"{FEW},TL708"  # which goes by the torch that is meant
TRAIN = train("from net import Net")


def cold(root, path, rules=FEW):
    """What a run that knows nothing says of a file as it is on disk."""
    outcome = Runner(*Choice(rules).load([root])).run([str(path)], jobs=1, use_cache=False)
    return outcome.findings, outcome.problems


def warm(session, path, *text):
    found = session.check(path, *text)
    return list(found), found.problems


@pytest.fixture
def root(tmp_path):
    return write(tmp_path / "root", {"setup.cfg": "", "train.py": TRAIN, "net.py": PLAIN})


@pytest.fixture
def session(root):
    return torchlint.Session(root, select=FEW)


def numbers(found):
    return [finding.number for finding in found]


def test_an_unsaved_text_is_seen_by_those_that_import_it(root, session):
    assert not session.check(root / "train.py")
    assert not session.check(root / "net.py", SOFT)
    assert numbers(session.check(root / "train.py")) == [301]
    session.changed(root / "net.py", PLAIN)
    assert not session.check(root / "train.py")
    session.changed(root / "net.py", SOFT)
    session.forget(root / "net.py")
    assert not session.check(root / "train.py")
    write(root, {"net.py": SOFT})
    assert numbers(session.check(root / "train.py")) == [301]


def test_a_file_that_was_never_saved_is_seen_as_if_it_were(root, session):
    (root / "net.py").unlink()
    assert not session.check(root / "train.py")
    session.changed(root / "net" / "__init__.py", SOFT)
    assert numbers(session.check(root / "train.py")) == [301]
    session.forget(root / "net" / "__init__.py")
    assert not session.check(root / "train.py")


def test_the_folder_that_imports_start_from_may_be_unsaved(root, session):
    write(root, {"torchlint.toml": "", "pkg/pyproject.toml": "", "pkg/train.py": TRAIN})
    (root / "net.py").unlink()
    assert not session.check(root / "pkg" / "train.py")
    session.changed(root / "src" / "net.py", SOFT)
    assert numbers(session.check(root / "pkg" / "train.py")) == [301]


def test_who_uses_a_model_may_be_unsaved(root, session):
    write(root, {"model.py": MODEL, "use.py": "from model import Reader\nReader(8)\n"})
    before = session.check(root / "model.py")
    session.changed(root / "serve.py", "from model import Reader\nReader(8).cuda()\n")
    after = session.check(root / "model.py")
    assert numbers(before) != numbers(after)
    session.forget(root / "serve.py")
    for text in ("", "from model import Reader\nReader(8).cuda()\n", "from model import Reader\n"):
        write(root, {"serve.py": text})
        assert session.check(root / "model.py") == (after if "cuda" in text else before) == cold(root, root / "model.py")[0]


def test_the_files_that_use_one_may_be_left_for_later(root):
    write(root, {"a.py": "import torch\nfrom helper import prepare\n\nprepare(torch.nn.Linear(2, 2))\n", "b.py": "import helper\n",
                 "helper.py": "def prepare(model):\n    model.eval\n    return model\n"})
    session, asked = torchlint.Session(root), []
    found = session.check(root / "helper.py", goes_on=lambda: asked.append(1) or False)
    assert not found and [problem.note for problem in found.problems] == [True] and len(asked) == 1
    assert "some of the files that use it" in found.problems[0].message
    # One of them at a time: what was judged is known the next time.
    found = session.check(root / "helper.py", goes_on=lambda: asked.append(1) or len(asked) < 3)
    assert len(found.problems) == 1 and len(asked) == 3
    found = session.check(root / "helper.py", goes_on=lambda: asked.append(1) or len(asked) < 5)
    assert numbers(found) == [132] and not found.problems and len(asked) == 4


def test_files_that_a_run_would_pass_over(root):
    write(root, {".git/HEAD": "", ".gitignore": "made/\n", "torchlint.toml": "exclude = ['old']\n", "made/a.py": "", "old/a.py": ""})
    session = torchlint.Session(root)
    assert [session.leaves_out(root / name) for name in ("train.py", "made/a.py", "old/a.py")] == [False, True, True]


def test_the_torch_that_is_meant_may_change(root):
    session = torchlint.Session(root, select="TL708")
    for release in ("1.5", "2.5", "1.5"):
        write(root, {"requirements.txt": f"torch>={release}\n"})
        assert bool(session.check(root / "train.py")) is (release == "2.5")


def test_an_unsaved_text_is_seen_through_a_link(root, session):
    (root / "net.py").rename(root / "real.py")
    (root / "net.py").symlink_to("real.py")
    session.changed(root / "real.py", SOFT)
    assert numbers(session.check(root / "train.py")) == [301]


def test_comments_and_settings_are_heeded_as_they_are_now(root, session):
    write(root, {"net.py": SOFT})
    (found,) = session.check(root / "train.py")
    lines = TRAIN.splitlines(keepends=True)
    lines[found.location.row - 1] = lines[found.location.row - 1].rstrip("\n") + "  # noqa: TL301\n"
    assert not session.check(root / "train.py", "".join(lines))
    session.forget(root / "train.py")
    write(root, {"torchlint.toml": "severity = {correctness = 'note'}\nper-file-ignores = {'x.py' = ['TL301']}\n"})
    assert session.check(root / "train.py")[0].severity == "note"
    write(root, {"torchlint.toml": "per-file-ignores = {'train.py' = ['TL301']}\n"})
    assert not session.check(root / "train.py")
    write(root, {"torchlint.toml": "selct = []\n"})
    with pytest.raises(ConfigError, match="did you mean 'select'"):
        session.check(root / "train.py")


def test_what_cannot_be_judged_is_said(root, session):
    (problem,) = session.check(root / "train.py", "x = (\n").problems
    assert "does not parse" in problem.message
    (problem,) = session.check(root / "train.py", "x = 1\ny = x.cuda(async=True)\n").problems
    assert problem.row == 2 and "non_blocking" in problem.message
    with pytest.raises(FileNotFoundError):
        session.check(root / "gone.py")
    assert not session.check(root / "gone.py", "x = 1\n").problems


def test_a_text_is_saved_in_the_encoding_that_it_declares(root, session):
    text = "# coding: latin-1\nname = 'é'\n" + SOFT + TRAIN.replace("from net import Net", "")
    (found,) = session.check(root / "train.py", text)
    (root / "train.py").write_text(text, encoding="latin-1")
    assert cold(root, root / "train.py") == ([found], [])


TYPED = ("\n\n", "turn = 0\n", "def late():\n    pass\n\n\n", "import torch\n")


def retyped(text, draw):
    """A text with rows put in, and a part of it copied, between the statements at its top."""
    lines = text.splitlines(keepends=True)
    starts = [node.lineno - 1 for node in ast.parse(text).body if not getattr(node, "decorator_list", None)]
    for at in sorted(draw.sample(starts, min(2, len(starts))), reverse=True):
        lines.insert(at, draw.choice(TYPED))
    definitions = [node for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    parts = [ast.get_source_segment(text, node) for node in definitions]
    copied = draw.choice(parts) + "\n" if parts and draw.random() < 0.5 else ""
    return "".join(lines) + copied


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "fixtures" / "lint").glob("*_broken"))[::3])
def test_what_was_read_before_a_change(tmp_path, monkeypatch, name):
    """All rules, over programs whose parts move about: trees are kept, and what is found in them is where it is now."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "fixtures" / "lint" / name, tmp_path / name)
    draw, session, made = random.Random(name), torchlint.Session(name, select="ALL"), []
    make = Light.__init__
    monkeypatch.setattr(Light, "__init__", lambda self, *args: (made.append(self), make(self, *args))[1])
    counts = {"warm": 0, "cold": 0}
    for path in sorted((tmp_path / name).rglob("*.py")):
        session.check(path)
        for _ in range(2):
            path.write_text(retyped(path.read_text(), draw))
            made.clear()
            found = warm(session, path)
            counts["warm"] += len(made)
            made.clear()
            assert found == cold(tmp_path / name, path, "ALL")
            counts["cold"] += len(made)
    assert counts["warm"] < counts["cold"] / 2 or not counts["cold"]


def test_a_method_that_is_copied(root, session):
    loss = "    def loss(self, x, y):\n        return nn.functional.cross_entropy(x.softmax(1), y)\n"
    one = f"from torch import nn\n\n\nclass A(nn.Module):\n{loss}"
    two = one + "\n\n" + one.replace("class A", "class B")
    rows = [[finding.location.row for finding in session.check(root / "net.py", text)] for text in (one, two, one)]
    assert rows == [[6], [6, 14], [6]]


def test_what_is_as_it_was_is_not_judged_again(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"setup.cfg": "", "a.py": "bad()\nreads('lib.txt')\n", "b.py": "bad()\n", "lib.txt": "1"})
    session = torchlint.Session(tmp_path)
    for _ in range(2):
        assert len(session.check(tmp_path / "a.py")) == len(session.check(tmp_path / "b.py")) == 1
    assert fake_engine() == ["a.py", "b.py"]
    write(tmp_path, {"lib.txt": "2"})
    assert len(session.check(tmp_path / "a.py")) == len(session.check(tmp_path / "b.py")) == 1
    assert fake_engine() == ["a.py"]
    session.check(tmp_path / "b.py", "bad()\nbad()\n")
    session.check(tmp_path / "a.py")
    assert fake_engine() == ["b.py"]


def saved(above, texts, question):
    """What a question gets while some texts are on disk; which of them cannot be there is taken from `texts`."""
    aside = above.with_name("aside")
    shutil.copytree(above, aside, symlinks=True)
    try:
        for path in list(texts):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(texts[path])
            except OSError:
                del texts[path]
        return question()
    finally:
        shutil.rmtree(above)
        aside.rename(above)


def source_files(above):
    """The Python files and notebooks below a folder, those behind links to folders too."""
    found = [Path(folder, name) for folder, _, names in os.walk(above) for name in names]
    links = [path for path in above.rglob("*") if path.is_symlink() and path.is_dir()]
    found += [path for link in links for path in link.glob("*.py")]
    return sorted(path for path in found if path.suffix in (".py", ".ipynb") and path.is_file())


@pytest.mark.parametrize("seed", range(6))
def test_edits_in_any_order(tmp_path, seed):
    draw = random.Random(seed)
    above = tmp_path / "above"
    root = write(above / "root", {"train.py": TRAIN})
    session = torchlint.Session(root, select=RULES)
    texts, done, wrong = {}, [], 0
    for _ in range(40):
        if draw.random() < 0.5:
            done.append(edit(root, draw))
        elif draw.random() < 0.7 or not texts:
            is_program = draw.random() < 0.4
            path = root / (draw.choice(FOLDERS) + draw.choice(["train.py"] if is_program else NAMES))
            text = draw.choice(PROGRAMS if is_program else PARTS)
            path = Path(os.path.abspath(path))
            texts.pop(path, None)
            texts[path] = text if isinstance(text, bytes) else text.encode()
            session.changed(path, text)
            done.append(f"typed {path}: {text!r}")
        else:
            path = draw.choice(list(texts))
            del texts[path]
            session.forget(path)
            done.append(f"dropped {path}")

        def judged():
            files = source_files(above)
            asked = draw.sample(files, min(3, len(files)))
            return {path: cold(root, path, RULES) for path in asked}

        given = set(texts)
        expected = saved(above, texts, judged)
        for path in given - texts.keys():
            session.forget(path)
        for path, answer in expected.items():
            assert warm(session, path) == answer, (path, done)
            wrong += bool(answer[0])
    assert wrong
