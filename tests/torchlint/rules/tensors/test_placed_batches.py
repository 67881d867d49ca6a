"""401: what was moved of a batch, and what a moved model gives, meets what was made on the CPU."""

from tests.torchlint.dryrun.support import holds, table

LOOP = """
from torch.nn.utils.rnn import pack_padded_sequence

def train(loader, lengths):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 2).to(device)
    lstm = nn.LSTM(4, 2).to(device)
    mask, kept, places = torch.ones(2), torch.zeros(8, 4), torch.arange(4)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        {body}
        F.cross_entropy(model(x), y).backward()
"""


def loop(*body):
    return LOOP.format(body="\n        ".join(body))


@table({
    "noise": loop("x = x + torch.randn(x.size())  # <- 401"),
    "a mask on an output": loop("out = model(x) * mask  # <- 401"),
    "put together": loop("both = torch.cat([y, torch.zeros(y.shape)])  # <- 401"),
    "put together along a dimension": loop("both = torch.cat((x, torch.zeros(x.shape)), 1)  # <- 401"),
    "compared": loop("same = y == torch.ones(y.shape)  # <- 401"),
    "two states": loop("out, _ = lstm(x, (torch.zeros(1, 8, 2), torch.zeros(1, 8, 2)))  # <- 401"),
    "made there": loop("x = x + torch.randn(x.size(), device=device) + torch.randn_like(x) + torch.randn(x.size()).to(device)"),
    "brought back": loop("z = x.cpu() + kept, model(x).detach().cpu() * mask"),
    "made beside a deviation": loop("z = x * torch.normal(mean=1.0, std=x)"),
    "made of numbers": loop("z = x * torch.normal(mean=0.0, std=1.0, size=(8, 4))  # <- 401"),
    "a number": loop("x = x * torch.tensor(2.0)"),
    "places": loop("z = x[places], model(x)[places]", "x[places] = 0", "x.copy_(kept)", "kept.copy_(x)", "torch.tensor_split(x, places)"),
    "lengths": loop("z = pack_padded_sequence(x, places), pack_padded_sequence(model(x), places)"),
    "as another one": loop("z = x + kept.type_as(x) + kept.to(x) + x.view_as(kept)"),
    "states that are there": loop("out, _ = lstm(x, (torch.zeros(1, 8, 2, device=device), torch.zeros(1, 8, 2).to(device)))"),
})
def test_meetings(code):
    holds(code)


IN_TURNS = """
from torch.utils.data import DataLoader

class Trainer:
    def __init__(self, data):
        self.device = torch.device("cuda")
        self.model = nn.Linear(4, 2).to(self.device)
        self.loader = DataLoader(data, 4, shuffle=True, num_workers=4, pin_memory=True)

    def run(self):
        for inputs in self.loader:
            self.process(inputs)

    def process(self, inputs):
        {move}
        return self.model(inputs["color", 0]){mark}
"""


@table({
    "all of a batch, in turns": IN_TURNS.format(move="for key, part in inputs.items():\n            inputs[key] = part.to(self.device)", mark=""),
    "another part": IN_TURNS.format(move='inputs["depth"] = inputs["depth"].to(self.device)', mark="  # <- 401"),
})
def test_a_batch_that_is_moved_in_place(code):
    holds(code)
