"""Faults of all kinds while a watch runs: the program goes on as it would without one, and nothing stays in place.

A short form; `python tools/soak.py` runs the long one. What is tested elsewhere: an exception or KeyboardInterrupt in
a forward, loss, backward, step or loader (test_watch), a rank that is killed (test_ranks).
"""

from __future__ import annotations

import copy
import gc
import os
import resource
import subprocess
import sys
import weakref
from contextlib import suppress

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules import module as registration
from torch.optim import optimizer as optim_module
from torch.utils.data import DataLoader, TensorDataset

import torchsan
from tests.torchsan import faults
from tests.torchsan.run.test_run import ENV
from tests.torchsan.test_watch import hooks_of, places
from torchsan import check, checks
from torchsan.report import deliver
from torchsan.stream import events

ROUNDS = list(faults.rounds(faults.methods))


@pytest.fixture(autouse=True)
def nothing_stays():
    before = places(), gc.isenabled(), torch.is_anomaly_enabled()
    yield
    assert (places(), gc.isenabled(), torch.is_anomaly_enabled()) == before
    assert not events.listening() and not events.is_quiet()


@pytest.fixture(scope="module")
def bare():
    return faults.train()


def test_the_program_of_the_faults_makes_many_findings(bare):
    with torchsan.watch(on_finding="collect") as san:
        watched = faults.train()
    assert faults.same(bare, watched)
    assert not san.off
    assert {f.number for f in san.findings} >= {101, 106, 204, 301, 422, 502}


@pytest.mark.parametrize("turn", range(len(ROUNDS)))
def test_a_check_that_raises(turn, bare, capsys):
    """One method of each check raises wherever it is called."""
    faults.fails_everywhere(ROUNDS[turn], bare, ("default", "thorough")[turn % 2])


# What the user's code does to what we have in place.

def clear(*tables):
    for table in tables:
        table.clear()


REMOVED = {
    "both of the model": lambda m, o: clear(m._forward_hooks, m._forward_pre_hooks),
    "those after its forward": lambda m, o: clear(m._forward_hooks),
    "those before its forward": lambda m, o: clear(m._forward_pre_hooks),
    "all of all modules": lambda m, o: [
        clear(part._forward_hooks, part._forward_pre_hooks, part._forward_hooks_with_kwargs,
              part._forward_hooks_always_called, part._forward_pre_hooks_with_kwargs) for part in m.modules()
    ],
    "before steps": lambda m, o: clear(optim_module._global_optimizer_pre_hooks, o._optimizer_step_pre_hooks),
    "after steps": lambda m, o: clear(optim_module._global_optimizer_post_hooks, o._optimizer_step_post_hooks),
    "of steps": lambda m, o: clear(
        optim_module._global_optimizer_pre_hooks, optim_module._global_optimizer_post_hooks
    ),
    "of any module": lambda m, o: clear(registration._global_forward_pre_hooks, registration._global_forward_hooks),
    "of registration": lambda m, o: clear(
        registration._global_parameter_registration_hooks, registration._global_module_registration_hooks
    ),
}


def small():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))


def made(model, lr=0.1):
    return torch.optim.Adam(model.parameters(), lr=lr)


def steps(model, optimizer, count=3):
    """Sound training and evaluation."""
    losses = []
    model.train()
    for _ in range(count):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    model.eval()
    with torch.no_grad():
        losses.append(model(torch.randn(8, 4)))
    return losses


def in_the_middle(action, given=True, count=3):
    """Steps, `action(model, optimizer)`, steps; bare and watched. Gives the watch, after what must hold in any case."""
    results = []
    for watched in (False, True):
        torch.manual_seed(0)
        model = small()
        optimizer = made(model)
        san = torchsan.watch(*([model] if given else []), on_finding="collect")
        with san if watched else suppress():
            values = steps(model, optimizer, count)
            model, optimizer = action(model, optimizer) or (model, optimizer)
            values += steps(model, optimizer, count)
        results.append([*values, *model.state_dict().values(), torch.get_rng_state()])
        assert hooks_of(model) == [(0, 0, 0)] * len(list(model.modules()))
    assert all(map(torch.equal, *results))
    assert not san.off, san.off
    return san


@pytest.mark.parametrize("which", REMOVED)
def test_hooks_removed_by_the_program(which):
    san = in_the_middle(lambda m, o: REMOVED[which](m, o) and None)
    assert not san.findings, san.report()
    with torchsan.watch(on_finding="collect") as again:
        model = small()
        optimizer = made(model)
        for _ in range(3):
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
            optimizer.step()
    assert [f.code for f in again.findings] == ["TS101"], "another watch sees as ever"


def swap(model, optimizer):
    model[4] = nn.Linear(8, 2)
    optimizer.add_param_group({"params": model[4].parameters()})
    optimizer.param_groups[0]["params"] = list(model[:4].parameters())


def rebuild(model, optimizer):
    model = small()
    return model, made(model)


def rebuild_and_load(model, optimizer):
    other = copy.deepcopy(model)
    other.load_state_dict(model.state_dict())
    again = made(other, 0.01)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    return other, again


def new_parameters(model, optimizer):
    model[0].weight = nn.Parameter(model[0].weight.detach() * 2)
    return model, made(model)


def new_data(model, optimizer):
    for p in model.parameters():
        p.data = p.data.clone()


def load(model, optimizer):
    state = copy.deepcopy(optimizer.state_dict())
    for values in state["state"].values():
        values["exp_avg"].zero_()
    optimizer.load_state_dict(state)


def forget_state(model, optimizer):
    optimizer.state.clear()


def another_class(model, optimizer):
    model.__class__ = type("Other", (nn.Sequential,), {})


def new_attributes(model, optimizer):
    model[0] = nn.utils.parametrizations.weight_norm(model[0])
    return model, made(model)


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("action", [
    swap, rebuild, rebuild_and_load, new_parameters, new_data, load, forget_state, another_class, new_attributes,
], ids=lambda action: action.__name__)
def test_a_model_or_optimizer_that_changes_in_the_middle(action, given):
    if action is new_attributes:
        pytest.importorskip("torch.nn.utils.parametrizations")
    san = in_the_middle(action, given)
    assert not san.findings, san.report()


def test_the_ledger_knows_parameters_that_take_the_place_of_others():
    model = small()
    optimizer = made(model)
    with torchsan.watch(model, on_finding="collect") as san:
        steps(model, optimizer)
        swap(model, optimizer)
        steps(model, optimizer)
        assert san.ledger.account(optimizer).ids == {id(p) for p in model.parameters()}


def test_the_model_is_deleted_in_the_middle():
    with torchsan.watch(on_finding="collect") as san:
        for _ in range(3):
            model = small()
            optimizer = made(model)
            steps(model, optimizer)
            del model, optimizer
            gc.collect()
    assert not san.off and not san.findings, san.report()


def test_the_optimizer_dies_during_a_backward():
    """As it may at any moment, by the garbage collector or in another thread: its account is empty from then on."""
    model = small()
    optimizers = [made(model)]
    with torchsan.watch(model, on_finding="collect") as san:
        steps(model, optimizers[0])
        loss = model.train()(torch.randn(8, 4)).square().mean()
        loss.register_hook(lambda grad: optimizers.clear())
        loss.backward()
        steps(model, made(model))
    assert not optimizers and not san.off and not san.findings, (san.off, san.report())


def test_gradients_of_an_optimizer_that_is_gone_are_not_held():
    with torchsan.watch(on_finding="collect") as san:
        model = small()
        optimizer = made(model)
        steps(model, optimizer)
        gone = [weakref.ref(p.grad) for p in model.parameters()]
        del model, optimizer
        gc.collect()
        other = small()
        steps(other, made(other))
        assert not any(ref() is not None for ref in gone)
    assert not san.off and not san.findings, san.report()


# Processes.

class Items(torch.utils.data.Dataset):
    """Items whose workers compute with modules of their own."""

    def __init__(self):
        self.layer = nn.Linear(4, 4)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        with torch.no_grad():
            return self.layer(torch.full((4,), float(index)))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_loader(method, capfd):
    with torchsan.watch(on_finding="collect") as san:
        data = Items()
        loader = DataLoader(data, 4, num_workers=1, multiprocessing_context=method)
        assert len(list(loader)) == 2
        model = small()
        steps(model, made(model))
    assert not san.off and not san.findings, san.report()
    assert "Traceback" not in capfd.readouterr().err


FORKED = """
import multiprocessing, os, sys, torch
import torch.nn.functional as F
from torch import nn
import torchsan

torch.set_num_threads(1)

def train(steps=4, zero=True):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        if zero:
            optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        optimizer.step()

def child(ends):
    train(zero=False)
    print("child trained", flush=True)
    if ends == "exit":
        sys.exit(3)
    if ends == "hard":
        os._exit(3)
    if ends == "error":
        raise ArithmeticError

def main():
    san = torchsan.watch(on_finding="collect")
    san.start()
    train()
    statuses = []
    for ends in sys.argv[3:]:
        process = multiprocessing.get_context(sys.argv[1]).Process(target=child, args=(ends,))
        process.start()
        process.join(60)
        statuses.append(process.exitcode)
    if sys.argv[1] == "fork":  # a process without multiprocessing, that goes on to the end
        pid = os.fork()
        if pid == 0:
            train()
        else:
            statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    if sys.argv[1] == "spawn" or pid:
        train()
        san.stop()
        print(statuses, [f.code for f in san.findings], dict(san.off), flush=True)
        san.report(sys.argv[2])

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_started_under_an_open_watch(method, tmp_path):
    script, report = tmp_path / "train.py", tmp_path / "report.json"
    script.write_text(FORKED)
    ends = {"well": 0, "exit": 3, "hard": 3, "error": 1} if method == "fork" else {"exit": 3}
    done = subprocess.run([sys.executable, str(script), method, str(report), *ends], cwd=tmp_path, env=ENV,
                          capture_output=True, encoding="utf-8", timeout=300)
    statuses = [*ends.values()] + [0] * (method == "fork")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["child trained"] * len(ends) + [f"{statuses} [] {{}}"]
    assert done.stderr.count("Traceback") == (method == "fork") and "torchsan:" not in done.stderr, done.stderr
    assert report.read_text() == "[]\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "train.py"]


def test_a_forked_child_writes_no_report_of_the_command(tmp_path):
    script, report = tmp_path / "train.py", tmp_path / "report.json"
    script.write_text("""
import os, sys, torch
for ends in (os._exit, sys.exit):
    pid = os.fork()
    if pid == 0:
        ends(3)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert not os.path.exists("report.json") and status == 3
print("parent")
""")
    done = subprocess.run([sys.executable, "-m", "torchsan", "run", "--report", str(report), str(script)],
                          cwd=tmp_path, env=ENV, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "parent\n" and report.exists()
    assert done.stderr.count("nothing found") == 1


# Interrupts and lack of memory in what a watch does itself.

class Breaks(nn.Module):
    """A model whose forward fails when it is run again."""

    def __init__(self, error, steps):
        super().__init__()
        self.layer, self.norm, self.drop = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.3)
        self.out = nn.Linear(8, 1)
        self.error, self.left = error, steps
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        hidden = self.drop(self.norm(self.layer(x)))
        if self.left == 0 and self.error is not None:
            raise self.error
        self.left -= 1
        return torch.log(self.out(hidden).square() * self.left)


def until_nan(error, watched, level):
    torch.manual_seed(3)
    model = Breaks(error, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    san = torchsan.watch(model, on_finding="collect", level=level)
    raised, losses = None, []
    with san if watched else suppress():
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.randn(8, 4)).mean()
            losses.append(loss.detach())
            try:
                loss.backward()
            except (KeyboardInterrupt, MemoryError, RuntimeError) as error:
                raised = error
                break
            optimizer.step()
    values = [*losses, *model.state_dict().values(), torch.get_rng_state(),
              torch.tensor([model.left, model.calls, model.training, torch.is_grad_enabled()])]
    return values, raised, san, model


@pytest.mark.parametrize("level", ["default", "thorough"])
@pytest.mark.parametrize("error", [
    MemoryError("no memory"), torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("of the program's"),
    RecursionError("too deep"),
], ids=lambda error: type(error).__name__)
def test_no_memory_for_the_replay(error, level):
    bare, none, _, _ = until_nan(None, False, level)
    values, raised, san, model = until_nan(error, True, level)
    assert none is None and raised is None
    assert all(torch.equal(a.nan_to_num(7), b.nan_to_num(7)) for a, b in zip(bare, values))
    assert hooks_of(model) == [(0, 0, 0)] * 5
    assert not san.off and [f.number for f in san.findings] in ([121], [422]), san.report()


def test_interrupted_in_the_replay():
    values, raised, san, model = until_nan(KeyboardInterrupt(), True, "default")
    assert isinstance(raised, KeyboardInterrupt)
    assert hooks_of(model) == [(0, 0, 0)] * 5
    assert model.training and model.calls == 3 and model.left == 0
    assert all(type(p) is nn.Parameter and p.is_leaf for p in model.parameters())
    assert torch.is_grad_enabled() and not san.off
    bare, _, _, _ = until_nan(None, False, "default")
    loss, generator = 2, -2  # of the third step; where the random state stands
    assert torch.equal(bare[generator], values[generator])
    assert torch.equal(bare[loss].isnan(), values[loss].isnan())


@pytest.mark.parametrize(("place", "error"), [
    *((place, KeyboardInterrupt) for place in (
        "start", "finish", "close", "before_forward", "on_backward", "before_optimizer_step", "on_loader_batch",
    )), ("start", SystemExit), ("on_optimizer_step", SystemExit),
])
def test_interrupted_in_a_check(place, error, monkeypatch):
    """A key is pressed while a check works: that is for the program, and everything is taken down."""

    class Slow(check.Check):
        """Is interrupted."""

    def interrupted(self, *args):
        raise error

    setattr(Slow, place, interrupted)
    known = checks.known()
    half = len(known) // 2
    monkeypatch.setattr("torchsan.watcher.known", lambda: (*known[:half], Slow, *known[half:]))
    model = small()
    san = torchsan.watch(model, on_finding="collect")
    with pytest.raises(error):
        with san:
            for x, in DataLoader(TensorDataset(torch.randn(8, 4)), 8):
                steps(model, made(model))
    assert hooks_of(model) == [(0, 0, 0)] * 6
    assert not san.off
    assert not events.listening()
    monkeypatch.undo()
    with torchsan.watch(model, on_finding="collect") as again:
        steps(model, made(model))
    assert not again.findings and not again.off


def test_interrupted_in_hooks_of_the_program():
    def interrupted(*args):
        raise KeyboardInterrupt

    def of_step(model, optimizer):
        return optimizer.register_step_pre_hook(interrupted)

    ways = [
        lambda m, o: m[0].register_forward_hook(interrupted), lambda m, o: m.register_forward_hook(interrupted),
        lambda m, o: m.register_forward_pre_hook(interrupted), lambda m, o: m[0].weight.register_hook(interrupted),
        of_step, lambda m, o: o.register_step_post_hook(interrupted),
    ]
    for way in ways:
        model = small()
        optimizer = made(model)
        with torchsan.watch(model, on_finding="collect") as san:
            handle = way(model, optimizer)
            with pytest.raises(KeyboardInterrupt):
                steps(model, optimizer)
            handle.remove()
            optimizer.zero_grad()
            steps(model, optimizer)
        assert hooks_of(model) == [(0, 0, 0)] * 6
        assert not san.off and not san.findings, san.report()


def test_interrupted_while_the_report_is_written(tmp_path, monkeypatch):
    with torchsan.watch(on_finding="collect") as san:
        model = small()
        steps(model, made(model))

    def interrupted(*args):
        raise KeyboardInterrupt

    path = tmp_path / "report.html"
    san.report(path)
    before = path.read_bytes()
    monkeypatch.setattr("torchsan.own.os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        san.report(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"], "no half of a report stays"


# Reports that cannot be written.

@pytest.mark.parametrize("ending", ["json", "html"])
@pytest.mark.parametrize("how", ["full", "limit", "vanished", "read-only", "taken by a folder"])
def test_a_report_that_cannot_be_written(how, ending, tmp_path, capsys):
    if how == "read-only" and os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    with torchsan.watch(on_finding="collect") as san:
        model = small()
        steps(model, made(model))
    folder = tmp_path / "reports"
    path = folder / f"report.{ending}"
    if how != "vanished":
        folder.mkdir()
    if how == "full":
        path.symlink_to("/dev/full")
    elif how == "read-only":
        folder.chmod(0o500)
    elif how == "taken by a folder":
        path.mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (2, limits[1]))
    try:
        text = san.report(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    said = capsys.readouterr().err.splitlines()
    assert text.startswith("torchsan: nothing found")
    assert len(said) == 1 and "cannot be written: " in said[0], said
    left = [one.name for one in folder.iterdir()] if folder.exists() else []
    assert left == ([path.name] if how in ("full", "taken by a folder") else [])


def test_the_disk_is_full_when_the_command_ends(tmp_path):
    (tmp_path / "report.json").symlink_to("/dev/full")
    (tmp_path / "train.py").write_text("""
import sys, torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    torch.nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8).long()).backward()
    optimizer.step()
sys.exit(5)
""")
    done = subprocess.run([sys.executable, "-m", "torchsan", "run", "--report", "report.json", "train.py"],
                          cwd=tmp_path, env=ENV, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 5, done.stderr
    assert done.stderr.count("report.json cannot be written: ") == 1 and "Traceback" not in done.stderr, done.stderr
    assert "1 finding in 3 optimizer steps" in done.stderr


# Much of it.

def test_the_same_finding_again_and_again():
    objects, san = faults.findings_in_a_loop(1_000, "thorough")
    assert objects < 1_000
    assert [(f.number, f.count) for f in san.findings] == [(101, 999)]
    assert len(san.report()) < 4_000


def test_ten_thousand_findings(monkeypatch, capfd):
    class Talks(check.Check):
        """Finds something new each time."""

        numbers = (999,)

        def on_optimizer_step(self, event):
            for at in range(10_000):
                self.found(999, event, key=at)
                self.found(999, event, key="the same")

    monkeypatch.setattr("torchsan.watcher.known", lambda: (Talks,))
    with torchsan.watch(on_finding="collect") as san:
        model = small()
        steps(model, made(model), 1)
    assert len(san.findings) == deliver.MOST
    assert max(f.count for f in san.findings) == 10_000
    said = capfd.readouterr().err.splitlines()
    assert said == ["torchsan: there are more than 1000 different findings: the others are not told"]


def test_many_steps_without_growth():
    assert not faults.growth(faults.tutorial, 600, 3_000)


def test_uneven_steps_without_growth():
    assert not faults.growth(faults.uneven, 60, 200)


def test_models_that_are_gone_are_gone():
    grown = faults.growth(faults.ever_new, 20, 60)
    assert not [kind for kind in faults.OF_THE_PROGRAM if grown[kind]]
