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
