"""Real fine-tuning, of tiny models made from configs: sound programs are silent, broken ones are told of. Nothing is downloaded;
each test is skipped where its packages are not installed."""

from __future__ import annotations

import pytest

from tests.torchsan.conftest import FIXTURES

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

WORDS = "<pad> <s> </s> user assistant what is two and plus four five six seven , . ?".split()
TEXTS = ["user what is two and two ? assistant four </s>", "user what is two ? assistant five six seven </s>", "user is two ? assistant two </s>"] * 4


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """A folder with a tiny model and its tokenizer, as `from_pretrained` takes it."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    monkeypatch.chdir(tmp_path)
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="<pad>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    config = transformers.GPT2Config(
        vocab_size=len(WORDS), n_positions=64, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=2, pad_token_id=0
    )
    folder = tmp_path / "tiny"
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


def numbers(ran):
    assert ran.error is None, ran.error
    return sorted({finding.number for finding in ran.findings})


LEVELS = pytest.mark.parametrize("level", ["default", "thorough"])
HEAD = """
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

NAME, TEXTS = {name!r}, {texts!r}
tokenizer = AutoTokenizer.from_pretrained(NAME)


def collate(rows):
    batch = tokenizer(rows, return_tensors="pt", padding=True)
    return {{**batch, "labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}}


def settings(**more):
    return dict(output_dir="out", max_steps=4, per_device_train_batch_size=2, report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True, learning_rate=1e-3) | more
"""
LLAMA = """
model = LlamaForCausalLM(LlamaConfig(vocab_size=17, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2))
"""
GPT = "\nmodel = AutoModelForCausalLM.from_pretrained(NAME)\n"
TRAINER = """
args = TrainingArguments(**settings(gradient_accumulation_steps=2, remove_unused_columns=False))
Trainer(model, args, train_dataset=TEXTS, data_collator=collate).train()
"""
ADAPTED = """
from peft import LoraConfig, get_peft_model

model = get_peft_model(model, LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"))
"""
SFT = """
from datasets import Dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

data = Dataset.from_list([{"prompt": one.split("assistant")[0], "completion": "assistant" + one.split("assistant")[1]} for one in TEXTS])
SFTTrainer(model, SFTConfig(**settings(bf16=False)), train_dataset=data, processing_class=tokenizer, peft_config=LoraConfig(r=4, target_modules=["q_proj"])).train()
"""


DPO = """
from datasets import Dataset
from trl import DPOConfig, DPOTrainer

rows = [{"prompt": one.split("assistant")[0], "chosen": "assistant" + one.split("assistant")[1], "rejected": "assistant two </s>"} for one in TEXTS]
args = DPOConfig(**settings(bf16=False, max_steps=8))
DPOTrainer(model, ref_model=LlamaForCausalLM(model.config), args=args, train_dataset=Dataset.from_list(rows), processing_class=tokenizer).train()
"""


@LEVELS
@pytest.mark.parametrize(
    ("program", "packages"),
    [(GPT + TRAINER, ()), (LLAMA + TRAINER, ()), (LLAMA + ADAPTED + TRAINER, ("peft",)), (LLAMA + SFT, ("trl", "peft", "datasets"))],
    ids=["gpt", "llama", "adapter", "sft"],
)
def test_sound(run, saved, program, packages, level):
    for package in packages:
        pytest.importorskip(package, reason=f"{package} is not installed")
    ran = run(HEAD.format(name=str(saved), texts=TEXTS) + program, level=level)
    assert numbers(ran) == [], ran.san.report()
    batch = ran.san.first_batch
    assert batch.relation == "next" and batch.tokenizer and 0 < batch.counted < batch.asked
    assert (batch.parameters.adapters > 0) == bool(packages)
    assert any(run.role == "eos" and run.counts for run in batch.shown[0])


@LEVELS
def test_sound_preferences(run, saved, level):
    """TRL's trainer turns checkpointing off and on again in each step, which puts a hook on the embedding each time."""
    for package in ("trl", "datasets"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    ran = run(HEAD.format(name=str(saved), texts=TEXTS) + LLAMA + DPO, level=level)
    assert numbers(ran) == [], ran.san.report()


MASKED = 'batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)'
BY_ID = 'batch["input_ids"].masked_fill(batch["input_ids"] == tokenizer.pad_token_id, -100)'
PAD_IS_END = "\ntokenizer.pad_token = tokenizer.eos_token\n"
OWN_OPTIMIZER = "\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
GIVEN = TRAINER.replace("data_collator=collate)", "data_collator=collate, optimizers=(optimizer, None))")
OWN_LOSS = """
class OwnLoss(Trainer):
    def compute_loss(self, model, inputs, **more):
        labels = inputs.pop("labels")
        scores = model(**inputs).logits
        return nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten()) / self.args.gradient_accumulation_steps
""" + TRAINER.replace("Trainer(model", "OwnLoss(model")


@pytest.mark.parametrize(
    ("program", "labels", "found"),
    [
        (LLAMA + PAD_IS_END + TRAINER, BY_ID, 1),
        (LLAMA + TRAINER, MASKED + ".roll(-1, 1)", 2),
        (GPT + OWN_LOSS, MASKED, 3),
        (LLAMA + OWN_OPTIMIZER + ADAPTED + GIVEN, MASKED, 4),
        (LLAMA + TRAINER, 'batch["input_ids"]', 315),
        (LLAMA + ADAPTED + TRAINER, 'batch["input_ids"]', 315),
    ],
    ids=["the end is masked", "moved twice", "not moved", "adapters in no optimizer", "padding counts", "padding counts with adapters"],
)
def test_broken(run, saved, program, labels, found):
    if "peft" in program:
        pytest.importorskip("peft", reason="peft is not installed")
    assert MASKED in HEAD
    ran = run(HEAD.replace(MASKED, labels).format(name=str(saved), texts=TEXTS) + program)
    assert numbers(ran) == [found], ran.san.report()


# A loss of its own for the target of each place: Trainer leaves the division to it where the model takes `num_items_in_batch`.
OWN = """
import torch.nn.functional as F


class Own(Trainer):
    SETTING

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        scores = model(**inputs).logits
        return LOSS


settled = settings(gradient_accumulation_steps=2, remove_unused_columns=False, max_steps=6)
rows = [row for row in TEXTS for _ in range(2)]
"""
MEAN_OF = "F.cross_entropy(scores[:, :-1].flatten(0, 1), labels[:, 1:].flatten())"
SUM_OF = MEAN_OF[:-1] + ', reduction="sum")'
TRAINED = "Own(model, TrainingArguments(**settled), train_dataset=rows, data_collator=collate).train()\n"
TAKES_NOTHING = """
class Plain(LlamaForCausalLM):
    accepts_loss_kwargs = False


model = Plain(model.config)
"""


@pytest.mark.parametrize(("before", "loss", "setting", "found"), [
    ("", MEAN_OF, "", True),
    ("", MEAN_OF, "loss_is_scaled_for_ga = False", False),
    ("", f"{MEAN_OF} / self.args.gradient_accumulation_steps", "", False),
    ("", f"{SUM_OF} / num_items_in_batch", "", False),
    (TAKES_NOTHING, MEAN_OF, "", False),
    (TAKES_NOTHING, f"{MEAN_OF} / self.args.gradient_accumulation_steps", "", True),
])
def test_a_loss_of_its_own_in_a_trainer(run, saved, before, loss, setting, found):
    if setting and not hasattr(transformers.Trainer, "loss_is_scaled_for_ga"):
        pytest.skip("a release without that setting")
    own = OWN.replace("SETTING", setting or "pass").replace("LOSS", loss + ("  # <- 104" if found else ""))
    ran = run(HEAD.format(name=str(saved), texts=[TEXTS[0]] * 8) + LLAMA + before + own + TRAINED)
    assert ran.error is None and ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize(("batches", "line", "told"), [(2, "self.optimizer.zero_grad()", True), (1, "self.optimizer.zero_grad()", False), (2, "pass", False)])
def test_cleared_in_a_training_step(run, saved, batches, line, told):
    own = f"""
class Own(Trainer):
    def training_step(self, model, inputs, *given):
        {line}{"  # <- 102" if told else ""}
        return super().training_step(model, inputs, *given)


settled = settings(gradient_accumulation_steps={batches}, remove_unused_columns=False, max_steps=6)
rows = [row for row in TEXTS for _ in range(2)]
"""
    ran = run(HEAD.format(name=str(saved), texts=[TEXTS[0]] * 8) + LLAMA + own + TRAINED)
    assert ran.error is None and ran.lines == ran.marked, ran.san.report()


def test_padding_counts_in_trl(run, saved):
    """TRL's own trainer, and a collator of the program's whose labels are the tokens with their padding."""
    for package in ("trl", "peft", "datasets"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    own = "\ndef by_id(rows):\n    batch = collate([tokenizer.decode(row['input_ids']) for row in rows])\n    return dict(batch)\n"
    program = SFT.replace("SFTTrainer(model", own + "\nSFTTrainer(model").replace("train_dataset=data,", "train_dataset=data, data_collator=by_id,")
    program = program.replace("bf16=False", "bf16=False, per_device_train_batch_size=4")
    texts = [TEXTS[0], "user is ? assistant two </s>"] * 6
    ran = run(HEAD.replace(MASKED, 'batch["input_ids"]').format(name=str(saved), texts=texts) + LLAMA + program)
    assert numbers(ran) == [315], ran.san.report()
    told = repr(ran.san.batch())
    assert "8 of the input are padding, and 8 of these count" in told and "all of them in adapters" in told, told


VISION = """
import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
head = nn.Linear(8, 4)
for parameter in backbone.parameters():
    parameter.requires_grad = False
model = nn.Sequential(backbone, head)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
images, labels = torch.rand(32, 3, 12, 12), torch.randint(0, 4, (32,))
for at in range(0, 32, 8):
    loss = nn.functional.cross_entropy(model(IMAGES), labels[at:at + 8])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@LEVELS
def test_a_frozen_backbone(run, level):
    ran = run(VISION.replace("IMAGES", "images[at:at + 8]"), level=level)
    assert numbers(ran) == [] and ran.san.first_batch is None, ran.san.report()


def test_a_frozen_backbone_with_channels_last(run):
    ran = run(VISION.replace("IMAGES", "images[at:at + 8].permute(0, 2, 3, 1)"))
    assert 12 in {finding.number for finding in ran.findings} and ran.error is not None


NORMED = VISION.replace("nn.ReLU(),", "nn.BatchNorm2d(8), nn.ReLU(),").replace("IMAGES", "images[at:at + 8]").replace("for at in range(0, 32, 8):", "MODE\nfor at in 2 * list(range(0, 32, 8)):")
EVALUATED = "model.train()\nbackbone.eval()"


@LEVELS
def test_a_frozen_backbone_in_evaluation_mode(run, level):
    ran = run(NORMED.replace("MODE", EVALUATED), level=level)
    assert numbers(ran) == [], ran.san.report()


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [(EVALUATED, "model.train()", 141), ("SGD(head.", "SGD(backbone.", 138), ("nn.Linear(8, 4)", "nn.Linear(8, 1)", 319), ("loss.backward()", "pass", 103)],
    ids=["its batch norm drifts", "the head is in no optimizer", "one class", "no backward"],
)
def test_a_frozen_backbone_gone_wrong(run, before, after, found):
    program = NORMED.replace("MODE", EVALUATED)
    assert before in program
    program = program.replace(before, after)
    if found == 319:
        program = program.replace("torch.randint(0, 4, (32,))", "torch.zeros(32, dtype=torch.int64)")
    ran = run(program)
    assert found in {finding.number for finding in ran.findings}, ran.san.report()
    assert len(ran.findings) == 1, ran.san.report()


LOOP = """
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from torch.utils.data import DataLoader

AcceleratorState._reset_state(True)
GradientState._reset_state()
accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(TEXTS[:6], batch_size=1, collate_fn=collate)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
model.train()
for _ in range(2):
    for batch in loader:
        with accelerator.accumulate(model):
            labels = batch.pop("labels")
            scores = model(**batch).logits[:, :-1].flatten(0, 1)
            LOSS
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
"""
# Of blocks of one length the mean of the means is the mean.
EQUAL = "labels = labels[:, :10]\n            loss = torch.nn.functional.cross_entropy(scores[:4], labels[:, 1:5].flatten())"
UNEQUAL = "labels[:, :len(batch['input_ids'][0]) - 2 * (1 + (len(labels[0]) % 2))] = -100\n            loss = torch.nn.functional.cross_entropy(scores, labels[:, 1:].flatten())"


@pytest.mark.parametrize(("loss", "found"), [(EQUAL, []), (UNEQUAL, [7])])
def test_accumulation_with_accelerate(run, saved, loss, found):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    ran = run(HEAD.format(name=str(saved), texts=TEXTS) + LLAMA + LOOP.replace("LOSS", loss))
    assert numbers(ran) == found, ran.san.report()


AROUND = "accelerator.backward(loss)"
STEP = LOOP[LOOP.index("        with accelerator.accumulate"):]
INNER = "        for _ in range(2):\n" + "".join("    " + line for line in STEP.splitlines(True)).replace('labels = batch.pop("labels")', 'labels = batch["labels"]').replace(
    "model(**batch)", 'model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])'
)


def test_backward_around_the_accelerator(run, saved):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    program = LOOP.replace("LOSS", EQUAL).replace(AROUND, "loss.backward()  # <- 005")
    ran = run(HEAD.format(name=str(saved), texts=TEXTS) + LLAMA + program)
    assert ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize(("before", "after"), [
    (f"{AROUND}\n            optimizer.step()", "optimizer.step()  # <- 103"),
    (f"{AROUND}\n            optimizer.step()", f"{AROUND}  # <- 103"),
    ("optimizer.step()", "optimizer.step()\n            optimizer.step()  # <- 103"),
], ids=["no backward", "no step", "two steps"])
def test_half_a_step_with_accelerate(run, saved, before, after):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    assert before in LOOP
    program = LOOP.replace("LOSS", EQUAL).replace(before, after).replace("range(2)", "range(4)")
    ran = run(HEAD.format(name=str(saved), texts=TEXTS) + LLAMA + program)
    assert ran.error is None and ran.lines == ran.marked, ran.san.report()
    if "\n" in before:
        assert ran.findings[0].help.endswith("`accelerator.backward(loss)`, then `optimizer.step()`")


def test_one_batch_in_an_inner_loop(run, saved):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    assert "def " not in STEP
    program = LOOP.replace(STEP, INNER).replace("LOSS", EQUAL.replace("\n", "\n    "))
    ran = run(HEAD.format(name=str(saved), texts=TEXTS) + LLAMA + program)
    assert numbers(ran) == [6], ran.san.report()


# Accelerate's loaders give a batch when they have the next one, or know that there is none.
TAIL = """
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from torch.utils.data import DataLoader, TensorDataset

AcceleratorState._reset_state(True)
GradientState._reset_state()
torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(ROWS, 4), torch.randint(0, 2, (ROWS,))), batch_size=4, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(5):
    for i, (x, y) in enumerate(loader):
        accelerator.backward(torch.nn.functional.cross_entropy(model(x), y) / 4)
        if WHEN:
            optimizer.step()
            optimizer.zero_grad()
    AFTER
"""


@pytest.mark.parametrize(("rows", "when", "after", "left"), [
    (40, "(i + 1) % 4 == 0", "pass", 2),
    (36, "(i + 1) % 4 == 0", "pass", 1),
    (48, "(i + 1) % 4 == 0", "pass", 0),
    (40, "(i + 1) % 4 == 0", "optimizer.zero_grad()", 0),
    (36, "(i + 1) % 4 == 0", "optimizer.zero_grad()", 0),
    (40, "(i + 1) % 4 == 0 or i + 1 == len(loader)", "pass", 0),
    (36, "(i + 1) % 4 == 0 or i + 1 == len(loader)", "pass", 0),
])
def test_what_is_left_over_with_accelerate(run, rows, when, after, left):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    ran = run(TAIL.replace("ROWS", str(rows)).replace("WHEN", when).replace("AFTER", after))
    assert numbers(ran) == ([105] if left else []), ran.san.report()
    assert not left or f"{left} of them from the pass before" in ran.findings[0].message


# With a loss scale alone is the accelerator's clipping another one than torch's: that is 703, whoever made the scaler.
CLIPPED = """
import accelerate
import torch
from torch import nn

accelerate.state.AcceleratorState._reset_state(True)
torch.manual_seed(0)
accelerator = accelerate.Accelerator(cpu=True)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
if SCALED:
    accelerator.native_amp, accelerator.scaler = True, torch.amp.GradScaler("cpu")
    accelerator.state._mixed_precision = "fp16"
model, optimizer = accelerator.prepare(model, optimizer)
for inputs in torch.randn(4, 4, 8):
    optimizer.zero_grad()
    accelerator.backward(model(inputs).pow(2).mean())
    CLIP
    optimizer.step()
"""


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("clip", ["nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "accelerator.clip_grad_norm_(model.parameters(), 1.0)"])
def test_clipping_around_the_accelerator(run, clip, scaled):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    ran = run(CLIPPED.replace("SCALED", str(scaled)).replace("CLIP", clip))
    assert numbers(ran) == ([703] if scaled and clip.startswith("nn.") else []), ran.san.report()


# Six mistakes: the optimizer is built before the adapter, the model stays in evaluation mode, padding counts, backward and clipping
# go around the accelerator, the scheduler was not prepared. The twin has none.
SCRIPTS = FIXTURES.parent / "lint"
RUN = """
from accelerate.state import AcceleratorState, GradientState

AcceleratorState._reset_state(True)
GradientState._reset_state()
train({texts!r})
"""
ROWS = ["user what is two and two ? assistant four </s>", "user what is two ? assistant five six seven </s>"] * 4
UNEVEN = [ROWS[0], "user is two ? assistant two </s>"] * 4


def script(saved, name, rows=ROWS):
    """A script with the tiny model, and in float32: there is no device that float16 is for."""
    text = (SCRIPTS / name / "train.py").read_text(encoding="utf-8")
    for before, after in (('NAME = "gpt2"', f"NAME = {str(saved)!r}"), (', mixed_precision="fp16"', "")):
        assert before in text
        text = text.replace(before, after)
    return text + RUN.format(texts=rows)


@pytest.fixture
def hosted():
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    pytest.importorskip("peft", reason="peft is not installed")


@LEVELS
def test_the_sound_script_is_silent(run, saved, hosted, level):
    ran = run(script(saved, "adapter_sound"), level=level)
    assert numbers(ran) == [], ran.san.report()


def test_the_script_is_told_of(run, saved, hosted):
    """One finding for each mistake that a run in float32 shows, and each at the line of the mistake."""
    text = script(saved, "adapter_broken", rows=UNEVEN)
    ran = run(text)
    row = {part: at for at, line in enumerate(text.splitlines(), 1) for part in ("get_peft_model(", "labels=", "loss.backward", "scheduler.step") if part in line}
    model, backward, schedule = row["labels="], row["loss.backward"], row["scheduler.step"]
    expected = [(4, row["get_peft_model("]), (5, backward), (5, schedule), (203, model), (315, model)]
    assert sorted((finding.number, finding.location.row) for finding in ran.findings) == expected, ran.san.report()
    told = {finding.number: finding.message for finding in ran.findings}
    assert "`optimizer` took the parameters before" in told[4] and "goes around `accelerator`" in told[5]
    assert "are in no optimizer that was seen" in ran.san.report()
