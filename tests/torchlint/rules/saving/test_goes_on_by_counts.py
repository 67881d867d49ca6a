"""905 where a number that the training counts is read beside the weights, for an object around the optimizer."""

import pytest

from tests.torchlint.dryrun.support import holds

PROGRAM = """
class Warmup:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self._step = 0

    def step(self):
        self._step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = min(self._step, 100) * 1e-5
        self.optimizer.step()

def try_load_checkpoint(model, optimizer=None, name="last.pt"):
    check = torch.load(name)
    model.load_state_dict(check["model"])MARK
    if optimizer is not None:
        LOADED

def main(loader, path):
    model = nn.Linear(4, 2)
    optimizer = Warmup(torch.optim.AdamW(model.parameters()))
    scaler = torch.amp.GradScaler("cuda")
    try_load_checkpoint(model, optimizer, path)
    for epoch in range(9):
        for x, y in loader:
            model.zero_grad()
            with torch.autocast("cuda", torch.float16):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.STEP
            scaler.update()
        torch.save({"model": model.state_dict(), "optim": {"step": optimizer._step}}, f"{epoch}.pt")
"""


@pytest.mark.parametrize(("loaded", "told"), [
    ('optimizer._step = step = check["optim"]["step"]', True),
    ('optimizer._step = check["optim"]["step"]', True),
    ('optimizer.optimizer.load_state_dict(check["optim"])', False),
    ('optimizer.state = check["optim"]["state"]', False),
    ('fill(optimizer, check["optim"]["step"])', False),
    ("pass", False),  # nothing says that the training goes on
])
def test_a_count_of_steps_is_loaded(loaded, told):
    holds(PROGRAM.replace("STEP", "step(optimizer)").replace("LOADED", loaded).replace("MARK", "  # <- 905" if told else ""))


FAR = """
def main(loader, path):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    if path:
        checkpoint = torch.load(path, weights_only=True)
        state = checkpoint["model"]
        model.load_state_dict(state)MARK
        model.train()
        history = checkpoint["history"]
        train_loss = history["train"]
        val_loss = history["val"]
        best = history["best"]
        NUMBER
    else:
        so_far, best = 0, None
    for epoch in range(so_far, so_far + 9):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save(model.state_dict(), "weights.pt")
"""


@pytest.mark.parametrize(("number", "told"), [
    ('so_far = checkpoint["epochs_done"]', True),
    ('so_far = checkpoint["seen"]', False),
    ('if best:\n            so_far = checkpoint["epochs_done"]', False),
])
def test_a_number_is_read_further_down(number, told):
    code = FAR.replace("NUMBER", number).replace("MARK", "  # <- 905" if told else "")
    holds(code)


NAMED = """
def main(opt, loader):
    model = nn.Linear(4, 2)
    if opt.weights is not None:
        path = opt.weights if opt.weights.endswith(".pt") else newest(opt.folder)
        try:
            NUMBER
        except ValueError:
            last = 0
        try:
            model.load_state_dict(torch.load(path), strict=False)MARK
        except RuntimeError as error:
            print(error)
    else:
        last = 0
    optimizer = torch.optim.AdamW(model.parameters())
    BEGUN
    for epoch in range(opt.epochs):
        if epoch < step // len(loader):
            continue
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            step += 1
            if step % 1000 == 0:
                torch.save(model.state_dict(), f"net_{epoch}_{step}.pt")
"""


@pytest.mark.parametrize(("number", "begun", "told"), [
    ('last = int(os.path.basename(path).split("_")[-1].split(".")[0])', "step = max(0, last)", True),
    ('last = int(re.search("[0-9]+", path).group())', "step = last + 1", True),
    ("last = int(path[-8:-3])", "step = last", True),
    ('step = int(path.split("_")[-1])', "print(step)", True),
    ('last = int(path.split("_")[-1])', "step = 0", False),  # it is only shown
    ('last = int(opt.name.split("_")[-1])', "step = last", False),  # of something else
    ("last = int(opt.first)", "step = last", False),
])
def test_a_number_in_the_name_of_the_file(number, begun, told):
    holds(NAMED.replace("NUMBER", number).replace("BEGUN", begun).replace("MARK", "  # <- 905" if told else ""))
