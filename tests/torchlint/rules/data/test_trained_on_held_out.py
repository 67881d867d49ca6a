"""616 of a loop that evaluates, by what it is called, and steps the optimizer of the training."""

from tests.torchlint.dryrun.support import holds, table

MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)

"""

ONE_BODY = MODEL + """
def fit(train_loader, {over}, args):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    other = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        {counted} = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        for x, y in {over}:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            {step}
            {counted} += loss.item()
        print({counted})
"""
STEPS = "loss.backward()\n            optimizer.step()"
TOLD = STEPS + "  # <- 616"


def body(step=STEPS, over="valid_loader", counted="valid_loss"):
    return ONE_BODY.format(step=step, over=over, counted=counted)


APART = MODEL + """
class Learner:
    def __init__(self):
        self.net = Net()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, x, y, train=True):
        with torch.set_grad_enabled({grad}):
            loss = F.cross_entropy(self.net(x), y)
        {step}
        return loss.item()


def main(train_batches, test_batches):
    learner = Learner()
    for epoch in range(9):
        for x, y in train_batches:
            learner.step(x, y)
        print(run_test(learner, test_batches))


def run_test(learner, test_batches):
    total = 0
    for x, y in test_batches:
        total += learner.step(x, y, False)
    return total
"""
ALWAYS = "self.optimizer.zero_grad()\n        loss.backward()\n        self.optimizer.step()"
ASKED = "if train:\n            self.optimizer.zero_grad()\n            loss.backward()\n            self.optimizer.step()"


@table({
    "steps and counts for the validation": body(TOLD),
    "steps and counts for the test": body(TOLD, "test_loader", "test_loss"),
    "steps on what is for the test, beside the training": body(TOLD, "test_loader", "total"),
    "a backward alone": body("loss.backward()"),
    "a step of another optimizer": body(STEPS.replace("optimizer", "other")),
    "a step where an option asks for it": body("if args.more:\n                loss.backward()\n                optimizer.step()"),
    "counts for the training": body(STEPS, counted="train_loss"),
    "nothing says that it evaluates": body(STEPS, counted="total"),
    "nothing says that it is held out": body(STEPS, "second_loader"),
    "adapts on purpose": body(STEPS).replace("def fit", "def adapt"),
    "a helper does not ask what it is called for": APART.format(grad="True", step=ALWAYS + "  # <- 616"),
    "a helper asks what it is called for": APART.format(grad="train", step=ASKED),
})
def test_a_step_in_an_evaluation(code):
    holds(code)
