"""313 where log_softmax stands by itself, where a dropout stands between, and where a loop over layers ends the model."""

from tests.torchlint.dryrun.support import holds, table

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 3)
        self.drop, self.norm = nn.Dropout(0.2), nn.LogSoftmax(dim=1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        LAST


def go(loader):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.nll_loss(net(x), y).backward()MARK
        optimizer.step()
"""
LAYERS = """
class Layer(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.weight, self.drop = nn.Parameter(torch.randn(a, b) / a), nn.Dropout(0.1)

    def forward(self, x, graph):
        return self.drop(F.relu(graph @ (x @ self.weight)))


class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList()
        self.layers.append(Layer(4, width))
        for _ in range(depth - 2):
            self.layers.append(Layer(width, width))
        self.layers.append(LAST)

    def forward(self, x, graph):
        for layer in self.layers:
            x = layer(x, graph)
        return F.log_softmax(x, dim=1)


class Plain(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.linear = nn.Linear(a, b)

    def forward(self, x, graph):
        return graph @ self.linear(x)


def go(x, graph, y, rows):
    net = Net(16, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        F.nll_loss(net(x, graph)[rows], y[rows]).backward()MARK
        optimizer.step()
"""


def one(last: str, mark: str = "") -> str:
    return NET.replace("LAST", last).replace("MARK", mark)


@table({
    "log_softmax of ReLU": one("return F.log_softmax(F.relu(self.fc2(x)), dim=1)", "  # <- 313"),
    "by a layer": one("return self.norm(F.relu(self.fc2(x)))", "  # <- 313"),
    "of a sigmoid": one("return self.norm(torch.sigmoid(self.fc2(x)))", "  # <- 313"),
    "a loss that takes it once more": one("return self.norm(F.relu(self.fc2(x)))", "  # <- 313").replace("F.nll_loss", "F.cross_entropy"),
    "it takes raw scores once more": one("return self.norm(self.fc2(x))").replace("F.nll_loss", "F.cross_entropy"),
    "a dropout between": one("return self.norm(self.drop(F.relu(self.fc2(x))))", "  # <- 313"),
    "the dropout of a layer that stands in the middle": one("return self.norm(self.fc2(self.drop(x)))"),
    "raw scores": one("return self.norm(self.fc2(x))"),
    "something is added": one("x = self.fc2(x)\n        return self.norm(F.relu(x) + x)"),
    "a loop over layers of one's own ends in ReLU": LAYERS.replace("LAST", "Layer(width, 3)").replace("MARK", "  # <- 313"),
    "its last layer is another one": LAYERS.replace("LAST", "Plain(width, 3)").replace("MARK", ""),
})
def test_log_softmax_of_cut_scores(code):
    holds(code)


HEAD = """
def go(loader):
    net = torch.hub.load("somebody/models", "ENTRY")
    net.fc = nn.Sequential(nn.Linear(net.fc.in_features, 5), LAST)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()MARK
        optimizer.step()
"""


@table({
    "a classifier's head ends in a sigmoid": HEAD.replace("ENTRY", "resnet50").replace("LAST", "nn.Sigmoid()").replace("MARK", "  # <- 313"),
    "it ends in a linear layer": HEAD.replace("ENTRY", "resnet50").replace("LAST", "nn.Linear(5, 5)").replace("MARK", ""),
    "a model of another kind": HEAD.replace("ENTRY", "two_towers").replace("LAST", "nn.Sigmoid()").replace("MARK", ""),
})
def test_a_head_put_into_a_classifier_out_of_a_hub(code):
    holds(code)
