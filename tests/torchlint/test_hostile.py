"""A tree that is linted may be anybody's: what lies in it is never run, fetched, waited for, or a way to write elsewhere."""

import errno
import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time

import msgspec
import pytest

from tests.torchlint.run.test_cache import run, shards
from tests.torchlint.settings.test_config import KNOWN, PAGE
from tests.torchlint.support import ROOT, fake_engine, run_python, write  # noqa: F401
from torchlint.catalogue.pages import PageError, read_page
from torchlint.cli import live, main
from torchlint.cli.baseline import Baseline, BaselineError
from torchlint.cli.live import LiveError
from torchlint.engine import fill
from torchlint.files.globs import usable
from torchlint.files.reading import read_bytes
from torchlint.findings import Edit, Finding, Fix, Location
from torchlint.run.cache import Cache, sealed, version_key
from torchlint.run.digests import Digests
from torchlint.run.discovery import Discovery
from torchlint.run.judge import Judge, Order, Verdict
from torchlint.settings.config import CACHE_FOLDER, Config, ConfigError
from torchlint.settings.lookup import load
from torchlint.settings.reading import read_config
from torchlint.settings.requirements import lowest_releases
from torchlint.settings.rulebook import load_rules

BOMB = "raise SystemExit('this tree was imported')\n"
MISTAKE = "import torch\n\n\ndef predict(model, x):\n    model.eval\n    return model(x)\n"
MENDED = MISTAKE.replace("model.eval", "model.eval()")
PATHS = os.pathsep.join([str(ROOT / "src"), str(ROOT)])


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project that is the working folder."""
    folder = tmp_path / "project"
    write(folder, {"setup.cfg": ""})
    monkeypatch.chdir(folder)
    return folder


def lint(*args):
    return main([*args, "-f", "concise", "-j", "1"])


# -- nothing of the tree is run ---------------------------------------------------------------------------------------


def test_no_module_of_the_tree_is_imported(project):
    """Whatever the tree calls its files, and whatever its settings and its packages' metadata say."""
    names = ("click", "rich", "msgspec", "libcst", "json", "torch", "torchsan", "matchers", "evil")
    write(project, {
        **{f"{name}.py": BOMB for name in names},
        **{f"{name}/__init__.py": BOMB for name in ("torchlint_rules", "setuptools", "evil_rules")},
        "setup.py": BOMB, "conftest.py": BOMB, "sitecustomize.py": BOMB, "usercustomize.py": BOMB,
        "evil-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1\n",
        "evil-1.dist-info/entry_points.txt": "[torchlint.rules]\nours = evil_rules.inner\n[console_scripts]\nx = evil:main\n",
        "pyproject.toml": "[tool.torchlint]\nextend-rules = ['pages']\n",
        "pages/777-our-own.md": PAGE + "```python bad\nimport evil\n```\n",
        "pages/matcher.py": BOMB, "pages/custom.py": BOMB,
        "train.py": "import torch, evil, matchers\nfrom evil_rules import *\n" + MISTAKE,
        "book.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": "%run evil.py\n!touch ran\nimport evil"}]}),
    })
    for options in ((), ("--fix", "--unsafe-fixes"), ("--add-noqa",), ("--show-settings",)):
        done = subprocess.run(
            [sys.executable, "-m", "torchlint", "--no-cache", *options, "train.py", "book.ipynb", "evil.py"], capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, timeout=60,
        )
        said = done.stdout + done.stderr
        assert done.returncode in (0, 1) and b"was imported" not in said and b"internal error" not in said, said
    assert not (project / "ran").exists()


def test_rules_of_packages_are_found_without_importing_any(tmp_path):
    write(tmp_path, {
        "outer/__init__.py": BOMB, "outer/inner/__init__.py": BOMB, "outer/inner/777-our-own.md": PAGE,
        "outer-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: outer\nVersion: 1\n",
        "outer-1.dist-info/entry_points.txt": "[torchlint.rules]\nours = outer.inner\n",
    })
    done = run_python("-m", "torchlint", "explain", "our-own", env={"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{tmp_path}"})
    assert done.returncode == 0 and done.stdout.startswith(b"# TL777 our-own"), done


# -- settings ---------------------------------------------------------------------------------------------------------

KEYS = ("select", "ignore", "extend-select", "extend-exclude", "extend-rules", "exclude", "per-file-ignores", "torch-version",
        "severity", "cache-dir")
VALUES = ("3", "-1", "1.5", "nan", "inf", "true", "''", "'x'", "[]", "[1]", "[[]]", "['']", "{}", "{a = 1}", "{a = []}", "{a = ['']}",
          "1979-05-27", "07:32:00", "[{}]", "'\\u0000'", '"\\u001b[31m"', "['!', '[z-a]', '*a*a*a*a*a*a*a*b']", '["\\u0000"]',
          "'" + "9" * 5000 + ".1'", "{'[' = ['TL101']}", "{correctness = 'x'}", "{correctness = [1]}", "['/']", "'/etc'", "'../..'")


@pytest.mark.parametrize("key", KEYS)
def test_settings_of_wrong_types_are_one_line_with_a_place(project, capfd, key):
    write(project, {"a.py": "x = 1\n"})
    for value in VALUES:
        write(project, {"pyproject.toml": f"[tool.torchlint]\n{key} = {value.replace(chr(27), '')}\n"})
        status = lint("--no-cache")
        out, err = capfd.readouterr()
        assert status in (0, 2) and "internal error" not in err, (value, err)
        if status == 2:
            assert err.startswith("torchlint: error: ") and err.count("\n") == 1 and "pyproject.toml:2:" in err, (value, err)
            assert len(err) < 400 and err.strip().isprintable()


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("x = " + "9" * 5000, 2),
        ("y = 1\nx = 0x" + "f" * 40_000, 2),
        ("x = " + "[" * 5000 + "]" * 5000, 2),
        ("x = " + "{a=" * 5000, 2),
        ("[" + "a." * 5000 + "b]\nc = [[[[[[", 3),
        ("severity = " + "1" * 5000, 2),
        ("a" * 100_000, 2),
    ],
)
def test_deep_and_huge_toml(project, capfd, text, row):
    write(project, {"pyproject.toml": f"[tool.torchlint]\n{text}\n"})
    assert lint("--no-cache", ".") == 2
    err = capfd.readouterr().err
    assert err.startswith("torchlint: error: ") and "pyproject.toml:" in err and err.count("\n") == 1 and "internal" not in err
    assert len(err) < 2000


def test_settings_do_not_lead_writes_elsewhere(project):
    (project / "out").symlink_to("..")
    for value in ("../x", "/tmp/x", "out/x", "a/../../x"):
        write(project, {"torchlint.toml": f"cache-dir = '{value}'\n"})
        with pytest.raises(ConfigError, match="torchlint.toml:1: cache-dir: .* is not in the project; give --cache-dir"):
            load([project])
    write(project, {"torchlint.toml": "cache-dir = 'deep/er'\n"})
    assert load([project]).cache_dir == project / "deep/er"


def test_settings_that_are_no_file(project):
    """A pipe in the place of a file would be waited for."""
    for name in ("pyproject.toml", "torchlint.toml", "requirements.txt", "setup.py", "environment.yml", ".gitignore", "helper.py"):
        (project / name).unlink(missing_ok=True)
        os.mkfifo(project / name)
    (project / "requirements-dev.txt").symlink_to("/dev/zero")
    write(project, {"a.py": "import torch\nfrom helper import x\n" + MISTAKE, "pages/1.md": ""})
    os.mkfifo(project / "pages/2.md")
    done = run_python("-m", "torchlint", "--no-cache", "-j", "1", "a.py")
    assert done.returncode == 1, done
    write(project, {"other/torchlint.toml": "extend-rules = ['../pages']\n", "other/a.py": ""})
    done = run_python("-m", "torchlint", "--no-cache", "other/a.py")
    assert done.returncode == 2 and b"internal" not in done.stderr, done


@pytest.mark.parametrize(
    "files",
    [
        {"requirements.txt": "torch" + " " * 100_000 + "x\n"},
        {"requirements.txt": "torch" + " " * 1900 + "x\n"},
        {"requirements.txt": "torch[" * 50_000},
        {"requirements.txt": "torch==" + "9" * 5000},
        {"requirements.txt": "torch==" + "9" * 1500 + "." + "9" * 100},
        {"environment.yml": "- " + "a/" * 100_000 + "\n-" + " " * 1900 + "torch" + " " * 1900 + "x"},
        {"setup.cfg": "[options]\ninstall_requires" + " " * 100_000 + "x\n" + "a\n" * 1000},
        {"setup.cfg": "[options]\n" + " " * 1900 + "x" * 50},
        {"setup.cfg": "[DEFAULT]\nx = %(x)s\n[options]\ninstall_requires = %(x)s\n"},
        {"setup.py": "x = " + "(" * 100_000},
        {"setup.py": "[" + "'torch>=1', " * 10 + "9" * 5000 + "]"},
        {"pyproject.toml": "x = " + "9" * 5000},
        {"pyproject.toml": "[project]\ndependencies = [" + "[" * 500 + "]" * 500 + "]"},
        {"pyproject.toml": "[[project]]\n[[tool]]\n[[dependency-groups]]\n"},
        {"pyproject.toml": "[project]\ndependencies = {a = 1}\noptional-dependencies = [1]\n[tool]\npoetry = 3\n"},
        {"pyproject.toml": b"\xff\xfe[project]"},
    ],
)
def test_requirements_that_are_no_requirements(tmp_path, files):
    """They say nothing, or what little can be read of them; and soon."""
    before = time.process_time()
    assert lowest_releases(write(tmp_path, files)).get("torch") in (None, (1, 0))
    assert time.process_time() - before < 20  # a guard against patterns that take hours


# -- ignore files -----------------------------------------------------------------------------------------------------


def test_ignore_files_with_lines_that_are_no_patterns(project):
    write(project, {
        ".gitignore": "!\n\\\n[z-a]\n[[:alpha:]\na\\\n" + "*a" * 30 + "*b\n**foo\ngen.py\n" + "x" * 5000 + "\n(?P<a>\n\0\n",
        "a" * 200 + ".py": "", "gen.py": "", "b.py": "", ".git/HEAD": "",
    })
    discovery = Discovery(Config(project))
    found = sorted(os.path.basename(file.path) for file in discovery.find([str(project)]))
    assert found == ["a" * 200 + ".py", "b.py"] and not discovery.problems


def test_patterns_that_are_none_are_told(project):
    for pattern in ("!", "/", "[a", "a\\", "[[:word:]]"):
        assert not usable(pattern)
        write(project, {"torchlint.toml": f"exclude = [{json.dumps(pattern)}]\n"})
        with pytest.raises(ConfigError, match="is no pattern: nothing matches it"):
            load([project])
    assert all(map(usable, ("*a*a*a*a*b", "*a*a*a*/*a*a*a*", "a/**/b/*.py", "", "# word", "!a", "**", "*")))


def test_git_files_that_lead_nowhere(project):
    for text in (b"gitdir: \0", b"gitdir: /dev", b"\xff", b"gitdir: " + b"a/" * 4000, b""):
        write(project, {".git": text, "a.py": ""})
        discovery = Discovery(Config(project))
        assert [os.path.basename(file.path) for file in discovery.find([str(project)])] == ["a.py"]


# -- pages ------------------------------------------------------------------------------------------------------------

CALL = '[[call]]\nname = "torch.load"\n'


@pytest.mark.parametrize(
    "front",
    [
        "order = 3", "call = {}", "trait = [1]", "[[order]]\nafter = 'backward'", "[[call]]", "[[call]]\nname = 3", "[[trait]]",
        CALL + "nmae = 1", CALL + "position = -1", CALL + "position = 'x'", CALL + "torch = '<x'", CALL + "torch = '" + "9" * 99 + ".1'",
        CALL + "missing = [1]", CALL + "inside = 'x'", CALL + 'fix = "x"', CALL + 'fix = "x=1\\nimport os"', CALL + "unsafe = 'no'",
        "[[order]]\nafter = 'x'\nbefore = 'backward'\nexpect = 'backward'\nsubject = 'optimizer'",
        "[[order]]\nafter = 'backward'\nbefore = 'backward'\nsubject = 'optimizer'",
        "[[trait]]\ncall = ['x']\ntrait = 'x'\nmust = 'have'", "x = " + "[" * 5000, "x = " + "9" * 5000, "message = 3",
        'message = "\\u001b[2J"', "since = []", "torch = {}", "lint = 1",
    ],
)
def test_front_matter_that_is_none(tmp_path, front):
    page = write(tmp_path, {"777-x.md": PAGE.replace("\n+++\n", f"\n{front}\n+++\n")}) / "777-x.md"
    with pytest.raises(PageError) as caught:
        read_page(page)
    assert "777-x.md" in str(caught.value) and len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("old", "new"),
    [("777", "0"), ("777", "-1"), ("777", "1000"), ("777", "true"), ("777", "9" * 50), ("777", "'x'"), ('"our-own"', '"Our own"'),
     ('"our-own"', "3"), ('"our-own"', '"' + "a-" * 5000 + 'a"'), ('"our-own"', '"a\\u001bb"'), ('"correctness"', "[]"),
     ('"correctness"', "{}"), ('"ours"', "3"), ("## What", "\x1b[2J## What")],
)
def test_pages_that_are_none(tmp_path, old, new):
    page = write(tmp_path, {"777-x.md": PAGE.replace(old, new)}) / "777-x.md"
    with pytest.raises(PageError):
        read_page(page)


def test_messages_of_pages_are_no_programs():
    """`str.format` would take all memory for the first one, and walk through objects for the second."""
    roles = {"call": "f()", "loss": "loss"}
    for text in ("{call:>99999999999}", "{call.__class__.__mro__}", "{call[0]}", "{", "}", "{call!r}", "{}"):
        assert fill(text, roles) == text
    assert fill("`{call}` and {loss} of {model}", roles) == "`f()` and loss of model"


def test_pages_are_looked_for_in_folders_of_a_project_alone(project, monkeypatch):
    monkeypatch.setattr("torchlint.settings.rulebook._MOST_ENTRIES", 5)
    write(project, {"torchlint.toml": "extend-rules = ['/']\n"})
    with pytest.raises(ConfigError, match="torchlint.toml:1: extend-rules: '/' holds more than 5 files and folders"):
        load_rules(load([project]))
    write(project, {"torchlint.toml": 'extend-rules = ["\\u0000"]\n'})
    with pytest.raises(ConfigError, match="is no folder"):
        load_rules(load([project]))


# -- the cache --------------------------------------------------------------------------------------------------------


def test_cache_behind_a_link_is_not_written(project, tmp_path, capfd):
    write(project, {"a.py": MISTAKE})
    (tmp_path / "elsewhere").mkdir()
    (project / CACHE_FOLDER).symlink_to(tmp_path / "elsewhere")
    assert lint() == 1
    err = capfd.readouterr().err
    assert "cache is not written: it is a link to" in err and not os.listdir(tmp_path / "elsewhere")
    (project / CACHE_FOLDER).unlink()
    folder = project / CACHE_FOLDER / version_key(Order(()))
    write(project / CACHE_FOLDER, {"x": ""})
    folder.symlink_to(tmp_path / "elsewhere")
    cache = Cache(project / CACHE_FOLDER, Order(()), Digests(), project)
    cache.put("/x/a.py", Verdict("00"))
    assert "outside of the project" in cache.save() and not os.listdir(tmp_path / "elsewhere")


def test_links_in_the_cache_are_replaced_not_followed(project, tmp_path, capfd):
    write(project, {"a.py": MISTAKE})
    write(tmp_path, {"mine": "mine"})
    lint()
    (shard,) = shards(project)
    for path in (shard, project / CACHE_FOLDER / ".gitignore", project / CACHE_FOLDER / "CACHEDIR.TAG"):
        path.unlink()
        path.symlink_to(tmp_path / "mine")
    (project / CACHE_FOLDER / "CACHEDIR.TAG").unlink()
    (project / CACHE_FOLDER / "CACHEDIR.TAG").symlink_to(tmp_path / "new")
    write(project, {"a.py": MISTAKE + "x = 1\n"})
    assert lint() == 1
    assert (tmp_path / "mine").read_text() == "mine" and not (tmp_path / "new").exists() and not shard.is_symlink()


def test_nothing_but_our_own_is_deleted_from_the_folder_of_the_cache(tmp_path, fake_engine):  # noqa: F811
    """The user may have put the cache where other things are."""
    old = time.time() - 400 * 24 * 3600
    others = {"a" * 20: "thesis.md", "0" * 20: "thesis.md", "1" * 20 + "x": "0a.msgpack", "2" * 19: "0a.msgpack"}
    for folder, name in others.items():
        write(tmp_path / "c" / folder, {name: "mine", "0b.msgpack": ""})
    for folder in others:
        os.utime(tmp_path / "c" / folder, (old, old))
    run(write(tmp_path / "p", {"a.py": "bad()\n"}), cache_dir=tmp_path / "c")
    assert all((tmp_path / "c" / folder / name).read_text() == "mine" for folder, name in others.items())


def corruptions(raw, place):
    rng = random.Random(5)
    yield from (b"", raw[:1], raw[: len(raw) // 2], raw[:-1], raw + raw, raw + b"x", b"\0" * len(raw), b"\xff" * 100)
    for wrong in (None, 3, "x", [], {}, [[], {}, 3], [1, {}], [[], []], [{}, {}], [["/x"], {"/x": 1}], [["/x"], {"/x": [[], []]}],
                  [[], {"/x": [{"digest": 3}, []]}], [[], {"/x": [{"digest": "", "findings": [1]}, [[-1, b"x"], [2**62, None]]]}]):
        yield sealed(msgspec.msgpack.encode(wrong), place)
    yield sealed(b"\x92" * 100_000, place)
    yield sealed(b"\x92\x90\xdf\xff\xff\xff\xff", place)  # a map of four billion
    yield sealed(b"\x92\xdd\xff\xff\xff\xff", place)
    for _ in range(60):
        broken = bytearray(raw)
        for _ in range(rng.choice((1, 3, 20))):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        yield bytes(broken)


def test_a_corrupt_cache_is_a_cold_run(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "related(2)\nbad()\n", "b.py": "elsewhere('a.py')\n", "c.py": "reads('a.py')\nx = (\n"})
    wanted = run(tmp_path)
    (shard,) = shards(tmp_path)
    raw = shard.read_bytes()
    for broken in corruptions(raw, f"{shard.parent.name}/{shard.stem}"):
        shard.write_bytes(broken)
        found, outcome = run(tmp_path)
        assert (found, outcome.problems) == (wanted[0], wanted[1].problems), broken[:100]


def test_cache_in_places_that_cannot_be_used(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "bad()\n"})
    run(tmp_path)
    (shard,) = shards(tmp_path)
    shard.unlink()
    shard.mkdir()
    assert run(tmp_path)[0] == [("a.py", 1)]
    shard.rmdir()
    os.mkfifo(shard)
    assert run(tmp_path)[0] == [("a.py", 1)]
    assert stat.S_ISREG(shard.stat().st_mode)
    shard.unlink()
    shard.symlink_to("/dev/zero")
    assert run(tmp_path)[0] == [("a.py", 1)]


def test_what_a_forged_cache_says_is_not_told(tmp_path, fake_engine, monkeypatch):  # noqa: F811
    """Of other files, of rules that are not asked for, with words that are not theirs."""
    write(tmp_path, {"a.py": "bad()\n", "secret": "hunter2\n"})
    path = str(tmp_path / "a.py")
    order, digests = Order(tuple(KNOWN)), Digests()
    rule = KNOWN.find(101)

    def cached(**more):
        at = more.pop("location", Location(path, 1, 1, 1, 4))
        fields = {"code": "TL101", "name": rule.name, "message": "m", "group": "correctness", "url": rule.url,
                  "digest": digests.of(path), **more}
        cache = Cache(tmp_path / "c", order, digests)
        cache.put(path, Verdict(digests.of(path), (Finding(location=at, **fields),)))
        assert cache.save() is None
        return Cache(tmp_path / "c", order, digests).get(path)

    assert cached() is not None
    edit = Fix("safe", "x", (Edit(Location(str(tmp_path / "secret"), 1, 1, 1, 1), "x", digest=digests.of(path)),))
    stale = Fix("safe", "x", (Edit(Location(path, 1, 1, 1, 1), "x", digest=digests.of(str(tmp_path / "secret"))),))
    assert cached(fix=msgspec.structs.replace(stale, edits=(msgspec.structs.replace(stale.edits[0], digest=digests.of(path)),)))
    for more in ({"location": Location(str(tmp_path / "secret"), 1)}, {"location": Location(path, -5)}, {"code": "TL"},
                 {"code": "TL201"}, {"code": "\x1b"}, {"url": "\x1b"}, {"name": "x"}, {"fix": edit}, {"fix": stale},
                 {"digest": ""}, {"digest": digests.of(str(tmp_path / "secret"))}):
        assert cached(**more) is None, more


def test_killed_runs_leave_a_cache_that_serves(project):
    """Runs are killed at all times, several at once; what they leave is read without a word, and all is found."""
    write(project, {f"p{number}/x.py": MISTAKE * 3 for number in range(8)})
    command = [sys.executable, "-m", "torchlint", "-j", "1", "-q", "-f", "concise"]
    environment = {**os.environ, "PYTHONPATH": PATHS}
    rng = random.Random(3)
    whole = subprocess.run([*command, "--no-cache"], capture_output=True, env=environment).stdout
    assert whole.count(b"TL132") == 8
    for number in range(6):
        write(project, {f"p{number}/x.py": MISTAKE * 3 + f"# {number}\n"})
        runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment) for _ in range(2)]
        time.sleep(rng.choice((0.05, 0.3, 0.6, 0.9)))
        for process in runs:
            process.send_signal(signal.SIGKILL)
            assert b"torchlint" not in process.communicate()[1]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, env=environment)
        assert (done.stdout, done.stderr, done.returncode) == (whole, b"", 1)
    for old in (project / CACHE_FOLDER).glob("*/.torchlint-*"):
        os.utime(old, (0, 0))
    write(project, {"p0/x.py": MISTAKE})
    subprocess.run(command, capture_output=True, env=environment)
    assert not list((project / CACHE_FOLDER).glob("*/.torchlint-*")), "what killed runs left behind goes with time"


# -- what is written --------------------------------------------------------------------------------------------------


def full_disk():
    """In a new process: every write of a byte fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize("option", ["--fix", "--add-noqa", "--baseline=b.json --update-baseline", "--output-file=out"])
def test_a_full_disk_costs_no_file(project, option, monkeypatch):
    for name in [name for name in os.environ if name.startswith("COV")]:
        monkeypatch.delenv(name)  # the new process could not write down what it covers, either
    write(project, {"a.py": MISTAKE, "deep/b.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": MISTAKE}]})})
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    done = run_python("-m", "torchlint", "-j", "1", "-q", *option.split(), "a.py", "deep", preexec_fn=full_disk)
    err = done.stderr.decode()
    assert done.returncode == 2 and "file too large" in err and "internal" not in err and "Traceback" not in err, err
    after = {path: path.read_bytes() for path in project.rglob("*") if path.is_file() and CACHE_FOLDER not in str(path)}
    after.pop(project / "out", None)
    assert after == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("form", ["full", "json"])
def test_output_that_cannot_be_written_is_one_line(project, form):
    write(project, {"a.py": MISTAKE})
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "torchlint", "--no-cache", "-f", form, "a.py"], stdout=full,
                              stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": PATHS})
    assert (done.returncode, done.stderr) == (2, b"torchlint: error: cannot write: no space left on device\n")


def test_closed_streams(project):
    write(project, {"a.py": MISTAKE})
    done = subprocess.run(f"{sys.executable} -m torchlint --no-cache a.py >&- 2>&-", shell=True, env={**os.environ, "PYTHONPATH": PATHS})
    assert done.returncode == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_is_read_only(project, capfd):
    write(project, {"d/a.py": MISTAKE})
    os.chmod(project / "d", 0o555)
    try:
        assert lint("--fix", "d") == 2
        assert "a.py: cannot be mended: permission denied" in capfd.readouterr().err
        assert lint("--cache-dir", "d/c", "d") == 1
        assert "cache cannot be written: permission denied" in capfd.readouterr().err
    finally:
        os.chmod(project / "d", 0o755)
    assert (project / "d/a.py").read_text() == MISTAKE and os.listdir(project / "d") == ["a.py"]


@pytest.mark.parametrize("refused", ["open", "replace"])
@pytest.mark.parametrize("option", ["--fix", "--add-noqa"])
def test_what_the_system_refuses_is_one_line_and_changes_nothing(project, capfd, monkeypatch, option, refused):
    write(project, {"a.py": MISTAKE})

    def refuse(*args, **more):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(*{"open": ("tempfile.mkstemp", refuse), "replace": ("os.replace", refuse)}[refused])
    assert lint(option, "--no-cache", "-q") == 2
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and "read-only file system" in err
    assert (project / "a.py").read_text() == MISTAKE and sorted(os.listdir(project)) == ["a.py", "setup.cfg"]


@pytest.mark.parametrize("option", ["--fix", "--add-noqa"])
def test_links_lead_no_write_out_of_the_project(project, tmp_path, capfd, option):
    outside = write(tmp_path / "outside", {"a.py": MISTAKE, "pack/b.py": MISTAKE, "own/c.py": MISTAKE, "helper.py": MISTAKE})
    (project / "a.py").symlink_to(outside / "a.py")
    (project / "pack").symlink_to(outside / "pack")
    write(project, {"real.py": MISTAKE})
    (project / "inner.py").symlink_to("real.py")
    (project / "hop").symlink_to(".")
    assert lint(option, "--no-cache", "-q", "a.py", "pack", "pack/b.py", "hop/inner.py") == 2
    err = capfd.readouterr().err
    assert err.count("outside of the project") == err.count("\n") == 2, err
    assert all(path.read_text() == MISTAKE for path in outside.rglob("*.py"))
    assert (project / "real.py").read_text() != MISTAKE and (project / "inner.py").is_symlink()
    assert (project / "a.py").is_symlink() and (project / "pack").is_symlink()


def test_a_project_behind_a_link_is_mended(project, tmp_path, monkeypatch):
    write(project, {"a.py": MISTAKE})
    (tmp_path / "way").symlink_to(project)
    monkeypatch.chdir(tmp_path)
    assert lint("--fix", "--no-cache", "-q", "way") == 0
    assert (project / "a.py").read_text() == MENDED


def test_no_comment_is_written_into_what_was_only_imported_from_elsewhere(tmp_path, monkeypatch, capfd):
    write(tmp_path, {
        "helper.py": "def prepare(model):\n    model.eval\n", "inner/pyproject.toml.x": "",
        "inner/main.py": "import torch\nfrom helper import prepare\n\nprepare(torch.nn.Linear(2, 2))\n",
    })
    monkeypatch.chdir(tmp_path / "inner")
    assert lint("--add-noqa", "--no-cache") == 0
    assert "0 findings hidden" in capfd.readouterr().err
    assert "noqa" not in (tmp_path / "helper.py").read_text()
    assert lint("--add-noqa", "--no-cache", "-q", ".", "../helper.py") == 0
    assert "noqa" in (tmp_path / "helper.py").read_text()


@pytest.mark.parametrize("option", ["--fix", "--add-noqa"])
def test_files_stay_as_they_were_but_for_the_change(project, option):
    """Mode, line ends, byte-order mark, encoding, the missing end of the last line, and the group."""
    cookie = "# -*- coding: latin-1 -*-\n"
    files = {
        "dos.py": MISTAKE.replace("\n", "\r\n").encode(), "old.py": MISTAKE.replace("\n", "\r").encode(),
        "mark.py": b"\xef\xbb\xbf" + MISTAKE.encode(), "latin.py": (cookie + MISTAKE + "# é\n").encode("latin-1"),
        "open.py": MISTAKE.rstrip("\n").encode(), "mixed.py": MISTAKE.replace("\n", "\r\n", 3).encode(),
        "feed.py": MISTAKE.replace("\n\n\n", "\n\f\n\n").encode(), "tabs.py": MISTAKE.replace("    ", "\t").encode(),
    }
    modes = dict(zip(files, (0o600, 0o644, 0o755, 0o640, 0o664, 0o711, 0o600, 0o444 | 0o200)))
    for name, raw in files.items():
        (project / name).write_bytes(raw)
        os.chmod(project / name, modes[name])
    if os.geteuid() == 0:
        os.chown(project / "dos.py", 12345, 54321)
    assert lint(option, "--no-cache", "-q") == 0
    for name, raw in files.items():
        after = (project / name).read_bytes()
        assert after != raw
        back = after.replace(b"model.eval()", b"model.eval").replace(b"  # noqa: TL132", b"")
        assert back == raw, name
        assert stat.S_IMODE(os.stat(project / name).st_mode) == modes[name]
    if os.geteuid() == 0:
        assert (os.stat(project / "dos.py").st_uid, os.stat(project / "dos.py").st_gid) == (12345, 54321)
    assert not [name for name in os.listdir(project) if name.startswith(".torchlint-")]


# -- baselines, reports, large files ----------------------------------------------------------------------------------


def test_baselines_are_written_in_one_step_and_through_no_link(project, tmp_path, capfd):
    write(project, {"a.py": MISTAKE})
    (project / "b.json").symlink_to(tmp_path / "elsewhere.json")
    for _ in range(2):
        assert lint("--baseline", "b.json", "--update-baseline", "--no-cache") == 2
        assert "b.json: cannot be written: it is a link to" in capfd.readouterr().err
        assert not (tmp_path / "elsewhere.json").exists() or (tmp_path / "elsewhere.json").read_text() == "{}"
        write(tmp_path, {"elsewhere.json": "{}"})
    (project / "b.json").unlink()
    assert lint("--baseline", "b.json", "--update-baseline", "--no-cache") == 0
    assert stat.S_IMODE(os.stat(project / "b.json").st_mode) & 0o444
    assert lint("--baseline", "b.json", "--no-cache") == 0


@pytest.mark.parametrize("raw", [
    b"", b"{", b"[]", b'{"version": 2, "findings": {}}', b'{"version": 1, "findings": []}', b'{"version": 1, "findings": {"a": {"b": "c"}}}',
    b'{"version": 1, "findings": {"a": {"b": 1e400}}}', b'{"version": 1, "findings": {"a": {"b": -1}}}',
    b'{"version": 1, "findings": {"a": {"b": 1000000000000000000000000000000}}}', b'{"x": ' + b"[" * 100_000, b"\xff", b'{"version": "1"}',
    b'{"version": 1, "findings": {}, "x": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}", b"\x80\x04\x95cos\nsystem\n(S'touch x'\ntR.",
])
def test_baselines_that_are_none(tmp_path, raw):
    path = write(tmp_path, {"b.json": raw}) / "b.json"
    for to_update in (False, True):
        with pytest.raises(BaselineError) as caught:
            Baseline.read(path, to_update)
        assert len(str(caught.value)) < 500


SEEN = {"code": "TS101", "name": "missing-zero-grad", "message": "m", "filename": "a.py", "location": {"row": 1, "column": 1},
        "group": "correctness", "fingerprint": "x:1"}


@pytest.mark.parametrize("change", [
    {"code": "TS"}, {"code": "TSx"}, {"code": 3}, {"name": "\x1b[2J"}, {"name": "a\nb"}, {"url": "\x1b]8;;x"}, {"location": {"row": -1}},
    {"location": {"row": 10**30}}, {"location": None}, {"severity": "x"}, {"ranks": 3}, {"group": "\x07"}, {"filename": 3},
    {"count": "x"}, {"related": [1]}, {"step": "x"},
])
def test_reports_that_are_none(tmp_path, change):
    path = write(tmp_path, {"r.json": json.dumps([{**SEEN, **change}])}) / "r.json"
    with pytest.raises(LiveError):
        live.read(path)


@pytest.mark.parametrize("change", [
    {}, {"filename": "\0"}, {"filename": "../../../etc/passwd"}, {"filename": ""}, {"filename": "/"}, {"location": {"row": 10**9}},
    {"location": {"row": 0, "column": 0}, "end_location": {"row": 10**9}}, {"fingerprint": ""}, {"message": "\x1b[2J\n::error::x"},
    {"details": {"a": [[["x"]] * 3] * 3, "\x1b": "\x1b"}}, {"related": [{"message": "\x1b", "filename": "a.py", "location": {"row": 5}}]},
    {"count": 10**18}, {"ranks": list(range(1000))}, {"step": -1}, {"code": "TS999999"}, {"help": "\x1b[2J"},
])
def test_reports_of_odd_content_are_told(project, capfd, change):
    write(project, {"a.py": MISTAKE, "r.json": json.dumps([{**SEEN, **change}])})
    for form in ("full", "json", "github", "sarif", "junit"):
        assert main(["--with", "r.json", "--no-cache", "-f", form]) == 1
        out, err = capfd.readouterr()
        assert "internal" not in err and "\x1b" not in out + err and "\n::error::x" not in out


def test_files_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    write(tmp_path, {"small": "12345"})
    with open(tmp_path / "huge.py", "wb") as file:
        file.truncate(10**12)  # takes no room on the disk
    for name, most in (("pipe", 10), ("zero", 10), ("small", 4), (".", 10), ("none", 10), ("huge.py", 10**9)):
        with pytest.raises(OSError):
            read_bytes(tmp_path / name, most)
    assert read_bytes(tmp_path / "small", 5) == b"12345"
    (problem,) = Judge(Order(())).file(str(tmp_path / "huge.py")).problems
    assert "cannot be read: more than 300 mb" in problem.message
    assert Digests().of(str(tmp_path / "huge.py")) is None


def test_settings_files_of_any_bytes(tmp_path):
    rng = random.Random(1)
    for _ in range(200):
        raw = b"[tool.torchlint]\n" + bytes(rng.choice(b"[]{}='\",.\n#ab1_-\xff\x00\r") for _ in range(rng.randrange(60)))
        path = write(tmp_path, {"pyproject.toml": raw}) / "pyproject.toml"
        try:
            read_config(path)
        except ConfigError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)
