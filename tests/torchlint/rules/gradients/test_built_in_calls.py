"""122: a method that makes an optimizer, steps once and forgets it, called now and then."""

from tests.torchlint.dryrun.support import holds, table

AGENT = """
class Memory:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.count = 0

    def learn(self, x, y):
        {made}
        optimizer.zero_grad()
        F.mse_loss(self.model(x), y).backward()
        optimizer.step()

    def encode(self, x, y):
        self.count += 1
        if {asked}:
            self.learn(x, y)

def main(batches):
    memory = Memory()
    for x, y in batches:
        memory.encode(x, y)
"""
ADAM = "optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)"


@table({
    "every so often": AGENT.format(made=f"{ADAM}  # <- 122", asked="self.count % 10 == 0"),
    "once there is enough": AGENT.format(made=f"{ADAM}  # <- 122", asked="self.count > 100"),
    "without memory": AGENT.format(made="optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)", asked="self.count % 10 == 0"),
    "for a new task": AGENT.format(made=ADAM, asked="self.count in new_tasks"),
    "it is kept": AGENT.format(made=f"{ADAM}; self.optimizer = optimizer", asked="self.count % 10 == 0"),
    "several steps": AGENT.format(
        made=f"{ADAM}\n        for _ in range(3): optimizer.zero_grad(); F.mse_loss(self.model(x), y).backward(); optimizer.step()",
        asked="self.count % 10 == 0",
    ),
    "made where there is none": """
def main(batches):
    model, optimizer = nn.Linear(4, 2), None
    for x, y in batches:
        if optimizer is None:
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
""",
})
def test_optimizers_of_a_call(code):
    holds(code)
