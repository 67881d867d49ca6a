"""What is loaded when: not measured in seconds, which machines disagree about, but in modules."""

import pytest

from tests.torchlint.support import run_python

HEAVY = ("libcst", "torch", "rich", "tokenize_rt")


def loaded(code):
    """The top-level modules that some code loads in a fresh Python, besides those that are there before (of coverage)."""
    count = "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    done = run_python("-c", f"import sys\nbefore = set(sys.modules)\n{code}\n{count}")
    assert done.returncode == 0, done.stderr.decode()
    return set(done.stdout.decode().split("\n")[-2].split())


@pytest.mark.parametrize(
    "code",
    [
        "import torchlint",
        "import torchlint.findings, torchlint.catalogue.pages, torchlint.catalogue.vocabulary, torchlint.report",
        "from torchlint.cli import main; main(['--version'])",
        "from torchlint.cli import main; main(['--help'])",
    ],
)
def test_light_things_load_nothing_heavy(code):
    assert loaded(code).isdisjoint(HEAVY)


def test_the_bare_package_loads_nothing_of_others():
    assert loaded("import torchlint").isdisjoint({"msgspec", "click", "multiprocessing", "tomllib"})


def test_version_loads_hardly_anything():
    assert loaded("from torchlint.cli import main; main(['--version'])").isdisjoint(
        {"msgspec", "multiprocessing", "tomllib"}
    )


@pytest.mark.parametrize(
    "code",
    [
        "from torchlint.cli import main; main(['rules'])",
        "from torchlint.cli import main; main(['explain', '101'])",
        "import torchlint.cli.check, torchlint.run.runner, torchlint.run.cache, torchlint.run.workers, torchlint.run.judge",
        "import torchlint.flake8",
        "import torchlint; torchlint.check, torchlint.Session, torchlint.Finding",
    ],
)
def test_nothing_but_judging_loads_libcst(code):
    assert loaded(code).isdisjoint({"libcst", "torch"})


def test_a_small_run_that_finds_nothing_loads_little(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "requirements.txt").write_text("numpy\ntorch>=2.1.0,<3\n")
    code = f"from torchlint.cli import main; main(['--isolated', '--no-cache', {str(tmp_path)!r}])"
    assert loaded(code).isdisjoint(
        {"libcst", "torch", "rich", "multiprocessing", "difflib", "tempfile", "configparser", "email", "packaging"}
    )


def test_heavy_things_would_be_seen():
    assert "libcst" in loaded("import libcst")


def test_torch_is_not_loaded_even_to_judge():
    assert "torch" not in loaded("import torchlint.engine, torchlint.cli.check, torchlint.flake8")
