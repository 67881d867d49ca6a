"""What a run says of samplers, collectives, settings and what is saved."""

from torchlint.dryrun.values import Const, Opaque

from .support import events, runs


def happened(text, *kinds):
    return [event for run in runs(text) for event in events(run, *kinds)]


def test_a_collective_brings_its_result_and_all_it_was_given():
    (event,) = happened("import torch.distributed as dist\nwork = dist.all_reduce(x, async_op=True)\n", "collective")
    assert event.name == "all_reduce" and event.kwargs["async_op"].value is True
    assert isinstance(event.subject, Opaque) and "work" in event.subject.tags


def test_a_sampler_is_made():
    (event,) = happened("sampler = torch.utils.data.RandomSampler(data)\n", "sampler.create")
    assert event.subject.type == "torch.utils.data.RandomSampler" and event.subject.name == "sampler"


def test_settings_of_modules_and_of_the_environment():
    text = 'import os\nos.environ["A"] = "1"\ntorch.backends.cudnn.benchmark = True\n'
    assert [(event.name, event.value.value) for event in happened(text, "setting")] == [
        ("os.environ[A]", "1"),
        ("torch.backends.cudnn.benchmark", True),
    ]


def test_a_dict_that_is_saved_is_known_as_it_was_then():
    text = """
def f(model, epochs):
    for epoch in range(epochs):
        torch.save({"model": model.state_dict(), "epoch": 3}, "last.pt")
"""
    (event,) = happened(text, "save")
    assert not event.items.open and set(event.items.known) == {"model", "epoch"}
    assert isinstance(event.items.known["epoch"], Const)


def test_autocast_or_nothing_is_autocast():
    text = """
from contextlib import nullcontext
def f(loss, half):
    context = torch.autocast("cuda") if half else nullcontext()
    with context:
        loss.backward()
"""
    (event,) = happened(text, "backward")
    assert [context.kind for context in event.contexts] == ["autocast"]


def test_states_of_schedulers_and_scalers_are_known_as_such():
    text = """
def f(optimizer, loss):
    scaler = torch.amp.GradScaler("cuda")
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    torch.save({"a": scaler.state_dict(), "b": scheduler.state_dict()}, "last.pt")
"""
    (event,) = happened(text, "save")
    assert "scaler_state" in event.items.known["a"].tags and "scheduler_state" in event.items.known["b"].tags


def test_a_method_that_a_base_outside_the_project_has_ends_no_run():
    text = """
from elsewhere import Base

class Trainer(Base):
    def __init__(self):
        super().__init__()
        self.prepare()

    def fit(self, model, loader):
        for batch in loader:
            self.log(model(batch))
            model(batch).sum().backward()
"""
    assert len(happened(text, "backward")) == 1
