"""What the six tables of reading say was missed, once more: one case for each cause that was mended, and its sound twin."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "305: what is picked out of a softmax": """
def nll(scores, y):
    p = F.softmax(scores, dim=1)
    return -torch.log(torch.gather(p, 1, y.view(-1, 1)).squeeze(1)).mean()  # <- 305
""",
    "305: a softmax in another shape": """
def entropy(scores, y):
    p = F.softmax(scores, dim=1).permute(0, 2, 3, 1).contiguous().view(-1, 4)
    return -(p.detach() * p.log()).sum()  # <- 305
""",
    "305: what keeps it off zero was thought about": """
def nll(scores, y):
    p = F.softmax(scores, dim=1)
    return -torch.log(p.gather(1, y).clamp(min=1e-8)).mean() - torch.log(p.view(-1) + 1e-8).mean()
""",
    "305: the mean of several": """
def marginal(scores):
    return torch.log(F.softmax(scores, dim=1).mean(0))
""",
})
def test_log_of_softmax(code):
    holds(code)


SAVES = """
def main(loader):
    net = nn.Linear(4, 2)
    {line}
    torch.save(net, "net.pth")
"""


@table({
    "902: beside letters that mean nothing": "from torchvision import transforms\nimport traceback\n"
    + SAVES.format(line="transform, description = transforms.ColorJitter(0.5), traceback.format_exc()").replace('"net.pth")', '"net.pth")  # <- 902'),
    "902: a form that no source has": SAVES.format(line="net = prune_channels(net)") + "\nfrom tools import prune_channels\n",
    "902: the same, in a name of capitals": SAVES.format(line="net = ModelQuantizer(net)") + "\nfrom tools import ModelQuantizer\n",
})
def test_whole_model(code):
    holds(code)


@table({
    "941: a reward for what was drawn": """
def select(policy, state):
    return F.softmax(policy(state), dim=1).multinomial(1)

def finish(actions, rewards):
    for action, reward in zip(actions, rewards):
        action.reinforce(reward)  # <- 941
""",
    "941: a method of the program's own": """
class Action:
    def __init__(self, p):
        self.drawn = p.multinomial(1)

    def reinforce(self, reward):
        return -reward

def finish(actions, rewards):
    for action, reward in zip(actions, rewards):
        action.reinforce(reward)
""",
    "941: nothing is drawn": """
def finish(agent, rewards):
    for reward in rewards:
        agent.reinforce(reward)
""",
})
def test_reinforce(code):
    holds(code)


SCHEDULERS = """
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, LinearLR, MultiStepLR, ReduceLROnPlateau, StepLR

class Still(torch.optim.lr_scheduler.LRScheduler):
    def get_lr(self):
        return self.base_lrs

TABLE = {table}

def build(optimizer, config):
    if config is None:
        return {otherwise}
    return TABLE[config["name"]](optimizer, **config)

def main(model, loader, config):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = build(optimizer, config)
    for epoch in range(3):
        scheduler.step(){mark}
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
"""


def scheduled(table, otherwise="TABLE['step'](optimizer, 3)", mark="  # <- 109"):
    return SCHEDULERS.format(table=table, otherwise=otherwise, mark=mark)


@table({
    "one of two": scheduled("{'step': MultiStepLR, 'exp': ExponentialLR}"),
    "one of many": scheduled("{'step': StepLR, 'many': MultiStepLR, 'exp': ExponentialLR, 'cos': CosineAnnealingLR, 'lin': LinearLR}"),
    "one of many, some of the program's own": scheduled(
        "{'still': Still, 'step': StepLR, 'many': MultiStepLR, 'exp': ExponentialLR, 'cos': CosineAnnealingLR}", "Still(optimizer)"
    ),
    "one that is told a metric": scheduled(
        "{'step': StepLR, 'many': MultiStepLR, 'exp': ExponentialLR, 'cos': CosineAnnealingLR, 'drop': ReduceLROnPlateau}", "None", ""
    ),
    "in the right order": scheduled("{'step': MultiStepLR, 'exp': ExponentialLR}", mark="  # <- 109").replace("        scheduler.step()  # <- 109\n", "")
    + "        scheduler.step()\n",
})
def test_schedulers_out_of_a_table(code):
    holds(code)


@table({
    "401: a type of the CPU brings the target there": """
def train(loader):
    model = nn.Linear(3, 2).cuda()
    for x, y in loader:
        loss = F.cross_entropy(model(x.cuda()), y.type(torch.LongTensor))  # <- 401
        loss.backward()
""",
    "401: the same, of what was moved already": """
def train(loader):
    model = nn.Linear(3, 2).cuda()
    for x, y in loader:
        x = x.cuda().type(torch.FloatTensor)
        loss = F.cross_entropy(model(x), y.cuda())  # <- 401
        loss.backward()
""",
    "401: moved afterwards": """
def train(loader):
    model = nn.Linear(3, 2).cuda()
    for x, y in loader:
        y = y.type(torch.LongTensor).cuda()
        F.cross_entropy(model(x.cuda()), y).backward()
""",
    "401: a type that an option chooses": """
def train(loader, args):
    kind = torch.cuda.LongTensor if args.cuda else torch.LongTensor
    model = nn.Linear(3, 2).cuda()
    for x, y in loader:
        F.cross_entropy(model(x.cuda()), y.type(kind)).backward()
""",
})
def test_types_of_the_cpu(code):
    holds(code)


SEVERAL = """
class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return {first}

class Second(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return {second}

def main(args, loader):
    if args.model == "first":
        model = First()
    else:
        model = Second()
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.{loss}()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward(){mark}
        optimizer.step()
"""
RAW, SIGMOID, SOFTMAX, LOG_SOFTMAX = "self.fc(x)", "torch.sigmoid(self.fc(x))", "F.softmax(self.fc(x), dim=1)", "F.log_softmax(self.fc(x), dim=1)"


def chosen(loss, first, second, number):
    return SEVERAL.format(loss=loss, first=first, second=second, mark=f"  # <- {number}" if number else "")


@table({
    "301": chosen("CrossEntropyLoss", SOFTMAX, RAW, 301),
    "302: a softmax": chosen("NLLLoss", SOFTMAX, LOG_SOFTMAX, 302),
    "302: nothing at all": chosen("NLLLoss", LOG_SOFTMAX, RAW, 302),
    "303": chosen("BCEWithLogitsLoss", RAW, SIGMOID, 303),
    "311": chosen("KLDivLoss", LOG_SOFTMAX, SOFTMAX, 311),
    "313": chosen("CrossEntropyLoss", "F.relu(self.fc(x))", RAW, 313),
    "320": chosen("BCELoss", RAW, SIGMOID, 320),
    "both right": chosen("NLLLoss", LOG_SOFTMAX, LOG_SOFTMAX, None),
    "the loss is chosen with the model": chosen("NLLLoss", LOG_SOFTMAX, RAW, None)
    .replace("        model = First()\n", "        model, criterion = First(), nn.NLLLoss()\n")
    .replace("        model = Second()\n", "        model, criterion = Second(), nn.CrossEntropyLoss()\n").replace("    criterion = nn.NLLLoss()\n", ""),
    "the loss is chosen by another option": chosen("NLLLoss", LOG_SOFTMAX, RAW, None)
    .replace("    criterion = nn.NLLLoss()\n", "    if args.nll:\n        criterion = nn.NLLLoss()\n    else:\n        criterion = nn.CrossEntropyLoss()\n"),
    "one model, of whose ways the program chooses": chosen("NLLLoss", "self.fc(x) if self.raw else F.log_softmax(self.fc(x), dim=1)", LOG_SOFTMAX, None),
})
def test_one_of_several_models(code):
    holds(code)


@table({
    "901: a model in a dict that is moved": """
def predict(path, x):
    checkpoint = torch.load(path)  # <- 901
    model = checkpoint["model"]
    model = model.to("cuda")
    model.eval()
    with torch.no_grad():
        return model(x)
""",
})
def test_whole_model_loaded(code):
    holds(code)


PUT_TOGETHER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(8, 1, size) for size in [1, 3]])
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        parts = [conv(x) for conv in self.convs]
        return torch.cat({parts}, 1).squeeze(1)

def main(loader):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        F.binary_cross_entropy(model(x), y).backward(){mark}
        optimizer.step()
"""


@table({
    "320: outputs of layers": PUT_TOGETHER.format(parts="[*parts, self.head(x)]", mark="  # <- 320"),
    "320: one of them is known to be right": PUT_TOGETHER.format(parts="[*parts, torch.sigmoid(self.head(x))]", mark=""),
    "320: one of them is not known": PUT_TOGETHER.format(parts="[*parts, self.head(x) if x.sum() > 0 else x]", mark=""),
})
def test_put_together(code):
    holds(code)
