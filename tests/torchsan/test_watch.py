"""The watch itself: what it puts in place and takes away, how it is asked for, and that it ends and changes no run."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import threading
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules import module as registration
from torch.optim import lr_scheduler
from torch.optim import optimizer as optim_module
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

import torchsan
from torchsan import check, checks
from torchsan.options import OptionError
from torchsan.probes import modules
from torchsan.stream import events


def places():
    """Everything of torch's that a watch may replace or hook."""
    functions = {
        "backward": torch.autograd.backward,
        "grad": torch.autograd.grad,
        "clip": torch.nn.utils.clip_grad_norm_,
        "clip_home": torch.nn.utils.clip_grad.clip_grad_norm_,
        **{name: getattr(F, name) for name in ("cross_entropy", "mse_loss", "nll_loss", "dropout")},
    }
    methods = {
        (cls.__name__, name): cls.__dict__.get(name)
        for cls, names in {
            torch.optim.Optimizer: ("__init__", "zero_grad"),
            nn.Module: ("zero_grad", "compile"),
            torch.amp.GradScaler: ("scale", "unscale_", "step", "update"),
            DataLoader: ("__iter__",),
            _BaseDataLoaderIter: ("__next__",),
            lr_scheduler.LRScheduler: ("step", "__init__"),
            lr_scheduler.OneCycleLR: ("step",),
            lr_scheduler.ReduceLROnPlateau: ("step",),
        }.items()
        for name in names
    }
    hooks = [
        len(table)
        for table in (
            optim_module._global_optimizer_pre_hooks,
            optim_module._global_optimizer_post_hooks,
            registration._global_forward_pre_hooks,
            registration._global_forward_hooks,
            registration._global_parameter_registration_hooks,
            registration._global_module_registration_hooks,
        )
    ]
    return functions, methods, hooks


def hooks_of(model):
    return [(len(m._forward_pre_hooks), len(m._forward_hooks), len(m._backward_hooks)) for m in model.modules()]


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))


def train(model, steps=3, zero=True):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        if zero:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


class Interrupted(nn.Module):
    """A training step that is interrupted in one of its places, as long as it is armed."""

    def __init__(self, place, error):
        super().__init__()
        self.layer, self.dropout = nn.Linear(4, 2), nn.Dropout(0.1)
        self.place, self.error, self.armed = place, error, True
        model = self

        class Interrupts(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, gradient):
                model.at("backward")
                return gradient

        class Steps(torch.optim.SGD):
            def step(self, closure=None):
                model.at("step")
                return super().step(closure)

        class Data(torch.utils.data.Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, index):
                model.at("loader")
                return torch.randn(4), index % 2

        self.function = Interrupts.apply
        self.optimizer = Steps(self.parameters(), lr=0.1)
        self.loader = DataLoader(Data(), batch_size=8)

    def at(self, place):
        if self.armed and place == self.place:
            raise self.error

    def forward(self, x):
        self.at("forward")
        return self.function(self.dropout(self.layer(x)))

    def evaluate(self):
        with torch.no_grad():
            for _ in range(3):
                self(torch.randn(8, 4))

    def parameters_for_clipping(self):
        self.at("clip")
        yield from self.parameters()

    def loss(self, x, y):
        with MaybeInterrupted(self):
            return F.cross_entropy(self(x), y)

    def train_step(self, zero=True):
        for x, y in self.loader:
            if zero:
                self.optimizer.zero_grad()
            self.loss(x, y).backward()
            torch.nn.utils.clip_grad_norm_(self.parameters_for_clipping(), 1.0)
            if self.place == "closure":
                self.optimizer.step(lambda: self.at("closure") or torch.zeros(()))
            else:
                self.optimizer.step()


class MaybeInterrupted(torch.overrides.TorchFunctionMode):
    """Interrupts the loss function itself."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.nn.functional.cross_entropy or function.__name__ == "cross_entropy_loss":
            self.model.at("loss")
        return function(*args, **(kwargs or {}))


@pytest.fixture
def untouched():
    before = places()
    yield
    assert places() == before
    assert not events.listening()


@pytest.mark.usefixtures("untouched")
class TestTakenDown:
    def test_after_a_run(self):
        model = small()
        before = hooks_of(model)
        with torchsan.watch(model, on_finding="collect"):
            assert hooks_of(model) != before
            train(model)
        assert hooks_of(model) == before
        assert not any("torchsan" in key for p in model.parameters() for key in vars(p))

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
    def test_after_an_exception(self, error):
        model = small()
        before = hooks_of(model)
        with pytest.raises(error):
            with torchsan.watch(model, on_finding="collect"):
                train(model)
                raise error
        assert hooks_of(model) == before

    def test_after_an_exception_inside_forward_and_backward(self):
        class Bad(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 2)

            def forward(self, x):
                raise ArithmeticError

        with torchsan.watch(on_finding="collect") as san:
            model = Bad()
            for _ in range(2):
                with pytest.raises(ArithmeticError):
                    model(torch.ones(1, 2))
            train(small())
        assert not san.off
        assert hooks_of(model) == [(0, 0, 0)] * 2

    def test_nested_and_crossing(self):
        a, b = small(), small()
        outer, inner = torchsan.watch(a, on_finding="collect"), torchsan.watch(b, on_finding="collect")
        outer.start()
        inner.start()
        train(b, zero=False)
        outer.stop()
        assert hooks_of(a) == [(0, 0, 0)] * 5
        train(b, zero=False)
        inner.stop()
        assert [f.code for f in outer.findings] == ["TS101"]
        assert [f.code for f in inner.findings] == ["TS101"]
        assert hooks_of(b) == [(0, 0, 0)] * 5

    def test_same_watch_twice(self):
        model = small()
        san = torchsan.watch(model, on_finding="collect")
        with san:
            with san:
                train(model)
            assert events.listening()
        with san:
            train(model)
        san.stop()

    def test_copies_of_a_watched_model(self):
        model = small()
        with torchsan.watch(model, on_finding="collect"):
            called, kept = copy.deepcopy(model), copy.deepcopy(model)
            called(torch.randn(2, 4))
            whole = pickle.loads(pickle.dumps(model))
            file = io.BytesIO()
            torch.save(model, file)
        for other in (called, kept, whole):
            assert hooks_of(other) == [(0, 0, 0)] * 5
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        loaded(torch.randn(2, 4))

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ArithmeticError])
    @pytest.mark.parametrize("place", ["forward", "loss", "backward", "clip", "step", "closure", "loader"])
    def test_interrupted_in_the_middle(self, place, error):
        """The watch ends there, or goes on where the program does: either way nothing is left, and it can see again."""
        model = Interrupted(place, error)
        before = hooks_of(model)
        for inside in (True, False):
            model.armed = True
            san = torchsan.watch(model, on_finding="collect")
            with pytest.raises(error):
                with san:
                    if inside:
                        with pytest.raises(error):
                            model.train_step()
                        model.armed = False
                        for _ in range(3):
                            model.train_step(zero=False)
                        model.evaluate()
                        assert [f.code for f in san.findings] == ["TS101", "TS201"], san.report()
                        raise error
                    model.train_step()
            assert hooks_of(model) == before
            assert not san.off, san.off
            assert not events.listening()
            model.armed = False
            with torchsan.watch(model, on_finding="collect") as again:
                for _ in range(3):
                    model.train_step(zero=False)
            assert [f.code for f in again.findings] == ["TS101"], again.report()

    def test_interrupted_while_a_finding_is_told(self):
        def hear(finding):
            raise KeyboardInterrupt

        model = small()
        san = torchsan.watch(model, on_finding=hear)
        with pytest.raises(KeyboardInterrupt):
            with san:
                train(model, zero=False)
        assert [f.code for f in san.findings] == ["TS101"]
        with torchsan.watch(model, on_finding="collect") as again:
            train(model, zero=False)
        assert [f.code for f in again.findings] == ["TS101"]

    def test_an_interrupted_decorated_function(self):
        model = Interrupted("backward", KeyboardInterrupt)
        san = torchsan.watch(model, on_finding="collect")
        step = san(model.train_step)
        with pytest.raises(KeyboardInterrupt):
            step()
        assert not events.listening()
        model.armed = False
        assert step() is None
        assert step.__name__ == "train_step" and san.findings == []

    def test_started_and_stopped_at_will(self):
        model = small()
        before = hooks_of(model)
        san = torchsan.watch(model, on_finding="collect")
        san.stop()
        for times in (1, 3):
            for _ in range(times):
                assert san.start() is san
            for left in reversed(range(times)):
                assert hooks_of(model) != before
                san.stop()
                assert events.listening() == bool(left)
            assert hooks_of(model) == before
            san.stop()
        san.start()
        train(model, zero=False)
        san.stop()
        assert [f.code for f in san.findings] == ["TS101"]

    def test_modules_found_meanwhile(self):
        with torchsan.watch(on_finding="collect") as san:
            model = small()
            train(model)
            assert model in san.modules()
        assert hooks_of(model) == [(0, 0, 0)] * 5

    def test_names_imported_early(self):
        import tests.torchsan.early as early

        original = early.ce
        with torchsan.watch(on_finding="collect") as san:
            assert early.ce is not original
            early.train()
        assert early.ce is original
        assert [f.code for f in san.findings] == ["TS301"]

    def test_nothing_is_kept_alive(self):
        import weakref

        with torchsan.watch(on_finding="collect"):
            model = small()
            train(model)
            ref = weakref.ref(model)
            outputs = weakref.ref(model(torch.randn(2, 4)))
            gc.collect()
            assert outputs() is None
            del model
        gc.collect()
        assert ref() is None


def test_numbers_gradients_and_states_stay_the_same():
    def run(watched):
        model = small()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        san = torchsan.watch(model, on_finding="collect", level="thorough", select="ALL")
        if watched:
            san.start()
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        san.stop()
        state = [v for s in optimizer.state.values() for v in s.values()]
        grads = [p.grad for p in model.parameters()]
        return [loss.detach(), *model.parameters(), *grads, *state, torch.get_rng_state()]

    for a, b in zip(run(False), run(True)):
        assert torch.equal(a, b)


def test_models_that_were_built_before_are_found_where_none_is_given():
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)).eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchsan.watch(on_finding="collect") as san:
        for _ in range(8):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
            optimizer.step()
    assert [found.code for found in san.findings] == ["TS203"], san.report()
    assert not model._forward_pre_hooks and not model._forward_hooks


def test_models_that_are_there_and_not_used_are_no_part_of_the_run():
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    model[0].mask = torch.ones(8)  # 502, if anybody looked
    with torchsan.watch(on_finding="collect") as san:
        assert model._forward_pre_hooks
    assert not san.findings, san.report()
    assert not model._forward_pre_hooks


def test_warns_at_the_users_line_once():
    with pytest.warns(torchsan.SanWarning, match="TS101") as caught:
        with torchsan.watch():
            train(small(), steps=5, zero=False)
    assert [w.filename for w in caught if w.category is torchsan.SanWarning] == [__file__]


def test_warnings_as_errors_end_no_run(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torchsan.watch(on_finding="warn"):
            train(small(), zero=False)
    assert "TS101" in capsys.readouterr().err


@pytest.mark.usefixtures("untouched")
def test_raises_when_asked():
    with pytest.raises(torchsan.SanError, match="TS101") as caught:
        with torchsan.watch(on_finding="raise"):
            train(small(), zero=False)
    assert caught.value.finding.number == 101


def test_callable_and_counts():
    seen = []
    with torchsan.watch(on_finding=seen.append) as san:
        train(small(), steps=5, zero=False)
    assert [f.code for f in seen] == ["TS101"]
    assert san.findings[0].count == 4
    assert san.findings[0].step == 1
    assert "TS101" in san.report() and "first at step 1, 4 times" in san.report()


def test_a_callable_that_fails_ends_no_run(capsys):
    def bad(finding):
        raise ValueError("mine")

    with torchsan.watch(on_finding=bad):
        train(small(), zero=False)
    assert "mine" in capsys.readouterr().err


def test_decorator():
    san = torchsan.watch(on_finding="collect")

    @san
    def job():
        return train(small(), zero=False)

    job()
    assert [f.code for f in san.findings] == ["TS101"]


def test_a_check_that_fails_is_switched_off_and_said_once(capsys, monkeypatch):
    class Faulty(check.Check):
        """Never works."""

        numbers = (999,)
        calls = 0

        def on_backward(self, event):
            Faulty.calls += 1
            raise ZeroDivisionError("of mine")

    known = checks.known()
    monkeypatch.setattr("torchsan.watcher.known", lambda: (*known, Faulty))
    with torchsan.watch(on_finding="collect") as san:
        train(small(), steps=4, zero=False)
    assert Faulty.calls == 1
    assert capsys.readouterr().err.count("Faulty") == 1
    assert [f.code for f in san.findings] == ["TS101"]
    assert "Faulty" in san.report()


@pytest.mark.parametrize("place", [
    "__init__", "start", "before_forward", "on_forward", "before_backward", "on_loss", "before_optimizer_step",
    "on_optimizer_step", "on_optimizer_zero_grad", "finish", "hears", "late",
])
def test_wherever_a_check_fails_the_run_goes_on(place, capsys, monkeypatch):
    def fail(self, *args):
        if place == "__init__":
            check.Check.__init__(self, *args)
        raise ZeroDivisionError("of mine")

    def ask(self, event):
        self.watch.late.ask(self, torch.ones(1, device="meta"), fail)

    body = {"numbers": (999,), "__doc__": "Never works.", place: fail}
    if place == "hears":
        body["hears"] = property(lambda self: {"backward": lambda event: fail(self)})
    elif place == "late":
        body = {"numbers": (999,), "__doc__": "Never works.", "on_backward": ask}
    Faulty = type("Faulty", (check.Check,), body)
    known = checks.known()
    monkeypatch.setattr("torchsan.watcher.known", lambda: (Faulty, *known))
    with torchsan.watch(on_finding="collect") as san:
        train(small(), steps=4, zero=place == "on_optimizer_zero_grad")
        train(small(), steps=4, zero=False)
    assert list(san.off) == ["Faulty"]
    assert capsys.readouterr().err.count("Faulty") == 1
    assert [f.code for f in san.findings] == ["TS101"]


def test_select_and_ignore():
    for options, found in (
        ({"select": "TS102"}, []),
        ({"select": "TS1"}, ["TS101"]),
        ({"select": "101,TS201"}, ["TS101"]),
        ({"select": ["correctness"]}, ["TS101"]),
        ({"ignore": "missing-zero-grad"}, []),
        ({"ignore": ["TS1"], "select": ["TS101", "correctness"]}, ["TS101"]),
    ):
        with torchsan.watch(on_finding="collect", **options) as san:
            train(small(), zero=False)
        assert [f.code for f in san.findings] == found, options


def test_options_from_outside(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    table = '[tool.torchsan]\nlevel = "thorough"\nignore = ["TS101"]\n'
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    assert torchsan.watch().options.level == "thorough"
    monkeypatch.setenv("TORCHSAN_OPTIONS", "ignore=TS102,TS103:on-finding=collect")
    options = torchsan.watch(level="default").options
    assert (options.level, options.ignore, options.on_finding) == ("default", ("TS102", "TS103"), "collect")


@pytest.mark.parametrize("text", ["levl=thorough", "level=thorogh", "thorough", "on_finding=shout"])
def test_wrong_options_are_errors(monkeypatch, text):
    monkeypatch.setenv("TORCHSAN_OPTIONS", text)
    with pytest.raises(OptionError, match="TORCHSAN_OPTIONS"):
        torchsan.watch()


def test_wrong_arguments():
    with pytest.raises(TypeError, match="modules and optimizers"):
        torchsan.watch(3)


def test_threads():
    with torchsan.watch(on_finding="collect") as san:
        threads = [threading.Thread(target=train, args=(small(), 20)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not san.off
    assert not san.findings, san.report()


def test_a_module_that_another_thread_builds_while_the_watch_ends_leaves_no_hook(monkeypatch):
    strip = modules._strip

    def and_meanwhile(module):
        nn.Linear(1, 1)
        return strip(module)

    before, model = places(), small()
    with torchsan.watch():
        train(model, 1)
        monkeypatch.setattr(modules, "_strip", and_meanwhile)
    assert places() == before


def test_of_two_threads_that_build_modules_one_hears_of_the_next_call(monkeypatch):
    register = registration.register_module_forward_pre_hook

    def and_meanwhile(hook):
        monkeypatch.undo()
        other = threading.Thread(target=nn.Linear, args=(1, 1))
        other.start()
        other.join(0.2)
        return register(hook)

    before = places()
    with torchsan.watch():
        monkeypatch.setattr(registration, "register_module_forward_pre_hook", and_meanwhile)
        train(small(), 1)
    assert places() == before


def test_unhashable_modules_and_strange_classes():
    class Odd(nn.Linear):
        __hash__ = None

        def __eq__(self, other):
            raise RuntimeError("do not compare me")

    with torchsan.watch(on_finding="collect") as san:
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        odd = Odd(4, 2)
        train(model)
        odd(torch.randn(1, 4))
    assert not san.off


def test_scripted_model():
    with torchsan.watch(on_finding="collect") as san:
        model = small()
        scripted = torch.jit.script(small())
        train(scripted)
        train(model)
    assert not san.off


@pytest.mark.parametrize("wrap", ["function", "in place"])
def test_compiled_model(wrap):
    with torchsan.watch(on_finding="collect") as san:
        model = small()
        if wrap == "function":
            compiled = torch.compile(model, backend="eager")
        else:
            compiled = model
            model.compile(backend="eager")
        train(compiled, zero=False)
    assert not san.off
    assert [f.code for f in san.findings] == ["TS101"], san.report()
