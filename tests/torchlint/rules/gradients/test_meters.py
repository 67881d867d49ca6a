"""106: a loss with its graph is handed to a meter of another file: told at the call, since the meter takes numbers, too."""

from tests.torchlint.dryrun.support import engine, found, marked
from tests.torchlint.support import write

METER = """
class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum, self.count, self.avg = 0, 0, 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count
"""
TRAIN = """import torch
from meters import Meter

class Trainer:
    def __init__(self, model, loader, criterion, optimizer):
        self.model, self.loader, self.criterion, self.optimizer = model.to("cuda"), loader, criterion, optimizer

    def one_epoch(self):
        losses, hits = Meter(), Meter()
        for x, y in self.loader:
            self.optimizer.zero_grad()
            out = self.model(x)
            loss = self.criterion(out, y)
            loss.backward()
            self.optimizer.step()
            hits.update((out.argmax(1) == y).float().mean().item())
            {handed}
        return losses.avg
"""


def judged(tmp_path, handed, name="trainer.py"):
    write(tmp_path, {"meters.py": METER, "trainer.py": TRAIN.format(handed=handed)})
    text = {"trainer.py": TRAIN.format(handed=handed), "meters.py": METER}[name]
    return found(text, tmp_path / name), marked(text)


def test_the_loss_itself(tmp_path):
    got, wanted = judged(tmp_path, "losses.update(loss, len(x))  # <- 106")
    assert got == wanted != []


def test_the_words(tmp_path):
    write(tmp_path, {"meters.py": METER})
    text = TRAIN.format(handed="losses.update(loss, len(x))")
    finding = next(one for one in engine().check(str(tmp_path / "trainer.py"), text).findings if one.number == 106)
    assert finding.message.startswith("`losses` keeps the autograd graph of every `loss` alive")


def test_its_number(tmp_path):
    got, wanted = judged(tmp_path, "losses.update(loss.item(), len(x))")
    assert got == wanted == []


def test_nothing_is_said_of_the_meter(tmp_path):
    got, _ = judged(tmp_path, "losses.update(loss, len(x))", "meters.py")
    assert got == []
