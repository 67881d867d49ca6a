"""202: loops that train and evaluate, one after the other, and helpers that both go through."""

from tests.torchlint.dryrun.support import holds, table

PHASES = """
def run(model: nn.Module, loaders, a, b, epochs):
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(epochs):
        for {turns}:
            {mode}
            total = 0.0
            for x, y in {over}:
                loss = F.cross_entropy(model(x), y){mark}
                if {asked}:
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                total += loss.item()
            print(total)
"""
MARK = "  # <- 202"


def phases(turns, asked, over="loaders[split]", mode="pass", mark=MARK):
    return PHASES.format(turns=turns, asked=asked, over=over, mode=mode, mark=mark)


@table({
    "by a list of names": phases('split in ["train", "valid", "test"]', 'split == "train"'),
    "by pairs": phases('name, loader in [("train", a), ("test", b)]', 'name == "train"', "loader"),
    "by pairs, and the mode": phases(
        'name, loader in (("train", a), ("test", b))', "model.training", "loader", 'model.train() if name == "train" else model.eval()'
    ),
    "by a switch": phases("training in [True, False]", "training", "a if training else b"),
    "by the keys of a dict": phases('split in {"train": 0, "test": 0}.keys()', 'split != "test"'),
    "by what a dict has": phases("split, loader in loaders.items()", 'split == "train"', "loader"),
    "by the names of what is given": phases("split in loaders", 'split == "train"', mode='model.train(split == "train")'),
    "one is left out now and then": phases(
        'split in ["train", "test"]', 'split == "train"', mode='if split == "test" and epoch % 5: continue'
    ),
})
def test_phases_share_a_loop(code):
    holds(code)


@table({
    "gradients are switched by the phase": phases(
        "split in loaders", 'split == "train"', mode='torch.set_grad_enabled(split == "train")', mark=""
    ),
    "in a list of names, too": phases(
        'split in ["train", "val"]', 'split == "train"', mode='torch.set_grad_enabled(split == "train")', mark=""
    ),
    "gradients every other batch": phases("split in loaders", "len(x) % 2", mark=""),
    "another thing is asked for": phases("split in loaders", 'split == "sum"', mark=""),
    "the epoch tells, not the loop around": phases("task in loaders", "epoch > 3", "loaders[task]", mark=""),
})
def test_phases_that_are_no_evaluation(code):
    holds(code)


HELPER = """
def compute(model, x, y, criterion):
    pred = model(x)
    return pred, criterion(pred, y)

def train(model: nn.Module, loader, held, val_loader, criterion):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(9):
        for x, y in loader:
            opt.zero_grad()
            pred, loss = compute(model, x, y, criterion)
            loss.backward()
            opt.step()
        total = 0.0
        {around}
        for x, y in {over}:
            pred, loss = compute(model, x, y, criterion){mark}
            total += loss.item()
        print(total)
"""

STEP = """
class Solver:
    def __init__(self, model: nn.Module, loaders):
        self.model, self.loaders = model, loaders
        self.optimizer = torch.optim.Adam(model.parameters())

    def step(self, batch, train):
        x, y = batch
        loss = F.cross_entropy(self.model(x), y)
        if train:
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def fit(self, epochs):
        for epoch in range(epochs):
            for batch in self.loaders["train"]:
                self.step(batch, True)
            total = 0.0
            for batch in self.loaders["{part}"]:
                total += self.step(batch, False){mark}
            print(total)
"""


@table({
    "the caller's loop goes over what is held out": HELPER.format(around="pass", over="val_loader", mark=MARK),
    "of more of the same data": HELPER.format(around="pass", over="held", mark=""),
    "without gradients": HELPER.format(around="torch.set_grad_enabled(epoch < 0)", over="val_loader", mark=""),
    "a step that is told not to train": STEP.format(part="val", mark=MARK),
})
def test_helpers_of_both(code):
    holds(code)


@table({
    "each parameter is frozen for the phase": phases(
        'split in ["train", "val"]', 'split == "train"', mode="""if split == "train":
                for p in model.parameters(): p.requires_grad = True
            else:
                for p in model.parameters(): p.requires_grad = False""", mark="",
    ),
    "by the phase itself": phases(
        'split in ["train", "val"]', 'split == "train"', mode="for p in model.parameters(): p.requires_grad = split == 'train'", mark="",
    ),
    "each is freed": phases('split in ["train", "val"]', 'split == "train"', mode="for p in model.parameters(): p.requires_grad = True"),
})
def test_phases_that_freeze(code):
    holds(code)


@table({
    "a loss that is added up with its graph": """
def fit(loader, val_loader):
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        for x, y in loader:
            opt.zero_grad()
            F.mse_loss(net(x), y).backward()
            opt.step()
        total = 0
        for x, y in val_loader:
            total += F.mse_loss(net(x), y)  # <- 106, 201, 202
        print(total / len(val_loader))
""",
})
def test_evaluated_in_training_mode(code):
    holds(code)


@table({
    "a helper of the training is given what is held out": """
class Solver:
    def __init__(self, data):
        self.model, self.data = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), data
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def train(self):
        history = []
        valid_data = self.data.sample(256)
        for step in range(2000):
            self.optimizer.zero_grad()
            loss = self.loss_fn(self.data.sample(64))
            loss.backward()
            self.optimizer.step()
            if step % 100 == 0:
                history.append(self.loss_fn(valid_data).item())  # <- 202
        return history

    def loss_fn(self, inputs):
        x, y = inputs
        return F.mse_loss(self.model(x), y)
""",
    "a function that is called for its metrics": """
def metrics(model, loader):
    for x, y in loader:
        guess = model(x).argmax(dim=1)  # <- 202
        print(f1_score(y.numpy(), guess.cpu().detach().numpy()))
""",
    "the loss of what was made without gradients": """
from losses import Similarity

def train(model, loader, criterion, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

def validate(model, val_loader, criterion):
    total = 0.0
    model.eval()
    for x, y in val_loader:
        with torch.no_grad():
            output = model(x)
        loss = criterion(output, y)
        total += loss.item()
    print(total)

def main(model: nn.Module, loader, val_loader):
    criterion = Similarity().cuda() if torch.cuda.is_available() else Similarity()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(9):
        train(model, loader, criterion, optimizer)
        validate(model, val_loader, criterion)
""",
})
def test_by_what_they_are_given(code):
    holds(code)


LOSS_OF_ANOTHER_FILE = """
from losses import performance

class Solver:
    def __init__(self, loaders, model, optimizer, attack):
        self.loaders, self.model, self.optimizer, self.attack = loaders, model, optimizer, attack

    def train(self):
        for epoch in range(10):
            self.model.train()
            self.run(self.loaders["train"], True)
            self.model.eval()
            print(self.run(self.loaders["valid"], False))

    def run(self, loader, training):
        total = 0.0
        for x, y in loader:
            {before}
            loss, correct = performance(self.model(x), y){mark}
            if training:
                self.optimizer.zero_grad()
                {backward}
                self.optimizer.step()
            total += loss.item()
        return total
"""


@table({
    "the training goes backward from what it gives": LOSS_OF_ANOTHER_FILE.format(before="pass", mark=MARK, backward="loss.backward()"),
    "it may go backward itself": LOSS_OF_ANOTHER_FILE.format(before="pass", mark="", backward="correct = 0"),
    "an attack before it asks for gradients": LOSS_OF_ANOTHER_FILE.format(
        before="x = self.attack(self.model, x, y)", mark="", backward="loss.backward()"
    ),
})
def test_losses_of_another_file(code):
    holds(code)
