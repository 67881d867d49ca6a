"""--watch and --verbose."""

import re

import pytest

from tests.torchlint.support import fake_engine, write  # noqa: F401
from torchlint.cli import main, watch


@pytest.fixture
def project(tmp_path, monkeypatch, fake_engine):  # noqa: F811
    monkeypatch.chdir(write(tmp_path, {"setup.cfg": "", "a.py": "bad()\n"}))
    return tmp_path


def test_what_changes_is_judged_again(project, monkeypatch, capfd):
    """Each pause is a chance to change something; the last one is where the user has had enough."""
    steps = iter([
        lambda: None,
        lambda: write(project, {"a.py": "x = 1\nbad()\n"}),
        lambda: write(project, {"torchlint.toml": "slect = []\n"}),
        lambda: write(project, {"torchlint.toml": "", "b.py": "bad()\n"}),
    ])

    def sleep(seconds):
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(watch.time, "sleep", sleep)
    assert main(["--watch", "-f", "concise"]) == 0
    out, err = capfd.readouterr()
    assert re.findall(r"^[ab]\.py:\d", out, re.M) == ["a.py:1", "a.py:2", "a.py:2", "b.py:1"]
    assert err.count("torchlint: watching") == 4 and "unknown key 'slect'" in err


def test_watch_needs_files(project, capfd):
    assert main(["--watch", "-"]) == 2 and "--watch waits for files to change" in capfd.readouterr().err


def test_verbose(project, capfd):
    write(project, {"sub/torchlint.toml": "", "sub/b.py": "reads('../a.py')\n"})
    assert main(["-v", "-f", "concise"]) == 1
    err = capfd.readouterr().err
    assert "torchlint: settings none: the defaults: torch not known, " in err and "sub/torchlint.toml: torch not known" in err
    assert "torchlint: of 2 files, 0 known from the cache, 2 judged\n" in err
    assert re.search(r"times: settings \d+\.\d\d s, finding files \d+\.\d\d s, judging \d+\.\d\d s, telling ", err)
    assert re.search(r"s sub/b.py: 16 bytes, follows calls into 1 file\n", err) or "sub/b.py: 17 bytes, follows" in err
    main(["-v", "-f", "concise"])
    assert "of 2 files, 2 known from the cache, 0 judged" in capfd.readouterr().err
    main(["-v", "-f", "concise", "--select", "TL101"])
    assert ", 1 rule, 1 file\n" in capfd.readouterr().err
    assert main(["-v", "-q"]) == 2
