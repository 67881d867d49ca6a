"""401: what no tensor meets in a model's forward may lie anywhere."""

from tests.torchlint.dryrun.support import holds, table

MODEL = """
from torch.utils.data import DataLoader, Dataset

class Captions(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.rand(4), torch.zeros(5, dtype=torch.long), torch.tensor(3)

class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(100, 4), nn.Linear(4, 100)

    def forward(self, x, words, lengths):
        {body}
        return self.head(self.embedding(words) + x.unsqueeze(1))

def train():
    decoder = Decoder().cuda()
    for x, words, lengths in DataLoader(Captions(), 4, shuffle=True, num_workers=2, pin_memory=True, drop_last=True):
        x, words = x.cuda(), words.cuda()
        out = decoder(x, words, lengths){mark}
        F.cross_entropy(out.view(-1, 100), words.view(-1)).backward()
"""


def model(body, mark=""):
    return MODEL.format(body=body, mark=mark)


@table({
    "computed with": model("x = x / lengths.unsqueeze(1)", "  # <- 401"),
    "a mask of it": model("words = words * (torch.arange(5).cuda() < lengths.unsqueeze(1))", "  # <- 401"),
    "given to a layer": model("x = x + self.embedding(lengths)", "  # <- 401"),
    "never read": model("pass"),
    "asked for its size": model("n = lengths.size(0)"),
    "asked for its numbers": model("words = words[:, :int(lengths.max())]"),
    "asked for the largest": model("words = words[:, :max(lengths).item()]"),
    "cut off at it": model("words = words[:, :lengths[0]]"),
    "detached": model("x = x / lengths.detach().unsqueeze(1)", "  # <- 401"),
    "made a list": model("lengths = lengths.tolist()\n        words = words[:, :max(lengths)]"),
    "a number of each": model("for t in range(lengths[0]):\n            x = x + 1"),
    "asked whether it is there": model("if lengths is not None:\n            x = x + 1"),
})
def test_model(code):
    holds(code)
