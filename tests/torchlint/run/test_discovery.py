"""Which files are found, and how they are judged: in how many processes ever, whatever they do."""

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import threading

import msgspec
import pytest

from tests.torchlint.fake_engine import finding
from tests.torchlint.settings.test_config import KNOWN
from tests.torchlint.support import fake_engine, run_python, write  # noqa: F401
from torchlint.catalogue.pages import Catalogue
from torchlint.engine import Judged
from torchlint.files.source import Problem
from torchlint.run.discovery import Discovery, File
from torchlint.run.judge import Judge, Order, Verdict
from torchlint.run.pool import _serve
from torchlint.run.runner import Runner
from torchlint.run.workers import default_jobs, judge_all
from torchlint.settings.config import Config


def names(folder, *paths, force=False, **config):
    """The files found below `folder`, as paths relative to it, and the problems as `path: message`."""
    discovery = Discovery(Config(folder, **config), force)
    found = discovery.find([str(folder / path) for path in paths or ("",)])
    files = sorted(os.path.relpath(file.path, folder) for file in found)
    return files, [f"{os.path.relpath(one.filename, folder)}: {one.message}" for one in discovery.problems]


def found(folder, *paths, **more):
    files, problems = names(folder, *paths, **more)
    assert not problems
    return files


def test_python_files_and_notebooks_largest_first(tmp_path):
    write(
        tmp_path,
        {"a.py": "", "b/c.py": "x" * 10, "b/n.ipynb": "x" * 5, "b/d.pyw": "", "e.txt": "", "f.pyi": "", "g": ""},
    )
    assert found(tmp_path) == ["a.py", "b/c.py", "b/d.pyw", "b/n.ipynb"]
    assert [os.path.basename(file.path) for file in Discovery(Config(tmp_path)).find([str(tmp_path)])][:2] == [
        "c.py",
        "n.ipynb",
    ]


def test_each_file_once(tmp_path):
    write(tmp_path, {"a.py": "", "b/c.py": ""})
    assert found(tmp_path, "", "a.py", "b", "b/../a.py") == ["a.py", "b/c.py"]


def test_default_excludes_and_own_ones(tmp_path):
    write(
        tmp_path,
        {
            name: ""
            for name in (
                "a.py",
                ".venv/x.py",
                "node_modules/y/x.py",
                "src/build/x.py",
                "old/x.py",
                "old/deep/x.py",
                "src/old.py",
                "src/gen/a_pb2.py",
            )
        },
    )
    assert found(tmp_path) == ["a.py", "old/deep/x.py", "old/x.py", "src/gen/a_pb2.py", "src/old.py"]
    assert found(tmp_path, exclude=("old", "*_pb2.py", "/src/build")) == [
        ".venv/x.py",
        "a.py",
        "node_modules/y/x.py",
        "src/old.py",
    ]


def test_an_exclude_can_be_taken_back(tmp_path):
    """The last pattern that says anything of a path counts, as in a .gitignore; a name among them is a pattern, too."""
    write(tmp_path, {"build/x.py": "", "src/build/x.py": "", "a_pb2.py": "", "keep_pb2.py": "", "x y.py": "", "#z/x.py": ""})
    everywhere = ["#z/x.py", "a_pb2.py", "build/x.py", "keep_pb2.py", "src/build/x.py", "x y.py"]
    assert found(tmp_path, exclude=("none",)) == everywhere
    assert found(tmp_path, exclude=("build", "*_pb2.py")) == ["#z/x.py", "x y.py"]
    kept = ["#z/x.py", "keep_pb2.py", "src/build/x.py", "x y.py"]
    assert found(tmp_path, exclude=("build", "*_pb2.py", "!/src/build", "!keep_pb2.py")) == kept
    assert found(tmp_path, exclude=("#z", "x y.py", "!nothing")) == everywhere[:-1]


def test_named_paths_are_taken_even_if_excluded_unless_told_otherwise(tmp_path):
    write(tmp_path, {"venv/lib/site/x.py": "", "venv/y.py": "", "script": "x = 1", "a.py": ""})
    assert found(tmp_path, "venv") == ["venv/lib/site/x.py", "venv/y.py"]
    assert found(tmp_path, "venv/y.py", "script") == ["script", "venv/y.py"]
    assert found(tmp_path, "venv/y.py", "venv", "a.py", force=True) == ["a.py"]


@pytest.fixture
def repository(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def test_gitignore_as_git_means_it(repository):
    write(
        repository,
        {
            ".gitignore": "*.gen.py\n/data/\n!keep.gen.py\ndir_only/\n",
            "a.py": "",
            "x.gen.py": "",
            "keep.gen.py": "",
            "data/x.py": "",
            "src/data/x.py": "",
            "dir_only/x.py": "",
            "src/dir_only": "",
            "src/dir_only.py": "",
            "src/.gitignore": "local.py\n!special.gen.py\n",
            "src/local.py": "",
            "local.py": "",
            "src/special.gen.py": "",
            "src/deep/local.py": "",
            "src/deep/special.gen.py": "",
            ".git/info/exclude": "secret.py\n",
            "src/secret.py": "",
        },
    )
    listed = subprocess.run(
        ["git", "-C", repository, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True
    )
    assert found(repository) == sorted(name for name in listed.stdout.split() if name.endswith(".py"))
    assert "src/special.gen.py" in found(repository) and "src/local.py" not in found(repository)


def test_gitignore_above_the_folder_asked_for(repository):
    write(
        repository,
        {
            ".gitignore": "gen/\n*_x.py\n",
            "src/a.py": "",
            "src/a_x.py": "",
            "src/gen/b.py": "",
            "gen/c.py": "",
            "gen/c_x.py": "",
        },
    )
    assert found(repository, "src") == ["src/a.py"]
    assert found(repository, "gen") == ["gen/c.py", "gen/c_x.py"]  # asked for, so its files are wanted
    assert found(repository, "gen/c.py", "src/a_x.py") == ["gen/c.py", "src/a_x.py"]
    assert found(repository, "gen/c.py", "src/a_x.py", "src/a.py", force=True) == ["src/a.py"]


def test_what_is_in_an_ignored_folder_is_not_taken_back(repository):
    write(repository, {".gitignore": "gen/\n!gen/y.py\n", "gen/.gitignore": "!x.py\n", "gen/x.py": "", "gen/y.py": "", "z.py": ""})
    asked = ["git", "-C", repository, "check-ignore", "gen/x.py", "gen/y.py", "z.py"]
    assert subprocess.run(asked, capture_output=True, text=True).stdout.split() == ["gen/x.py", "gen/y.py"]
    assert found(repository, "gen/x.py", "gen/y.py", "z.py", force=True) == ["z.py"]


def test_exclude_of_a_worktree(repository, tmp_path_factory):
    git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@x"]
    write(repository, {"a.py": ""})
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    tree = tmp_path_factory.mktemp("trees") / "tree"
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True)
    write(repository, {".git/info/exclude": "secret.py\n"})
    write(tree, {"secret.py": ""})
    assert found(tree) == ["a.py"]


def test_gitignore_that_is_no_text_is_survived(repository):
    write(repository, {".gitignore": b"\xff\xfe\n*.gen.py\n", "a.gen.py": "", "b.py": ""})
    assert found(repository) == ["b.py"]


def test_links(tmp_path):
    write(tmp_path, {"outside/o.py": "", "in/a.py": "", "in/sub/b.py": ""})
    inside = tmp_path / "in"
    (inside / "loop").symlink_to(inside)
    (inside / "out").symlink_to(tmp_path / "outside")
    (inside / "out.py").symlink_to(tmp_path / "outside/o.py")
    (inside / "twin.py").symlink_to(inside / "a.py")
    (inside / "gone.py").symlink_to("nowhere.py")
    (inside / "gone").symlink_to("nowhere")
    files, problems = names(inside)
    assert [name for name in files if name != "twin.py"] in (["a.py", "sub/b.py"], ["sub/b.py"])
    assert len(files) == 2
    assert problems == ["gone.py: dangling link to nowhere.py"]
    assert found(inside, "out", "out.py") == ["out/o.py"]


def test_paths_that_are_not_to_be_had(tmp_path):
    write(tmp_path, {"a.py": ""})
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "gone.py").symlink_to("nowhere.py")
    files, problems = names(tmp_path, "a.py", "no.py", "pipe.py", "gone.py", "a.py/b", "x\0y")
    assert files == ["a.py"]
    assert [problem.split(": ", 1)[1] for problem in problems] == [
        "no such file or folder",
        "neither a file nor a folder (to read standard input, give -)",
        "dangling link to nowhere.py",
        "cannot be read: not a directory",
        "not a path",
    ]
    assert names(tmp_path)[0] == ["a.py"]  # a walk passes over pipes


def test_names_that_are_not_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.py"
    with open(path, "w"):
        pass
    files, (problem,) = names(tmp_path)
    assert not files
    assert "its name is not UTF-8" in problem


def test_folder_that_cannot_be_read(tmp_path, monkeypatch):
    write(tmp_path, {"a.py": "", "locked/b.py": "", "z/c.py": ""})
    real = os.scandir

    def scandir(path):  # tests may run as root, for whom no folder is locked
        if os.path.basename(path) == "locked":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert names(tmp_path) == (["a.py", "z/c.py"], ["locked: folder cannot be read: permission denied"])


# Judging


def run(folder, *paths, config=None, **more):
    runner = Runner(config or Config(folder), tuple(KNOWN), KNOWN)
    options = {"use_cache": False, "jobs": 1, **more}
    outcome = runner.run([str(folder / path) for path in paths or ("",)], **options)
    rows = [(os.path.relpath(one.location.filename, folder), one.location.row) for one in outcome.findings]
    return rows, [(os.path.relpath(one.filename, folder), one.message) for one in outcome.problems]


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_file_is_judged_whatever_the_others_do(tmp_path, fake_engine, jobs):  # noqa: F811
    filler = "x = 1\n" * 3000
    files = {f"f{number}.py": f"{filler}bad()\n" for number in range(20)}
    write(tmp_path, {**files, "broken.py": "x = (\n", "crash.py": filler + "crash()\n", "latin.py": b"'\xe9'\n"})
    found, problems = run(tmp_path, jobs=jobs)
    assert sorted(found) == sorted((name, 3001) for name in files)
    said = dict(problems)
    assert said["broken.py"] == "does not parse: '(' was never closed"
    assert said["latin.py"].startswith("byte 0xe9 is not utf-8")
    assert said["crash.py"].startswith(
        "internal error, please report it (RecursionError: maximum recursion depth exceeded)"
    )
    assert all("\n" not in message for message in said.values())


def test_process_that_dies_costs_its_file_alone(tmp_path, fake_engine):  # noqa: F811
    filler = "x = 1\n" * 2000
    files = {f"f{number:02}.py": f"{filler}bad()\n" for number in range(30)}
    write(tmp_path, {**files, "die1.py": filler + "die()\n", "die2.py": "die()\n"})
    found, problems = run(tmp_path, jobs=2)
    assert len(found) == 30
    assert [name for name, _ in problems] == ["die1.py", "die2.py"]
    assert {message for _, message in problems} == {
        "internal error, please report it: the process judging this file died (signal SIGKILL)"
    }


def test_few_files_are_judged_in_this_process(tmp_path, fake_engine, monkeypatch):  # noqa: F811
    monkeypatch.setattr("torchlint.run.pool.Pool", None)
    write(tmp_path, {"a.py": "bad()\n", "b.py": "bad()\n"})
    assert len(run(tmp_path, jobs=8)[0]) == 2
    assert default_jobs() >= 1


def test_debug_variable_lets_errors_through(tmp_path, fake_engine, monkeypatch):  # noqa: F811
    write(tmp_path, {"crash.py": "crash()\n"})
    monkeypatch.setenv("TORCHLINT_DEBUG", "1")
    with pytest.raises(RecursionError):
        run(tmp_path)


def test_garbage_is_not_collected_while_a_file_is_judged(tmp_path, monkeypatch):
    seen = []

    class Watching:
        def check(self, filename, text):
            seen.append(gc.isenabled())
            return Judged(())

    write(tmp_path, {"a.py": "x = 1\n", "b.py": "y = 1\n"})
    monkeypatch.setattr("torchlint.run.judge.make_engine", lambda order: Watching())
    run(tmp_path)
    assert seen == [False, False] and gc.isenabled()


def test_nor_between_files(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "x = 1\n", "b.py": "y = 1\n"})
    files = [File(str(tmp_path / name), 6) for name in ("a.py", "b.py")]
    assert [gc.isenabled() for _ in judge_all(files, Order(()), 1)] == [False, False] and gc.isenabled()


def test_a_process_of_its_own_leaves_the_garbage_to_us(tmp_path):
    code = "import gc, sys; from torchlint.cli import main; sys.argv = ['torchlint', '--version']; main(); print(gc.isenabled())"
    assert run_python("-c", code).stdout.split()[-1] == b"False"
    assert run_python("-c", code.replace("main()", "main(['--version'])")).stdout.split()[-1] == b"True"


def test_file_that_vanishes_between_finding_and_judging(tmp_path, fake_engine):  # noqa: F811
    verdict = Judge(Order(())).file(str(tmp_path / "gone.py"))
    assert verdict.problems == (Problem(str(tmp_path / "gone.py"), "cannot be read: no such file or directory"),)
    assert not verdict.lasting
    assert list(judge_all([], Order(()), 4)) == []


def test_findings_in_other_files_once_and_heeding_that_files_noqa(tmp_path, fake_engine):  # noqa: F811
    write(
        tmp_path,
        {
            "helper.py": "x = 1\n",
            "quiet.py": "x = 1  # noqa: TL101\n",
            "a.py": "elsewhere('helper.py')\nelsewhere('quiet.py')\n",
            "b.py": "elsewhere('helper.py')  # noqa\n",
        },
    )
    assert run(tmp_path) == ([("helper.py", 1)], [])
    assert run(tmp_path, "b.py", "helper.py") == ([("helper.py", 1)], [])
    assert run(tmp_path, "b.py") == ([], [])


def test_per_file_ignores(tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "bad()\n", "tests/b.py": "bad()\n", "tests/deep/c.py": "bad()\n"})
    config = Config(tmp_path, per_file_ignores={"tests/*": ("TL1",), "a.py": ("TL2",)})
    assert run(tmp_path, config=config)[0] == [("a.py", 1)]
    config = Config(tmp_path, per_file_ignores={"!tests/": ("correctness",)})
    assert run(tmp_path, config=config)[0] == [("tests/b.py", 1), ("tests/deep/c.py", 1)]
    config = Config(tmp_path / "tests", per_file_ignores={"a.py": ("TL101",)})
    assert ("a.py", 1) not in run(tmp_path, config=config)[0]


def test_severity_by_group(tmp_path, fake_engine):  # noqa: F811
    runner = Runner(Config(tmp_path, severity={"correctness": "note"}), (), Catalogue(()))
    assert [one.severity for one in runner.visible([finding(str(tmp_path / "x.py"))])] == ["note"]


def test_notebooks(tmp_path, fake_engine):  # noqa: F811
    cells = (
        '{"cells": [{"cell_type": "markdown", "source": "x"}, {"cell_type": "code",'
        '"source": ["%time bad()\\n", "bad()"]},'
        '{"cell_type": "code", "source": "def :"}, {"cell_type": "code", "source": "bad()  # noqa"}]}'
    )
    write(tmp_path, {"n.ipynb": cells, "m.ipynb": "{"})
    runner = Runner(Config(tmp_path), tuple(KNOWN), KNOWN)
    outcome = runner.run([str(tmp_path)], jobs=1, use_cache=False)
    assert [(one.location.cell, one.location.row, one.location.column) for one in outcome.findings] == [
        (2, 1, 7),
        (2, 2, 1),
    ]
    assert runner.line(outcome.findings[0].location) == "%time bad()"
    assert [(os.path.basename(one.filename), one.cell, one.row) for one in outcome.problems] == [
        ("m.ipynb", None, None),
        ("n.ipynb", 3, 1),
    ]


def test_lines_of_files_that_are_gone(tmp_path):
    runner = Runner(Config(tmp_path), (), KNOWN)
    assert runner.line(finding(str(tmp_path / "gone.py")).location) is None
    write(tmp_path, {"a.py": "one\n"})
    assert runner.line(finding(str(tmp_path / "a.py"), 1).location) == "one"
    assert runner.line(finding(str(tmp_path / "a.py"), 9).location) is None


def test_worker_answers_until_nobody_asks(tmp_path, fake_engine):  # noqa: F811
    """The life of a worker, once in this process, where coverage and debuggers see it."""
    write(tmp_path, {"a.py": "bad()\n", "b.py": "x = (\n"})
    ours, theirs = multiprocessing.Pipe()
    handler = signal.getsignal(signal.SIGINT)
    try:
        ours.send_bytes(
            msgspec.msgpack.encode([str(tmp_path / "a.py"), str(tmp_path / "b.py"), str(tmp_path / "gone.py")])
        )
        verdicts = []
        thread = threading.Thread(target=lambda: (verdicts.extend(ours.recv_bytes() for _ in range(3)), ours.close()))
        thread.start()
        _serve(theirs, Order(()))
        thread.join()
    finally:
        signal.signal(signal.SIGINT, handler)
        gc.enable()
    first, second, third = (msgspec.msgpack.decode(verdict, type=tuple[Verdict, float])[0] for verdict in verdicts)
    assert [one.code for one in first.findings] == ["TL101"]
    assert second.problems[0].message.startswith("does not parse")
    assert third.problems[0].message.startswith("cannot be read")


def test_memory_is_looked_after_in_long_runs(tmp_path, fake_engine, monkeypatch):  # noqa: F811
    collected = []
    monkeypatch.setattr("torchlint.files.garbage.MANY", -1)
    monkeypatch.setattr("torchlint.files.garbage.gc.collect", lambda: collected.append(1))
    write(tmp_path, {"a.py": "x = 1\n" * 3, "b.py": "x = 1\n" * 3})
    run(tmp_path)
    assert len(collected) == 2


def test_orders_travel_to_processes_that_are_not_forked():
    order = Order(tuple(KNOWN), (2, 6), ("/x",))
    assert pickle.loads(pickle.dumps(order)) == order
