"""Who may import whom: the arrows of docs/architecture.md."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
MODULES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SRC.rglob("*.py"))
}
# Packages a module may use of torchlint without knowing which tool is speaking.
NEUTRAL = ("torchlint.findings", "torchlint.catalogue.pages", "torchlint.catalogue.vocabulary", "torchlint.report")
HEAVY = (
    "torchlint.cli",
    "torchlint.cli.explain",
    "torchlint.cli.check",
    "torchlint.engine",
    "torchlint.dryrun",
    "torchlint.sieve",
    "torchlint.rules",
    "torchlint.run.runner",
    "torchlint.run.workers",
    "torchlint.run.pool",
    "torchlint.run.judge",
    "torchlint.flake8",
    "libcst",
)


def imports_of(text, module, is_package):
    """Every module that a text imports, anywhere in it, as absolute names; for `from a import b` both a and a.b."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return found


def within(name, packages):
    return any(name == package or name.startswith(package + ".") for package in packages)


def forbidden(module, imported):
    """Why a module must not import a name; None where it may."""
    top = imported.partition(".")[0]
    if module.startswith("torchsan"):
        if top == "libcst":
            return "torchsan never loads libcst"
        # `import torchlint` alone gives the version
        if (
            top == "torchlint"
            and imported not in ("torchlint", "torchlint.__version__")
            and not within(imported, NEUTRAL)
        ):
            return "torchsan may use findings, catalogue, vocabulary and report alone"
    else:
        if top == "torchsan":
            return "nothing imports torchsan"
        if top == "torch":
            return "torchlint never loads torch"
        if within(module, NEUTRAL) and within(imported, HEAVY):
            return "what both tools share knows no tool"
    return None


@pytest.mark.parametrize("module", MODULES)
def test_imports_follow_the_arrows(module):
    path = MODULES[module]
    imported = imports_of(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
    wrong = {name: why for name in imported if (why := forbidden(module, name))}
    assert not wrong


def test_rule_pages_are_data():
    assert not list((SRC.parent / "rules").rglob("*.py"))


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("torchsan.watch", "import torchlint.dryrun.values"),
        ("torchsan.watch", "def f():\n    from torchlint import engine"),
        ("torchsan.watch", "import libcst as cst"),
        ("torchlint.fixes.fixer", "import torch"),
        ("torchlint.fixes.fixer", "from torch.nn import Module"),
        ("torchlint.fixes.fixer", "import torchsan"),
        ("torchlint.report.full", "from torchlint.cli import main"),
        ("torchlint.report.full", "from ..dryrun import values"),
        ("torchlint.findings", "import libcst"),
    ],
)
def test_breaches_are_seen(module, text):
    assert any(forbidden(module, name) for name in imports_of(text, module, False))


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (
            "torchsan.watch",
            "import torch, torchlint\nfrom torchlint.findings import Finding\nfrom torchlint.report import write",
        ),
        ("torchsan.watch", "from . import probes"),
        ("torchlint.dryrun.values", "import libcst\nfrom .. import findings\nimport torchvision_like"),
        ("torchlint.cli", "from torchlint.engine import Engine"),
    ],
)
def test_what_is_allowed_is_allowed(module, text):
    assert not any(forbidden(module, name) for name in imports_of(text, module, False))
