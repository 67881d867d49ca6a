"""402: what two branches of forward make."""

from tests.torchlint.dryrun.support import IMPORTS, found

BOTH = """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 8, batch_first=True)

    def forward(self, x):
        if self.training:
            h = torch.zeros(1, x.size(0), 8)
        else:
            h = torch.ones(1, x.size(0), 8){moved}
        c = torch.zeros(1, x.size(0), 8, device=x.device)
        return self.rnn(x, (h, c))[0]
"""


def test_what_both_branches_make_on_the_cpu():
    assert found(IMPORTS + BOTH.format(moved="")) == [(12, 402)]
    assert found(IMPORTS + BOTH.format(moved=".to(x.device)")) == []
