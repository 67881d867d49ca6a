"""401 where two branches say which device it is."""

from tests.torchlint.dryrun.support import holds, table

CHOSEN = """
from torch.utils.data import DataLoader, TensorDataset

def train(wanted):
    {choose}
    model = nn.Linear(3, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.rand(8, 3), torch.zeros(8).long()), batch_size=4, shuffle=True)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y.to(device)).backward(){mark}
        optimizer.step()
"""
BRANCHES = "if torch.cuda.is_available():\n        device = {0}\n    else:\n        device = {1}"


def chosen(gpu, cpu, first="", mark="  # <- 401"):
    return CHOSEN.format(choose=first + BRANCHES.format(gpu, cpu), mark=mark)


@table({
    "devices": chosen('torch.device("cuda")', 'torch.device("cpu")'),
    "one with a number": chosen('torch.device("cuda:0")', 'torch.device("cpu")'),
    "nothing before": chosen('torch.device("cuda")', 'torch.device("cpu")', "device = None\n    "),
    "a device and a text": chosen('torch.device("cuda")', '"cpu"'),
    "the CPU in both": chosen('torch.device("cpu")', 'torch.device("cpu:0")', mark=""),
    "a device that is not known": chosen('torch.device("cuda")', "wanted", mark=""),
})
def test_of_two_branches(code):
    holds(code)
