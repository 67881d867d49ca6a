"""401: a model that nobody brings to the device, and is given what was put there."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
import random
from torch.utils.data import DataLoader
from torchvision import models

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        return self.layers(x)


class Sized(Net):
    def __init__(self, size, encoder=None):
        super().__init__()
        self.size, self.encoder = size, encoder


class Behind(Sized):
    def forward(self, x):
        return super().forward(self.encoder(x))


class Placing(Net):
    def __init__(self):
        super().__init__()
        self.to(device)


"""
FIT = HEAD + """
def fit(data, options, helper):
    {made}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(data, batch_size=4, shuffle=True):
        {batch}
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward(){mark}
        optimizer.step()
"""
MOVES = "x, y = x.to(device), y.to(device)"


@table({
    "a batch": FIT.format(made="model = Net()", batch=MOVES, mark="  # <- 401"),
    "a layer of torch, with cuda()": FIT.format(made="model = nn.Linear(4, 2)", batch="x, y = x.cuda(), y.cuda()", mark="  # <- 401"),
    "it keeps what it was given": FIT.format(made="model = Sized(options.size)", batch=MOVES, mark="  # <- 401"),
    "it is given a layer": FIT.format(made="model = Behind(options.size, helper.encoder)", batch=MOVES, mark=""),
    "a model of torchvision": FIT.format(made="model = models.resnet18(num_classes=2)", batch=MOVES, mark="  # <- 401"),
    "moved in place": FIT.format(made="model = Net()\n    model.to(device)", batch=MOVES, mark=""),
    "moved where there is a GPU": FIT.format(made="model = Net()\n    if torch.cuda.is_available():\n        model.cuda()", batch=MOVES, mark=""),
    "a part of it is moved": FIT.format(made="model = Net()\n    model.layers.to(device)", batch=MOVES, mark=""),
    "moves itself": FIT.format(made="model = Placing()", batch=MOVES, mark=""),
    "made in its place": FIT.format(made="model = nn.Linear(4, 2, device=device)", batch=MOVES, mark=""),
    "made under a device": FIT.format(made="with torch.device('cuda'):\n        model = nn.Linear(4, 2)", batch=MOVES, mark=""),
    "without weights": FIT.format(made="net = Net().to(device)\n    model = nn.Flatten()", batch=MOVES, mark=""),
    "given to somebody who is not seen": FIT.format(made="model = Net()\n    helper.place(model)", batch=MOVES, mark=""),
    "a device that is not known": FIT.format(made="model = Net()", batch="x, y = x.to(options.device), y.to(options.device)", mark=""),
    "where an option asks for it": FIT.format(made="model = Net()", batch=f"if options.gpu:\n            {MOVES}", mark=""),
})
def test_a_model_of_the_function(code):
    holds(code)


TRAINER = HEAD + """
class Trainer:
    def __init__(self):
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
{more}
    def learn(self, memory):
        for _ in range(100):
            states, actions = zip(*random.sample(memory, 32))
            states = torch.stack(states, 0).to(device)
            actions = torch.LongTensor(actions).to(device)
            loss = F.cross_entropy(self.model(states), actions){mark}
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
"""


@table({
    "nobody moves it": TRAINER.format(more="", mark="  # <- 401"),
    "a method that nobody calls here": TRAINER.format(more="""
    def start(self):
        self.model.to(device)
""", mark=""),
    "a loop over several": TRAINER.format(more="""
    def start(self):
        for part in [self.model, self.other]:
            part.cuda()
""", mark=""),
    "a helper": TRAINER.format(more="""
    def start(self):
        to_device(self.model)
""", mark=""),
    "whoever has the trainer": TRAINER.format(more="", mark="") + """

def place(trainer):
    trainer.model.cuda()
""",
    "the trainer is a module": TRAINER.replace("class Trainer:", "class Trainer(nn.Module):")
    .replace("        self.model =", "        super().__init__()\n        self.model =").format(more="", mark=""),
})
def test_a_model_of_an_object(code):
    holds(code)
