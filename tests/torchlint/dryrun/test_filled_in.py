"""What an object makes when it is first asked for (`if self._optimizer is None: self._build()`) is made once in a run."""

import pytest

from tests.torchlint.dryrun.support import events, runs

TRAINER = """
class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self._model, self._optimizer = cfg, model, None

    @property
    def optimizer(self):
        if self._optimizer is None:
            self._build()
        return self._optimizer

    def _build(self):
        made = torch.optim.SGD(self._model.parameters(), 0.1)
        %s

    def reset(self):
        self._optimizer = None

    def train_step(self, x):
        self.optimizer.zero_grad()
        self._model(x).sum().backward()
        self.optimizer.step()
        %s
"""


def built(how, then="pass"):
    """How often the step of a trainer builds the optimizer."""
    step = next(run for run in runs(TRAINER % (how, then)) if events(run, "backward"))
    return len(events(step, "optimizer.create"))


@pytest.mark.parametrize("how", [
    "self._optimizer = made",
    "self._optimizer = wrap(made, self.cfg)",
    "self._optimizer = made if self.cfg.quick else wrap(made)",
    "self._optimizer = None if self.cfg.frozen else wrap(made)",
])
def test_made_once(how):
    assert built(how) == 1
    assert built(how, "self.reset(); self.optimizer.step()") == 2


def test_asked_for_and_not_made():
    """A block that makes nothing says nothing of what the attribute is."""
    assert built("print('none yet')") == 2


@pytest.mark.parametrize("other", ["nn.Linear(2, 3)", "None"])
def test_each_of_several_is_something(other):
    text = f"net = nn.Linear(2, 2) if quick else {other}\nif net is None:\n    torch.save(net, 'net.pt')\n"
    assert bool([event for run in runs(text) for event in events(run, "save")]) == (other == "None")
