"""What `--diff` prints: names and texts that a terminal would obey, and what `patch` needs."""

import io
import shutil
import subprocess
from collections import Counter

import pytest

from torchlint.cli.show import print_diff
from torchlint.fixes.diff import diff, quoted
from torchlint.fixes.fixer import Mended


class Terminal(io.StringIO):
    def isatty(self):
        return True


def mended(before, after, path="/x/a.py"):
    return Mended(path, before.encode(), after.encode(), Counter())


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("src/é x.py", "src/é x.py"),
        ("a\n+++ b.py", '"a\\n+++ b.py"'),
        ("\x1b[2J.py", '"\\033[2J.py"'),
        ("\u202e.py", '"\\342\\200\\256.py"'),
        ('"a".py', '"\\"a\\".py"'),
        ("a\\b.py", '"a\\\\b.py"'),
    ],
)
def test_names_are_quoted_as_git_does(name, shown):
    assert quoted(name) == shown
    assert diff(mended("x\n", "y\n"), name).startswith(f"--- {shown}\n+++ {shown}\n")


def test_a_form_feed_ends_no_line():
    assert diff(mended("a = 1\x0c\nb = 1\n", "a = 1\x0c\nb = 2\n"), "a.py").splitlines(keepends=False)[3:] != []
    assert "No newline" not in diff(mended("a = 1\x0c\nb = 1\n", "a = 1\x0c\nb = 2\n"), "a.py")


def test_without_lines_around_there_is_what_changes_alone():
    assert diff(mended("a\nb\nc\n", "a\nB\nc\n"), "a.py", 0) == "@@ -2 +2 @@\n-b\n+B\n"


def test_a_terminal_is_not_taken_over(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    text = diff(mended("s = '\x1b[2J\x9b'\nb\n", "s = '\x1b[2J\x9b'\nB\n"), "a.py")
    seen, raw = Terminal(), io.StringIO()
    print_diff(text, seen)
    print_diff(text, raw)
    assert all(char.isprintable() or char == "\n" for char in seen.getvalue())
    assert raw.getvalue() == text


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_applies_it_to_a_file_with_such_a_name(tmp_path):
    name = "a\x1b[2J\n.py"
    (tmp_path / name).write_text("a\nb\x0c\nc\n")
    text = diff(mended("a\nb\x0c\nc\n", "a\nB\x0c\nc\n"), name)
    subprocess.run(["git", "apply", "-p0"], input=text.encode(), cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / name).read_text() == "a\nB\x0c\nc\n"


def test_a_diff_has_the_line_ends_of_the_file():
    before, after = b"a = 1\r\nb = 2\r\nc = 3\n", b"a = 1\r\nb = 4\r\nc = 3\n"
    text = diff(Mended("a.py", before, after, Counter()), "a.py")
    assert text == "--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n a = 1\r\n-b = 2\r\n+b = 4\r\n c = 3\n"
