"""The secret that caches are sealed with: outside of every tree, this user's alone, and without it a cache is not there."""

import json
import os
import stat
import subprocess
import sys

import pytest

from tests.torchlint.support import ROOT, write
from torchlint.run import secret as secrets
from torchlint.run.secret import SIZE, NoSecret, secret
from torchlint.settings.config import CACHE_FOLDER

MISTAKE = "import torch\n\n\ndef f(model, loader):\n    torch.no_grad()\n    return [model(x) for x in loader]\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TORCHLINT_CACHE_SECRET", raising=False)
    secret.cache_clear()
    yield tmp_path / "home/torchlint/cache-secret"
    secret.cache_clear()


def torchlint(project, home, *options, **env):
    done = subprocess.run(
        [sys.executable, "-m", "torchlint", "-j", "1", "-f", "json", *options], cwd=project, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_STATE_HOME": str(home), **env},
    )
    return [finding["code"] for finding in json.loads(done.stdout)], done.stderr


def hiding(cache):
    """A cache as somebody would forge it who knows all of torchlint's source, but no secret: the same, with no findings."""
    script = (
        "import sys, msgspec\n"
        "from pathlib import Path\n"
        "from torchlint.run.cache import SUM\n"
        "try:\n    from torchlint.run.cache import sealed\n"
        "except ImportError:\n    from torchlint.run.cache import summed\n    sealed = lambda data, place: summed(data)\n"
        "for shard in Path(sys.argv[1]).glob('*/*.msgpack'):\n"
        "    *rest, entries = msgspec.msgpack.decode(shard.read_bytes()[SUM:])\n"
        "    for verdict, depends in entries.values():\n        verdict.pop('findings', None)\n"
        "    shard.write_bytes(sealed(msgspec.msgpack.encode([*rest, entries]), shard.parent.name + '/' + shard.stem))\n"
    )
    return [sys.executable, "-c", script, str(cache)]


def test_a_cache_that_comes_with_a_tree_hides_nothing(tmp_path):
    project = write(tmp_path / "project", {"setup.cfg": "", "train.py": MISTAKE})
    attacker, user = tmp_path / "attacker", tmp_path / "user"
    assert torchlint(project, attacker)[0] == ["TL134"]
    subprocess.run(hiding(project / CACHE_FOLDER), check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_STATE_HOME": str(attacker)})
    assert torchlint(project, attacker)[0] == [], "the forger believes it"
    assert torchlint(project, user)[0] == ["TL134"]
    assert torchlint(project, user)[0] == ["TL134"], "from the user's own cache"


def test_machines_may_share_a_secret(tmp_path):
    project = write(tmp_path / "project", {"setup.cfg": "", "train.py": MISTAKE})
    torchlint(project, tmp_path / "a", TORCHLINT_CACHE_SECRET="x")
    assert not (tmp_path / "a").exists()
    subprocess.run(hiding(project / CACHE_FOLDER), check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TORCHLINT_CACHE_SECRET": "x"})
    assert torchlint(project, tmp_path / "b", TORCHLINT_CACHE_SECRET="x")[0] == []
    assert torchlint(project, tmp_path / "b", TORCHLINT_CACHE_SECRET="y")[0] == ["TL134"]


def test_one_set_of_rules_is_not_taken_for_another(tmp_path):
    """A shard of a run that found nothing, as it asked for nothing, is no shard of a run that asks for more."""
    project = write(tmp_path / "project", {"setup.cfg": "", "train.py": MISTAKE})
    home, cache = tmp_path / "home", project / CACHE_FOLDER
    torchlint(project, home, "--select", "TL101")
    (little,) = cache.glob("*/*.msgpack")
    content = little.read_bytes()
    torchlint(project, home)
    for shard in cache.glob("*/*.msgpack"):
        shard.write_bytes(content)
    assert torchlint(project, home)[0] == ["TL134"]


def test_the_secret_is_made_once_for_this_user_alone(home):
    first = secret()
    assert len(first) == SIZE and home.read_bytes() == first
    assert stat.S_IMODE(home.stat().st_mode) == 0o600 and stat.S_IMODE(home.parent.stat().st_mode) == 0o700
    assert os.listdir(home.parent) == [home.name]
    secret.cache_clear()
    assert secret() == first


@pytest.mark.parametrize("harm", ["read", "short", "folder"])
def test_one_that_cannot_be_trusted_is_not_used(home, harm):
    secret()
    secret.cache_clear()
    if harm == "read":
        home.chmod(0o644)
    elif harm == "short":
        home.write_bytes(b"x")
    else:
        home.unlink()
        home.mkdir()
    with pytest.raises(NoSecret, match="cache-secret: "):
        secret()


def test_without_a_place_for_it_nothing_is_cached(tmp_path):
    project = write(tmp_path / "project", {"setup.cfg": "", "train.py": MISTAKE})
    (tmp_path / "file").write_text("")
    for _ in range(2):
        found, err = torchlint(project, tmp_path / "file", "--cache-dir", str(tmp_path / "c"))
        assert found == ["TL134"] and "cache is neither read nor written" in err
    assert not (tmp_path / "c").exists() or not list((tmp_path / "c").glob("*/*.msgpack"))


def test_a_place_in_the_tree_is_none(home, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path / "h"))
    assert secrets._folder() == tmp_path / "h/.local/state/torchlint"
    monkeypatch.setenv("HOME", "here")
    with pytest.raises(NoSecret, match="no home"):
        secrets._folder()


def test_two_that_make_it_at_once(home):
    secret()
    first = home.read_bytes()
    secrets._make(home)
    assert home.read_bytes() == first and os.listdir(home.parent) == [home.name]
