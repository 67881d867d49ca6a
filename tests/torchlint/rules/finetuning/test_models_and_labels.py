"""001 to 004, 118 and 203 of hosted models, in the forms that they have in programs, and what is right beside them."""

from tests.torchlint.dryrun.support import holds, table

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
