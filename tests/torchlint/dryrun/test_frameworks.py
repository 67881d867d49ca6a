"""The protocols of the libraries around PyTorch: what is their half of a training step, and what is the author's."""

from .support import found, holds, marked, table

LIGHTNING = "import pytorch_lightning as pl\n"
ACCELERATE = """\
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

def loaders():
    data = TensorDataset(torch.randn(10, 4), torch.zeros(10))
    return DataLoader(data, batch_size=4, shuffle=True), DataLoader(data, batch_size=4)

def parts():
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2)).to("cuda")
    return model, torch.optim.Adam(model.parameters())

"""


@table({
    "a list of losses keeps their graphs": """
class Lit(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.losses = []
    def training_step(self, batch, batch_idx):
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.losses.append(loss)  # <- 106
        return loss
""",
    "the loss may be in a dict": """
class Lit(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.total = 0
    def training_step(self, batch, batch_idx):
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.total += loss  # <- 106
        return {"loss": loss, "batch": batch}
""",
    "no graph in validation, or after detach": """
class Lit(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.losses, self.seen = [], []
    def training_step(self, batch, batch_idx):
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        self.losses.append(loss.detach())
        return loss
    def validation_step(self, batch, batch_idx):
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.seen.append(loss)
        return loss
""",
    "evaluation has no gradients": """
class Lit(pl.LightningModule):
    def __init__(self, loader):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5))
        self.loader = loader
    def validation_step(self, batch, batch_idx):
        self.net.eval()
        return (self.net(batch[0]).argmax(1) == batch[1]).float().mean().item()
    def on_validation_epoch_end(self):
        self.net.eval()
        for x, y in self.loader:
            print(self.net(x).argmax(1).tolist())
    def score(self):
        self.net.eval()
        for x, y in self.loader:
            print(self.net(x).argmax(1).tolist())  # <- 202
""",
    "nor has it in a callback": """
class Draw(pl.Callback):
    def on_validation_epoch_end(self, trainer, pl_module):
        pl_module.eval()
        for x in self.samples:
            print(pl_module(x).argmax(1).tolist())
    def on_train_epoch_end(self, trainer, pl_module):
        pl_module.eval()
        for x in self.samples:
            print(pl_module(x).argmax(1).tolist())  # <- 202
""",
    "a frozen model builds no graph": """
def predict(path, loader):
    model = Lit.load_from_checkpoint(path)
    model.eval()
    model.freeze()
    for x in loader:
        print(model(x).argmax(1).tolist())
""",
    "clipping comes before the gradients are there": """
class Lit(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
    def training_step(self, batch, batch_idx):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)  # <- 112
        return F.cross_entropy(self.net(batch[0]), batch[1])
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
""",
    "a step by hand needs all its parts": """
class Lit(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Linear(4, 2)
    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.manual_backward(loss)  # <- 101
        optimizer.step()
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
""",
    "by hand without backward": """
class Lit(pl.LightningModule):
    automatic_optimization = False
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        optimizer.step()  # <- 103
    def configure_optimizers(self):
        return {"optimizer": torch.optim.Adam(self.parameters())}
""",
    "two optimizers by hand": """
class Gan(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.g, self.d = nn.Linear(4, 4), nn.Linear(4, 1)
    def training_step(self, batch, batch_idx):
        g, d = self.optimizers()
        self.toggle_optimizer(g)
        loss = self.d(self.g(batch)).mean()
        self.manual_backward(loss)
        self.clip_gradients(g, gradient_clip_val=0.5)
        g.step()
        g.zero_grad()
        self.untoggle_optimizer(g)
        self.toggle_optimizer(d)
        loss = self.d(batch).mean()
        self.manual_backward(loss)
        d.step()
        self.clip_gradients(d, gradient_clip_val=0.5)  # <- 112
        d.zero_grad()
        self.untoggle_optimizer(d)
    def configure_optimizers(self):
        g = torch.optim.Adam(self.g.parameters())
        d = torch.optim.Adam(self.d.parameters())
        return [g, d], [torch.optim.lr_scheduler.StepLR(g, 3)]
""",
    "the step is in a base class": """
class Base(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        return F.cross_entropy(self(batch[0]), batch[1])  # <- 301
class Net(Base):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
    def forward(self, x):
        return torch.softmax(self.net(x), dim=-1)
""",
    "training data in order": """
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
class Data(pl.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(TensorDataset(self.x, self.y), batch_size=8)  # <- 603
    def val_dataloader(self):
        return DataLoader(TensorDataset(self.x, self.y), batch_size=8)
class Shards(pl.LightningDataModule):
    def train_dataloader(self):
        data = TensorDataset(self.x, self.y)
        return DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
""",
    "training data that setup makes": """
from torch.utils.data import DataLoader, TensorDataset, random_split
class Data(pl.LightningDataModule):
    def __init__(self, rows, **options):
        super().__init__()
        self.rows, self.options = rows, options
        self.train_set = None
        self.val_set = None
    def setup(self, stage=None):
        if stage == "fit" or stage is None:
            self.train_set = TensorDataset(self.rows)
            self.train_set, self.val_set = random_split(self.train_set, [0.9, 0.1])
    def loader(self, data):
        return DataLoader(data, batch_size=self.options["batch_size"])  # <- 603
    def train_dataloader(self):
        return self.loader(self.train_set)
    def val_dataloader(self):
        return self.loader(self.val_set)
class Mixed(Data):
    def setup(self, stage=None):
        self.train_set = self.mixed(TensorDataset(self.rows))
""",
})
def test_lightning(code):
    holds(LIGHTNING + code)


@table({
    "what is prepared stays what it is": """
def train(epochs):
    accelerator = Accelerator()
    model, optimizer = parts()
    loader, test = loaders()
    model, optimizer, loader, test = accelerator.prepare(model, optimizer, loader, test)
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss)  # <- 101
                optimizer.step()
        model.eval()
        for x, y in test:
            print((model(x).argmax(1) == y).sum().item())  # <- 202
""",
    "a sound loop": """
def train(epochs):
    accelerator = Accelerator()
    model, optimizer = parts()
    loader, test = loaders()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    test = accelerator.prepare(test)
    for epoch in range(epochs):
        model.train()
        total = 0
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(x), y)
                total += loss.detach()
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.unwrap_model(model).eval()
        with torch.no_grad():
            for x, y in test:
                print((model(x).argmax(1) == y).sum().item())
""",
    "clipping after the step, with an accelerator from elsewhere": """
def train(accelerator, epochs):
    model, optimizer = parts()
    loader, test = loaders()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    total = 0
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            total += loss  # <- 106
            accelerator.backward(loss)
            optimizer.step()
            accelerator.clip_grad_norm_(model.parameters(), 1.0)  # <- 112
""",
})
def test_accelerate(code):
    holds(ACCELERATE + code)


def test_fabric():
    code = ACCELERATE.replace("from accelerate import Accelerator", "from lightning.fabric import Fabric")
    holds(code + """
def train(epochs):
    fabric = Fabric()
    model, optimizer = parts()
    model, optimizer = fabric.setup(model, optimizer)
    loader = fabric.setup_dataloaders(loaders()[0])
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            fabric.backward(loss)  # <- 101
            optimizer.step()
""")


@table({
    "the engine clears the gradients": """
def train(args, loader):
    model, optimizer = parts()
    engine, optimizer, _, _ = deepspeed.initialize(args=args, model=model, optimizer=optimizer)
    for epoch in range(3):
        for x, y in loader:
            loss = F.cross_entropy(engine(x), y)
            engine.backward(loss)
            engine.step()
""",
    "its model is the model": """
def train(args, loader):
    model, _ = parts()
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    for epoch in range(3):
        engine.train()
        for x, y in loader:
            loss = F.cross_entropy(engine(x), y)
            engine.backward(loss)
            engine.step()
        engine.eval()
        for x, y in loader:
            print((engine(x).argmax(1) == y).sum().item())  # <- 202
""",
    "its configuration says when it steps": """
def train(args, loader, k):
    model, _ = parts()
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    for epoch in range(3):
        for i, (x, y) in enumerate(loader):
            engine.backward(F.cross_entropy(engine(x), y))
            torch.nn.utils.clip_grad_norm_(engine.parameters(), 1.0)
            if (i + 1) % k == 0:
                engine.step()
""",
    "it clears what it has used, and nothing before": """
def train(args, loader, k):
    model, optimizer = parts()
    engine, optimizer, _, _ = deepspeed.initialize(args=args, model=model, optimizer=optimizer)
    for epoch in range(3):
        for i, (x, y) in enumerate(loader):
            engine.backward(F.cross_entropy(engine(x), y) / k)
            engine.step()
            if i % k == 0:
                engine.step()
""",
    "it steps the scheduler": """
def train(args, loader):
    model, optimizer = parts()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)
    engine, optimizer, _, _ = deepspeed.initialize(args=args, model=model, optimizer=optimizer, lr_scheduler=scheduler)
    for x, y in loader:
        engine.backward(F.cross_entropy(engine(x), y))
        engine.step()
""",
    "it has no gradients of its own": """
def train(args, loader):
    model, optimizer = parts()
    engine, optimizer, _, _ = deepspeed.initialize(args=args, model=model, optimizer=optimizer)
    for x, y in loader:
        loss = F.cross_entropy(engine(x), y)
        engine.step()  # <- 103
""",
})
def test_deepspeed(code):
    holds("import deepspeed\n" + ACCELERATE + code)


@table({
    "compute_loss is called for each batch": """
class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(**inputs)
        loss = F.cross_entropy(outputs.logits.softmax(-1), inputs["labels"])  # <- 301
        self.total += loss  # <- 106
        self.history.append(loss.item())
        return (loss, outputs) if return_outputs else loss
""",
    "backward and step are the trainer's": """
class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(**inputs)
        loss = F.cross_entropy(outputs.logits, inputs["labels"])
        return (loss, outputs) if return_outputs else loss
    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        with torch.no_grad():
            loss, outputs = self.compute_loss(model, inputs, return_outputs=True)
        return loss, outputs.logits, inputs["labels"]
""",
})
def test_transformers(code):
    holds("from transformers import Trainer\n" + code)


def test_the_callers_words_are_used():
    code = "import torch.nn.functional as F\n" + ACCELERATE + """
def train(accelerator, loader):
    model, optimizer = parts()
    total = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        total += loss  # <- 106
        accelerator.backward(loss)
        optimizer.step()
"""
    code = "import torch\nimport torch.nn as nn\n" + code
    assert found(code) == marked(code)
