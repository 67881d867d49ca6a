"""305: the logarithm of a softmax that came out of a model, in a list or a part at a time."""

import torch

from tests.torchlint.dryrun.support import holds, table

MODEL = """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.softmax = nn.Linear(4, 3), nn.Softmax(dim=1)

    def forward(self, x):
        return {given}, self.layer(x)

def train(states, actions):
    policy = Policy()
    kept, picked = [], []
    for state in states:
        chances, scores = policy(state)
        kept.append({appended})
    {body}
"""


def model(*body, given="self.softmax(self.layer(x))", appended="chances"):
    return MODEL.format(body="\n    ".join(body), given=given, appended=appended)


@table({
    "of a list": model("return [torch.log(kept[i]) for i in range(len(kept))]  # <- 305"),
    "a part of one in a list": model("for t in range(len(kept)):", "    loss = torch.log(kept[t][0, actions[t]])  # <- 305"),
    "put together": model("for t in range(len(kept)):", "    picked.append(kept[t][actions[t]].view(-1))", "return torch.cat(picked, dim=0).log()  # <- 305"),
    "one upon the other": model("return torch.log(torch.stack(kept))  # <- 305"),
    "bounded above alone": model("return chances.log()  # <- 305", given="self.softmax(self.layer(x)).clamp(max=1 - 1e-20)"),
    "the function that bounds above": model("return torch.log(torch.clamp(chances, max=1.0))  # <- 305"),
    "bounded below": model("return chances.log()", given="self.softmax(self.layer(x)).clamp(min=1e-8)"),
    "bounded on both sides": model("return chances.log()", given="self.softmax(self.layer(x)).clamp(1e-8, max=1)"),
    "bounded below once put together": model("return torch.stack(kept).clamp(min=1e-8).log()"),
    "something added in the list": model("return [torch.log(kept[i]) for i in range(len(kept))]", appended="chances + 1e-8"),
    "scores in the list": model("return [torch.log(kept[i]) for i in range(len(kept))]", appended="scores.exp()"),
    "one of two kinds": model("kept.append(scores.exp())", "return [torch.log(kept[i]) for i in range(len(kept))]"),
    "a mean of them": model("return torch.stack(kept).mean(0).log()"),
    "the largest": model("return chances.max(1)[0].log()"),
    "those that are not 0": model("return torch.log(chances[chances > 0])"),
    "another log": model("logger.log(20, chances)"),
})
def test_log_of_softmax(code):
    holds(code)


LIST = """
class Chances(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, rows):
        given = []
        for row in rows:
            given.append({value})
        return given

def loss_of(rows, golden):
    model, picked = Chances(), []
    given = model(rows)
    for i in range(len(given)):
        picked.append(given[i][golden[i]].view(-1))
    return -torch.log(torch.cat(picked)).mean(){mark}
"""


@table({
    "a model's list": LIST.format(value="torch.softmax(self.layer(row), dim=-1)", mark="  # <- 305"),
    "a model's list of another kind": LIST.format(value="torch.softmax(self.layer(row), dim=-1) + 1e-6", mark=""),
})
def test_list_of_a_model(code):
    holds(code)


def test_bound_above_keeps_the_zero():
    chances = torch.tensor([[0.0, 200.0]]).softmax(-1)
    assert chances.clamp(max=1 - 1e-20).log().isinf().any()
    assert not chances.clamp(min=1e-8).log().isinf().any()
