"""202: a method of a model that trains it, and looks at what it has learned in between."""

from tests.torchlint.dryrun.support import holds

PROGRAM = """
class Registrator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Linear(3, 3)

    def register(self, x, y):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        found = []
        for level in (1, 2, 3):
            for _ in range(10):
                optimizer.zero_grad()
                loss = F.mse_loss(self.model(x), y)
                loss.backward()
                optimizer.step()
            found.append(self.model(x).clone().detach())
        return found

registrator = Registrator()
found = registrator.register(torch.rand(2, 3), torch.rand(2, 3))
print(found)
"""


def test_no_place_for_no_grad():
    holds(PROGRAM)
