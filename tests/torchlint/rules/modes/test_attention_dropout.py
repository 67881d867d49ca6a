"""204 of an attention: what is said of it, which is not what is said of `F.dropout`."""

from tests.torchlint.dryrun.support import IMPORTS, engine

CODE = IMPORTS + """
class Attention(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return F.scaled_dot_product_attention(x, x, x, dropout_p=self.p)
"""


def test_an_attention_is_told_of_its_own_argument():
    (finding,) = engine().check("snippet.py", CODE).findings
    assert finding.number == 204
    assert "dropout_p" in finding.message and "`training`" not in finding.message
    assert finding.help == "pass `dropout_p=rate if self.training else 0.0`"
