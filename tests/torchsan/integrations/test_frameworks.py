"""torchsan's callbacks under the real frameworks: broken trainings are found by name on the user's line, sound ones are
silent, and no number changes. Each test is skipped where its framework is not installed."""

from __future__ import annotations

import sys
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import torchsan
from tests.torchsan.test_same_numbers import Traced, digest, states
from torchsan.stream import events

MARK = "# <- "


def loader(rows=24, size=4, empty=None, shuffle=True):
    """Batches of (x, y); where `empty` is a row, its x is all zeros."""
    generator = torch.Generator().manual_seed(3)
    x, y = torch.randn(rows, 6, generator=generator), torch.randint(0, 3, (rows,), generator=generator)
    if empty is not None:
        x[empty] = 0
    return DataLoader(TensorDataset(x, y), batch_size=size, shuffle=shuffle)


def net():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))


def traced(train):
    """What every step of `train()` saw, its result, and the random states after it."""
    torch.manual_seed(5)
    with Traced() as steps, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = train()
    assert not events.listening(), "a watch was left on"
    assert steps.count, "no step was made"
    return steps.steps, result, states()


def marked(number):
    """The rows of this file that are marked with a number."""
    with open(__file__, encoding="utf-8") as file:
        return [row for row, line in enumerate(file, 1) if line.rstrip().endswith(f"{MARK}{number}")]


def told(findings):
    """Numbers and rows of findings, all of them in this file."""
    assert all(finding.location.filename == __file__ for finding in findings), findings
    return [(finding.number, finding.location.row) for finding in findings]


# The losses stand outside of any forward, in functions that the source alone does not lead to: only the step's function
# can be run again.


def entropy_of(scores):
    """Of the softmax of scores; NaN where a probability is 0."""
    return -(scores.softmax(1) * scores.softmax(1).log()).sum(1).mean()  # <- 422


@pytest.fixture
def quiet(tmp_path, monkeypatch):
    """A folder to write to, and no words from the framework."""
    monkeypatch.chdir(tmp_path)
    for name in ("lightning", "pytorch_lightning", "lightning.pytorch", "transformers", "ignite"):
        import logging

        monkeypatch.setattr(logging.getLogger(name), "level", logging.CRITICAL)


class TestPlainLoop:
    """`san.step`, which the callbacks are made of."""

    @staticmethod
    def parts(broken):
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        kept = {}

        def step(x, y):
            optimizer.zero_grad()
            while True:  # a loop that the lines above backward are not followed into
                noise = torch.rand(len(x), 1) * torch.randn(())
                kept["loss"] = F.cross_entropy(model(x + noise), y)
                if broken:
                    kept["loss"] = kept["loss"] + entropy_of(model(x) * 1e4)
                break
            kept["loss"].backward()
            optimizer.step()
            return kept["loss"].item()

        return model, step

    def test_the_loss_is_replayed(self):
        model, step = self.parts(broken=True)
        with torchsan.watch(model, on_finding="collect") as san:
            step = san.step(step)
            for x, y in loader(shuffle=False):
                step(x, y)
        assert told(san.findings) == [(422, *marked(422))]
        assert san.findings[0].step == 0
        assert not san.off

    def test_without_it_the_line_is_not_known_at_once(self):
        model, step = self.parts(broken=True)
        with torchsan.watch(model, on_finding="collect") as san:
            for x, y in loader(shuffle=False):
                step(x, y)
        assert san.findings[0].number == 121

    def test_the_function_is_called_as_it_is(self):
        def run(watched, broken):
            model, step = self.parts(broken)
            with torchsan.watch(model, on_finding="collect", level="thorough") as san:
                step = san.step(step) if watched else step
                return [step(x, y) for x, y in loader()], digest(model.parameters())

        for broken in (False, True):
            bare, watched = (traced(lambda on=on: run(on, broken)) for on in (False, True))
            assert repr(bare) == repr(watched)

    def test_a_later_backward_of_the_step(self):
        """Accumulation: the first backward is fine, and the replay passes it."""
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x, y):
            for at, (part, labels) in enumerate(zip(x.chunk(2), y.chunk(2))):
                losses = {"all": F.cross_entropy(model(part), labels)}
                if at == 1:
                    losses["all"] = losses["all"] + entropy_of(model(part) * 1e4)
                losses["all"].backward()
            optimizer.step()
            optimizer.zero_grad()

        with torchsan.watch(model, on_finding="collect") as san:
            san.step(step)(*next(iter(loader())))
        assert told(san.findings) == [(422, *marked(422))] and not san.off

    def test_parameters_that_another_optimizer_has_changed(self):
        """After a step of an optimizer nothing can be run again from the start: the surrogate is what is left."""
        model, other = net(), net()
        one, two = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, other))

        def step(x, y):
            one.zero_grad()
            F.cross_entropy(model(x), y).backward()
            one.step()
            two.zero_grad()
            loss = [entropy_of(other(x) * 1e4)]
            loss[0].backward()
            two.step()

        with torchsan.watch(model, other, on_finding="collect") as san:
            san.step(step)(*next(iter(loader())))
        assert not san.off and [finding.number for finding in san.findings]

    def test_a_closure(self):
        model = net()
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

        def step(x, y):
            def closure():
                optimizer.zero_grad()
                loss = {"all": entropy_of(model(x) * 1e4)}
                loss["all"].backward()
                return loss["all"]

            optimizer.step(closure)

        with torchsan.watch(model, on_finding="collect") as san:
            san.step(step)(*next(iter(loader())))
        assert told(san.findings) == [(422, *marked(422))]

    def test_a_step_that_fails_is_over(self):
        from torchsan.nonfinite.step_function import local

        def step():
            raise ValueError("no")

        with torchsan.watch(on_finding="collect") as san:
            with pytest.raises(ValueError, match="no"):
                san.step(step)()
        assert local.step is None and local.rehearsal is None

    def test_scaled_loss_and_autocast(self):
        """A scaler's factor is no part of the replay, autocast is."""
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

        def step(x, y):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = {"all": entropy_of(model(x) * 1e4)}
            scaler.scale(loss["all"]).backward()
            scaler.step(optimizer)
            scaler.update()

        with torchsan.watch(model, on_finding="collect") as san:
            step = san.step(step)
            for _ in range(4):
                step(*next(iter(loader())))
        assert (422, *marked(422)) in told(san.findings)


class TestLightning:
    @pytest.fixture(autouse=True)
    def framework(self, quiet):
        self.L = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")

    def module(self, manual, broken):
        class Lit(self.L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = net()
                self.seen, self.count = [], torch.zeros(1)  # no buffer: so do metrics keep theirs
                self.automatic_optimization = not manual

            def training_step(self, batch, batch_idx):
                x, y = batch
                noise = torch.rand(())
                scores = self.net(x + noise)
                losses = {"entropy": entropy_of(scores * 1e4) if broken else F.cross_entropy(scores, y)}
                self.log("loss", losses["entropy"])
                self.seen.append(batch_idx)
                self.count += len(x)
                if not manual:
                    return losses["entropy"]
                optimizer = self.optimizers()
                self.toggle_optimizer(optimizer)
                optimizer.zero_grad()
                self.manual_backward(losses["entropy"])
                optimizer.step()
                self.untoggle_optimizer(optimizer)
                return None

            def validation_step(self, batch):
                self.log("val", F.cross_entropy(self.net(batch[0]), batch[1]))

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters(), lr=1e-2)

        return Lit()

    def fit(self, module, *callbacks, **options):
        trainer = self.L.Trainer(
            max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, callbacks=list(callbacks), **options,
        )
        trainer.fit(module, loader(), loader(shuffle=False))
        return module.seen, getattr(module, "count", None), digest(module.parameters())

    @pytest.mark.parametrize("manual", [False, True], ids=["automatic", "manual"])
    def test_broken(self, manual):
        callback = torchsan.lightning.Callback(on_finding="collect")
        bare = traced(lambda: self.fit(self.module(manual, True)))
        watched = traced(lambda: self.fit(self.module(manual, True), callback))
        assert told(callback.findings) == [(422, *marked(422))], callback.report()
        assert callback.findings[0].step == 0
        assert bare == watched and not callback.san.off

    @pytest.mark.parametrize("manual", [False, True], ids=["automatic", "manual"])
    def test_sound(self, manual):
        callback = torchsan.lightning.Callback(on_finding="collect", level="thorough")
        options = {} if manual else {"accumulate_grad_batches": 2, "gradient_clip_val": 1.0}
        bare = traced(lambda: self.fit(self.module(manual, False), **options))
        watched = traced(lambda: self.fit(self.module(manual, False), callback, **options))
        assert not callback.findings and not callback.san.off, callback.report()
        assert bare == watched

    def test_without_the_callback_it_is_named(self):
        class Lost(self.L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net, self.seen = net(), []

            def training_step(self, batch):
                loss = F.cross_entropy(self.net(batch[0]), batch[1])
                return loss * torch.log(loss - loss)

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        with torchsan.watch(on_finding="collect") as san:
            self.fit(Lost())
        first = san.findings[0]
        assert first.number == 121 and "torchsan.lightning.Callback()" in first.message and "san.step" not in first.message

    def test_an_optimizer_of_its_own_is_called_as_the_program_calls_it(self):
        class Manual(self.L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net, self.seen, self.automatic_optimization = net(), [], False

            def training_step(self, batch):
                adam = self.optimizers()
                self.manual_backward(F.cross_entropy(self.net(batch[0]), batch[1]))
                adam.step()

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters())

        with torchsan.watch(on_finding="collect") as san:
            self.fit(Manual())
        [found] = san.findings
        assert found.number == 101 and "the previous `adam.step()`" in found.message, found.message

    def test_mistake_that_is_no_nan(self):
        class Twice(self.L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(net(), nn.Softmax(1))

            def training_step(self, batch):
                return F.cross_entropy(self.net(batch[0]), batch[1])  # <- 301

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        module, callback = Twice(), torchsan.lightning.Callback(on_finding="collect")
        module.seen = []
        traced(lambda: self.fit(module, callback))
        assert told(callback.findings) == [(301, *marked(301))]

    def test_an_error_ends_the_watch(self):
        module, callback = self.module(False, False), torchsan.lightning.Callback(on_finding="collect")
        module.net[3] = nn.Linear(9, 3)
        with pytest.raises(RuntimeError) as caught:
            self.fit(module, callback)
        assert not events.listening()
        assert "net.3" in "".join(getattr(caught.value, "__notes__", ["net.3"]))

    def test_before_the_fit_it_can_be_pickled(self):
        import pickle

        callback = pickle.loads(pickle.dumps(torchsan.lightning.Callback(level="thorough")))
        assert callback.options == {"level": "thorough"} and not callback.findings


class TestTransformers:
    @pytest.fixture(autouse=True)
    def framework(self, quiet):
        self.T = pytest.importorskip("transformers", reason="transformers is not installed")
        pytest.importorskip("accelerate", reason="Accelerate is not installed, which the Trainer needs")

    def trainer(self, broken, *callbacks):
        config = self.T.GPT2Config(vocab_size=11, n_positions=8, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
        generator = torch.Generator().manual_seed(3)
        rows = [{"input_ids": ids, "labels": ids} for ids in torch.randint(0, 11, (12, 8), generator=generator)]

        class Distilled(self.T.Trainer):
            def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                output = model(**inputs, num_items_in_batch=num_items_in_batch)
                losses = {"all": output.loss}
                if broken and model.training:
                    losses["all"] = losses["all"] + entropy_of(output.logits[:, 0] * 1e6)
                self.log({"parts": len(losses)})
                return (losses["all"], output) if return_outputs else losses["all"]

        arguments = self.T.TrainingArguments(
            output_dir="out", max_steps=3, per_device_train_batch_size=2, report_to=[], save_strategy="no", use_cpu=True,
            eval_strategy="steps", eval_steps=2, disable_tqdm=True, logging_strategy="no", gradient_accumulation_steps=2,
        )
        model = self.T.GPT2LMHeadModel(config)
        return Distilled(model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:4], callbacks=[*callbacks])

    def train(self, broken, *callbacks):
        trainer = self.trainer(broken, *callbacks)
        trainer.train()
        history = [{key: value for key, value in one.items() if "_per_" not in key and "runtime" not in key}
                   for one in trainer.state.log_history]
        return repr(history), digest(trainer.model.parameters())

    def test_broken(self):
        callback = torchsan.transformers.Callback(on_finding="collect")
        bare, watched = traced(lambda: self.train(True)), traced(lambda: self.train(True, callback))
        assert told(callback.findings) == [(422, *marked(422))], callback.report()
        assert callback.findings[0].step == 0
        assert bare == watched and not callback.san.off

    def test_sound(self):
        callback = torchsan.transformers.Callback(on_finding="collect", level="thorough")
        bare, watched = traced(lambda: self.train(False)), traced(lambda: self.train(False, callback))
        assert not callback.findings and not callback.san.off, callback.report()
        assert bare == watched

    def test_an_error_ends_the_watch(self):
        callback = torchsan.transformers.Callback(on_finding="collect")
        trainer = self.trainer(False, callback)
        trainer.get_train_dataloader = lambda: 1 / 0
        with pytest.raises(ZeroDivisionError):
            trainer.train()
        assert not events.listening()
        trainer = self.trainer(False)
        trainer.add_callback(callback)
        trainer.compute_loss = lambda *args, **kwargs: 1 / 0
        with pytest.raises(ZeroDivisionError):
            trainer.train()
        assert not events.listening() and "training_step" not in trainer.__dict__


class TestAccelerate:
    @pytest.fixture(autouse=True)
    def framework(self, quiet):
        self.A = pytest.importorskip("accelerate", reason="Accelerate is not installed")

    def train(self, broken, watched):
        accelerator = self.A.Accelerator(cpu=True, gradient_accumulation_steps=2)
        model = net()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
        model, optimizer, batches, scheduler = accelerator.prepare(model, optimizer, loader(), scheduler)

        def step(x, y):
            with accelerator.accumulate(model):
                scores = model(x)
                losses = {"all": entropy_of(scores * 1e4) if broken else F.cross_entropy(scores, y)}
                accelerator.backward(losses["all"])
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()

        if not watched:
            for x, y in batches:
                step(x, y)
        else:
            with torchsan.accelerate.watch(accelerator, on_finding="collect", level="thorough") as self.san:
                step = self.san.step(step)
                for x, y in batches:
                    step(x, y)
        return digest(model.parameters())

    @pytest.mark.parametrize("broken", [True, False], ids=["broken", "sound"])
    def test_training(self, broken):
        bare, watched = (traced(lambda on=on: self.train(broken, on)) for on in (False, True))
        assert told(self.san.findings) == ([(422, *marked(422))] if broken else []), self.san.report()
        assert bare == watched and not self.san.off


class TestIgnite:
    @pytest.fixture(autouse=True)
    def framework(self, quiet):
        pytest.importorskip("ignite", reason="Ignite is not installed")

    def train(self, broken, watched):
        from ignite.engine import Engine, Events

        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handled = []

        def step(engine, batch):
            model.train()
            optimizer.zero_grad()
            scores = model(batch[0])
            losses = {"all": entropy_of(scores * 1e4) if broken else F.cross_entropy(scores, batch[1])}
            engine.fire_event(Events.GET_BATCH_COMPLETED)
            losses["all"].backward()
            optimizer.step()
            return losses["all"].item()

        trainer = Engine(step)
        trainer.add_event_handler(Events.GET_BATCH_COMPLETED, lambda: handled.append(1))
        if watched:
            self.san = torchsan.ignite.attach(trainer, model, on_finding="collect", level="thorough")
        trainer.run(loader(), max_epochs=2)
        return handled, digest(model.parameters())

    @pytest.mark.parametrize("broken", [True, False], ids=["broken", "sound"])
    def test_training(self, broken):
        bare, watched = (traced(lambda on=on: self.train(broken, on)) for on in (False, True))
        assert told(self.san.findings) == ([(422, *marked(422))] if broken else []), self.san.report()
        assert bare == watched and not self.san.off

    def test_an_error_ends_the_watch(self):
        from ignite.engine import Engine

        trainer = Engine(lambda engine, batch: 1 / 0)
        torchsan.ignite.attach(trainer, on_finding="collect")
        with pytest.raises(ZeroDivisionError):
            trainer.run([1])
        assert not events.listening()


@pytest.mark.parametrize("module", ["lightning", "transformers", "accelerate", "ignite"])
def test_a_missing_framework_is_named(module, monkeypatch):
    monkeypatch.delitem(vars(torchsan), module, raising=False)
    for name in (f"torchsan.{module}", f"torchsan.integrations.{module}", "pytorch_lightning"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    parts = [name for name in sys.modules if name.startswith(f"{module}.")]
    for name in (module, "pytorch_lightning", *parts):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"torchsan\.{module} needs .*: pip install "):
        getattr(torchsan, module)
