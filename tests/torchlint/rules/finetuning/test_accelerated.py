"""005, 006 and 103: what of a step goes around the Accelerator, is not there or comes twice, and what only looks so; and what the fix
of 005 makes of it."""

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


STEPS = """
from accelerate import Accelerator


def train(loader, args, epochs=3):
    accelerator = Accelerator({given})
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.{optimizer}(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(epochs):
        for step, (inputs, targets) in enumerate(loader):
{body}
"""


def steps(body, given="gradient_accumulation_steps=args.n", optimizer="SGD"):
    return STEPS.format(body="\n".join(" " * 12 + line for line in body.strip().split("\n")), given=given, optimizer=optimizer)


FIRST = """
with accelerator.accumulate(model):
    optimizer.zero_grad()  # <- 102
    loss = F.mse_loss(model(inputs), targets)
    accelerator.backward(loss)
    optimizer.step()
"""
BEFORE = FIRST.replace("    optimizer.zero_grad()  # <- 102\n", "").replace("with", "optimizer.zero_grad()\nwith")
LAST = BEFORE.replace("optimizer.zero_grad()\n", "") + "    optimizer.zero_grad()"
BY_HAND = """
loss = F.mse_loss(model(inputs), targets)
accelerator.backward(loss)
if (step + 1) % args.n == 0 or step + 1 == len(loader):
    optimizer.step()
    optimizer.zero_grad()
"""


@table({
    "cleared at the top": steps(FIRST),
    "of an accumulation of one batch": steps(FIRST.replace("  # <- 102", ""), ""),
    "whose length a plugin says": steps(FIRST, "gradient_accumulation_plugin=args.plugin"),
    "where it is time": steps(FIRST.replace("optimizer.zero_grad()  # <- 102", "if accelerator.sync_gradients:\n        optimizer.zero_grad()  # <- 102")),
    "before the block": steps(BEFORE),
    "after the step": steps(LAST),
    "through the model": steps(LAST.replace("optimizer.zero_grad()", "model.zero_grad()  # <- 102")),
    "through the model, when it is time": steps(LAST.replace("optimizer.zero_grad()", "if accelerator.sync_gradients:\n        model.zero_grad()")),
    "each batch, counted by hand": steps("optimizer.zero_grad()  # <- 102\n" + BY_HAND.strip().replace("(loss)", "(loss / args.n)").replace("\n    optimizer.zero_grad()", ""), ""),
})
def test_cleared_in_an_accumulation(code):
    holds(code)


@table({
    "divided once more": steps(LAST.replace("targets)", "targets) / args.n").replace("(loss)", "(loss)  # <- 104")),
    "by the accelerator's own number": steps(
        LAST.replace("    accelerator.backward(loss)", "    loss /= accelerator.gradient_accumulation_steps\n    accelerator.backward(loss)  # <- 104")
    ),
    "by a number": steps(LAST.replace("(loss)", "(loss / 4)  # <- 104"), "gradient_accumulation_steps=4"),
    "by another number": steps(LAST.replace("(loss)", "(loss / 2)"), "gradient_accumulation_steps=4"),
    "for Adam, which divides that out": steps(LAST.replace("(loss)", "(loss / 4)"), "gradient_accumulation_steps=4", "AdamW"),
    "for Adam and a limit": steps(
        LAST.replace("(loss)", "(loss / 4)  # <- 104\n    accelerator.clip_grad_norm_(model.parameters(), 1.0)"), "gradient_accumulation_steps=4", "AdamW"
    ),
    "for the log": steps(LAST.replace("    accelerator.backward", "    shown = loss.item() / args.n\n    accelerator.backward")),
    "by hand, and the accelerator knows of it": steps(BY_HAND),
    "by hand, divided": steps(BY_HAND.replace("(loss)", "(loss / args.n)"), ""),
    "by hand, divided twice": steps(BY_HAND.replace("(loss)", "(loss / args.n)  # <- 104")),
    "by hand, not divided": steps(BY_HAND.replace("(loss)", "(loss)  # <- 104"), ""),
    "by hand, a plugin may say it": steps(BY_HAND, "**args.more"),
    "by hand, the last ones left": steps(
        BY_HAND.replace("(loss)", "(loss / args.n)").replace(" or step + 1 == len(loader)", "").replace("optimizer.step()", "optimizer.step()  # <- 105"), ""
    ),
})
def test_what_is_divided(code):
    holds(code)


TOKENS = LAST.replace("F.mse_loss(model(inputs), targets)", "F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), ignore_index=0)")


@table({
    "tokens": steps(TOKENS.replace("(loss)", "(loss)  # <- 007")),
    "in one batch": steps(TOKENS, ""),
    "that are summed": steps(TOKENS.replace("ignore_index=0", "ignore_index=0, reduction='sum'")),
    "counted": steps(TOKENS.replace("(loss)", "(loss * num_tokens)")),
})
def test_means_over_tokens(code):
    holds(code)


@table({
    "no backward": program("optimizer.step()  # <- 103\nscheduler.step()"),
    "a loss that is only shown": program("accelerator.log({'loss': loss.item()})\noptimizer.step()  # <- 103\nscheduler.step()"),
    "no step": program("accelerator.backward(loss)  # <- 103"),
    "no step, but by DeepSpeed": program("accelerator.backward(loss)", given=TEN + ", deepspeed_plugin=args.plugin"),
    "the step in a helper": program("accelerator.backward(loss)\nargs.update(optimizer)\nscheduler.step()"),
    "two steps": program(SOUND.replace("optimizer.step()", "optimizer.step()\noptimizer.step()  # <- 103")),
    "two steps, two backwards": program(f"{SOUND}\noptimizer.zero_grad()\naccelerator.backward(F.l1_loss(model(inputs), targets))\noptimizer.step()"),
})
def test_half_a_step(code):
    holds(code)


@pytest.mark.parametrize("step", ["optimizer.step()", "accelerator.backward(loss)"])
def test_the_other_half_is_the_accelerator_s_own(step):
    text = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n" + program(step)
    (finding,) = engine().check("snippet.py", text).findings
    assert finding.help.endswith("`accelerator.backward(loss)`, then `optimizer.step()`")


COUNTED = """
from accelerate import Accelerator


def train(loader, args, batch_size):
    accelerator = Accelerator({given})
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plugin = accelerator.state.deepspeed_plugin
    {length}
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(3):
        for step, (x, y) in enumerate(loader):
            accelerator.backward(F.mse_loss(model(x), y) / k)
            if step % k == 0:
                optimizer.step()
                optimizer.zero_grad()
"""


@pytest.mark.parametrize("given", ["", "cpu=True", "deepspeed_plugin=args.plugin"])
def test_an_accumulation_of_an_engine(given):
    text = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n" + COUNTED.format(length="k = args.k", given=given)
    assert [number for _, number in found(text)] == ([] if "deepspeed" in given else [105])


@pytest.mark.parametrize(("length", "told"), [
    ("k = args.k", True),
    ("k = 1 if batch_size < 16 else batch_size // 16", True),
    ("k = 1", False),
    ("k = 1 if plugin is None else plugin.deepspeed_config['gradient_accumulation_steps']", False),
    ("k = accelerator.state.deepspeed_plugin.gradient_accumulation_steps", False),
])
def test_an_accumulation_that_only_deepspeed_has(length, told):
    text = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n" + COUNTED.format(length=length, given="")
    assert [number for _, number in found(text)] == ([105] if told else [])
