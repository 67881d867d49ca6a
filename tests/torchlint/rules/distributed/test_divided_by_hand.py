"""802 where the program deals its data out among the processes itself."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split
from torchvision.datasets import CIFAR10


def part_of(data):
    count = len(data) // dist.get_world_size()
    first = dist.get_rank() * count
    return range(first, first + count)


def half_of(data):
    return range(len(data) // 2)


def main(rank, world_size, rows, batch, path):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    whole = CIFAR10("data")
    size = len(whole) // world_size
    {data}
    loader = DataLoader(data, batch_size=batch // world_size, shuffle=True){mark}
    model = DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.LazyLinear(10)).to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for images, labels in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(images.to(rank)), labels.to(rank)).backward()
        optimizer.step()
"""


def _divided(data):
    return PROGRAM.format(data="\n    ".join(data.strip().split("\n")), mark="")


def _whole(data):
    return PROGRAM.format(data="\n    ".join(data.strip().split("\n")), mark="  # <- 802")


@table({
    "a range of the rank": _divided("data = Subset(whole, range(rank * size, (rank + 1) * size))"),
    "under its own name": _divided("whole = Subset(whole, range(rank * size, (rank + 1) * size))\ndata = whole"),
    "every so many": _divided("order = list(range(len(whole)))\ndata = Subset(whole, order[rank::world_size])"),
    "by a name": _divided("order = list(range(len(whole)))\nmine = order[rank::world_size]\ndata = Subset(whole, mine)"),
    "asked for each": _divided("data = Subset(whole, [i for i in range(len(whole)) if i % world_size == rank])"),
    "in a loop": _divided("mine = []\nfor i in range(len(whole)):\n    if i % world_size == rank:\n        mine.append(i)\ndata = Subset(whole, mine)"),
    "by a function": _divided("data = Subset(whole, part_of(whole))"),
    "its own numbers": _divided("first = dist.get_rank() * size\ndata = Subset(whole, range(first, first + size))"),
    "its rows": _divided("x, y = torch.randn(64, 3)[rank::world_size], torch.zeros(64).long()[rank::world_size]\ndata = TensorDataset(x, y)"),
    "its samples": _divided("data = whole\ndata.data = data.data[rank::world_size]"),
    "its folder": _divided('data = CIFAR10(f"data/{rank}")'),
    "the data set whole": _whole("data = whole"),
    "the same part": _whole("data = Subset(whole, range(1000))"),
    "the same half": _whole("data = Subset(whole, half_of(whole))"),
    "the same halves": _whole("data, rest = random_split(whole, [1000, 200])"),
    "options that know the process": _whole("path.rank = rank\npath.count = path.count * world_size\ndata = CIFAR10(path.folder)"),
    "on its device": _whole("data = TensorDataset(torch.randn(64, 3).to(rank), torch.zeros(64, dtype=torch.long, device=device))"),
})
def test_data_divided_by_hand(code):
    """802: every process trains on the whole data set, but where the rank goes into what it has."""
    holds(code)
