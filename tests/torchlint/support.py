"""What the tests of the linter's outside share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = "tests.torchlint.fake_engine:FakeEngine"


@pytest.fixture
def fake_engine(monkeypatch, tmp_path):
    """Has files judged by the fake engine; gives a function that names the files judged since it was last asked."""
    log = tmp_path.parent / f"{tmp_path.name}.log"
    monkeypatch.setenv("TORCHLINT_ENGINE", ENGINE)
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(log))

    def judged():
        names = sorted(log.read_text().split()) if log.exists() else []
        log.unlink(missing_ok=True)
        return names

    return judged


def write(folder, files):
    """Writes files given as {path: text or bytes}."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def run_python(*args, cwd=None, env=None, **options):
    """A finished Python process with this repository's packages importable."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.run(
        [sys.executable, *map(str, args)],
        cwd=cwd,
        capture_output=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path, **(env or {})},
        **options,
    )
