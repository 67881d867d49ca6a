"""118 where one run after the other builds its model and its optimizer: layers that a loop makes are part of the model that follows."""

from tests.torchlint.dryrun.support import holds, table

LAYERS = """
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x)

class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList([Layer(width) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

def train(model, optimizer, loader):
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()

def main(args, loader):
    for run in range(args.runs):
{body}
"""


def _program(*lines):
    return LAYERS.format(body="\n".join(f"        {line}" for line in lines))


MODEL, OPTIMIZER = "model = Net(args.width, args.depth)", "optimizer = torch.optim.Adam(model.parameters(), lr=0.1)"
HEAD = "model.head = nn.Linear(args.width, 2)"
TRAIN = "train(model, optimizer, loader)"


@table({
    "both in each run": _program(MODEL, OPTIMIZER, TRAIN),
    "a layer more before the optimizer": _program(MODEL, HEAD, OPTIMIZER, TRAIN),
    "a layer more behind it": _program(MODEL, OPTIMIZER, HEAD + "  # <- 118", TRAIN),
})
def test_in_each_run(code):
    holds(code)
