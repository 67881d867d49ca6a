"""001 to 004, 118 and 203 of hosted models, in the forms that they have in programs, and what is right beside them."""

from tests.torchlint.dryrun.support import IMPORTS, engine, holds, table

STEP = """
    for batch in loader:
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
PEFT = "from peft import LoraConfig, PeftModel, get_peft_model\nfrom transformers import AutoModelForCausalLM\n"
BASE = "    model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-0.5B')\n"
OPTIMIZER = "    optimizer = torch.optim.AdamW(model.parameters())\n"
LOOP = STEP.format(loss="model(**batch).loss")


def adapted(*lines, loop=LOOP):
    return PEFT + "def finetune(loader):\n" + BASE + "".join(lines) + loop


@table({
    "the optimizer before the adapter": adapted(OPTIMIZER, "    model = get_peft_model(model, LoraConfig())  # <- 004\n"),
    "and once more behind it": adapted(OPTIMIZER, "    model = get_peft_model(model, LoraConfig())\n", OPTIMIZER),
    "told of the new parameters": adapted(
        OPTIMIZER, "    model = get_peft_model(model, LoraConfig())\n",
        "    optimizer.add_param_group({'params': [p for p in model.parameters() if p.requires_grad]})\n",
    ),
    "loaded for inference": adapted("    model = PeftModel.from_pretrained(model, 'a')  # <- 004\n", OPTIMIZER),
    "loaded to be trained": adapted("    model = PeftModel.from_pretrained(model, 'a', is_trainable=True)\n", OPTIMIZER),
    "perhaps to be trained": adapted("    model = PeftModel.from_pretrained(model, 'a', is_trainable=loader.train)\n", OPTIMIZER),
    "thawed by hand": adapted(
        "    model = PeftModel.from_pretrained(model, 'a')\n",
        "    for name, p in model.named_parameters():\n        p.requires_grad = 'lora' in name\n", OPTIMIZER,
    ),
    "merged, and another one put in": adapted(
        "    model = PeftModel.from_pretrained(model, 'a').merge_and_unload()\n", "    model = get_peft_model(model, LoraConfig())\n", OPTIMIZER,
    ),
})
def test_adapters(code):
    holds(code)


@table({
    "moved by a name": adapted(OPTIMIZER, loop="""
    for batch in loader:
        ids = batch["input_ids"]
        x, y = ids[:, :-1], ids[:, 1:]
        inputs = ids[:, :-1]
        labels = ids[:, 1:].contiguous()
        loss = model(input_ids=inputs, labels=labels).loss  # <- 002
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""),
    "rolled": adapted(OPTIMIZER, loop=STEP.format(loss="model(batch['input_ids'], labels=batch['input_ids'].roll(-1, 1)).loss  # <- 002")),
    "not moved": adapted(OPTIMIZER, loop=STEP.format(loss="model(batch['input_ids'], labels=batch['input_ids']).loss")),
    "both cut at the end": adapted(
        OPTIMIZER, loop=STEP.format(loss="model(batch['input_ids'][:, :-1], labels=batch['input_ids'][:, :-1]).loss")
    ),
    "cut at the start, both": adapted(
        OPTIMIZER, loop=STEP.format(loss="model(batch['input_ids'][:, 1:], labels=batch['input_ids'][:, 1:]).loss")
    ),
    "an encoder and a decoder": adapted(
        OPTIMIZER, loop=STEP.format(loss="model(batch['input_ids'][:, :-1], labels=batch['input_ids'][:, 1:]).loss")
    ).replace("ForCausalLM", "ForSeq2SeqLM").replace("finetune(loader):\n", "finetune(loader):\n    torch.manual_seed(0)\n")
    .replace(OPTIMIZER, OPTIMIZER + "    model.train()\n"),
    "a loss of one's own": adapted(
        OPTIMIZER, loop=STEP.format(loss="F.cross_entropy(model(batch['ids']).logits[:, :-1].flatten(0, 1), batch['ids'][:, 1:].flatten())")
    ),
    "which moves nothing": adapted(
        OPTIMIZER, loop=STEP.format(loss="F.cross_entropy(model(batch['ids']).logits.flatten(0, 1), batch['ids'].flatten())  # <- 003")
    ),
    "against labels": adapted(
        OPTIMIZER, loop=STEP.format(loss="F.cross_entropy(model(batch['ids']).logits.flatten(0, 1), batch['labels'].flatten())")
    ),
})
def test_labels(code):
    holds(code)


BERT = "from transformers import AutoModelForSequenceClassification as Auto, BertModel, Trainer\ndef finetune(loader):\n"
MODEL = "    model = Auto.from_pretrained('bert-base-uncased')\n"


@table({
    "as it came": BERT + MODEL + OPTIMIZER + STEP.format(loss="model(**batch).loss  # <- 203"),
    "put in training mode": BERT + MODEL + OPTIMIZER + "    model.train()\n" + LOOP,
    "by somebody else": BERT + MODEL + OPTIMIZER + "    model = setup(model)\n" + LOOP,
    "made of a configuration": BERT + MODEL.replace("from_pretrained('bert-base-uncased')", "from_config(loader.config)") + OPTIMIZER + LOOP,
    "frozen, with a head that trains": BERT + """
    body, head = BertModel.from_pretrained('bert-base-uncased'), nn.Linear(768, 2)
    optimizer = torch.optim.AdamW(head.parameters())
""" + STEP.format(loss="F.cross_entropy(head(body(batch['ids']).pooler_output), batch['labels'])"),
    "by a Trainer": BERT + MODEL + "    Trainer(model=model, train_dataset=loader).train()\n",
    "without dropout": BERT + MODEL.replace("bert-base-uncased", "meta-llama/Llama-3.2-1B") + OPTIMIZER + LOOP,
})
def test_models_that_come_in_evaluation_mode(code):
    holds(code)


TOKENS = "from transformers import AutoModelForCausalLM, AutoTokenizer\ndef finetune(loader):\n    tokenizer = AutoTokenizer.from_pretrained('Qwen/Qwen2.5-0.5B')\n"


def padded(first="", call="model(**batch, labels=batch['input_ids']).loss  # <- 315", pads="padding=True", before="", rest="", model=BASE):
    """A loop over texts that are tokenized in it."""
    lines = f"        batch = tokenizer(texts, {pads}, return_tensors='pt')\n{before}        loss = {call}\n"
    end = "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
    return TOKENS + model + OPTIMIZER + first + "    for texts in loader:\n" + lines + (rest or end)


PLAIN = "model(**batch, labels=batch['input_ids']).loss"


@table({
    "the tokens themselves": padded(),
    "a copy of them": padded(call='model(**batch, labels=batch["input_ids"].clone()).loss  # <- 315', pads="padding='max_length'"),
    "by names": padded(
        call="model(input_ids=ids, attention_mask=batch['attention_mask'], labels=labels).loss  # <- 315",
        before="        ids = batch['input_ids'].to('cuda')\n        labels = ids.clone()\n", pads="padding='longest'",
    ),
    "in a model with adapters": padded(model="    from peft import LoraConfig, get_peft_model\n" + BASE + "    model = get_peft_model(model, LoraConfig())\n"),
    "no padding": padded(call=PLAIN, pads="truncation=True"),
    "one text at a time": padded(call=PLAIN, first="    loader = torch.utils.data.DataLoader(loader, batch_size=1)\n"),
    "masked": padded(
        call="model(**batch, labels=labels).loss", before="        labels = batch['input_ids'].masked_fill(batch['attention_mask'] == 0, -100)\n"
    ),
    "masked in place": padded(
        call="model(**batch, labels=labels).loss",
        before="        labels = batch['input_ids'].clone()\n        labels[batch['attention_mask'] == 0] = -100\n",
    ),
    "by a collator": padded(call=PLAIN, first="    collate = transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False)\n"),
    "other tokens": padded(call="model(**batch, labels=tokenizer(texts, padding=True)['input_ids']).loss"),
    "not trained": padded(call=PLAIN, rest="        print(loss.item())\n"),
    "not known which model": padded(call=PLAIN, model="    model = load_model()\n"),
})
def test_padding_in_labels(code):
    holds(code)


def test_the_line_that_pads_is_named():
    text = IMPORTS + "# a comment\n" + padded()
    (finding,) = [one for one in engine().check("snippet.py", text).findings if one.number == 315]
    row = 1 + next(at for at, line in enumerate(text.split("\n")) if "padding=" in line)
    assert f"line {row} pads them" in finding.message
    text = (
        "from transformers import AutoTokenizer, DataCollatorForLanguageModeling\n\ntokenizer = AutoTokenizer.from_pretrained('gpt2')\n"
        "tokenizer.pad_token = tokenizer.eos_token\ncollate = DataCollatorForLanguageModeling(tokenizer, mlm=False)\n\n\n"
        "def encode(row):\n    return tokenizer(row['answer'] + tokenizer.eos_token, truncation=True)\n"
    )
    (finding,) = [one for one in engine().check("snippet.py", text).findings if one.number == 1]
    assert "line 5 masks" in finding.message
    either = text.replace("from_pretrained('gpt2')", "from_pretrained('gpt2' if small else 'gpt2-xl') if known else AutoTokenizer.from_pretrained(path)")
    assert either != text and [one.number for one in engine().check("snippet.py", either).findings if one.number == 1] == [1]


OWN = PEFT + """from transformers import Trainer, TrainingArguments


class OwnTrainer(Trainer):
{body}
    def compute_loss(self, model, inputs, **more):
        return model(**inputs).loss


def finetune(data):
    base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
    model = PeftModel.from_pretrained(base, "adapter"{how})
    trainer = OwnTrainer(model, TrainingArguments("out"), train_dataset=data)
    trainer.train()
"""


@table({
    "an adapter for inference in a trainer of one's own": OWN.format(body="", how="").replace('"adapter")', '"adapter")  # <- 004'),
    "an adapter that trains": OWN.format(body="", how=", is_trainable=True"),
    "a trainer that is made in another way": OWN.format(body="    def __init__(self, model, args, **more):\n        super().__init__(thaw(model), args, **more)\n", how=""),
    "a trainer that trains in another way": OWN.format(body="    def train(self):\n        thaw(self.model)\n", how=""),
})
def test_a_trainer_of_ones_own(code):
    holds(code)
