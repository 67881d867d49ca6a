"""009 and 010 with the real packages: metrics that nothing computes, and a generation behind padding."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers", reason="transformers is not installed")

TRAINER = """
import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, at):
        return {"x": torch.full((4,), float(at)), "LABEL": at % 2}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 2)

    def forward(self, x, LABEL=None):
        scores = self.out(x)
        return {"loss": nn.functional.cross_entropy(scores, LABEL), "logits": scores}


def share(given):
    return {"share": 1.0}


args = TrainingArguments("OUT", num_train_epochs=2, per_device_train_batch_size=4, report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True, SETTINGS)
trainer = Trainer(Model(), args, train_dataset=Rows(), eval_dataset=Rows(), compute_metrics=share)
trainer.train()
"""


@pytest.mark.parametrize(
    ("label", "settings", "found"),
    [("labels", "eval_strategy='epoch'", 0), ("target", "eval_strategy='epoch'", 1), ("target", "eval_strategy='epoch', label_names=['target']", 0)],
)
def test_metrics(run, tmp_path, label, settings, found):
    ran = run(TRAINER.replace("OUT", str(tmp_path / "out")).replace("LABEL", label).replace("SETTINGS", settings))
    assert ran.error is None
    told = [finding for finding in ran.findings if finding.number == 9]
    assert len(told) == found, ran.san.report()
    assert not found or "found no labels" in told[0].message


GENERATE = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
model = LlamaForCausalLM(config).eval()
ids, mask = torch.randint(3, 32, (2, 6)), torch.ones(2, 6, dtype=torch.int64)
mask[1, PADDING] = 0
for _ in range(TIMES):
    model.generate(input_ids=ids.masked_fill(mask == 0, 0), attention_mask=mask, max_new_tokens=4, do_sample=False)
"""


@pytest.mark.parametrize("times", ["1", "2"])
@pytest.mark.parametrize(("padding", "found"), [("4:", 1), (":2", 0)])
def test_padding(run, padding, found, times):
    ran = run(GENERATE.replace("PADDING", padding).replace("TIMES", times))
    assert ran.error is None and [finding.number for finding in ran.findings] == [10] * found, ran.san.report()
