"""The tables of catalogue/protocols.py: what each family of rows does to a run."""

import pytest

from torchlint.catalogue import protocols
from torchlint.catalogue.protocols import DRIVER_METHODS, SETTINGS, made_by
from torchlint.dryrun.values import Const, Instance, number

from .support import events, runs

MODEL = "from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('gpt2')\n"
ACCELERATE = (
    MODEL + "from accelerate import Accelerator\naccelerator = Accelerator()\n"
    "optimizer = torch.optim.AdamW(model.parameters())\n"
)


def run(text):
    (only,) = runs(text)
    return only


def one(text, kind):
    (event,) = events(run(text), kind)
    return event


@pytest.mark.parametrize(("maker", "training"), [
    ("transformers.AutoModelForCausalLM.from_pretrained('x')", False),
    ("transformers.GPT2LMHeadModel.from_pretrained('x')", False),
    ("transformers.AutoModel.from_config(config)", True),
    ("transformers.GPT2LMHeadModel(config)", True),
    ("peft.AutoPeftModelForCausalLM.from_pretrained('x')", False),
    ("peft.get_peft_model(transformers.GPT2LMHeadModel(config), config)", True),
    ("peft.get_peft_model(transformers.AutoModel.from_pretrained('x'), config)", False),
    ("peft.PeftModel.from_pretrained(transformers.GPT2LMHeadModel(config), 'x')", False),
    ("peft.prepare_model_for_kbit_training(transformers.AutoModel.from_pretrained('x'))", False),
])
def test_modes_that_makers_give(maker, training):
    event = one(f"import peft\nimport transformers\nmodel = {maker}\nout = model(torch.ones(2, 3).long())\n", "forward")
    assert event.mode is training


def test_tokenizers_and_configs_are_no_models():
    assert made_by("transformers.AutoTokenizer.from_pretrained") is None
    assert made_by("transformers.AutoConfig.from_pretrained") is None
    assert made_by("torch.nn.Linear") is None


@pytest.mark.parametrize(("call", "trains"), [
    ("get_peft_model(model, config)", True),
    ("PeftModel.from_pretrained(model, 'a')", False),
    ("PeftModel.from_pretrained(model, 'a', is_trainable=True)", True),
    ("PeftModel.from_pretrained(model, 'a', is_trainable=flag)", None),
])
def test_adapters(call, trains):
    event = one(MODEL + f"from peft import PeftModel, get_peft_model\nmodel = {call}\n", "adapt")
    assert event.trains is trains and event.subject is event.made.args[0]


def test_an_adapted_model_is_the_model_around_its_base():
    text = MODEL + "from peft import get_peft_model\nmodel = get_peft_model(model, config)\n"
    whole = run(text + "optimizer = torch.optim.SGD(model.parameters())\nmodel.train()\nbase = model.merge_and_unload()\nbase(x)\n")
    (made,) = events(whole, "adapt")
    (created,) = events(whole, "optimizer.create")
    (forward,) = events(whole, "forward")
    assert created.modules == (made.made,) and forward.subject is made.subject and forward.mode is True


def test_a_model_grows():
    event = one(MODEL + "model.add_adapter(config)\n", "grow")
    assert event.name == "add_adapter" and isinstance(event.subject, Instance)


def test_prepare_gives_back_what_it_is_given():
    text = ACCELERATE + "net, step, more = accelerator.prepare(model, optimizer, loader)\nstep.step()\nnet.eval()\n"
    whole = run(text)
    (created,) = events(whole, "optimizer.create")
    (stepped,) = events(whole, "optimizer.step")
    (evaluated,) = events(whole, "module.eval")
    assert stepped.subject is created.subject and evaluated.subject is created.modules[0]


def test_an_accumulation_is_a_context_of_its_own():
    text = ACCELERATE + "with accelerator.accumulate(model):\n    optimizer.step()\nwith accelerator.no_sync(model):\n    optimizer.zero_grad()\n"
    whole = run(text)
    (step,), (clear,) = events(whole, "optimizer.step"), events(whole, "optimizer.zero_grad")
    assert [context.kind for context in step.contexts] == ["accumulate"]
    assert [context.kind for context in clear.contexts] == ["other"]


def test_the_accelerators_half_of_the_step():
    text = ACCELERATE + (
        "loss = model(x).mean()\naccelerator.backward(loss)\naccelerator.clip_grad_norm_(model.parameters(), 1.0)\n"
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\naccelerator.gather_for_metrics((loss, y))\n"
    )
    whole = run(text)
    (backward,) = events(whole, "backward")
    own, plain = events(whole, "clip")
    (gather,) = events(whole, "gather")
    assert backward.framework is own.by and plain.by is None and number(own.limit) == 1.0
    assert gather.name == "gather_for_metrics" and gather.subject is own.by


@pytest.mark.parametrize("name", sorted(name for name, does in DRIVER_METHODS.items() if does == "apart"))
def test_methods_that_change_nothing(name):
    assert not [event for event in events(run(ACCELERATE + f"accelerator.{name}(optimizer)\n"), "unknown") if event.get("name") == name]


@pytest.mark.parametrize(("call", "place"), [
    ("transformers.Trainer(model, args, None, rows)", "train_dataset"),
    ("trl.DPOTrainer(model, None, args, None, rows)", "train_dataset"),
    ("trl.GRPOTrainer(model, reward, args, rows)", "train_dataset"),
    ("trl.SFTTrainer(model, args, eval_dataset=rows)", "eval_dataset"),
])
def test_trainers_arguments_by_name(call, place):
    text = MODEL + f"import transformers\nimport trl\nrows = 'rows'\ntrainer = {call}\ntrainer.train()\n"
    whole = run(text)
    (created,) = events(whole, "trainer.create")
    (trained,) = events(whole, "trainer.train")
    assert isinstance(created.given[place], Const) and created.given[place].value == "rows"
    assert trained.subject is created.subject and isinstance(created.given["model"], Instance)


def test_a_trainer_sets_the_mode_itself():
    text = MODEL + "from transformers import Trainer\ntrainer = Trainer(model=model)\ntrainer.train()\nmodel(x)\n"
    assert one(text, "forward").mode is None


@pytest.mark.parametrize(("given", "name", "value"), [
    ("evaluation_strategy='steps'", "eval_strategy", "steps"),
    ("eval_strategy='epoch'", "eval_strategy", "epoch"),
    ("", "gradient_accumulation_steps", 1),
    ("fp16=True", "fp16", True),
    ("**more", "fp16", None),
])
def test_settings(given, name, value):
    whole = run(MODEL + f"from transformers import Trainer, TrainingArguments\nTrainer(model, TrainingArguments('out', {given}))\n")
    (created,) = events(whole, "trainer.create")
    found = whole.setting(created.given["args"], name)
    assert (found.value if found is not None else None) == value
    assert SETTINGS[name].decides


@pytest.mark.parametrize(("made", "name", "value"), [
    ("SFTConfig('out')", "bf16", None),
    ("GRPOConfig('out')", "remove_unused_columns", None),
    ("DPOConfig('out', bf16=False)", "bf16", False),
    ("SFTConfig('out')", "eval_strategy", "no"),
])
def test_what_trls_configs_set_themselves_is_known_where_it_is_given(made, name, value):
    whole = run(MODEL + f"import trl\ntrl.SFTTrainer(model, trl.{made})\n")
    (created,) = events(whole, "trainer.create")
    found = whole.setting(created.given["args"], name)
    assert (found.value if found is not None else None) == value


def test_collators():
    assert protocols.collator("transformers.DataCollatorForLanguageModeling") == "pads by id"
    assert protocols.collator("trl.trainer.sft_trainer.DataCollatorForLanguageModeling") == "pads by row"
    assert protocols.collator("transformers.DataCollatorForSeq2Seq") == "pads by row"
    assert protocols.collator("transformers.Trainer") == ""
    text = MODEL + "from transformers import DataCollatorForLanguageModeling, Trainer\n"
    created = one(text + "Trainer(model, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))\n", "trainer.create")
    assert created.given["data_collator"].kind == "collator"


def test_tables_of_rows():
    text = (
        "from datasets import load_dataset\nrows = load_dataset('x')\nrows = rows.map(tokenize, batched=True)\n"
        "part = rows['train'].shuffle().map(other)\npart.set_format('torch')\n"
    )
    whole = run(text)
    assert [event.batched for event in events(whole, "table.map")] == [True, False]
    (formatted,) = events(whole, "table.format")
    assert formatted.name == "set_format"


def test_what_a_tokenizer_pads_with():
    event = one("from transformers import AutoTokenizer\nt = AutoTokenizer.from_pretrained('x')\nt.pad_token = t.eos_token\n", "pad.set")
    assert protocols.PAD_NAMES[event.name] == event.value.name and event.value.origin is event.subject
