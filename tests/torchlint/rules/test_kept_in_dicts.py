"""Models and states in dicts, wrappers in one of several ways, and what else stood between a mistake and its rule."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "902 and 901: a model in a dict": """
from torchvision.models import resnet18

def save(path, epoch):
    net = resnet18()
    state = {"epoch": epoch, "model": net}
    torch.save(state, path)  # <- 902

def resume(path):
    model = torch.load(path)["model"]  # <- 901
    model.eval()
    return model

def weights(path, net: nn.Module):
    state = torch.load(path)["model"]
    net.load_state_dict(state)
    net.eval()
""",
    "808: one of the ways in which a model may be wrapped": """
def main(many, path, epochs, loader):
    net = nn.Linear(4, 2)
    if many:
        net = nn.DataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer.load_state_dict(torch.load("optimizer.pt", weights_only=True))
    torch.save(net.state_dict(), path)  # <- 808
""",
    "808: what is loaded goes into the wrapper": """
def main(path):
    net = nn.DataParallel(nn.Linear(4, 2))
    net.load_state_dict(torch.load(path, weights_only=True))
    torch.save(net.state_dict(), path)
""",
    "811: a rank that is only a default": """
import argparse
import os
import torch.distributed as dist

def device_of(local_rank=None):
    return torch.device(f"cuda:{local_rank}")

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int)  # <- 811
    args = parser.parse_args()
    dist.init_process_group("nccl", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
    return device_of(args.local_rank)
""",
    "811: a rank that is handed to a setting, and one process where nothing is said": """
import argparse
import torch.distributed as dist

def main(cfg):
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)  # <- 811
    args = parser.parse_args()
    local_rank = args.local_rank
    cfg.LOCAL_RANK = args.local_rank
    try:
        dist.init_process_group("nccl")
    except ValueError:
        dist.init_process_group("nccl", rank=0, world_size=1, init_method="tcp://127.0.0.1:12584")
    torch.cuda.set_device(local_rank)
""",
    "811: a rank that the process group gives": """
import argparse
import torch.distributed as dist

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = dist.get_rank()
    torch.cuda.set_device(local_rank)
    return args.local_rank
""",
    "811: a rank that every process works out": """
import argparse
import torch.distributed as dist
from settings import LOCAL_RANK

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(LOCAL_RANK)
    return args.local_rank
""",
    "402: a setting of what a registry made": """
class Adapter(nn.Module):
    def __init__(self, name, trunk):
        super().__init__()
        self.trunk = trunk
        self.pooler = POOLERS[name]()

    def forward(self, x):
        out = self.trunk(input_ids=x)
        count = out.last_hidden_state.shape[1]
        return self.pooler(out), out.last_hidden_state[:, torch.arange(count) != self.pooler.place, :]
""",
    "405: an object of a class that is not seen": """
from graphs import Data

def test_data(x):
    data = Data(x=x.t()).to(torch.device("cpu"))
    data.contiguous()
    y = x.t()
    y.contiguous()  # <- 405
    return data.x, y
""",
    "942: deprecated since 2.1": """
torch.set_default_tensor_type("torch.FloatTensor")  # <- 942
""",
})
def test_kept_in_dicts(code):
    holds(code)
