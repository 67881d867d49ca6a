"""Layers, datasets and loaders as real code writes them: through helpers, options in dicts, branches, bases."""

from tests.torchlint.dryrun.support import events, holds, runs, table

DATA = "from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, RandomSampler\n"


@table({
    "options_in_a_dict": """
options = {"num_workers": 0, "persistent_workers": True}
def build(dataset):
    return DataLoader(dataset, **options)  # <- 612
""",
    "options_from_outside": """
def build(dataset, **options):
    return DataLoader(dataset, persistent_workers=True, **options)
""",
    "workers_on_one_branch": """
def build(dataset, debug):
    workers = 0 if debug else 4
    return DataLoader(dataset, num_workers=workers, persistent_workers=True)
""",
    "workers_by_place": """
def build(dataset):
    return DataLoader(dataset, 8, True, None, None, 2, persistent_workers=True)
""",
    "sampler_on_every_path": """
def build(dataset, distributed):
    sampler = DistributedSampler(dataset) if distributed else RandomSampler(dataset)
    return DataLoader(dataset, sampler=sampler, shuffle=True)  # <- 608
""",
    "sampler_on_one_path": """
def build(dataset, distributed):
    sampler = DistributedSampler(dataset) if distributed else None
    return DataLoader(dataset, sampler=sampler, shuffle=True)
""",
    "stream_behind_a_base_class": """
class Base(IterableDataset):
    def __iter__(self):
        for row in self.rows():
            yield row

class Rows(Base):
    def rows(self):
        return range(10)

loader = DataLoader(Rows(), num_workers=3)  # <- 610
""",
    "stream_that_knows_its_rank": """
class Rows(IterableDataset):
    def __init__(self, rank):
        self.rank = rank
    def __iter__(self):
        for row in range(10):
            yield row

loader = DataLoader(Rows(0), num_workers=3)
""",
    "length_in_a_base_class": """
class Base(Dataset):
    def __len__(self):
        return 4
class Items(Base):
    def __getitem__(self, index):
        return index
loader = DataLoader(Items())
""",
    "length_by_assignment": """
class Items(Dataset):
    def size(self):
        return 4
    __len__ = size
    def __getitem__(self, index):
        return index
loader = DataLoader(Items())
""",
    "base_that_is_not_known": """
from elsewhere import Base
class Items(Base, Dataset):
    pass
loader = DataLoader(Items())
""",
    "generator_drawn_in_a_helper": """
import random
class Items(Dataset):
    def __init__(self):
        self.rng = random.Random(3)  # <- 606
    def __len__(self):
        return 4
    def draw(self):
        return self.rng.random()
    def __getitem__(self, index):
        return self.draw()
loader = DataLoader(Items(), num_workers=2)
""",
    "generator_that_is_seeded_for_each_item": """
import random
class Items(Dataset):
    def __init__(self):
        self.rng = random.Random(3)
    def __len__(self):
        return 4
    def __getitem__(self, index):
        self.rng.seed(index)
        return self.rng.random()
loader = DataLoader(Items(), num_workers=2)
""",
    "device_of_the_dataset": """
class Items(Dataset):
    def __init__(self, device):
        self.device = device
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.tensor([index]).to(self.device)  # <- 607
loader = DataLoader(Items("cuda"), num_workers=2)
cpu = DataLoader(Items("cpu"), num_workers=2)
""",
    "move_under_a_condition": """
class Items(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        item = torch.tensor([index])
        if self.gpu:
            item = item.cuda()
        return item
loader = DataLoader(Items(), num_workers=2)
""",
})
def test_loaders(code):
    holds(DATA + code)


@table({
    "frozen_in_a_loop_over_children": """
def freeze(model):
    for child in list(model.children())[:3]:
        for parameter in child.parameters():
            parameter.requires_grad = False
""",
    "one_of_several_models": """
def build(deep):
    model = nn.Linear(2, 2) if deep else nn.Conv1d(2, 2, 1)
    model.requires_grad = False  # <- 522
    return model
""",
    "one_of_several_targets": """
def build(param, given):
    model = nn.Linear(2, 2)
    frozen = model.requires_grad = False  # <- 522
    frozen = param.require_grad = False  # <- 523
    frozen = given.require_grad = given.requires_grad = False
    return model
""",
    "module_or_something_else": """
def build(given):
    model = given if given is not None else nn.Linear(2, 2)
    model.requires_grad = False
    return model
""",
    "class_with_a_flag_of_its_own": """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(2, 2)
    @property
    def requires_grad(self):
        return self.out.weight.requires_grad
    @requires_grad.setter
    def requires_grad(self, wanted):
        self.out.requires_grad_(wanted)
    def forward(self, x):
        return self.out(x)
head = Head()
head.requires_grad = False
""",
    "attribute_that_the_file_reads": """
def mark(layer):
    for p in layer.parameters():
        p.require_grad = False
    return [p for p in layer.parameters() if p.require_grad]
""",
    "train_of_a_plain_class": """
class Trainer:
    def train(self, loader):
        self.eval = True
""",
    "train_with_a_mode": """
class Net(nn.Module):
    def train(self, is_training: bool = True):
        return super().train(is_training)
    def eval(self):
        return self.train(False)
""",
    "copies_in_a_list": """
import copy
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        layer = nn.Linear(2, 2)
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(n)])
        self.sizes = [n] * 3
    def forward(self, x):
        for layer, _ in zip(self.layers, self.sizes):
            x = layer(x)
        return x
""",
    "norm_on_two_branches": """
class Net(nn.Module):
    def __init__(self, deep):
        super().__init__()
        self.deep = deep
        self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(2)
    def forward(self, x):
        if self.deep:
            return self.norm(self.two(x))
        return self.norm(self.one(x))
""",
    "forward_that_ends_in_a_loop": """
class Net(nn.Module):
    def forward(self, xs):
        for x in xs:
            y = x + 1
""",
    "forward_that_raises": """
class Net(nn.Module):
    def forward(self, x):
        message = "not here"
        raise NotImplementedError(message)
""",
    "layer_used_by_its_weight": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.out = nn.Linear(4, 5)
        self.out.weight = self.embed.weight
        self.spare = nn.Linear(4, 4)  # <- 506
    def forward(self, x):
        return F.linear(x, self.embed.weight)
""",
    "hook_in_a_helper_of_forward": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
    def watch(self):
        self.body.register_forward_hook(print)  # <- 512
    def forward(self, x):
        self.watch()
        return self.body(x)
""",
    "hook_that_is_removed": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
    def forward(self, x):
        handle = self.body.register_forward_hook(print)
        x = self.body(x)
        handle.remove()
        return x
""",
})
def test_layers(code):
    holds(code)


def test_events():
    (run,) = runs(DATA + """
loader = DataLoader([1, 2])
for _ in range(2):
    batch = next(iter(loader))
layer = nn.Linear(2, 2)
layer.requires_grad = False
layer.register_forward_hook(print)
nn.init.zeros_(layer.weight)
layers = [layer] * 3
""")
    assert [event.kind for event in events(run, "loader.first", "flag.set", "hook", "init", "repeat")] == [
        "loader.first", "flag.set", "hook", "init", "repeat"
    ]
    first, hook = events(run, "loader.first")[0], events(run, "hook")[0]
    assert first.subject.kind == "loader" and first.loops and hook.name == "register_forward_hook"
