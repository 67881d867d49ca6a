"""302 and 320: scores that come straight out of a layer, and those that do not."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "scores that are chosen, shaped and moved": """
head, dropout = nn.Linear(4, 3), nn.Dropout()

def fit(x, y, mask, device):
    scores = head(x).view(-1, 3)
    F.nll_loss(scores, y)  # <- 302
    F.nll_loss(scores[mask].to(device), y)  # <- 302
    F.nll_loss(nn.Sequential(head, nn.Identity())(x), y)  # <- 302
    F.nll_loss(F.relu(scores), y)  # <- 302
    F.nll_loss(F.logsigmoid(scores), y)
    F.nll_loss(scores - scores.logsumexp(1, keepdim=True), y)
""",
    "a classifier of torchvision": """
from torchvision import models

def fit(x, y):
    raw, sound, tail = models.resnet18(), models.resnet18(), models.resnet18()
    raw.fc = nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 3))
    sound.fc = nn.Sequential(nn.Linear(512, 3), nn.LogSoftmax(dim=1))
    tail.fc = tail.unknown()
    F.nll_loss(models.vgg16()(x), y)  # <- 302
    F.nll_loss(raw(x), y)  # <- 302
    F.nll_loss(sound(x), y)
    F.nll_loss(tail(x), y)
""",
    "a graph network": """
from torch_geometric.nn import GCNConv, MLP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.mlp = GCNConv(4, 8), GCNConv(8, 3), MLP([3, 3])

    def forward(self, data):
        return self.two(F.relu(self.one(data.x, data.edge_index)), data.edge_index)

def fit(net: Net, data, other):
    model = Net()
    F.nll_loss(model(data)[data.train_mask], data.y[data.train_mask])  # <- 302
    F.nll_loss(model.mlp(data.x), data.y)
    F.nll_loss(other(data), data.y)
""",
    "probabilities of BCELoss": """
class Net(nn.Module):
    def __init__(self, squash):
        super().__init__()
        self.fc, self.squash = nn.Linear(4, 1), squash

    def forward(self, x):
        x = self.fc(x)
        return x.sigmoid() if self.squash else x

def fit(x, y, flag):
    head, bce = nn.Linear(4, 1), nn.BCELoss()
    bce(head(x), y)  # <- 320
    bce(head(x).squeeze(1), y)  # <- 320
    F.binary_cross_entropy(F.log_softmax(head(x), 1), y)  # <- 320
    bce(Net(flag)(x), y)
    bce(head(x).clamp(0, 1), y)
    bce(torch.clamp(head(x), 0, 1).view(-1), y)
    bce(F.relu(head(x)).clamp(max=1), y)
    bce((F.cosine_similarity(head(x), x) + 1) / 2, y)
    bce(head(x).softmax(1), y)
    bce(torch.tanh(head(x)) / 2 + 0.5, y)
""",
    "the logarithm of either of two": """
def fit(x, y, flag):
    one, two = nn.Linear(4, 3), nn.Linear(4, 3)
    scores = one(x) if flag else two(x)
    F.nll_loss(torch.log(scores.softmax(1)), y)  # <- 305
    either = one(x).softmax(1) if flag else two(x).exp()
    F.nll_loss(torch.log(either), y)
""",
    "scores that are written to": """
def fit(x, y, mask):
    head, bce = nn.Linear(4, 1), nn.BCELoss()
    one, two, three, four = head(x), head(x), head(x), head(x)
    one.sigmoid_()
    bce(one, y)
    torch.sigmoid_(two)
    bce(two, y)
    three[mask] = torch.sigmoid(three[mask])
    bce(three, y)
    four.clamp_(0, 1)
    bce(four, y)
    five = head(x)
    five -= five.min()
    five /= five.max()
    bce(five, y)
""",
})
def test_raw_scores(code):
    holds(code)
