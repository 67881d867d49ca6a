"""202 and 201: what stands around a forward that evaluates, and says nothing against it, or all for it."""

from tests.torchlint.dryrun.support import holds, table

PREPARED = """
from missing import Tacotron


def train(loader, epochs):
    model = Tacotron()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(epochs):
        model.train()
        for batch in loader:
            x, y = model.parse_batch(batch)
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        print(valid(loader, model))


def valid(loader, model):
    model.eval()
    total = 0
    for batch in loader:
        x, y = model.{method}(batch)
        total += F.mse_loss(model(x), y).item(){mark}
    return total
"""

FROZEN = """
from torchvision.models import resnet18


def main(loaders, epochs):
    model = resnet18(weights="DEFAULT")
    for parameter in model.parameters():
        parameter.requires_grad = False
    {head}
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)
    for epoch in range(epochs):
        for phase in ["train", "val"]:
            if phase == "train":
                model.train()
            else:
                model.eval()
            for x, y in loaders[phase]:
                optimizer.zero_grad()
                out = model(x)  # <- {numbers}
                loss = F.cross_entropy(out, y)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
                print(loss.item())
"""

AGENT = """
class Agent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2), nn.Tanh())
        self.optimizer = torch.optim.Adam(self.actor.parameters())

    def select(self, state, noise):
        self.actor.eval()
        action = self.actor(state){mark}
        self.actor.train()
        {end}
"""


@table({
    "a method of the model gets the batch ready": PREPARED.format(method="parse_batch", mark="  # <- 202"),
    "as above, one that asks for gradients": PREPARED.format(method="get_adversarial", mark=""),
    "a head is put in after all was frozen": FROZEN.format(head="model.fc = nn.Linear(512, 2)", numbers="141, 202"),
    "what is given back was cut off": AGENT.format(mark="  # <- 202", end="return action.data"),
    "as above, with something added to it": AGENT.format(mark="  # <- 202", end="""action = action.detach()
        if noise is not None:
            action = action + torch.rand(2)
        return action.clamp(-1, 1)"""),
    "as above, in a tuple": AGENT.format(mark="  # <- 202", end="return action.detach(), noise"),
    "what is given back has its graph": AGENT.format(mark="", end="return action.clamp(-1, 1)"),
    "beside what is cut off the graph is given back": AGENT.format(mark="", end="return action.detach(), action"),
    "pictures go to wandb": """
import wandb


def main(loader, val_loader, epochs):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout())
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(epochs):
        model.train()
        for x in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), x).backward()
            optimizer.step()
        model.eval()
        for x in val_loader:
            out = model(x)  # <- 202
            wandb.log({"loss": F.mse_loss(out, x).item(), "picture": wandb.Image(out[0])})
""",
    "inputs are volatile, and what comes out is not read": """
from torch.autograd import Variable


def demo(loader):
    model = nn.Linear(4, 4)
    model.load_state_dict(torch.load("model.pt", weights_only=True))
    for x in loader:
        out = model(Variable(x, volatile=True))  # <- 202, 942
""",
    "an experiment of sacred decorates main": """
from sacred import Experiment

experiment = Experiment()


def pick(model, loader):
    return [model(x).detach().cpu().numpy() for x in loader]  # <- 202


@experiment.automain
def main(config):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout())
    model.load_state_dict(torch.load("model.pt", weights_only=True))
    model.eval()
    print(pick(model, config.loader))
""",
})
def test_told(code):
    holds(code)


MASKED = """
def fit(loader, steps):
    warp = nn.Linear(4, 4)
    optimizer = torch.optim.Adam(warp.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        error = F.mse_loss(warp(x), y, reduction="none")
        masked(warp, x, error).backward()
        optimizer.step()


def masked(warp, x, error):
    inside = warp(torch.ones_like(x)){mark}
    {end}
"""


@table({
    "what comes out says which values the loss is of": MASKED.format(mark="", end="return error.masked_select(inside > 0.9).mean()"),
    "as above, in brackets": MASKED.format(mark="", end="return error[inside > 0.9].mean()"),
    "what comes out is counted": MASKED.format(mark="  # <- 202", end="""print((inside > 0.9).sum())
    return error.mean()"""),
})
def test_masks(code):
    holds(code)


@table({
    "a method scores, takes the best, and gives back what learns": """
class Picker(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(100, 8)
        self.body = nn.Linear(8, 8)

    def pick(self, x, ids):
        users = self.body(x)
        best = torch.argmax(users @ self.items(ids).t(), dim=1)
        return torch.index_select(users, 0, best)


def main(loader):
    model = Picker()
    optimizer = torch.optim.Adam(model.parameters())
    for x, ids, y in loader:
        optimizer.zero_grad()
        users = model.pick(x, ids)
        F.mse_loss(users, model.items(y)).backward()
        optimizer.step()
""",
})
def test_silent(code):
    holds(code)


WITHIN = """
def main(loader, test_loader):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2))
    optimizer = torch.optim.Adam(model.parameters())
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if step % 10 == 0:
            total = 0
            model.eval()
            with torch.no_grad():
                for a, b in test_loader:
                    {first}
                    total += F.cross_entropy(model(a), b).item(){mark}
                    {last}
            model.train()
"""


@table({
    "train() slipped into the loop": WITHIN.format(first="pass", last="model.train()", mark="  # <- 201"),
    "eval() is there again": WITHIN.format(first="model.eval()", last="model.train()", mark=""),
    "behind the first batch": WITHIN.format(first="pass", last="break", mark=""),
})
def test_training_mode_within_the_evaluation(code):
    holds(code)


OUT_OF_A_FILE = """
state = torch.load("captions.tar")  # <- 901
encoder = state["encoder"].to("cuda")
decoder = state["decoder"].to("cuda")
encoder.eval()
ASKED


def evaluate(loader, first):
    captions = []
    for image in loader:
        features = encoder(image)MARK
        hidden, words = decoder.init_hidden_state(features), [first]
        for _ in range(20):
            attended, _ = decoder.attention(features, hidden)
            hidden = decoder.METHOD(attended, hidden)
            words.append(decoder.fc(hidden).argmax(1).item())
        captions.append(words)
    return captions
"""


def _out_of_a_file(asked="decoder.eval()", method="decode_step", mark=""):
    return OUT_OF_A_FILE.replace("ASKED", asked).replace("METHOD", method).replace("MARK", mark)


@table({
    "layers and methods of another model": _out_of_a_file(mark="  # <- 202"),
    "a method that learns": _out_of_a_file(method="train_step"),
    "a step of something": _out_of_a_file(method="step"),
    "not known to be a model": _out_of_a_file(asked=""),
})
def test_parts_of_a_model_that_comes_out_of_a_file(code):
    holds(code)
