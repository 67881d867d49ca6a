"""Who may import whom: the arrows of docs/architecture.md. They run downwards, floor by floor, and in no circle."""

import ast
from pathlib import Path

import pytest

from torchlint.catalogue.pages import AREAS

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
MODULES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SRC.rglob("*.py"))
}
# The floors of both packages, the lowest first. A room may import rooms of lower floors; those of one floor do not know each
# other. The longest name that fits is a module's room: `torchlint.rules.base` lies below the rest of `torchlint.rules`.
FLOORS = [
    ["torchlint.addresses", "torchlint.findings", "torchlint"],
    ["torchlint.files"],
    ["torchlint.catalogue"],
    ["torchlint.report", "torchlint.sieve", "torchlint.settings", "torchlint.rules.needs"],
    ["torchlint.dryrun"],
    ["torchlint.rules.mends"],
    ["torchlint.rules.base"],
    ["torchlint.rules.shared", "torchlint.matching"],
    ["torchlint.rules.forms"],
    [f"torchlint.rules.{area}" for area in AREAS.values()],
    ["torchlint.rules"],
    ["torchlint.engine"],
    ["torchlint.run"],
    ["torchlint.fixes"],
    ["torchlint.server"],
    ["torchlint.api", "torchlint.cli", "torchlint.flake8"],
    ["torchlint.__main__", "torchlint.magics"],
    ["torchsan.own"],
    ["torchsan.program"],
    ["torchsan.report"],
    ["torchsan.errors", "torchsan.ranks", "torchsan.options", "torchsan.stream"],
    ["torchsan.check"],
    ["torchsan.nonfinite"],
    ["torchsan.probes"],
    ["torchsan.checks"],
    ["torchsan.watcher"],
    ["torchsan.integrations", "torchsan.run"],
    ["torchsan.accelerate", "torchsan.ignite", "torchsan.lightning", "torchsan.transformers", "torchsan.writers"],
    ["torchsan", "torchsan.__main__"],
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# What torchsan may use of torchlint: what both tools share, which knows neither.
SHARED = ("torchlint.findings", "torchlint.catalogue", "torchlint.report")


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


def room_of(name):
    """The room that a module lies in."""
    while name and name not in FLOOR:
        name = name.rpartition(".")[0]
    return name


def aimed_at(names):
    """The modules that names of imports mean: `from a import b` names a.b where that is a module, and a otherwise."""
    files = {name for name in names if name in MODULES}
    return {name for name in files if not any(other.startswith(name + ".") for other in files)}


def forbidden(module, imported):
    """Why a module must not import a name; None where it may."""
    top, own = imported.partition(".")[0], module.partition(".")[0]
    if own == "torchsan" and top == "libcst":
        return "torchsan never loads libcst"
    # `import torchlint` alone gives the version
    if own == "torchsan" and top == "torchlint":
        if imported not in ("torchlint", "torchlint.__version__") and not within(imported, SHARED):
            return "torchsan may use findings, catalogue and report alone"
        return None
    if own == "torchlint" and top == "torchsan":
        return "nothing imports torchsan"
    if own == "torchlint" and top == "torch":
        return "torchlint never loads torch"
    here, there = room_of(module), room_of(imported)
    if top == own and here != there and FLOOR[there] >= FLOOR[here]:
        return f"{there} does not lie below {here}"
    return None


def circles(edges):
    """The sets of modules that import each other, by way of others, too (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(name):
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in edges[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            circle = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(circle) > 1:
                found.append(sorted(circle))

    for name in edges:
        if name not in index:
            visit(name)
    return found


def edges_of(paths):
    """What each of these modules imports of them."""
    edges = {}
    for name, path in paths.items():
        names = imports_of(path.read_text(encoding="utf-8"), name, path.name == "__init__.py")
        known = {other for other in names if other in paths}
        edges[name] = {other for other in known if not any(more.startswith(other + ".") for more in known)} - {name}
    return edges


@pytest.mark.parametrize("module", MODULES)
def test_imports_follow_the_arrows(module):
    path = MODULES[module]
    names = imports_of(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
    ours = {name for name in names if name.partition(".")[0] in ("torchlint", "torchsan")}
    wrong = {name: why for name in (names - ours) | aimed_at(ours) if (why := forbidden(module, name))}
    assert not wrong


def test_every_module_has_a_room():
    """A folder or file beside the rooms, at the top of a package, must be given a floor."""
    tops = {".".join(name.split(".")[:2]) for name in MODULES}
    assert tops <= FLOOR.keys()


def test_no_two_files_import_each_other():
    assert not circles(edges_of(MODULES))
    benchmarks = {path.stem: path for path in (ROOT / "benchmarks").glob("*.py")}
    assert not circles(edges_of(benchmarks))


def test_a_circle_is_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert not circles({"a": {"b", "c"}, "b": {"c"}, "c": set()})


def test_rule_pages_are_data():
    assert not list((ROOT / "rules").rglob("*.py"))


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("torchsan.watcher", "import torchlint.dryrun.values"),
        ("torchsan.watcher", "def f():\n    from torchlint import engine"),
        ("torchsan.watcher", "import libcst as cst"),
        ("torchsan.stream.events", "from torchsan.watcher import Watch"),
        ("torchsan.program.where", "from torchsan.report import deliver"),
        ("torchsan.checks.amp.scaler", "from torchsan import watcher"),
        ("torchlint.fixes.fixer", "import torch"),
        ("torchlint.fixes.fixer", "from torch.nn import Module"),
        ("torchlint.fixes.fixer", "import torchsan"),
        ("torchlint.report.full", "from torchlint.cli import main"),
        ("torchlint.report.full", "from ..dryrun import values"),
        ("torchlint.rules.base", "from torchlint.rules.shared import dtypes"),
        ("torchlint.rules.amp.bf16", "from torchlint.rules.data.unseeded import check"),
        ("torchlint.settings.config", "from torchlint.run import runner"),
    ],
)
def test_breaches_are_seen(module, text):
    assert any(forbidden(module, name) for name in imports_of(text, module, False))


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (
            "torchsan.watcher",
            "import torch, torchlint\nfrom torchlint.findings import Finding\nfrom torchlint.report import write",
        ),
        ("torchsan.watcher", "from torchsan.probes import modules"),
        ("torchlint.dryrun.values", "import libcst\nfrom torchlint import findings\nimport torchvision_like"),
        ("torchlint.dryrun.values", "from torchlint.dryrun import flow"),
        ("torchlint.run.judge", "from torchlint.engine import Engine"),
    ],
)
def test_what_is_allowed_is_allowed(module, text):
    names = imports_of(text, module, False)
    assert not any(forbidden(module, name) for name in {name for name in names if name not in ("torchlint", "torchsan")})
