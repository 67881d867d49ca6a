"""202 of an evaluation in no mode that makes nothing of what its model gives."""

from tests.torchlint.dryrun.support import holds, table

SCRIPT = """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

if __name__ == "__main__":
    {before}
    for epoch in range(10):
        for x, y in train_data:
            net.zero_grad()
            scores = net(x)
            F.cross_entropy(scores, y).backward()
            optimizer.step()
    {behind}
"""
ONCE = """for x, y in test_data:
        scores = net(x){mark}
        # print(scores)"""


@table({
    "before it is trained, and behind": SCRIPT.format(before=ONCE.format(mark="  # <- 202"), behind=ONCE.format(mark="  # <- 202")),
    "without gradients": SCRIPT.format(before="pass", behind="torch.set_grad_enabled(False)\n    " + ONCE.format(mark="")),
    "over what is not called so": SCRIPT.format(before=ONCE.format(mark="").replace("test_data", "pairs"), behind="pass"),
    "a hook keeps it": SCRIPT.format(before="net.register_forward_hook(keep)\n    " + ONCE.format(mark=""), behind="pass"),
    "kept where a training may find it": SCRIPT.format(before=ONCE.format(mark="; holder.scores = scores"), behind="pass"),
})
def test_script(code):
    holds(code)


PROGRAM = """
class Program:
    def __init__(self, train, dev):
        self.train_batches, self.dev_batches = train, dev
        self.model = nn.Linear(8, 4)

    def fit(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        for epoch in range(10):
            for x, y in self.train_batches.take():
                optimizer.zero_grad()
                F.cross_entropy(self.model(x), y).backward()
                optimizer.step()
            self.{name}()

    {decorated}
    def {name}(self):
        for x, y in self.dev_batches.take():
            {asked}
        print("done")
"""


@table({
    "under a name": PROGRAM.format(name="evaluate", decorated="", asked="scores = self.model(x)  # <- 202"),
    "under none": PROGRAM.format(name="evaluate", decorated="", asked="self.model(x)  # <- 202"),
    "without gradients": PROGRAM.format(name="evaluate", decorated="@torch.no_grad()", asked="scores = self.model(x)"),
    "in a function that says nothing": PROGRAM.format(name="go_over", decorated="", asked="scores = self.model(x)").replace("dev", "more"),
    "kept": PROGRAM.format(name="evaluate", decorated="", asked="self.scores = self.model(x)"),
})
def test_methods(code):
    holds(code)
