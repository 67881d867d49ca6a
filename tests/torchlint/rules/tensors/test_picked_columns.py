"""417: the class that is picked for each row, its dimension kept, meets a row of labels."""

from tests.torchlint.dryrun.support import holds, table

EVALUATED = """
from torch.utils.data import DataLoader, TensorDataset


def evaluate():
    loader = DataLoader(TensorDataset(torch.randn(64, 8), torch.randint(0, 5, (64,))), batch_size=16)
    model, right = nn.Linear(8, 5), 0.0
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            scores = model(x)
            {body}
    print(right / len(loader))
"""


@table({
    name: EVALUATED.format(body=body.replace("; ", "\n            ")) for name, body in {
        "the best of torch.topk": "_, best = torch.topk(scores, 1); right += torch.eq(best, y).float().mean().item()  # <- 417",
        "the method": "_, best = scores.topk(1); right += best.eq(y).float().mean().item()  # <- 417",
        "the labels first": "_, best = scores.topk(1); right += torch.eq(y, best).float().mean().item()  # <- 417",
        "by its sign": "_, best = scores.topk(1, 1); right += (best == y).float().mean().item()  # <- 417",
        "what is wrong": "_, best = scores.topk(1); right += 1 - torch.ne(best, y).float().mean().item()  # <- 417",
        "a maximum whose dimension is kept": "best = scores.max(1, keepdim=True)[1]; right += best.eq(y).float().mean().item()  # <- 417",
        "a maximum": "best = scores.max(1)[1]; right += best.eq(y).float().mean().item()",
        "labels as a column": "_, best = scores.topk(1); right += torch.eq(best, y.view(-1, 1)).float().mean().item()",
        "labels in its form": "_, best = scores.topk(1); right += best.eq(y.view_as(best)).float().mean().item()",
        "without the dimension": "_, best = scores.topk(1); right += torch.eq(best.squeeze(1), y).float().mean().item()",
        "turned around": "_, best = scores.topk(1); right += best.t().eq(y.view(1, -1)).float().mean().item()",
        "several, each against the label": "_, best = scores.topk(3); right += best.eq(y.unsqueeze(1)).any(1).float().mean().item()",
    }.items()
})
def test_the_class_that_is_picked(code):
    holds(code)
