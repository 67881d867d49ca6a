"""616 of a cross-validation in which one model goes on from fold to fold."""

from tests.torchlint.dryrun.support import holds, table

FOLDS = """
from sklearn.model_selection import KFold, TimeSeriesSplit
from torch.utils.data import DataLoader, Subset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop, self.out = nn.Dropout(0.5), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.drop(x))

def main(data, args):
    folds = {splitter}
    {before}
    for {over}:{mark}
        {inside}
        train_loader = DataLoader(Subset(data, train_idx), batch_size=8, shuffle=True)
        val_loader = DataLoader(Subset(data, val_idx), batch_size=8)
        for epoch in range(10):
            net.train()
            for x, y in train_loader:
                optimizer.zero_grad()
                F.cross_entropy(net(x), y).backward()
                optimizer.step()
            net.eval()
            loss = 0
            with torch.no_grad():
                for x, y in {held}:
                    loss += F.cross_entropy(net(x), y).item()
            print(loss)
        {behind}
"""
MADE = "net = Net(); optimizer = torch.optim.Adam(net.parameters())"
MARK = "  # <- 616"


def folds(splitter="KFold(5)", before=MADE, over="train_idx, val_idx in folds.split(data)", inside="pass", held="val_loader", behind="pass", mark=""):
    return FOLDS.format(splitter=splitter, before=before, over=over, inside=inside, held=held, behind=behind, mark=mark)


@table({
    "one for all": folds(mark=MARK),
    "counted": folds(over="fold, (train_idx, val_idx) in enumerate(folds.split(data))", mark=MARK),
    "split where it is made": folds(over="train_idx, val_idx in KFold(n_splits=5).split(data)", mark=MARK),
    "with an optimizer for each": folds(inside="optimizer = torch.optim.Adam(net.parameters())", mark=MARK),
    "a model for each": folds(before="pass", inside=MADE),
    "it gets its first weights again": folds(before=MADE + "; import copy; first = copy.deepcopy(net.state_dict())", inside="net.load_state_dict(first)"),
    "its layers are reset": folds(inside="net.apply(reset_weights)"),
    "one fold of them": folds(behind="break"),
    "one fold that is asked for": folds(
        over="fold, (train_idx, val_idx) in enumerate(folds.split(data))", inside="if fold != args.fold: continue"),
    "from one time to the next": folds(splitter="TimeSeriesSplit(5)"),
    "a splitter that is given": folds(splitter="args.splitter"),
    "nothing is held out": folds(held="train_loader"),
})
def test_one_model_for_all_folds(code):
    holds(code)
