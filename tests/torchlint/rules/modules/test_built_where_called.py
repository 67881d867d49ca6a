"""505 of a dropout that is built where it should be called, and takes the tensor for its rate."""

from tests.torchlint.dryrun.support import holds, table

NET = """
class Net(nn.Module):
    def __init__(self, drop, rate=0.5):
        super().__init__()
        self.drop, self.rate = drop, rate
        self.dropout = nn.Dropout(rate)
        self.embed = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        x = self.embed(x)
        LINE
        return self.out(x)
"""


@table({
    "and its rate behind it": NET.replace("LINE", "x = nn.Dropout(x, self.rate)  # <- 505"),
    "alone, on a condition": NET.replace("LINE", "if self.drop:\n            x = nn.Dropout2d(x)  # <- 505"),
    "of an activation": NET.replace("LINE", "x = torch.nn.AlphaDropout(F.relu(x), 0.2)  # <- 505"),
    "a function": NET.replace("LINE", "x = F.dropout(x, self.rate, self.training)"),
    "built once": NET.replace("LINE", "x = self.dropout(x)"),
    "a rate that a layer gives": NET.replace("LINE", "x = nn.Dropout(self.out(x).mean().item())(x)  # <- 505"),
    "of a number": NET.replace("LINE", "rate = float(self.out(x).mean())\n        half = nn.Dropout(rate)\n        print(half)"),
    "of a project": "from layers import Dropout\n" + NET.replace("LINE", "x = Dropout(x, self.rate)"),
})
def test_the_tensor_for_a_rate(code):
    holds(code)
