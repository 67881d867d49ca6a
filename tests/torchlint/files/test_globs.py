"""Patterns of names: what git says they match, and in time whatever they are."""

import os
import random
import subprocess

import pytest

from tests.torchlint.support import run_python, write
from torchlint.files import globs
from torchlint.files.globs import Patterns, of_file, usable

NAMES = ["a", "b", "ab", "aab", "aba", "a.b", "a b", "-", "]", "^a", "a\\b", "é", "B", "7", "**", "!a", "#a", "[a]"]
PIECES = ["a", "b", "*", "**", "***", "?", "/", "[ab]", "[!a]", "[^b]", "[a-", "]", "-", "[[:alpha:]]", "[[:digit:]b]", "[]-]",
          "[[:no:]]", "[[:a]", "\\", "\\*", "\\a", ".", " ", "é", "[é]", "[\\]a]", "[b-a]", "[-a]", "[!-a]", "[a-\\b]", "[[a]", "#",
          "!", "**/", "/**", "/**/", "\\/", "[a/b]"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A repository, and the paths of what is in it: folders within folders, of odd names."""
    root = tmp_path_factory.mktemp("globs")
    subprocess.run(["git", "init", "-q", root], check=True)
    draw = random.Random(1)
    for _ in range(60):
        path = "/".join(draw.choice(NAMES) for _ in range(draw.randint(1, 4)))
        try:
            write(root, {path: ""})
        except OSError:
            pass  # a file stands where a folder would have to
    paths = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        paths += [(os.path.relpath(os.path.join(folder, name), root), name in folders) for name in folders + files]
    return root, sorted(paths)


def asked_git(root, paths, lines):
    """What git says of each path where these lines are its ignore file: left out, taken back, or nothing."""
    ignore = root / ".git" / "asked"
    ignore.write_bytes(lines)
    given = "\0".join(path for path, _ in paths).encode() + b"\0"
    done = subprocess.run(
        ["git", "-C", root, "-c", f"core.excludesFile={ignore}", "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"],
        input=given, capture_output=True, timeout=60)
    fields = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    answers = {path: pattern and not pattern.startswith("!") if source else None
               for source, _, pattern, path in zip(*[iter(fields)] * 4)}
    return [answers[path] for path, _ in paths]


def ours(paths, lines):
    patterns = of_file(lines)
    return [patterns.cover(path, is_folder) for path, is_folder in paths]


WRITTEN = [
    "*.gen.py", "a/", "/a", "a/b", "a/*", "a/**", "**/b", "a/**/b", "!a", "a\n!a", "a/\n!a/b", "*\n!a\n!b", "**", "/**", "/", "//",
    "a//", "a**/b", "a/b**", "a**b", "**b", "b**", "a/**/**/b", "***/b", "a/***/b", "*/b", "a/*b", "?", "??", "a?b", "[", "[a", "[]a]", "[[:]", "[[:a]", "[[::]]", "[[:]a", "[a-[:digit:]]",
    "[!]a]", "[a-b]*", "a\\", "a\\ ", "a ", "a  ", "a\\  ", " a", "#a", "\\#a", "\\!a", "!!a", "a\\\\b", "a\r", "a\\*", "\\a", "**\\/b",
    "a\\/b", "a/\\b", "[[:alpha:]", "[[:alpha:]]", "[[:upper:]]", "[[:punct:]]", "*[[:space:]]*", "[\\]]", "\xe9", "?\n!a", "a\t",
    "\ufeffa", "a\n\n#\nb", "a/b/", "*/", "!*/\na", "aa*b", "*a*b", "a*a*a*b", "*a*", "*/*/*", "*/a/**", "**/a/*/b", "/*\n!/a",
]


@pytest.mark.parametrize("lines", WRITTEN)
def test_as_git_means_it(tree, lines):
    root, paths = tree
    for ending in ("", "\n", "\r\n"):
        data = (lines + ending).encode()
        assert dict(zip(paths, ours(paths, data))) == dict(zip(paths, asked_git(root, paths, data)))


@pytest.mark.parametrize("seed", range(8))
def test_as_git_means_what_nobody_would_write(tree, seed):
    root, paths = tree
    draw = random.Random(seed)
    for _ in range(50):
        given = ("".join(draw.choices(PIECES, k=draw.randint(1, 6))) for _ in range(draw.randint(1, 4)))
        lines = "\n".join(draw.choice(["", "", "!"]) + line for line in given).encode()
        assert dict(zip(paths, ours(paths, lines))) == dict(zip(paths, asked_git(root, paths, lines))), lines


WRONG = "import torch.nn.functional as F\n\n\ndef loss(x, y):\n    return F.cross_entropy(x.softmax(1), y)\n"
# Patterns that regular expressions need for ever for, and a path that each nearly matches.
SLOW = {
    "stars in a row": ("*" * 20 + "b", "a" * 60),
    "stars one by one": ("*a" * 20 + "*b", "a" * 60),
    "stars and brackets": ("*[a-z]" * 20 + "*b", "a" * 60),
    "pairs in a name": ("**a" * 20 + "**b", "a" * 60),
    "pairs in a path": ("x/" + "**a" * 20 + "**b", "x/" + "a" * 60),
    "folders": ("**/a/" * 20 + "b", "a/" * 60 + "a"),
    "folders of stars": ("**/*a*a*/" * 20 + "b", "aaa/" * 60 + "a"),
}


# Lines as long as an ignore file may be, of what has to be looked at to its end.
LONG = ["[" + "[:" * 30_000 + "]", "[" + "[:" * 30_000, "[a]" * 20_000, "*a" * 30_000, "\\" * 60_001, "!" * 60_000,
        "a/" * 30_000, "x/**/" * 15_000, "[a-z" * 15_000, " " * 60_000 + "x", "x" + "\\ " * 30_000]


@pytest.mark.parametrize("name", SLOW)
def test_no_star_is_gone_back_to(name, monkeypatch):
    """As many looks at a stretch of a name as the length of the pattern times that of the path, at most."""
    pattern, path = SLOW[name]
    looks = []

    def counted(look):
        def counting(*given):
            looks.append(given)
            return look(*given)
        return counting

    for function in ("_stands", "_find", "_follow"):
        monkeypatch.setattr(globs, function, counted(getattr(globs, function)))
    assert Patterns([pattern]).of(path, False) is None
    assert len(looks) <= len(pattern) * len(path)
    assert Patterns([pattern]).of(path[:-1] + "b", False) and Patterns([pattern]).of(path + "b" * (path[-1] == "/"), True) is None


@pytest.mark.parametrize("where", [".gitignore", "exclude", "extend-exclude", "per-file-ignores"])
def test_a_run_ends_whatever_the_patterns(tmp_path, where):
    """The time is a guard against a run that does not: it is told as a failure, and no test waits for it."""
    patterns = [pattern for pattern, _ in SLOW.values()]
    settings = {
        ".gitignore": "", "exclude": f"exclude = {patterns}", "extend-exclude": f"extend-exclude = {patterns}",
        "per-file-ignores": "[per-file-ignores]\n" + "".join(f"'{pattern}' = ['TL101']\n" for pattern in patterns),
    }
    write(tmp_path, {".git/HEAD": "", "torchlint.toml": settings[where], "a" * 60 + ".py": WRONG,
                     "x/" + "a" * 60 + ".py": "", "aaa/" * 30 + "a.py": ""})
    if where == ".gitignore":
        write(tmp_path, {".gitignore": "\n".join(patterns + LONG)})
    done = run_python("-m", "torchlint", "--no-cache", ".", cwd=tmp_path)
    assert done.returncode == 1, done


def test_what_git_reads_as_lines():
    assert Patterns(["a"]) and not Patterns(["", "#a", "!", "/", "[", "a\\"])
    assert of_file(b"a\x0cb\nc\r\n\xff").of("a\x0cb", False) and of_file(b"c\r\n").of("c", False)
    assert of_file(b"\xff").of("\udcff", False) and of_file("\ufeffa".encode()).of("a", False)
    assert usable("a") and not usable("[a")
