"""312 of a softmax over the samples of a batch."""

from tests.torchlint.dryrun.support import IMPORTS, found, marked, table

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.hidden = nn.Linear(64, 32)
        self.head = nn.Linear(32, {classes})
        self.normalise = nn.Softmax(dim={dim})

    def forward(self, x):
        {before}
        x = F.relu(self.hidden(x))
        {between}
        return {softmax}{mark}


def train(data, size):
    loader = torch.utils.data.DataLoader(data{batches}, shuffle=True)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in {source}:
        optimizer.zero_grad()
        F.mse_loss(net(x{given}), y).backward()
        optimizer.step()
"""
BAD = "  # <- 312"


def net(mark="", **other):
    parts = {
        "classes": "10", "dim": "0", "before": "pass", "between": "pass", "softmax": "F.softmax(self.head(x), dim=0)", "batches": ", batch_size=16",
        "source": "loader", "given": "",
    }
    return NET.format(mark=mark, **(parts | other))


@table({
    "a function": net(BAD),
    "a layer": net(BAD, softmax="self.normalise(self.head(x))"),
    "log_softmax": net(BAD, softmax="F.log_softmax(self.head(x), 0)"),
    "of images": net(BAD, before="x = F.relu(self.conv(x)); x = x.view(x.size(0), -1)"),
    "a size that is not known": net(BAD, batches=", batch_size=size"),
    "over the classes": net(softmax="F.softmax(self.head(x), dim=1)"),
    "a layer over the classes": net(dim="1", softmax="self.normalise(self.head(x))"),
    "weights of the rows of one bag": net(batches=""),
    "one bag of a batch": net(given=".squeeze(0)"),
    "one number to each sample": net(classes="1"),
    "turned round": net(softmax="F.softmax(self.head(x).t(), dim=0)"),
    "one sample after the other": net(source="data"),
    "of the first one": net(given="[0]"),
    "averaged": net(between="x = x.mean(0)"),
})
def test_a_softmax_over_the_samples(code):
    text = IMPORTS + code
    assert {place for place in found(text) if place[1] == 312} == set(marked(text))
