"""The cache: what it remembers, when it forgets, and what it survives."""

import hashlib
import os
import subprocess
import sys
import time

import msgspec
import pytest

from tests.torchlint.fake_engine import finding
from tests.torchlint.settings.test_config import KNOWN
from tests.torchlint.support import ENGINE, ROOT, fake_engine, run_python, write  # noqa: F401
from torchlint.files.modules import Modules
from torchlint.run.cache import SUM, Cache, _own_source, sealed, version_key
from torchlint.run.digests import Digests
from torchlint.run.judge import Order, Verdict
from torchlint.run.runner import Runner
from torchlint.run.shards import Shard
from torchlint.settings.config import CACHE_FOLDER, Config


def run(folder, **config):
    write(folder, {"setup.cfg": ""})  # makes it a project, so that its cache lies in it
    runner = Runner(Config(folder, **config), tuple(KNOWN), KNOWN)
    outcome = runner.run([str(folder)], jobs=1)
    return [(os.path.basename(one.location.filename), one.location.row) for one in outcome.findings], outcome


def shards(folder):
    return sorted((folder / CACHE_FOLDER).glob("*/*.msgpack"))


def test_second_run_judges_nothing_and_finds_the_same(tmp_path, fake_engine):  # noqa: F811
    write(
        tmp_path,
        {"setup.cfg": "", "a.py": "bad()\n", "b/c.py": "x = 1\nrelated(1)\n", "broken.py": "x = (\n", "n.ipynb": "{"},
    )
    first = run(tmp_path)
    assert fake_engine() == ["a.py", "broken.py", "c.py"]
    second = run(tmp_path)
    assert fake_engine() == []
    assert (first[0], first[1].findings, first[1].problems) == (second[0], second[1].findings, second[1].problems)
    assert len(second[1].problems) == 2


def test_changed_file_is_judged_again(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "bad()\n", "b.py": "bad()\n"})
    run(tmp_path)
    fake_engine()
    before = os.stat(tmp_path / "b.py")
    write(tmp_path, {"b.py": "x()\n\n"})
    os.utime(tmp_path / "b.py", ns=(before.st_atime_ns, before.st_mtime_ns))  # same size and time: content counts
    assert run(tmp_path)[0] == [("a.py", 1)]
    assert fake_engine() == ["b.py"]


def test_file_is_judged_again_when_what_it_depends_on_changes(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "reads('lib.txt')\n", "b.py": "reads('missing.txt')\n", "c.py": "x = 1\n", "lib.txt": "1"})
    run(tmp_path)
    fake_engine()
    write(tmp_path, {"lib.txt": "2"})
    run(tmp_path)
    assert fake_engine() == ["a.py"]
    write(tmp_path, {"missing.txt": ""})
    run(tmp_path)
    assert fake_engine() == ["b.py"]
    (tmp_path / "missing.txt").unlink()
    run(tmp_path)
    assert fake_engine() == ["b.py"]
    run(tmp_path)
    assert fake_engine() == []


def test_a_folder_is_what_it_lists(tmp_path):
    write(tmp_path, {"a.py": "x = 1\n", "b/c.ipynb": "{}"})
    folder = str(tmp_path) + os.sep
    before = Digests().of(folder)
    write(tmp_path, {"a.py": "x = 2\n", "notes.txt": "", ".hidden/x.py": "", "__pycache__/x.py": ""})
    assert Digests().of(folder) == before is not None
    write(tmp_path, {"d.py": ""})
    assert Digests().of(folder) != before
    assert Digests().of(str(tmp_path / "gone") + os.sep) is None


def test_noqa_and_settings_that_hide_are_not_frozen_in(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "elsewhere('helper.py')\n", "helper.py": "x\n"})
    assert run(tmp_path)[0] == [("helper.py", 1)]
    assert run(tmp_path, per_file_ignores={"helper.py": ("TL101",)})[0] == []


def test_failures_of_ours_are_not_remembered(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "crash()\n"})
    run(tmp_path)
    run(tmp_path)
    assert fake_engine() == ["a.py", "a.py"]


def test_other_rules_release_and_roots_are_other_verdicts():
    rules = tuple(KNOWN)
    changed = msgspec.structs.replace(rules[0], text="another page")
    orders = [
        Order(rules),
        Order(rules[:-1]),
        Order((changed, *rules[1:])),
        Order(rules, (2, 6)),
        Order(rules, (2, 7)),
        Order(rules, None, ("/x",)),
        Order(rules, releases=(("transformers", (5, 0)),)),
    ]
    assert len({version_key(order) for order in orders}) == len(orders)
    assert version_key(Order(rules)) == version_key(Order(tuple(KNOWN)))


def test_new_engine_does_not_trust_an_old_ones_verdicts(monkeypatch):
    before = version_key(Order(()))
    monkeypatch.setattr("torchlint.run.cache._own_source", lambda: "edited")
    assert version_key(Order(())) != before
    assert len(_own_source()) == 64


def test_new_tables_of_apis_are_a_new_engine(tmp_path, monkeypatch):
    write(tmp_path, {"run/cache.py": "", "tables.json": "{}"})
    monkeypatch.setattr("torchlint.run.cache.__file__", str(tmp_path / "run" / "cache.py"))
    before = _own_source.__wrapped__()
    write(tmp_path, {"tables.json": "{ }"})
    assert _own_source.__wrapped__() != before


def test_a_question_is_no_file_that_findings_may_stand_in(tmp_path):
    """The cache may come with the tree; what it has never looked at as a file is not read, or told of, as one."""
    write(tmp_path, {"a.py": "x = 1\n"})
    path, order, digests = str(tmp_path / "a.py"), Order(tuple(KNOWN)), Digests()
    asked, answer = Modules().question("module", str(tmp_path), "net")
    for name, known in ((path, True), (asked, False)):
        text = digests.of(path)
        found = finding(name, name=KNOWN.rules[101].name, url=KNOWN.rules[101].url, digest=text)
        cache = Cache(tmp_path / "c", order, digests)
        cache.put(path, Verdict(text, (found,), depends={asked: answer}))
        assert cache.save() is None
        assert (Cache(tmp_path / "c", order, digests).get(path) is not None) is known


@pytest.mark.parametrize("asked", ["\0", "x\0module", "/\0nothing\0x", "/\0module\0x\0y", "\0module\0", "\0package\0."])
def test_questions_that_are_none_are_survived(asked):
    assert Digests().of(asked) is None


@pytest.mark.parametrize("rubbish", [b"", b"\x00", b"not msgpack", b"\x92\x90", b"\x92\xa1x\x80", b"\x91" * 5000])
def test_corrupt_shards_count_as_not_there(tmp_path, fake_engine, rubbish):  # noqa: F811
    write(tmp_path, {"a.py": "bad()\n"})
    run(tmp_path)
    (shard,) = shards(tmp_path)
    shard.write_bytes(rubbish)
    assert run(tmp_path)[0] == [("a.py", 1)]
    assert fake_engine() == ["a.py", "a.py"]
    run(tmp_path)
    assert fake_engine() == []


def test_half_a_shard_counts_as_not_there(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "bad()\n"})
    run(tmp_path)
    (shard,) = shards(tmp_path)
    shard.write_bytes(shard.read_bytes()[:-5])
    assert run(tmp_path)[0] == [("a.py", 1)]


def test_shard_whose_numbers_lead_nowhere(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "reads('x')\nbad()\n", "b.py": "x = 1\n"})
    run(tmp_path)
    (shard,) = shards(tmp_path)
    paths, glimpses, entries = msgspec.msgpack.decode(shard.read_bytes()[SUM:])
    shard.write_bytes(sealed(msgspec.msgpack.encode([[], glimpses, entries]), f"{shard.parent.name}/{shard.stem}"))
    fake_engine()
    assert run(tmp_path)[0] == [("a.py", 2)]
    assert fake_engine() == ["a.py"]


def test_folder_explains_itself_to_git_and_backups(tmp_path, fake_engine):  # noqa: F811
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    write(tmp_path, {"a.py": "bad()\n"})
    run(tmp_path)
    status = subprocess.run(["git", "-C", tmp_path, "status", "--porcelain"], capture_output=True, text=True).stdout
    assert status == "?? a.py\n?? setup.cfg\n"
    assert (
        (tmp_path / CACHE_FOLDER / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    )
    assert not list((tmp_path / CACHE_FOLDER).rglob(".torchlint-*"))


def test_nothing_is_written_where_it_cannot_be(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "bad()\n", "file": "x"})
    found, outcome = run(tmp_path, cache_dir=tmp_path / "file" / "cache")
    assert found == [("a.py", 1)]
    assert outcome.warnings == [f"{tmp_path / 'file' / 'cache'}: cache cannot be written: not a directory"]
    write(tmp_path, {CACHE_FOLDER: "in the way"})
    assert run(tmp_path)[1].warnings == []  # nobody asked for that place


def test_write_that_fails_leaves_no_debris(tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError(28, "No space left on device")

    cache = Cache(tmp_path / "c", Order(()), Digests())
    cache.put("/x/a.py", Verdict("00"))
    monkeypatch.setattr(os, "replace", refuse)
    assert cache.save() == f"{tmp_path / 'c'}: cache cannot be written: no space left on device"
    assert not [path for path in (tmp_path / "c").rglob("*") if path.is_file()]


def test_verdicts_on_files_that_are_gone_are_dropped(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "bad()\n", "b.py": "x = 1\n"})
    run(tmp_path)
    (tmp_path / "a.py").unlink()
    write(tmp_path, {"b.py": "x = 2\n"})
    run(tmp_path)
    (shard,) = shards(tmp_path)
    _, _, entries = msgspec.msgpack.decode(shard.read_bytes()[SUM:])
    assert [os.path.basename(path) for path in entries] == ["b.py"]


def test_versions_of_long_ago_are_dropped(tmp_path, fake_engine):  # noqa: F811
    old, odd = tmp_path / CACHE_FOLDER / ("0" * 20), tmp_path / CACHE_FOLDER / "mine"
    for folder in (old, odd):
        write(folder, {"0a.msgpack": "", ".torchlint-abc": ""})
        os.utime(folder / ".torchlint-abc", (0, 0))
        os.utime(folder, (time.time() - 40 * 24 * 3600,) * 2)
    write(tmp_path, {"a.py": "bad()\n"})
    run(tmp_path)
    assert not old.exists() and odd.exists()


def test_runs_at_the_same_time_do_not_disturb_each_other(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"setup.cfg": "", **{f"p{number}/x{number}.py": "sleep(0.02)\nbad()\n" for number in range(12)}})
    command = [sys.executable, "-m", "torchlint", "--output-format", "concise", "--jobs", "1"]
    runs = [
        subprocess.Popen(
            [*command, str(tmp_path / f"p{number}"), str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        )
        for number in range(3)
    ]
    outputs = {process.communicate(timeout=60)[0] for process in runs}
    assert len(outputs) == 1 and outputs.pop().count("TL101") == 12
    fake_engine()
    assert len(run(tmp_path)[0]) == 12


def test_merging_keeps_what_the_other_run_wrote(tmp_path):
    write(tmp_path, {"a.py": "", "b.py": ""})
    a, b = str(tmp_path / "a.py"), str(tmp_path / "b.py")
    digest = hashlib.sha256(b"").hexdigest()
    shard = Shard([], [], {}).with_more({a: Verdict("1", depends={"/x": digest, "/y": None})})
    shard = shard.with_more({b: Verdict("2", depends={"/y": None, "/z": None})})
    assert set(shard.entries) == {a, b}
    assert [[shard.paths[at] for at, _, _ in shard.entries[path].depends] for path in (a, b)] == [
        ["/x", "/y"],
        ["/y", "/z"],
    ]
    assert shard.entries[a].depends[0][1] == bytes.fromhex(digest)


def test_warm_runs_do_not_load_libcst(tmp_path):
    write(tmp_path, {"setup.cfg": "", "a.py": "import torch\nx = 1\n"})
    code = (
        "import sys; from torchlint.cli import main; status = main([sys.argv[1]]); "
        "print(status, 'libcst' in sys.modules, 'torchlint.engine' in sys.modules)"
    )
    cold = run_python("-c", code, tmp_path)
    warm = run_python("-c", code, tmp_path)
    assert cold.stdout.decode().splitlines()[-1].endswith("True"), cold
    assert warm.stdout.decode().splitlines()[-1] == "0 False False", warm
    assert (
        run_python("-c", code, tmp_path, env={"TORCHLINT_ENGINE": ENGINE})
        .stdout.decode()
        .splitlines()[-1]
        .endswith("True")
    )


def test_standard_input_that_is_the_file_is_known_as_the_file_is(tmp_path, monkeypatch, fake_engine):  # noqa: F811
    write(tmp_path, {"setup.cfg": "", "a.py": "bad()\n", "b.py": "bad()  # noqa\nreads('a.py')\n", "broken.py": "x = (\n"})

    def piped(name, text=None):
        path = tmp_path / name
        raw = path.read_bytes() if text is None else text
        outcome = Runner(Config(tmp_path), tuple(KNOWN), KNOWN).run_text(str(path), raw, use_cache=True)
        return outcome.findings, outcome.problems

    def alone(name):
        outcome = Runner(Config(tmp_path), tuple(KNOWN), KNOWN).run([str(tmp_path / name)])
        return outcome.findings, outcome.problems

    for name in ("a.py", "b.py", "broken.py"):
        first = piped(name)
        assert fake_engine() == [name]
        assert alone(name) == piped(name) == first
        assert fake_engine() == []
    assert piped("a.py", b"x = 1\nbad()\n")[0][0].location.row == 2  # not what is in the file
    assert fake_engine() == ["a.py"]
    assert alone("a.py") == piped("a.py") and fake_engine() == []
    write(tmp_path, {"a.py": "x = 1\n"})
    assert piped("b.py") == alone("b.py") and fake_engine() == ["b.py"]  # what it depends on has changed
    assert len(piped("gone.py", b"bad()\n")[0]) == len(piped("gone.py", b"bad()\n")[0]) == 1
    assert fake_engine() == ["gone.py", "gone.py"]
    if sys.platform == "linux":
        monkeypatch.delenv("FAKE_ENGINE_LOG")  # which could not hold the name
        odd = os.fsdecode(b"\xff.py")
        write(tmp_path, {odd: "bad()\n"})
        assert len(piped(odd)[0]) == 1


def test_standard_input_that_is_known_loads_no_engine(tmp_path):
    text = "from torch import nn\n\n\ndef f(x, y):\n    return nn.functional.cross_entropy(x.softmax(1), y)\n"
    write(tmp_path, {"setup.cfg": "", "a.py": text})
    count = "print(file=sys.stderr, *sorted({name.split('.')[0] for name in sys.modules} & {'libcst'}))"
    code = f"import sys; from torchlint.cli import main; status = main(sys.argv[1:]); {count}; sys.exit(status)"
    told = [
        run_python("-c", code, *options, cwd=tmp_path, input=text.encode())
        for options in (["-f", "json", "a.py"], ["-f", "json", "-", "--stdin-filename", "a.py"],
                        ["-f", "json", "-", "--stdin-filename", "a.py", "--no-cache"])
    ]
    assert [done.stderr.split() for done in told] == [[b"libcst"], [], [b"libcst"]]
    assert told[0].stdout == told[1].stdout == told[2].stdout != b"[]\n"
