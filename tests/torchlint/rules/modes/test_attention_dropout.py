"""204 of an attention: what is said of it, which is not what is said of `F.dropout`."""

import pytest

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


@pytest.mark.parametrize("call", [
    "sdpa(x, x, x, dropout_p=self.p)",
    "sdpa(x, x, x, None, self.p)",
    "sdpa(x, x, x, **dict(dropout_p=0.1))",
    "sdpa(query=x, key=x, value=x, dropout_p=self.drop.p)",
])
def test_an_attention_by_another_name(call):
    code = CODE.replace("self.p = p", "self.p, self.drop = p, nn.Dropout(p)").replace("F.scaled_dot_product_attention(x, x, x, dropout_p=self.p)", call)
    code = "from torch.nn.functional import scaled_dot_product_attention as sdpa\n" + code
    assert [finding.number for finding in engine().check("snippet.py", code).findings] == [204]
    sound = code.replace(call, call.replace("self.p)", "self.p if self.training else 0.0)").replace("drop.p)", "drop.p * self.training)").replace("0.1)", "0.0)"))
    assert not engine().check("snippet.py", sound).findings
