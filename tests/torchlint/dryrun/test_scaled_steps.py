"""What a GradScaler steps: an optimizer, or an object of the project that has a step of its own."""

from tests.torchlint.dryrun.support import events, runs

PROGRAM = """
class Warmup:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def step(self):
        {step}

def train(loader):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    around = Warmup(optimizer)
    for x, y in loader:
        around.step()
        scaler.step(around)
"""


def stepped(step):
    run = next(run for run in runs(PROGRAM.format(step=step)) if events(run, "scaler.step"))
    return [(event.subject.type, event.get("scaler") is not None) for event in events(run, "optimizer.step")]


def test_the_step_of_an_object_is_run():
    assert stepped("self.optimizer.step()")[-2:] == [("torch.optim.AdamW", False), ("torch.optim.AdamW", True)]


def test_an_object_whose_step_shows_nothing():
    assert stepped("pass")[-1] == ("Warmup", True)
