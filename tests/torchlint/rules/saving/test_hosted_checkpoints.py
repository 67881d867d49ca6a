"""905 where Accelerate or transformers' Trainer writes the checkpoints."""

import pytest

from tests.torchlint.dryrun.support import holds

LOOP = """
import os
from accelerate import Accelerator


def train(model, loader, epochs, path):
    accelerator = Accelerator()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    START
    model, optimizer, loader = PREPARE
    BEFORE
    for epoch in range(start, epochs):
        for inputs, targets in loader:
            optimizer.zero_grad()
            accelerator.backward(F.mse_loss(model(inputs), targets))
            optimizer.step()
        STEP
        SAVE
"""
PLAIN = "accelerator.prepare(model, optimizer, loader)"
STATE = {"START": "start = 0", "PREPARE": PLAIN, "BEFORE": "accelerator.load_state(path)", "STEP": "scheduler.step()", "SAVE": "accelerator.save_state(path)"}
BAD = {"SAVE": "accelerator.save_state(path)  # <- 905"}
READ = "state = torch.load(path, weights_only=True)\n    model.load_state_dict(state['model'])\n    start = state['epoch']"
DICT = {"START": READ, "PREPARE": PLAIN, "BEFORE": "pass", "STEP": "scheduler.step()"}
WRITTEN = "{'model': accelerator.unwrap_model(model).state_dict(), 'epoch': epoch + 1}"


@pytest.mark.parametrize("put", [
    STATE | BAD,
    STATE | {"BEFORE": "accelerator.load_state(path)\n    accelerator.register_for_checkpointing(scheduler)"},
    STATE | {"PREPARE": "accelerator.prepare(model, optimizer, loader)\n    scheduler = accelerator.prepare(scheduler)"},
    STATE | {"PREPARE": "accelerator.prepare(*parts(model, optimizer, loader))"},
    STATE | {"BEFORE": "pass"},  # nothing is resumed
    STATE | {"BEFORE": "accelerator.load_state(path)\n    for _ in range(3):\n        scheduler.step()"},
    STATE | {"BEFORE": "accelerator.load_state(path)\n    scheduler.load_state_dict(torch.load('s', weights_only=True))"},
    DICT | {"SAVE": f"accelerator.save({WRITTEN}, path)  # <- 905"},
    DICT | {"SAVE": f"torch.save({WRITTEN}, path)  # <- 905"},
    DICT | {"SAVE": "torch.save({'model': accelerator.get_state_dict(model), 'epoch': epoch + 1}, path)  # <- 905"},
], ids=["not prepared", "registered", "prepared by itself", "not seen", "not resumed", "moved on by hand", "loaded by hand", "save", "torch.save", "get_state_dict"])
def test_an_accelerator(put):
    code = LOOP
    for word, text in put.items():
        code = code.replace(word, text)
    holds(code)


@pytest.mark.parametrize(("settings", "given", "told"), [
    ("save_only_model=True", "resume_from_checkpoint=True", True),
    ("save_only_model=True", "'out/checkpoint-500'", True),
    ("save_only_model=True", "resume_from_checkpoint=get_last_checkpoint('out')", True),
    ("save_only_model=True", "", False),
    ("save_only_model=True", "resume_from_checkpoint=None", False),
    ("save_only_model=True", "resume_from_checkpoint=data.path", False),
    ("save_only_model=data.alone", "resume_from_checkpoint=True", False),
    ("", "resume_from_checkpoint=True", False),
])
def test_a_trainer(settings, given, told):
    mark = "  # <- 905" if told else ""
    holds(f"""
from transformers import Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint


def train(model, data):
    args = TrainingArguments("out", {settings})
    trainer = Trainer(model, args, train_dataset=data)
    trainer.train({given}){mark}
""")
