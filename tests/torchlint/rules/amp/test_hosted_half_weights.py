"""707 of models that a Trainer or Accelerate trains as they were loaded."""

import pytest

from tests.torchlint.dryrun.support import holds

TRAINER = """
from transformers import AutoModelForCausalLM, Seq2SeqTrainer, Trainer, TrainingArguments


def finetune(data, args):
    model = AutoModelForCausalLM.from_pretrained("gpt2", {dtype}){mark}
    trainer = {trainer}
    trainer.{does}()
"""
GIVEN = "Trainer(model=model, args=TrainingArguments('out'), train_dataset=data)"
HALF = "dtype=torch.float16"


@pytest.mark.parametrize(("dtype", "trainer", "does", "told"), [
    (HALF, GIVEN, "train", True),
    ("torch_dtype='float16', device_map='auto'", GIVEN, "train", True),
    (HALF, GIVEN.replace("'out'", "'out', bf16=True"), "train", True),
    (HALF, "Seq2SeqTrainer(model, TrainingArguments('out'), train_dataset=data)", "train", True),
    (HALF, "Trainer(model, train_dataset=data)", "train", True),
    (HALF, GIVEN, "evaluate", False),
    ("dtype=torch.bfloat16", GIVEN, "train", False),
    ("dtype=args.dtype", GIVEN, "train", False),
    (HALF + ", quantization_config=args.bits", GIVEN, "train", False),
    (HALF, GIVEN.replace("TrainingArguments('out')", "args"), "train", False),
    (HALF, GIVEN.replace("'out'", "'out', deepspeed='zero.json'"), "train", False),
    (HALF, GIVEN.replace("train_dataset", "peft_config=args.adapter, train_dataset"), "train", False),
])
def test_a_trainer(dtype, trainer, does, told):
    holds(TRAINER.format(dtype=dtype, trainer=trainer, does=does, mark="  # <- 707" if told else ""))


@pytest.mark.parametrize(("given", "told"), [("", True), ("mixed_precision='bf16'", True), ("fsdp_plugin=plugin", False), ("**more", False)])
def test_accelerate(given, told):
    mark = "  # <- 707" if told else ""
    holds(f"""
from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def finetune(loader, plugin, more):
    accelerator = Accelerator({given})
    model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float16){mark}
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
""")
