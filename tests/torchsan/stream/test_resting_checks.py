"""Rest: a tiny model's steady loop is listened to in part, and nothing is lost or made up for it."""

from __future__ import annotations

import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import torchsan
from tests.torchsan.conftest import FIXTURES
from torchsan import check, checks
from torchsan.stream import events, resting_checks

SOUND = sorted((FIXTURES / "sound").glob("*.py"))


class Counts(check.Check):
    """Counts what it hears."""

    numbers = (999,)

    def __init__(self, watch):
        super().__init__(watch)
        self.steps = 0

    def on_optimizer_step(self, event):
        self.steps += 1


class CountsAlways(Counts):
    """Counts every step."""

    always = True


@pytest.fixture
def counted(monkeypatch):
    known = checks.known()
    monkeypatch.setattr("torchsan.watcher.known", lambda: (*known, Counts, CountsAlways))

    def counts(san):
        return tuple(next(c.steps for c in san.checks if type(c) is cls) for cls in (Counts, CountsAlways))

    return counts


class Loop:
    """A loop that does what it is told."""

    def __init__(self, width=8):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, width), nn.Dropout(0.1), nn.Linear(width, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def run(self, steps, zero=True, clip=None):
        for _ in range(steps):
            if zero:
                self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(self.model.parameters(), clip)
            self.optimizer.step()

    def evaluate(self, batches):
        with torch.no_grad():
            for _ in range(batches):
                self.model(torch.randn(8, 4))


def test_steps_are_counted_and_partly_heard(counted):
    loop = Loop()
    with torchsan.watch(loop.model, on_finding="collect") as san:
        loop.run(400)
        heard, always = counted(san)
        assert san.steps == always == 400
        assert 64 <= heard < 150
    assert not san.findings, san.report()


def test_who_asks_to_look_closer_gets_no_rest(counted):
    loop = Loop()
    with torchsan.watch(loop.model, on_finding="collect", level="thorough") as san:
        loop.run(200)
        assert counted(san) == (200, 200)


@pytest.mark.parametrize(("level", "found"), [("default", []), ("thorough", ["TS127"])])
def test_thorough_looks_at_every_step(level, found):
    loop = Loop(width=20_000)
    with torchsan.watch(loop.model, on_finding="collect", level=level) as san:
        loop.run(10)
        loop.optimizer.param_groups[0]["lr"] = 0.0
        loop.run(3)
        assert [f.code for f in san.findings] == found


def test_large_models_never_rest(counted, monkeypatch):
    monkeypatch.setattr(resting_checks, "SMALL", 100_000)
    loop = Loop(width=20_000)
    with torchsan.watch(loop.model, on_finding="collect") as san:
        loop.run(100)
        assert counted(san) == (100, 100)
        assert not events.rest.possible


LIGHTLY = 12_000  # wide: 84,002 values, small and not tiny
WHEREVER = pytest.mark.parametrize(  # in the rhythm
    ("before", "width"), [(before, 8) for before in range(66, 136, 3)] + [(before, LIGHTLY) for before in range(67, 136, 9)]
)


def test_a_small_model_rests_lightly(counted):
    """Counted are all steps, heard those that are measured, and some more: never more than 15 in a row are missed."""
    loop = Loop(width=LIGHTLY)
    with torchsan.watch(loop.model, on_finding="collect") as san:
        heard, missed, longest = 0, 0, 0
        for _ in range(300):
            loop.run(1)
            now = counted(san)[0]
            missed = missed + 1 if now == heard else 0
            heard, longest = now, max(longest, missed)
        assert san.steps == counted(san)[1] == 300
        assert 64 <= heard < 110 and 10 <= longest <= 15
        (line,) = san.series.of("gradient norm").values()
    assert list(line.steps) == [*range(8), *range(23, 300, 16)]
    assert not san.findings, san.report()


@pytest.mark.parametrize(("kind", "code", "within"), [("same batch", "TS423", 40), ("softmax", "TS301", 40), ("keeps", "TS106", 80)])
def test_what_makes_no_other_event_is_heard_a_little_later(kind, code, within):
    loop = Loop(width=LIGHTLY)
    kept = []
    with torchsan.watch(loop.model, on_finding="collect") as san:
        loop.run(90)
        assert events.rest.hears_few
        for _ in range(within):
            loop.optimizer.zero_grad()
            output = loop.model(torch.ones(8, 4) if kind == "same batch" else torch.randn(8, 4))
            loss = F.cross_entropy(output.softmax(1) if kind == "softmax" else output, torch.randint(0, 2, (8,)))
            if kind == "keeps":
                kept.append(loss)
            loss.backward()
            loop.optimizer.step()
    assert [f.code for f in san.findings] == [code], san.report()


@pytest.mark.parametrize("step", [100, 107])
def test_of_a_small_model_that_rests_the_line_of_a_forward_is_known(step):
    batch = torch.randn(8, 4)
    batch[0, 0] = float("nan")
    loop = Loop(width=LIGHTLY)
    with torchsan.watch(loop.model, on_finding="collect") as san:
        loop.run(step)
        loop.optimizer.zero_grad()
        line = sys._getframe().f_lineno + 1
        output = loop.model(batch)
        output.sum().backward()
        loop.optimizer.step()
    assert [(f.code, f.location.row, f.step) for f in san.findings] == [("TS423", line, step)], san.report()


@pytest.mark.parametrize("step", [90, 91, 92, 93, 100, 107])
def test_of_a_small_model_that_rests_a_batch_of_another_shape_is_heard(step):
    """Such as the last one of a pass; what it brings out is told at once."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, LIGHTLY), nn.ReLU(), nn.Linear(LIGHTLY, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with torchsan.watch(model, on_finding="collect") as san:
        for at in range(step + 1):
            inputs, targets = (torch.randn(5, 4), torch.randn(5)) if at == step else (torch.randn(8, 4), torch.randn(8, 1))
            optimizer.zero_grad()
            line = sys._getframe().f_lineno + 1
            loss = F.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
    assert [(f.code, f.location.row, f.step) for f in san.findings] == [("TS309", line, step)], san.report()


@pytest.mark.parametrize("width", [8, LIGHTLY])
def test_another_mode_is_heard_whatever_is_looked_for(width):
    loop = Loop(width)
    with torchsan.watch(loop.model, on_finding="collect", select="TS201"):
        loop.run(80)
        while not events.rest.asleep:
            loop.run(1)
        loop.model.eval()
        loop.run(1)
        assert not events.rest.asleep


def test_of_several_processes_only_tiny_models_rest(counted, monkeypatch):
    monkeypatch.setattr(resting_checks, "_several_processes", lambda: True)
    loop = Loop(width=LIGHTLY)
    with torchsan.watch(loop.model, on_finding="collect") as san:
        loop.run(100)
        assert counted(san) == (100, 100)


def calls_of_ours(function):
    """How many Python functions of torchsan's a call runs."""
    calls = []

    def note(frame, kind, _):
        if kind == "call" and "torchsan" in frame.f_code.co_filename.split("site-packages")[-1]:
            calls.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return [name for name in calls if name not in ("run", "<genexpr>")]


def test_a_step_at_rest_runs_little_of_ours():
    loop = Loop()
    with torchsan.watch(loop.model, on_finding="collect"):
        loop.run(80)
        assert events.rest.asleep
        calls = calls_of_ours(lambda: loop.run(1))
        assert len(calls) < 50, calls
        loop.run(300)
        assert events.rest.asleep


@pytest.mark.parametrize("step", [70, 130])
@pytest.mark.parametrize("where", ["forward", "backward", "step"])
def test_a_nan_is_found_at_once_and_where_it_came_from(where, step):
    torch.manual_seed(0)
    w = nn.Parameter(torch.tensor([4.0, 1.0]))
    optimizer = torch.optim.SGD([w], lr=1e-4)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = w

        def forward(self, x):
            if where == "backward":
                return (x * self.w).sqrt()  # at 0: finite, and its gradient is not
            return (x * self.w).log() if where == "forward" else x * self.w

    model = Model()
    with torchsan.watch(model, on_finding="collect") as san:
        for at in range(step + 1):
            x = torch.ones(2) if at < step or where == "step" else torch.tensor([1.0, 0.0 if where == "backward" else -1.0])
            optimizer.zero_grad()
            model(x).sum().backward()
            if where == "step" and at == step:
                w.grad.div_(0.0 * w.grad[0].item())
            optimizer.step()
    (finding,) = san.findings
    assert finding.code == "TS422" and finding.step == step
    if where != "step":
        assert ("log" if where == "forward" else "sqrt") in str(finding.details).lower()


QUICK = ("quick_before_forward", "quick_before_backward", "quick_on_backward", "quick_before_optimizer_step")


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("name", QUICK)
def test_a_look_that_fails_is_no_error_of_the_program(monkeypatch, name, made):
    from torchsan.checks.tensors.nonfinite import NonFinite

    asked = []

    def fails(*args):
        asked.append(args)
        raise RuntimeError("the look failed")

    monkeypatch.setattr(NonFinite, name, (lambda self, plan: fails) if made else fails)
    loop = Loop()
    with torchsan.watch(loop.model, on_finding="collect") as san:
        loop.run(100)
        assert events.rest.asleep and asked and san.steps == 100
    assert not san.findings and not san.off


@WHEREVER
def test_what_changes_is_heard_at_once(before, width):
    loop = Loop(width)
    with torchsan.watch(loop.model, on_finding="collect") as san:
        loop.run(before)
        loop.run(3, zero=False)
        assert [f.code for f in san.findings] == ["TS101"]
        loop.evaluate(4)
        assert [f.code for f in san.findings] == ["TS101", "TS201"]


@WHEREVER
def test_changes_in_the_middle_of_a_step_are_no_findings(before, width):
    loop = Loop(width)
    with torchsan.watch(loop.model, on_finding="collect") as san:
        loop.run(before)
        loop.run(2, clip=1.0)
        assert not events.rest.asleep
        loop.run(140)
        loop.optimizer.zero_grad()
        loop.model(torch.randn(8, 4)).sum().backward()  # one that no step follows
        loop.run(3)
    assert not san.findings, san.report()


def test_another_thread_ends_it(counted):
    import threading

    loop = Loop()
    with torchsan.watch(loop.model, on_finding="collect"):
        loop.run(80)
        thread = threading.Thread(target=loop.run, args=(2,))
        thread.start()
        thread.join()
        assert not events.rest.possible
        loop.run(20)


@pytest.mark.parametrize("tiny", [True, False])
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_sound_programs_stay_silent(run, monkeypatch, path, tiny):
    for name, value in {"TINY": (1 << 40) * tiny, "SMALL": 1 << 40, "_STEADY": 1, "_AWAKE": 1, "_ASLEEP": 2}.items():
        monkeypatch.setattr(resting_checks, name, value)
    ran = run(path)
    assert not ran.findings, ran.san.report()


def test_a_step_of_a_resting_loop_makes_no_event(monkeypatch):
    made = []
    whole = events.Event.__init__
    monkeypatch.setattr(events.Event, "__init__", lambda self, name, *rest: (made.append(name), whole(self, name, *rest))[1])
    loop = Loop()
    with torchsan.watch(loop.model, on_finding="collect") as san:
        loop.run(100)
        while not (events.rest.asleep and events.rest.at == 0):
            loop.run(1)
        made.clear()
        loop.run(10)
        assert events.rest.asleep and not made
        assert san.steps > 100


def test_a_loss_that_raises_wakes_a_resting_loop():
    loop = Loop()
    with torchsan.watch(loop.model, on_finding="collect"):
        loop.run(100)
        while not (events.rest.asleep and events.rest.at == 0):
            loop.run(1)
        output = loop.model(torch.randn(8, 4)) if loop.optimizer.zero_grad() is None else None
        with pytest.raises(IndexError):
            F.cross_entropy(output, torch.full((8,), 7))
        assert not events.rest.asleep


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_where_random_numbers_are_drawn_their_state_is_kept_at_rest(monkeypatch, p):
    from torchsan.checks.tensors import nonfinite

    states = []
    loop = Loop()
    loop.model[1].p = p
    inputs, targets = torch.randn(8, 4), torch.randint(0, 2, (8,))
    with torchsan.watch(loop.model, on_finding="collect") as san:
        check = next(one for one in san.checks if type(one) is nonfinite.NonFinite)
        for _ in range(150):
            loop.optimizer.zero_grad()
            loss = F.cross_entropy(loop.model(inputs), targets)
            if events.rest.asleep:
                states.append(check.state.forwards[-1].cpu is not None)
            loss.backward()
            loop.optimizer.step()
    assert states and all(states) is (p > 0) and any(states) is (p > 0)


def test_a_step_at_rest_runs_few_instructions_of_ours():
    """Between two pieces of torch's work each of Python's instructions costs some 20 ns, whatever it does."""
    ran = []

    def note(frame, kind, _):
        if "torchsan" not in frame.f_code.co_filename.split("site-packages")[-1] or "tests" in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if kind == "opcode":
            ran.append(frame.f_code.co_name)
        return note

    loop = Loop()
    loop.model[1].p = 0.0
    with torchsan.watch(loop.model, on_finding="collect"):
        loop.run(80)
        assert events.rest.asleep and events.rest.at == 0
        before = sys.gettrace()
        sys.settrace(note)
        try:
            loop.run(1)
        finally:
            sys.settrace(before)
        assert events.rest.asleep
    assert 0 < len(ran) < 780
