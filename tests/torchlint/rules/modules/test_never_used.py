"""506: layers of the project's own classes that are built and never used."""

from tests.torchlint.dryrun.support import holds, table

NET = """
class Rows(nn.Module):
    def __init__(self, layer=None):
        super().__init__()
        {inside}

    def forward(self, x):
        return torch.relu(self.layer(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.rows = {made}{mark}

    def forward(self, x):
        return {used}
"""


@table({
    "one that holds a layer": NET.format(inside="self.layer = layer", made="Rows(nn.Linear(4, 1))", mark="  # <- 506", used="self.body(x)"),
    "one that makes a layer": NET.format(inside="self.layer = nn.Linear(4, 1)", made="Rows()", mark="  # <- 506", used="self.body(x)"),
    "one without parameters": NET.format(inside="self.layer = nn.ReLU()", made="Rows()", mark="", used="self.body(x)"),
    "one that is used": NET.format(inside="self.layer = layer", made="Rows(nn.Linear(4, 1))", mark="", used="self.rows(self.body(x))"),
})
def test_never_used(code):
    holds(code)
