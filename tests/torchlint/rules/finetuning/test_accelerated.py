"""005 and 006: what of a step goes around the Accelerator, and what only looks so; and what the fix of 005 makes of it."""

import pytest

from tests.torchlint.dryrun.support import engine, found, holds, table

HEAD = """
from accelerate import Accelerator


def train(loader, args):
    accelerator = Accelerator({given})
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters={length})
    {prepare}
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = F.mse_loss(model(inputs), targets)
{step}
            optimizer.zero_grad()
"""
PREPARED = "model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)"
ALL_BUT = "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)"
SOUND = "accelerator.backward(loss)\noptimizer.step()\nscheduler.step()"
TEN = "gradient_accumulation_steps=args.n"


def program(step=SOUND, given=TEN, prepare=PREPARED, length="100"):
    lines = "\n".join(" " * 12 + line for line in step.split("\n"))
    return HEAD.format(given=given, prepare=prepare, step=lines, length=length)


@table({
    "sound": program(),
    "plain": program(SOUND.replace("accelerator.backward(loss)", "loss.backward()  # <- 005")),
    "with an argument": program(SOUND.replace("accelerator.backward(loss)", "accelerator.backward(loss, retain_graph=False)")),
    "clipped by torch, precision not asked for": program(
        "accelerator.backward(loss)\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)\noptimizer.step()\nscheduler.step()"
    ),
    "clipped by torch, perhaps in fp16": program(
        "accelerator.backward(loss)\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- 005\noptimizer.step()\nscheduler.step()",
        TEN + ", mixed_precision=args.precision",
    ),
    "a schedule that was not prepared": program(SOUND.replace("scheduler.step()", "scheduler.step()  # <- 005"), prepare=ALL_BUT),
    "whose length is in batches": program(prepare=ALL_BUT, length="100 * args.gradient_accumulation_steps"),
    "which asks whether it is time": program(
        SOUND.replace("scheduler.step()", "if accelerator.sync_gradients:\n    scheduler.step()"), prepare=ALL_BUT
    ),
    "an accumulation of one batch": program(prepare=ALL_BUT, given=""),
    "an optimizer that was not prepared": program(
        SOUND.replace("optimizer.step()", "optimizer.step()  # <- 005"),
        prepare="model, loader = accelerator.prepare(model, loader)",
    ),
    "prepared in a way that cannot be seen": program(prepare="model, optimizer, loader = accelerator.prepare(*parts(model, optimizer, loader))"),
})
def test_around_the_accelerator(code):
    holds(code)


@pytest.mark.parametrize(("loop", "told"), [
    ("for _ in range(args.n):", True),
    ("for _ in range(4):", True),
    ("for inputs in inputs.chunk(4):", False),
    ("for _ in range(4):\n    inputs = inputs + torch.randn_like(inputs)", False),
    ("if args.n:", False),
])
def test_one_batch_again_and_again(loop, told):
    code = program(SOUND, given="gradient_accumulation_steps=4")
    rows = code.split("\n")
    at = next(n for n, row in enumerate(rows) if "accumulate(model)" in row)
    inner = [" " * 8 + line for line in loop.split("\n")] + ["    " + row for row in rows[at:]]
    text = "\n".join([*rows[:at], *inner])
    numbers = [number for _, number in found("import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n" + text)]
    assert numbers == ([6] if told else [])


@pytest.mark.parametrize(("line", "better", "kind"), [
    ("loss.backward()", "accelerator.backward(loss)", "safe"),
    ("(loss / args.n).backward()", "accelerator.backward((loss / args.n))", "unsafe"),
    ("loss.backward(retain_graph=True)", "accelerator.backward(loss, retain_graph=True)", "unsafe"),
])
def test_the_fix(line, better, kind):
    text = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n" + program(SOUND.replace("accelerator.backward(loss)", line))
    (finding,) = [one for one in engine().check("snippet.py", text).findings if one.number == 5]
    assert finding.fix.applicability == kind and [edit.content.strip("()") for edit in finding.fix.edits] == [better.strip("()")]
