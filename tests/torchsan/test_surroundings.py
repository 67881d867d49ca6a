"""A watch among what real programs have around their models: torch.compile, checkpointing, scripting, several models,
threads."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import torchsan
from tests.torchsan.test_same_numbers import digest
from torchsan.stream import events

BACKENDS = ["eager", "aot_eager"]


class Net(nn.Module):
    """Two blocks, the second of which may be checkpointed, and a softmax too many where asked for."""

    def __init__(self, reentrant=None, softmax=False):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(4, 16), nn.Linear(16, 16), nn.Linear(16, 3)
        self.dropout = nn.Dropout(0.2)
        self.reentrant, self.softmax = reentrant, softmax

    def block(self, x):
        return self.dropout(F.relu(self.second(x)))

    def forward(self, x):
        x = F.relu(self.first(x))
        x = self.block(x) if self.reentrant is None else checkpoint(self.block, x, use_reentrant=self.reentrant)
        x = self.head(x)
        return x.softmax(1) if self.softmax else x


def train(call, parameters, steps=4, zero=True):
    """Trains; everything that came of it, as hashes."""
    optimizer = torch.optim.AdamW(parameters, lr=0.01)
    seen = []
    for _ in range(steps):
        if zero:
            optimizer.zero_grad()
        loss = F.cross_entropy(call(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
        loss.backward()
        seen.append(digest([loss, *(p.grad for p in parameters)]))
        optimizer.step()
        seen.append(digest([*parameters, torch.get_rng_state()]))
    return seen


def evaluate(call, model, steps=3):
    with torch.no_grad():
        for _ in range(steps):
            call(torch.randn(8, 4))


def codes(san):
    return sorted(finding.code for finding in san.findings)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    assert not events.listening()


class TestCompiled:
    def build(self, way, backend, **kwargs):
        torch.manual_seed(0)
        torch._dynamo.reset()
        model = Net(**kwargs)
        if way == "in place":
            model.compile(backend=backend)
            return model, model
        if way == "a part":
            model.second = torch.compile(model.second, backend=backend)
            return model, model
        return model, torch.compile(model, backend=backend)

    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize("way", ["wrapped", "in place", "a part"])
    @pytest.mark.parametrize("order", ["before", "after"])
    def test_sound_silent_and_the_same(self, way, backend, order, capsys):
        from torch._dynamo.utils import counters

        def run(watched):
            counters.clear()
            san = torchsan.watch(on_finding="collect", level="thorough", select="ALL", ignore="TS125")  # advice
            if watched and order == "before":
                san.start()
            model, compiled = self.build(way, backend)
            if watched and order == "after":
                san.add(model)
                san.start()
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message=".*global hooks on modules.*")
                seen = train(compiled, [*model.parameters()])
                model.eval()
                evaluate(compiled, model)
            san.stop()
            return san, (seen, dict(counters["stats"]), dict(counters["graph_break"]))

        _, bare = run(False)
        capsys.readouterr()
        san, watched = run(True)
        assert watched == bare
        assert not san.off and not san.findings, san.report()
        assert capsys.readouterr().err.count("is compiled: what it gets") == 1

    @pytest.mark.parametrize("way", ["wrapped", "in place"])
    @pytest.mark.parametrize("order", ["before", "after"])
    def test_mistakes_are_found(self, way, order):
        san = torchsan.watch(on_finding="collect")
        if order == "before":
            san.start()
        model, compiled = self.build(way, "aot_eager", softmax=True)
        if order == "after":
            san.add(model)
            san.start()
        train(compiled, [*model.parameters()], steps=6, zero=False)
        evaluate(compiled, model)
        san.stop()
        assert codes(san) == ["TS101", "TS201", "TS301"], san.report()

    @pytest.mark.parametrize("level", ["default", "thorough"])
    def test_a_whole_step_that_is_compiled(self, level):
        """It has the graphs, and the breaks between them, that it has without a watch: nothing of ours is compiled."""
        from torch._dynamo.utils import counters

        def run(watched):
            counters.clear()
            torch.manual_seed(0)
            model = Net()
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

            @torch.compile(backend="eager")
            def step(x, y):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                return loss

            san = torchsan.watch(model, on_finding="collect", level=level)
            with san if watched else contextlib.nullcontext():
                seen = [step(torch.randn(8, 4), torch.randint(0, 3, (8,))).item() for _ in range(4)]
            assert not san.off
            return seen, dict(counters["stats"]), sum(counters["graph_break"].values()), counters["frames"]["total"]

        *bare, frames = run(False)
        torch._dynamo.reset()
        *watched, more = run(True)
        assert watched == bare and more <= frames

    def test_not_a_number_inside(self):
        class Log(Net):
            def forward(self, x):
                return super().forward(x).relu().log()

        with torchsan.watch(on_finding="collect") as san:
            model = Log()
            compiled = torch.compile(model, backend="aot_eager")
            train(compiled, [*model.parameters()], steps=3)
        assert not san.off
        assert {"TS121", "TS422"} & set(codes(san)), san.report()

    def test_what_is_not_compiled_is_not_said_to_be(self, capsys):
        with torchsan.watch(on_finding="collect"):
            model = Net()
            train(model, [*model.parameters()])
        assert capsys.readouterr().err == ""

    def test_scripted(self, capsys):
        class Plain(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 3)

            def forward(self, x):
                return self.layer(x)

        scripted = torch.jit.script(Plain())
        whole = nn.Sequential(scripted, nn.Identity())
        for model in (scripted, whole):
            with torchsan.watch(model, on_finding="collect") as san:
                train(model, [*model.parameters()])
            assert not san.off and not san.findings, san.report()
            assert capsys.readouterr().err.count("Plain is scripted") == 1


class TestRecorded:
    """CUDA graphs, as far as it goes without a GPU: `test_gpu.py` records one."""

    @pytest.fixture
    def record(self, monkeypatch):
        graph = torch.cuda.graph
        monkeypatch.setattr(graph, "__enter__", lambda self: self)
        return lambda: graph.__enter__(object.__new__(graph))

    def test_nothing_is_judged_afterwards(self, record, capsys):
        model = Net()
        with torchsan.watch(model, on_finding="collect") as san:
            train(model, [*model.parameters()])
            assert isinstance(record(), torch.cuda.graph)
            record()
            train(model, [*model.parameters()], zero=False)
        assert not san.findings and not san.off and san.steps == 4
        assert capsys.readouterr().err.count("a CUDA graph is recorded") == 1

    def test_what_the_compiler_records_is_its_own_business(self, record, capsys):
        space = {"__name__": "torch._inductor.cudagraph_trees", "record": record}
        exec("def compiled(): record()", space)
        model = Net()
        with torchsan.watch(model, on_finding="collect") as san:
            space["compiled"]()
            train(model, [*model.parameters()], zero=False)
        assert codes(san) == ["TS101"]
        assert capsys.readouterr().err == ""


class TestCheckpointed:
    @pytest.mark.parametrize("reentrant", [True, False])
    def test_sound_silent_and_the_same(self, reentrant):
        def run(watched):
            torch.manual_seed(0)
            san = torchsan.watch(on_finding="collect", level="thorough", select="ALL", ignore="TS125")  # advice
            if watched:
                san.start()
            model = Net(reentrant)
            seen = train(model, [*model.parameters()], steps=12)
            model.eval()
            evaluate(model, model)
            san.stop()
            return san, seen

        _, bare = run(False)
        san, watched = run(True)
        assert watched == bare
        assert not san.off and not san.findings, san.report()

    @pytest.mark.parametrize("reentrant", [True, False])
    def test_sequential(self, reentrant):
        with torchsan.watch(on_finding="collect") as san:
            model = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1), nn.Tanh()) for _ in range(4)))
            head = nn.Linear(4, 3)

            def call(x):
                return head(checkpoint_sequential(model, 2, x.requires_grad_(), use_reentrant=reentrant))

            train(call, [*model.parameters(), *head.parameters()], steps=6)
        assert not san.off and not san.findings, san.report()

    @pytest.mark.parametrize("reentrant", [True, False])
    def test_mistakes_are_found(self, reentrant):
        with torchsan.watch(on_finding="collect") as san:
            model = Net(reentrant, softmax=True)
            train(model, [*model.parameters()], zero=False)
            evaluate(model, model)
        assert codes(san) == ["TS101", "TS201", "TS301"], san.report()


class TestSeveralModels:
    def test_each_is_judged_by_itself(self):
        sound, wrong, frozen = Net(), Net(), Net().eval().requires_grad_(False)
        with torchsan.watch(sound, wrong, frozen, on_finding="collect") as san:
            train(sound, [*sound.parameters()])
            train(wrong, [*wrong.parameters()], zero=False)
            evaluate(frozen, frozen)
        assert codes(san) == ["TS101"], san.report()
        assert san.findings[0].count == 3

    def test_two_watches_hear_what_happens_while_they_run(self):
        one, other = torchsan.watch(on_finding="collect"), torchsan.watch(on_finding="collect", ignore="TS101")
        model = Net()
        with one:
            train(model, [*model.parameters()])
            with other:
                train(model, [*model.parameters()], zero=False)
        assert (codes(one), codes(other)) == (["TS101"], [])
        assert (one.steps, other.steps) == (8, 4) or (one.steps, other.steps) == (4, 4)  # of the most used optimizer


def in_threads(*jobs):
    """Runs the jobs at the same time, each in a thread, and raises what they raise."""
    errors = []

    def safely(job):
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=safely, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


class TestThreads:
    def test_training_in_another_thread(self):
        model = Net()
        with torchsan.watch(model, on_finding="collect") as san:
            in_threads(lambda: train(model, [*model.parameters()], zero=False))
        assert codes(san) == ["TS101"], san.report()

    def test_started_in_one_thread_and_stopped_in_another(self):
        san = torchsan.watch(on_finding="collect")
        model = Net()
        in_threads(san.start)
        train(model, [*model.parameters()], zero=False)
        in_threads(san.stop)
        assert codes(san) == ["TS101"], san.report()
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())

    @pytest.mark.parametrize("given", [0, 1, None])
    @pytest.mark.parametrize("where", ["forward", "backward"])
    def test_of_two_at_the_same_time_one_is_watched(self, where, given, capsys):
        """That which the watch was meant for, or else the first one. Their steps would be mixed, and to read one's gradients
        while the other makes them may crash the process."""
        inside, over = threading.Event(), threading.Event()

        class Slow(Net):
            def forward(self, x):
                if where == "forward":
                    pause()
                x = super().forward(x)
                if where == "backward":
                    x.register_hook(lambda grad: pause())
                return x

        def pause():
            inside.set()
            while not over.is_set():
                time.sleep(0.001)

        def other():
            assert inside.wait(300)
            try:
                train(models[1], [*models[1].parameters()], zero=given != 1)
            finally:
                over.set()

        class Other(Net):
            pass

        models = [Slow(), Other()]
        with torchsan.watch(*(models[at] for at in range(2) if at == given), on_finding="collect") as san:
            in_threads(lambda: train(models[0], [*models[0].parameters()], steps=6, zero=given == 1), other)
        assert not san.off
        assert codes(san) == ["TS101"], san.report()  # of the other one it would not be
        told = capsys.readouterr().err
        line = "two threads train at the same time: from here on only one of them is watched, "
        assert told.count("two threads") == told.count(line) == 1, told
        if given is not None:
            assert told.count(f"{line}that of `{type(models[given]).__name__}`\n") == 1, told
        assert san.steps == (4 if given == 1 else 6)

    def test_each_watch_follows_its_own(self, capsys):
        done = [0, 0]  # backwards of each
        models = [Net(), Net()]
        watches = [torchsan.watch(model, on_finding="collect") for model in models]

        def wait(at, step):
            """For the other one, and not in a lock, where a thread does not train."""
            while done[1 - at] <= step:
                pass

        def job(at):
            x, y = torch.randn(4, 4), torch.randint(0, 2, (4,))
            optimizer = torch.optim.SGD(models[at].parameters(), lr=0.1)
            for step in range(5):
                if at:
                    wait(at, step)
                    optimizer.zero_grad()
                F.cross_entropy(models[at](x), y).backward()
                done[at] += 1
                if not at:
                    wait(at, step)  # in the midst of its step
                optimizer.step()

        def safely(at):
            try:
                job(at)
            finally:
                done[at] = 1 << 30  # the other one is not to wait for ever

        with watches[0], watches[1]:
            in_threads(functools.partial(safely, 0), functools.partial(safely, 1))
        assert (codes(watches[0]), codes(watches[1])) == (["TS101"], [])
        assert not watches[0].off and not watches[1].off

    def test_one_model_in_two_threads_is_not_watched(self, capsys):
        """As in Hogwild: nobody can say whose gradients those are."""
        inside, over = threading.Event(), threading.Event()

        class Slow(Net):
            slow = True

            def forward(self, x):
                if self.slow:
                    self.slow = False
                    inside.set()
                    while not over.is_set():
                        time.sleep(0.001)
                return super().forward(x)

        model = Slow()

        def other():
            assert inside.wait(300)
            try:
                train(model, [*model.parameters()], zero=False)
            finally:
                over.set()

        with torchsan.watch(model, on_finding="collect") as san:
            in_threads(lambda: train(model, [*model.parameters()], zero=False), other)
        assert not san.findings and not san.off
        assert "two threads train the same model at the same time: nothing is watched" in capsys.readouterr().err

    def test_another_thread_evaluates(self, capsys):
        """Another model, in evaluation mode and by chance with gradients, while the training goes on."""
        inside, over = threading.Event(), threading.Event()

        class Slow(Net):
            def forward(self, x):
                inside.set()
                while not over.is_set():
                    time.sleep(0.001)
                return super().forward(x)

        model, teacher = Slow(), Net().eval()

        def other():
            assert inside.wait(300)
            try:
                teacher(torch.randn(4, 4))
            finally:
                over.set()

        with torchsan.watch(model, on_finding="collect") as san:
            in_threads(lambda: train(model, [*model.parameters()], zero=False), other)
        assert codes(san) == ["TS101"], san.report()
        assert "two threads" not in capsys.readouterr().err

    def test_many_at_the_same_time(self):
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)

        def job():
            for _ in range(5):
                model = Net()
                train(model, [*model.parameters()], steps=10)

        try:
            with torchsan.watch(on_finding="collect") as san:
                in_threads(*[job] * 3)
        finally:
            sys.setswitchinterval(interval)
        assert not san.findings and not san.off, (san.report(), san.off)

    @pytest.mark.parametrize("zero", [True, False])
    def test_one_after_the_other(self, zero, capsys):
        """A pool has a thread for each part of a step."""
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        pools = [ThreadPoolExecutor(1) for _ in range(3)]
        turns = itertools.cycle(pools)
        do = lambda function, *args: next(turns).submit(function, *args).result()  # noqa: E731
        with torchsan.watch(model, on_finding="collect") as san:
            for _ in range(5):
                if zero:
                    do(optimizer.zero_grad)
                loss = F.cross_entropy(do(model, torch.randn(8, 4)), torch.randint(0, 3, (8,)))
                do(loss.backward)
                do(optimizer.step)
        for pool in pools:
            pool.shutdown()
        assert codes(san) == ([] if zero else ["TS101"]), san.report()
        assert not san.off and not capsys.readouterr().err

    def test_replicas_are_one_training(self, capsys):
        """DataParallel calls the copies of a model in threads, all at the same time."""
        called = threading.Barrier(2, timeout=300)

        class Model(nn.Linear):
            def forward(self, x):
                if threading.current_thread() is not threading.main_thread():
                    called.wait()
                return super().forward(x)

        model = Model(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def replica():
            copied = model._replicate_for_data_parallel()
            copied.weight, copied.bias = model.weight.clone(), model.bias.clone()
            return copied

        with torchsan.watch(model, on_finding="collect") as san:
            for _ in range(5):
                optimizer.zero_grad()
                losses = []
                in_threads(*[lambda copied=replica(): losses.append(copied(torch.randn(8, 4)).sum()) for _ in range(2)])
                sum(losses).backward()
                optimizer.step()
        assert not san.findings and not san.off, san.report()
        assert not capsys.readouterr().err

    def test_the_watch_ends_while_another_thread_trains(self, capsys):
        inside, over = threading.Event(), threading.Event()

        class Slow(Net):
            def forward(self, x):
                inside.set()
                while not over.is_set():
                    time.sleep(0.001)
                return super().forward(x)

        model = Slow()
        thread = threading.Thread(target=lambda: train(model, [*model.parameters()]))
        with torchsan.watch(on_finding="collect") as san:
            thread.start()
            assert inside.wait(300)
        over.set()
        thread.join(300)
        assert not san.findings and not san.off
        assert "a thread trains on while the watch ends" in capsys.readouterr().err

    def test_forwards_that_overlap_leave_torch_as_it_was(self):
        """What one watch puts in the place of torch's functions for a forward, the other must not take for torch's."""
        functions = [F.relu, torch.relu, torch.tanh]
        began, ended = threading.Event(), threading.Event()

        class Overlapping(Net):
            def forward(self, x):
                if self is models[0]:
                    began.set()
                    assert ended.wait(300) or True
                else:
                    assert began.wait(300)
                return super().forward(x)

        models = [Overlapping(), Overlapping()]

        def job(model, after):
            with torchsan.watch(model, on_finding="collect") as san:
                train(model, [*model.parameters()], steps=1)
                after()
            assert not san.off

        in_threads(lambda: job(models[0], lambda: None), lambda: job(models[1], ended.set))
        assert [F.relu, torch.relu, torch.tanh] == functions

    def test_watches_come_and_go_while_another_thread_trains(self):
        model = Net()
        over = threading.Event()

        def keep_training():
            while not over.is_set():
                train(model, [*model.parameters()], steps=5)

        def watch():
            try:
                for _ in range(20):
                    with torchsan.watch(on_finding="collect") as san:
                        other = Net()
                        train(other, [*other.parameters()], steps=2)
                    assert not san.off, san.off
            finally:
                over.set()

        in_threads(keep_training, watch)
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    def test_a_process_forked_while_another_thread_is_being_told(self):
        """What was locked stays locked in the new process, whose other threads are gone."""
        inside, forked = threading.Event(), threading.Event()

        def hear(finding):
            inside.set()
            assert forked.wait(300)

        model = Net()
        with torchsan.watch(model, on_finding=hear):
            thread = threading.Thread(target=lambda: train(model, [*model.parameters()], zero=False))
            thread.start()
            assert inside.wait(300)
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # ends a process that waits for ever
                events.happened("optimizer.zero_grad", model)
                os._exit(7)
            forked.set()
            thread.join(300)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

    def test_numbers_of_a_thread_stay_the_same(self):
        def run(watched):
            torch.manual_seed(0)
            model, seen = Net(), []
            san = torchsan.watch(model, on_finding="collect", level="thorough", select="ALL", ignore="TS125")
            if watched:
                san.start()
            in_threads(lambda: seen.extend(train(model, [*model.parameters()], steps=10)))
            san.stop()
            assert not san.findings, san.report()
            return seen

        assert run(False) == run(True)


def test_a_model_is_wrapped_for_ddp_after_its_optimizer_was_built():
    """The model is a root by then; the wrapper announces it before it has it."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        with torchsan.watch(on_finding="collect") as san:
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            wrapped = nn.parallel.DistributedDataParallel(model)
            for _ in range(2):
                optimizer.zero_grad()
                wrapped(torch.randn(4, 4)).sum().backward()
                optimizer.step()
            model(torch.randn(4, 4))
    finally:
        torch.distributed.destroy_process_group()
    assert not san.findings and not san.off and san.steps == 2
