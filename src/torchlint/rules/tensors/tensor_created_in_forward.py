"""402: forward makes a tensor on the default device and mixes it with its inputs."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.protocols import LIGHTNING_STEPS
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Event, Func, Instance, Tensor, real
from torchlint.files.project import without_comments
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, with_argument
from torchlint.rules.shared.devices import has_parameters, lives_with_model, made_on_default
from torchlint.rules.shared.placing import moved_on_a_path
from torchlint.rules.shared.written_names import asks_for_gpu
from torchlint.sieve.facts import FileFacts, Unit

CODE = 402


def check(view: View) -> Iterator[Report]:
    """A tensor made in forward, or in a step of Lightning's, without device=, not moved, that meets an input or a layer."""
    for event, made in made_on_default(view):
        root = view.run.root
        if root is None or root.name not in {"forward", *LIGHTNING_STEPS} or made.site.parsed.unit.name == "__init__" or _while_built(event):
            continue
        if not _of_module(root) or not _made_in_method(made) or _made_once(root, made):
            continue
        if asks_for_gpu(made.sites["made"]) or moved_on_a_path(made) or _holds_a_place(made.sites["made"]) or _stays_on_cpu(view, root):
            continue
        site = made.sites["made"]
        related = [(event.site, "it meets the input here")] if event.site.node is not site.node else []
        yield Report(CODE, site, {"call": view.call_text(site)}, related, _mend(view, event, site))


def _mend(view: View, event: Event, site: Site) -> Mend | None:
    """Makes it where the argument of forward is that it meets. That one has its name still: it is met as it came. Safe where a
    layer takes it as it came, too: anything else may be a number, which has no device."""
    func = site.node.func if isinstance(site.node, cst.Call) else None
    if event.site.parsed is not site.parsed or not isinstance(func, cst.Attribute) or func.attr.value not in _FACTORIES:
        return None
    given = [alt for value in event.values for alt in real(value) if getattr(alt, "source", "") == "param"]
    met = next((alt for alt in given if alt.name in site.parsed.unit.params and lives_with_model(alt)), None)
    change = with_argument(site, f"device={met.name}.device") if met is not None else None
    if change is None:
        return None
    safe = isinstance(met, Tensor) or any(
        forward.site.parsed is site.parsed and any(alt is met for value in forward.args for alt in real(value))
        for forward in view.of("forward") if isinstance(forward.subject, Instance) and has_parameters(forward.subject)
    )
    return Mend(f"make it on the device of `{met.name}`", [change], safe)


_FACTORIES = frozenset(
    "zeros ones empty full rand randn randint randperm arange linspace logspace eye tensor".split()
)


def _holds_a_place(site: Site) -> bool:
    """Whether a tensor of no elements stands in a list that is filled later: `states = [torch.empty(0)] * steps`."""
    if not _NO_ELEMENTS.search(site.text()):
        return False
    around = list(itertools.islice(site.parsed.around(site.node), 3))
    return len(around) == 3 and isinstance(around[1], cst.List) and isinstance(around[2], cst.BinaryOperation) and isinstance(around[2].operator, cst.Multiply)


_NO_ELEMENTS = re.compile(r"\(\s*(?:0|\[\s*\])\s*[,)]")


def _of_module(root: Func) -> bool:
    """Whether a `forward` may be a module's: nothing is moved to another device with an object of a plain class."""
    return not isinstance(root.home, Class) or bool(root.home.externals())


def _stays_on_cpu(view: View, root: Func) -> bool:
    """Whether nobody moves the model: the program that uses it never speaks of a device. Of a class that nobody uses
    that is not known: whoever imports the library may move it."""
    facts = root.facts
    if "backward" in facts.words and not facts.words & _DEVICES:
        return True
    if _moves(without_comments(facts.lines)):
        return False
    project = view.run.world.project_of(facts.path)
    users = project.users(facts.path) if project is not None else []
    if not users:
        return _runs_itself(facts)
    # What they import may move things for them: a config's device, a helper's `to_gpu`.
    files = {path for user in users for path in user.imports if path in project.files} | {user.path for user in users}
    moved = any(_moves(project.files[path].code) for path in files)
    return not moved and any(_is_program(user.path) for user in users)


def _runs_itself(facts: FileFacts) -> bool:
    """Whether a file is a program: what stands outside of its functions and classes uses some of them."""
    own = facts.functions.keys() | facts.classes.keys()
    return any(isinstance(unit, Unit) and own & unit.words for unit in facts.body)


def _is_program(path: str) -> bool:
    """Whether a file may be what somebody runs: no list of a package's names, and no test of a library."""
    name = os.path.basename(path)
    return name not in ("__init__.py", "setup.py", "conftest.py") and not name.startswith("test_")


_DEVICES = frozenset("cuda to device gpu mps xpu npu xla xm Trainer Accelerator accelerate set_default_device "
                     "set_default_tensor_type".split())
# What moves things, in a text; a flag `use_gpu` alone does not, nor `.to(torch.float32)`, nor does who asks whether there
# is a GPU. The frameworks move a model without being told to.
_MOVES = re.compile(
    r"(?i:cuda|gpu|device)\w{0,40} ?\(|\bdevice\s*=|[\"']cuda|\bcuda\.\w*Tensor|\bDataParallel\b|set_default_tensor_type"
    r"|\b(?:mps|xpu|npu|xla|xm)\b|lightning|[aA]ccelerat|deepspeed|fastai|skorch|catalyst|poutyne"
    r"|transformers[^\n]{0,300}\bTrainer\b"
    r"|\.to\((?!\s*(?:dtype\s*=\s*)?torch\.(?:b?float|double|half|u?int|long|bool|complex))"
)
_ELSEWHERE = re.compile(
    r"(?i:cuda|gpu)|\b(?:mps|xpu|npu|xla|xm)\b|-device|\b(?:args|opts?|config|cfg|conf|hparams|params)\.\w*device"
)
_CPU = re.compile(r"torch\.device\(\s*[\"']cpu[\"']\s*\)|torch\.cuda\.is_available\(\)")
_TO_CPU = re.compile(r"(?i:device)\s*=\s*(?:torch\.device\(\s*)?[\"']cpu[\"']")


def _moves(code: str) -> bool:
    """Whether a program may move something to another device: one that names the CPU as its only device does not."""
    asked = _CPU.sub("", code)
    if _TO_CPU.search(code) and not _ELSEWHERE.search(asked):
        return False
    return bool(_MOVES.search(asked))


def _while_built(event: Event) -> bool:
    """Whether an `__init__` led there: what it does once, every run of a method has behind it."""
    return any(site is not None and site.parsed.unit.name == "__init__" for site in event.calls)


def _made_once(root: Func, made: Tensor) -> bool:
    """Whether a tensor comes out of a method that, of the class, `__init__` alone calls."""
    name = made.sites["made"].parsed.unit.name
    methods = root.home.cf.methods if isinstance(root.home, Class) else {}
    callers = {key for key, unit in methods.items() if key != name and name in unit.words}
    return callers == {"__init__"}


def _made_in_method(made: Tensor) -> bool:
    return made.sites["made"].parsed.unit.name not in ("<module>", "<class>", "__init__")
