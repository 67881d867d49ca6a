"""905 of a wrapper of an optimizer that sets the rate by a count of its own."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
class Warmup:
    def __init__(self, optimizer, width, warmup{argument}):
        self.optimizer = optimizer
        self.base = width ** -0.5
        self.warmup = warmup
        self.steps = {first}

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        {counting}
        self._set_rate({given})
        self.optimizer.step()

    def rate(self):
        return self.base * min({count} ** -0.5, {count} * self.warmup ** -1.5)

    def _set_rate(self, rate=None):
        for group in self.optimizer.param_groups:
            group["lr"] = {rate}

    {state}


def train(model: nn.Module, loader, args):
    optimizer = Warmup(torch.optim.Adam(model.parameters()), 512, 4000)
    start = 0
    if args.resume:
        kept = torch.load(args.resume, weights_only=True)
        model.load_state_dict(kept["model"])
        {load}
        start = kept["epoch"]
        {after}
    for epoch in range(start, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save({{"model": model.state_dict(), "optimizer": optimizer.{inner}state_dict(), "epoch": epoch + 1{more}}}, "last.pt"){mark}
"""
OF_THE_OPTIMIZER = """def state_dict(self):
        return self.optimizer.state_dict()

    def load_state_dict(self, state):
        self.optimizer.load_state_dict(state)"""
OF_BOTH = """def state_dict(self):
        return {"steps": self.steps, "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state):
        self.steps = state["steps"]
        self.optimizer.load_state_dict(state["optimizer"])"""
BAD = "  # <- 905"


def program(mark="", **other):
    parts = {
        "argument": "", "first": "0", "counting": "self.steps += 1", "given": "", "rate": "self.rate()", "state": OF_THE_OPTIMIZER,
        "load": 'optimizer.load_state_dict(kept["optimizer"])', "after": "", "inner": "", "more": "", "count": "self.steps",
    }
    return PROGRAM.format(mark=mark, **(parts | other))


@table({
    "by a method": program(BAD),
    "handed on": program(BAD, given="self.rate()", rate="rate"),
    "counted otherwise": program(BAD, counting="self.steps = self.steps + 1"),
    "the inner one's state alone": program(
        BAD, state="", load='optimizer.optimizer.load_state_dict(kept["optimizer"])', inner="optimizer.",
    ),
    "saved, and not loaded": program(BAD, more=', "count": optimizer.steps'),
    "its state has both": program(state=OF_BOTH),
    "set where it is loaded": program(after="optimizer.steps = start * len(loader)"),
    "counted to where it was": program(after="for _ in range(start * len(loader)): optimizer.steps += 1"),
    "given to the constructor": program(argument=", begin=0", first="begin"),
    "the rate is made of something else": program(count="self.warmup"),
    "no count": program(counting="self.steps = 1"),
    "its own states": program(after="vars(optimizer).update(kept['all'])", more=', "all": vars(optimizer)'),
    "nothing is loaded": program(load="print(kept.keys())", after="start = 0").replace('kept["epoch"]', "0").replace(", args.epochs", ", 9"),
})
def test_a_count_that_begins_anew(code):
    holds(code)
