"""401: the state of an optimizer that is loaded before its model goes to the GPU."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x).relu())


"""
FIT = HEAD + """
def fit(loader, args, helper):
    {made}
    {optimizer}
    {between}
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
"""
LOAD = """state = torch.load(args.path, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])"""
TOLD = LOAD + "  # <- 401"
ADAM = "optimizer = torch.optim.Adam(model.parameters())"


def fit(between, optimizer=ADAM, made="model = Net()"):
    return FIT.format(made=made, optimizer=optimizer, between=between)


CLASS = HEAD + """
class Trainer:
    def __init__(self, path):
        self.net = Net()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-3)
        {first}
        self.optimizer.load_state_dict(torch.load(path)){mark}
        {then}

    def fit(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.net(x.to(device)), y.to(device)).backward()
            self.optimizer.step()
"""


GROUPS = HEAD + """
def of_each(model, name):
    for part in model.modules():
        for key, parameter in part.named_parameters():
            if key == name:
                yield parameter


def chosen(model, test):
    return (parameter for _, part in model.named_children() for key, parameter in part.named_parameters() if test(part, key))


def of_one(model, name):
    return chosen(model, lambda part, key: key == name)


def fit(loader, path):
    model, other = Net(), Net()
    optimizer = torch.optim.Adam([{{"params": {which}(model.body, "weight")}}, {{"params": {which}(model.head, "bias"), "lr": 1e-4}}], lr=1e-3)
    optimizer.load_state_dict(torch.load(path, map_location="cpu")){mark}
    {moved} = nn.DataParallel({moved}).cuda()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x.{to}()), y.{to}()).backward()
        optimizer.step()
"""


NAMED = """params = []
    for name, parameter in dict({of}.named_parameters()).items():
        if parameter.requires_grad:
            params += [{{"params": [parameter], "weight_decay": 0 if "bias" in name else 1e-4}}]
    optimizer = torch.optim.Adam(params)"""


@table({
    "of a dict of them": fit(f"{TOLD}\n    model.cuda()", NAMED.format(of="model")),
    "of a dict of another model's": fit(f"{LOAD}\n    model.cuda()", "other = Net()\n    " + NAMED.format(of="other")),
})
def test_groups_of_a_dict_of_parameters(code):
    holds(code)


@table({
    "of each module": GROUPS.format(which="of_each", moved="model", mark="  # <- 401", to="cuda"),
    "of what a helper chooses": GROUPS.format(which="of_one", moved="model", mark="  # <- 401", to="cuda"),
    "of another model": GROUPS.format(which="of_each", moved="other", mark="", to="cpu"),
})
def test_groups_that_a_function_yields(code):
    holds(code)


@table({
    "moved behind it": fit(f"{TOLD}\n    model.cuda()"),
    "moved where a GPU is asked for": fit(f"if args.resume:\n        optimizer.load_state_dict(torch.load(args.path))  # <- 401\n    if args.cuda:\n        model = model.cuda()"),
    "to a device": fit(f"{TOLD}\n    model = model.to(device)", "optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)"),
    "a model of torchvision": fit(f"{TOLD}\n    model.to(device)", made="import torchvision\n    model = torchvision.models.resnet18()"),
    "in a wrapper": fit(f"{TOLD}\n    model = nn.DataParallel(model).cuda()"),
    "of an object": CLASS.format(first="pass", mark="  # <- 401", then="self.net.to(device)"),
})
def test_the_state_stays_on_the_cpu(code):
    holds(code)


@table({
    "moved before": fit(f"model.cuda()\n    {LOAD}"),
    "moved before and again": fit(f"model.cuda()\n    {LOAD}\n    model.to(device)"),
    "made on the device": fit(f"{LOAD}\n    model.to(device)", made="model = nn.Linear(4, 2, device=device)"),
    "moved by hand": fit(f"{LOAD}\n    model.cuda()\n    for state in optimizer.state.values():\n        state['exp_avg'] = state['exp_avg'].cuda()"),
    "loaded again": fit(f"{LOAD}\n    model.cuda()\n    optimizer.load_state_dict(state['optimizer'])"),
    "another optimizer": fit(f"{LOAD}\n    model.cuda()\n    {ADAM}"),
    "nothing to remember": fit(f"{LOAD}\n    model.cuda()", "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"),
    "another model": fit(f"model.cuda()\n    {LOAD}\n    other = Net().cuda()"),
    "a model that was given": fit(f"{LOAD}\n    model.cuda()", made="model = args.model"),
    "placed by somebody who is not seen": fit(f"{LOAD}\n    model.cuda()", made="model = Net()\n    helper.place(model)"),
    "one or the other": fit(f"if args.resume:\n        {LOAD.replace(chr(10), chr(10) + '    ')}\n    if not args.resume:\n        model.cuda()"),
    "to the CPU": fit(f"{LOAD}\n    model.cpu()", made="model = Net()").replace(".cuda()", ".cpu()"),
    "of an object that was moved": CLASS.format(first="self.net.to(device)", mark="", then="pass"),
})
def test_the_state_is_where_the_model_is(code):
    holds(code)
