"""The linter over the Pythons, the sanitizer over the releases of torch that are supported.

    nox                        # every session; what is not on this machine is skipped with the reason
    nox -s "linter-3.12"       # one Python
    nox -s "sanitizer(torch='2.4')" -- -k watch

A release of torch counts as there where pip finds a wheel of it that runs on the CPU alone: give pip the index of such
wheels (PIP_EXTRA_INDEX_URL), or set TORCHLINT_NOX_ANY_TORCH=1 and take builds with CUDA, several gigabytes each.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys

import nox

nox.options.error_on_missing_interpreters = False
nox.options.default_venv_backend = "virtualenv"

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
TORCHES = tuple(f"2.{minor}" for minor in range(4, 14))
WITHOUT_TORCH = ("pytest>=8", "pytest-xdist>=3.5", "hypothesis>=6.100", "hypothesmith>=0.3.3", "jsonschema>=4.20")


@nox.session(python=PYTHONS)
def linter(session: nox.Session) -> None:
    """The linter's tests, without torch: it must never need it. Tests that need torch skip."""
    session.install(".[flake8]", *WITHOUT_TORCH)
    session.run("pytest", "-n", "2", "-q", "tests/torchlint", *session.posargs)


@nox.session(python=False)
@nox.parametrize("torch", TORCHES)
def sanitizer(session: nox.Session, torch: str) -> None:
    """The sanitizer's tests and the facts about torch, with one release of torch."""
    version, why = wheel(torch)
    if not version:
        session.skip(f"no wheel of torch {torch} for Python {platform.python_version()}: {why}")
    cpu_only = "+cpu" in version or not sys.platform.startswith("linux") or platform.machine() != "x86_64"
    if not cpu_only and not os.environ.get("TORCHLINT_NOX_ANY_TORCH"):
        session.skip(f"torch {torch}: only {version}, a build with CUDA; TORCHLINT_NOX_ANY_TORCH=1 takes it")
    home = os.path.join(session.create_tmp(), f"torch-{torch}")
    session.run(sys.executable, "-m", "venv", home, external=True)
    python = os.path.join(home, "Scripts" if os.name == "nt" else "bin", "python")
    own = ("numpy", *WITHOUT_TORCH)
    session.run(python, "-m", "pip", "install", "-q", f"torch=={version}", external=True)
    session.run(python, "-m", "pip", "install", "-q", ".[san]", *own, external=True)
    session.run(python, "-m", "pytest", "-n", "2", "-q", "tests/torchsan", "tests/facts", *session.posargs, external=True)


def wheel(release: str) -> tuple[str, str]:
    """The newest version of a release of torch that pip knows for this Python, or pip's own last words.

    A build for the CPU alone comes before others of the same release. Nothing is downloaded.
    """
    answer = subprocess.run([sys.executable, "-m", "pip", "index", "versions", "torch"], capture_output=True, text=True)
    if answer.returncode:
        return "", (answer.stderr.strip().splitlines() or ["pip failed"])[-1]
    versions = re.findall(rf"(?<![\d.]){re.escape(release)}\.\d+(?:\+\w+)?", answer.stdout)
    if not versions:
        return "", "pip knows of none"
    return max(versions, key=lambda version: ("+cpu" in version, version)), ""
