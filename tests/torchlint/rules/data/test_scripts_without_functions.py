"""616 of scripts: the loops stand outside functions, and so does what makes the loaders, be it by a function with names like theirs."""

from tests.torchlint.dryrun.support import holds, table

SCRIPT = """
from torch.utils.data import DataLoader, TensorDataset

def get_data():
    trn_dl = DataLoader(TensorDataset(torch.rand(90, 8), torch.zeros(90).long()), batch_size=8, shuffle=True)
    val_dl = DataLoader(TensorDataset(torch.rand(10, 8), torch.zeros(10).long()), batch_size=8)
    return trn_dl, val_dl

trn_dl, val_dl = get_data()
model = nn.Linear(8, 2)
optimizer = torch.optim.Adam(model.parameters())
{between}
for epoch in range(5):
    model.train()
    for x, y in trn_dl:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    {counted} = 0
    with torch.no_grad():
        for x, y in {over}:{mark}
            {counted} += F.cross_entropy(model(x), y).item()
    print({counted})
"""
TOLD = "  # <- 616"


@table({
    "the loader of the training": SCRIPT.format(between="", over="trn_dl", counted="val_loss", mark=TOLD),
    "counted": SCRIPT.format(between="", over="enumerate(trn_dl)", counted="val_loss", mark=TOLD).replace("for x, y in enumerate", "for _, (x, y) in enumerate"),
    "its own": SCRIPT.format(between="", over="val_dl", counted="val_loss", mark=""),
    "the score of the training": SCRIPT.format(between="", over="trn_dl", counted="train_loss", mark=""),
    "the loader is read elsewhere": SCRIPT.format(between="print(len(val_dl.dataset))", over="trn_dl", counted="val_loss", mark=""),
    "a function reads it": SCRIPT.format(between="def rest():\n    return [x for x, _ in val_dl]\n", over="trn_dl", counted="val_loss", mark=""),
})
def test_loops_of_a_script(code):
    holds(code)
