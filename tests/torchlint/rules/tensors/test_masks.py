"""411: masks that are not `torch.bool`."""

from tests.torchlint.dryrun.support import holds, table

MASK = """
from torch.autograd import Variable

def attend(scores, mask, lengths, rows):
    {made}
    return {used}
"""


def masked(made, used="scores.masked_fill(mask, -1e9)  # <- 411"):
    return MASK.format(made=made, used=used)


@table({
    "cast": masked("mask = mask.byte()"),
    "cast by name": masked("mask = (rows > 0).type(torch.ByteTensor)"),
    "cast by dtype": masked("mask = (rows > 0).to(torch.uint8)"),
    "made": masked("mask = torch.ByteTensor(rows)"),
    "made, and moved": masked("mask = Variable(torch.ByteTensor(rows)).cuda().unsqueeze(1)"),
    "of zeros": masked("mask = torch.zeros(4, 4)"),
    "of a dtype": masked("mask = torch.ones(4, 4, dtype=torch.uint8)"),
    "selected": masked("mask = mask.byte()", "scores.masked_select(mask).mean()  # <- 411"),
    "selected by the function": masked("mask = mask.byte()", "torch.masked_select(scores, mask).mean()  # <- 411"),
    "in place, by keyword": masked("mask = mask.long()", "scores.masked_fill_(mask=mask, value=0)  # <- 411"),
    "compared": masked("mask = torch.ByteTensor(rows)", "scores.masked_fill(mask == 0, -1e9)"),
    "made bool": masked("mask = torch.ByteTensor(rows)", "scores.masked_fill(mask.bool(), -1e9)"),
    "bool by name": masked("mask = mask.type(torch.BoolTensor)", "scores.masked_fill(mask, -1e9)"),
    "unknown": masked("mask = mask.clone()", "scores.masked_fill(mask, -1e9)"),
    "turned round": masked("mask = torch.ByteTensor(rows)", "scores.masked_fill(~(mask > 0), -1e9)"),
})
def test_masks(code):
    holds(code)
