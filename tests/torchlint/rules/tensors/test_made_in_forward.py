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


TURNED = """
class Weighted(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def forward(self, x, y):
        weight = torch.ones(y.size(0), 1)
        if self.config.exact:
            weight = {exact}
        return torch.mm(torch.t(weight), torch.abs(x - y))
"""


def test_a_function_of_what_one_branch_changed():
    assert found(IMPORTS + TURNED.format(exact="weight.double()")) == [(11, 402)]
    assert found(IMPORTS + TURNED.format(exact="weight.to(x.device)")) == []
