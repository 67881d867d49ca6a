"""110 of a scheduler that an object keeps: it is told where no file of the project asks the object for it."""

from tests.torchlint.dryrun.support import IMPORTS, RULES, holds, table
from tests.torchlint.support import write
from torchlint.engine import Engine

TRAINER = """
class Trainer:
    def __init__(self, net, loader):
        self.net, self.loader = net, loader
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 30){mark}
    def train(self, epochs):
        for epoch in range(epochs):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                F.mse_loss(self.net(x), y).backward()
                self.optimizer.step()
"""


@table({
    "nobody asks for it": TRAINER.format(mark="  # <- 110"),
    "its state and its rate are asked for": TRAINER.format(mark="  # <- 110") + """
            print(self.scheduler.get_last_lr())
    def save(self, path):
        torch.save({"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(), "scheduler_state": self.scheduler.state_dict()}, path)
""",
    "the step is commented out": TRAINER.format(mark="  # <- 110") + """
            # self.scheduler.step()
""",
    "two of them, and one is stepped": TRAINER.format(mark="") + """
            self.scheduler.step()
            self.other.step()
    def again(self):
        self.warm = torch.optim.lr_scheduler.StepLR(self.optimizer, 30)
        self.other = self.warm
""",
})
def test_told_where_no_code_asks_for_it(code):
    holds(code)


@table({
    "a method that nobody calls": TRAINER.format(mark="") + """
    def end_of_epoch(self):
        self.scheduler.step()
""",
    "a program around it": TRAINER.format(mark="") + """
def main(net, loader):
    trainer = Trainer(net, loader)
    for epoch in range(10):
        trainer.train(1)
        trainer.scheduler.step()
""",
    "by name": TRAINER.format(mark="") + """
            for name in ("optimizer", "scheduler"):
                getattr(self, name).step()
""",
    "all that it has": TRAINER.format(mark="") + """
            for thing in vars(self).values():
                if hasattr(thing, "step"):
                    thing.step()
""",
    "handed to what is not seen": TRAINER.format(mark="") + """
            end_of_epoch(self.scheduler)
""",
    "the object is handed to what is not seen": TRAINER.format(mark="") + """
            end_of_epoch(self)
""",
    "a class of a library": TRAINER.format(mark="").replace("class Trainer:", "from library import Base\nclass Trainer(Base):"),
    "in a list": TRAINER.format(mark="").replace("self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 30)",
        "scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 30)\n        self.schedulers = [scheduler]") + """
            for one in self.schedulers:
                one.step()
""",
})
def test_left_alone_where_something_may_step_it(code):
    holds(code)


def test_another_file_of_the_project_may_step_it(tmp_path):
    code = IMPORTS + TRAINER.format(mark="")
    write(tmp_path, {"trainer.py": code, "other.py": "RATE = 0.1\n", ".git/HEAD": ""})
    path = str(tmp_path / "trainer.py")
    assert [found.code for found in Engine(RULES).check(path, code).findings] == ["TL110"]
    write(tmp_path, {"main.py": "from trainer import Trainer\nt = Trainer(None, [])\nt.train(3)\nt.scheduler.step()\n"})
    assert not Engine(RULES).check(path, code).findings


MADE_AGAIN = """
def fit(loader, late):
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for epoch in range(100):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        {first}.step()
        if epoch == late:
            {second} = torch.optim.lr_scheduler.MultiStepLR(optimizer, [60, 80]){mark}
"""


@table({
    "the next turn steps it under the same name": MADE_AGAIN.format(first="scheduler", second="scheduler", mark=""),
    "another name that nobody steps": MADE_AGAIN.format(first="scheduler", second="late_scheduler", mark="  # <- 110"),
})
def test_a_scheduler_that_is_made_again_in_the_loop(code):
    holds(code)
