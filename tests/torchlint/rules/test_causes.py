"""Mistakes that were silent because of how a program is laid out, cause by cause; and beside each what is sound."""

from tests.torchlint.dryrun.support import holds, table

STEP = """
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""


@table({
    "a layer for a model that is given": """
def finetune(model: nn.Module, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.fc = nn.Linear(512, 10)  # <- 118
""" + STEP,
    "a layer for a part of one whose type nobody says": """
def finetune(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.backbone.fc = nn.Linear(512, 10)  # <- 118
""" + STEP,
    "the layer comes first": """
def finetune(model, loader):
    model.fc = nn.Linear(512, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
""" + STEP,
    "something that is no model": """
def finetune(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    args.head = nn.Linear(512, 10)
""" + STEP,
    "the optimizer is told": """
def finetune(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.fc = nn.Linear(512, 10)
    optimizer.add_param_group({"params": model.fc.parameters()})
""" + STEP,
    "a Parameter that is moved": """
def scaled(net: nn.Module, device):
    net.scale = nn.Parameter(torch.ones(3)).to(device)  # <- 116
    net.shift = nn.Parameter(torch.ones(3, device=device))
    return net
""",
})
def test_models_that_are_given(code):
    holds(code)


TRAINER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))

class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self, loader):
        for x, y in loader:
            self.opt.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            self.opt.step()

def main(loader):
    a, b = Net(), Net()
    one, two = Trainer(a), Trainer(b)
"""


@table({
    "another model's": TRAINER + """
    a.head = nn.Linear(8, 5)  # <- 118
    two.opt = torch.optim.SGD(b.parameters(), lr=0.1)
    one.fit(loader)
    two.fit(loader)
""",
    "its own": TRAINER + """
    a.head = nn.Linear(8, 5)
    one.opt = torch.optim.SGD(a.parameters(), lr=0.1)
    one.fit(loader)
    two.fit(loader)
""",
})
def test_the_optimizer_of_another_model_does_not_take_the_layer(code):
    holds(code)


SAVED = """
import argparse
import os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

config = argparse.ArgumentParser().parse_args()

def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(config.local_rank)
    model = DDP(nn.Linear(2, 2).cuda(), device_ids=[config.local_rank])
"""


@table({
    "the rank is another setting of the same object": SAVED + """
    if config.rank == 0:
        print("rank", config.rank)
    torch.save(model.module.state_dict(), config.path)  # <- 805
""",
    "the rank is set there": SAVED + """
    config.rank = dist.get_rank()
    torch.save(model.module.state_dict(), config.path)  # <- 805
""",
    "the path is made of the rank": SAVED + """
    config.path = os.path.join(config.path, str(config.rank))
    torch.save(model.module.state_dict(), config.path)
""",
    "all settings are made of the rank": SAVED + """
    config = settings_of(dist.get_rank())
    torch.save(model.module.state_dict(), config.path)
""",
})
def test_a_file_of_ones_own_is_told_by_what_its_path_is_given(code):
    holds(code)


FOLDS = """
def run(X, Y, folds):
    for fold, (train, valid) in enumerate(folds):
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        best, state = 1e9, None
        for epoch in range(10):
            optimizer.zero_grad()
            (model(X[train]) - Y[train]).pow(2).mean().backward()
            optimizer.step()
            with torch.no_grad():
                value = (model(X[valid]) - Y[valid]).pow(2).mean().item()
            if value < best:
                best = value
"""


@table({
    "loaded": FOLDS + """
                state = model.state_dict()  # <- 904
        model.load_state_dict(state)
        torch.save(model.state_dict(), f"fold{fold}.pt")
""",
    "saved": FOLDS + """
                state = model.state_dict()  # <- 904
        torch.save(state, f"fold{fold}.pt")
""",
    "copied": "import copy\n" + FOLDS + """
                state = copy.deepcopy(model.state_dict())
        model.load_state_dict(state)
""",
    "saved at once": FOLDS + """
                state = model.state_dict()
                torch.save(state, f"fold{fold}.pt")
""",
})
def test_the_best_state_of_a_fold(code):
    holds(code)


SUMMED = """
def train(model, optimizer, loader):
    total = 0
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y) / 4
        loss.backward()
"""


@table({
    "in the block of the step, whatever stands at the left": SUMMED + """
        total += loss
        if i % 4 == 3:
            optimizer.step()
# said at the left
            optimizer.zero_grad()
            total = 0
""",
    "never": SUMMED + """
        total += loss  # <- 106
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
""",
    "in another block": SUMMED + """
        total += loss  # <- 106
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
        if i % 1000 == 999:
            total = 0
""",
})
def test_where_a_sum_begins_anew(code):
    holds(code)


MODEL = """
def train(loaders, x, y, vx, vy):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(100):
"""
FULL = """
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
PHASES = """
        for phase in ["train", "val"]:
            {mode}
            for a, b in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    loss = F.cross_entropy(model(a), b){mark}
                if phase == "train":
                    loss.backward()
                    optimizer.step()
"""


@table({
    "of phases, never": MODEL + PHASES.format(mode="print(phase)", mark="  # <- 201"),
    "of phases, by a branch": MODEL + PHASES.format(mode="model.train() if phase == 'train' else model.eval()", mark=""),
    "of phases, by the phase": MODEL + PHASES.format(mode="model.train(phase == 'train')", mark=""),
    "beside each step": MODEL + FULL + """
        with torch.no_grad():
            value = F.cross_entropy(model(vx), vy)  # <- 201
        print(value.item())
""",
    "behind the loop": MODEL + FULL + """
    with torch.no_grad():
        right = model(vx).argmax(1)  # <- 201
        hits = (right == vy).float().mean()
    print(hits.item())
""",
    "behind the loop, in evaluation mode": MODEL + FULL + """
    model.eval()
    with torch.no_grad():
        hits = (model(vx).argmax(1) == vy).float().mean()
    print(hits.item())
""",
    "on what is trained on": MODEL + FULL + """
        with torch.no_grad():
            value = F.cross_entropy(model(x), y)
        print(value.item())
""",
    "a target for the next step": MODEL + """
        with torch.no_grad():
            goal = model(vx)
        optimizer.zero_grad()
        F.mse_loss(model(x), goal).backward()
        optimizer.step()
""",
    "what is done next": MODEL + """
        with torch.no_grad():
            action = model(vx).argmax(1)
        vx = y.step(action.item())
""" + FULL,
})
def test_evaluation_mode(code):
    holds(code)


PAIRS = """
class Pairs(torch.utils.data.Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __getitem__(self, index):
        return self.x[index], self.y[index]

    def __len__(self):
        return len(self.y)

def main(data, target):
    device = torch.device("cuda")
    {made}
    loaders = {{
        "train": torch.utils.data.DataLoader(Pairs(data[:50], target[:50]), 8, shuffle=True),
        "val": torch.utils.data.DataLoader(Pairs(data[50:], target[50:]), 8),
    }}
    model = nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for phase in ["train", "val"]:
            for x, y in loaders[phase]:
                out = model(x){mark}
                if phase == "train":
                    optimizer.zero_grad()
                    F.cross_entropy(out, y.to(device)).backward()
                    optimizer.step()
"""


@table({
    "of tensors that were moved before": PAIRS.format(made="data = torch.unsqueeze(data.float(), 1)\n    data = data.to(device)", mark=""),
    "of what nobody moved": PAIRS.format(made="data = torch.unsqueeze(data.float(), 1)", mark="  # <- 401"),
})
def test_where_a_data_set_of_ones_own_lies(code):
    holds(code)


CODER = """
class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 2), nn.Linear(2, 4)

    def encode(self, x):
        return self.squeezed(x)

    def squeezed(self, x):
        return self.inner(x)

    def decode(self, z):
        return self.outer(z)

    def forward(self, x):
        return self.decode(self.encode(x))

def evaluate(model, loader):
    model.eval()
    total = 0
    for x in loader:
        {body}
        total += (out - x).pow(2).mean().item()
    return total

def main(loader):
    return evaluate(Coder(), loader)
"""


@table({
    "by two methods": CODER.format(body="out = model.decode(model.encode(x))  # <- 202"),
    "by the model": CODER.format(body="out = model(x)  # <- 202"),
    "without gradients": CODER.format(body="""with torch.no_grad():
            out = model.decode(model.encode(x))"""),
    "for the input's gradient": CODER.format(body="""x.requires_grad_()
        out = model.decode(model.encode(x))
        (out - x).pow(2).mean().backward()
        out = x.grad"""),
})
def test_an_evaluation_by_methods_of_the_model(code):
    holds(code)


@table({
    "sizes that both have": """
def main(small):
    if small:
        predicted = nn.Linear(4, 1)(torch.randn(10, 4))
    else:
        predicted = nn.Linear(8, 1)(torch.randn(10, 8))
    F.mse_loss(predicted, torch.randn(1, 1)).backward()  # <- 309
""",
    "sizes that one has": """
def main(small):
    if small:
        predicted = nn.Linear(4, 1)(torch.randn(10, 4))
    else:
        predicted = nn.Linear(8, 1)(torch.randn(1, 8))
    F.mse_loss(predicted, torch.randn(1, 1)).backward()
""",
    "both are on the CPU": """
def main(small):
    model = nn.Linear(4, 1).cuda()
    if small:
        x = torch.randn(10, 4)
    else:
        x = torch.zeros(10, 4)
    return model(x)  # <- 401
""",
    "one is on the CPU": """
def main(small):
    model = nn.Linear(4, 1).cuda()
    if small:
        x = torch.randn(10, 4)
    else:
        x = torch.zeros(10, 4, device="cuda")
    return model(x)
""",
    "both are transposed": """
def main(small, device):
    if small:
        x = torch.randn(2, 3, 4, device=device).permute(0, 2, 1)
    else:
        x = torch.randn(2, 3, 4, device=device).transpose(1, 2)
    return x.view(2, -1)  # <- 406
""",
    "one is transposed, and that run ends there": """
def main(small, device):
    if small:
        x = torch.randn(2, 3, 4, device=device).permute(0, 2, 1)
    else:
        x = torch.randn(2, 4, 3, device=device)
    return x.view(2, -1)  # <- 406
""",
    "both keep their results": """
def main(x, wide):
    w = torch.ones(3, requires_grad=True)
    if wide:
        y = torch.sigmoid(w * x)
    else:
        y = torch.tanh(w * x)
    y += 1  # <- 115
    y.sum().backward()
""",
    "a layer of one of two kinds": """
def finetune(model, loader, wide):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if wide:
        head = nn.Linear(512, 100)
    else:
        head = nn.Linear(512, 10)
    model.fc = head  # <- 118
""" + STEP,
})
def test_what_holds_for_each_alternative_holds(code):
    holds(code)


LOOP = """
from helpers import Keeper, all_zero, step_counter, reset_meters, train_log, zeroed

def main(model: nn.Module, loader, cfg):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {before}
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward(){mark}
        optimizer.step()
        {after}
"""
NEVER = "  # <- 101"


@table({
    "a number": LOOP.format(before="pass", after="step_counter(i)", mark=NEVER),
    "nothing": LOOP.format(before="pass", after="reset_meters()", mark=NEVER),
    "a number out of the loss": LOOP.format(before="pass", after="train_log(loss.item())", mark=NEVER),
    "an object that was made of neither": LOOP.format(before="keeper = Keeper('runs')", after="keeper.reset_all()", mark=NEVER),
    "the model": LOOP.format(before="pass", after="all_zero(model)", mark=""),
    "an object that was given the model": LOOP.format(before="keeper = Keeper(model)", after="keeper.reset_all()", mark=""),
    "the optimizer was given away": LOOP.format(before="Keeper.take(optimizer)", after="zeroed()", mark=""),
    "what comes from where the model comes from": LOOP.format(before="pass", after="cfg.reset_all()", mark=""),
    "a function of ours": LOOP.format(before="pass", after="zeroed(lambda: optimizer.zero_grad())", mark=""),
})
def test_an_unseen_call_works_on_what_it_can_reach(code):
    holds(code)


WORKERS = """
from torch.utils.data import DataLoader

def loader_of(dataset, workers):
    if workers == 0:
        return DataLoader(dataset)
    return DataLoader(dataset, num_workers=workers, persistent_workers=True)

def main(dataset):
    return loader_of(dataset, 0)
"""


@table({
    "asked for, and left": WORKERS,
    "asked for": WORKERS.replace("    return DataLoader(dataset, num_workers", "    else:\n        return DataLoader(dataset, num_workers"),
    "not asked for": WORKERS.replace("if workers == 0", "if not dataset").replace("_workers=True)", "_workers=True)  # <- 612"),
})
def test_how_many_workers_there_are_is_asked_before(code):
    holds(code)


@table({
    "evaluation mode ends with the model": """
def main(folds):
    for train, valid in folds:
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in train:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        model.eval()
        print(model(valid[0]).argmax(1))  # <- 202
""",
    "what is left of an accumulation ends with the model": """
def main(folds):
    for train in folds:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i, (x, y) in enumerate(train):
            (F.cross_entropy(model(x), y) / 4).backward()
            if (i + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
""",
    "a layer for the model of this turn": """
def main(folds):
    for train in folds:
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model.extra = nn.Linear(2, 2)  # <- 118
        for x, y in train:
            optimizer.zero_grad()
            F.cross_entropy(model.extra(model(x)), y).backward()
            optimizer.step()
""",
})
def test_an_object_that_is_made_anew_has_no_past(code):
    holds(code)
