"""401: a part of a batch that stays on the CPU is indexed by the order in which another part, which was moved, is sorted."""

import pytest

from tests.torchlint.dryrun.support import holds, table

EVALUATE = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, x, lengths):
        lengths, order = lengths.squeeze(1).sort(dim=0, descending=True)
        return self.layer(x[order]), lengths, order

def evaluate(data):
    net = Reader().to(device)
    net.eval()
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)
    with torch.no_grad():
        for x, lengths, words in loader:
            x, lengths = x.to(device), lengths.to(device)
            scores, lengths, order = net(x, lengths)
            %s
            print(scores.argmax(1), words)
"""


@table({
    "by the order of what was moved": EVALUATE % "words = words[order]  # <- 401",
    "all moved": EVALUATE % "words = words.to(device)[order]",
    "the order brought back": EVALUATE % "words = words[order.cpu()]",
    "brought back before": EVALUATE % "order = order.cpu()\n            words = words[order]",
    "brought back under another name": EVALUATE % "places = order.cpu()\n            words = words[places]",
    "what was moved itself": EVALUATE % "x = x[order]",
    "by a place of it": EVALUATE % "words = words[order[0]]",
    "sorted where it lies": EVALUATE.replace(", lengths.to(device)", ", lengths") % "words = words[order]",
    "put together by a function of one's own": EVALUATE.replace("num_workers=2", "num_workers=2, collate_fn=put") % "words = words[order]",
})
def test_indexed(code):
    holds(code)


def test_torch_says_the_same():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device"):
        torch.zeros(3)[torch.tensor([0, 1], device="cuda")]
