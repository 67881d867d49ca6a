"""203: a part of the project's own model that `from_pretrained` gives in evaluation mode, and that is trained so."""

import torchlint

from tests.torchlint.dryrun.support import holds, table

CLASSIFIER = """
from transformers import BertModel

class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel.from_pretrained("bert-base-cased")
        self.head = nn.Linear(768, 10)
        {init}

    def forward(self, ids, mask):
        {forward}
        return self.head(pooled)

def train(model, loader, device):
    optimizer = torch.optim.AdamW({held}, lr=1e-5)
    model = model.to(device)
    for epoch in range(3):
        {before}
        for ids, mask, labels in loader:
            loss = F.cross_entropy(model(ids.to(device), mask.to(device)), labels.to(device)){mark}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

def main(loader):
    model = Classifier()
    {prepare}
    train(model, loader, "cuda")
"""
CALLED = "pooled = self.bert(ids, attention_mask=mask)[1]"


def classifier(init="pass", forward=CALLED, held="model.parameters()", before="pass", prepare="pass", mark=""):
    return CLASSIFIER.format(init=init, forward=forward, held=held, before=before, prepare=prepare, mark=mark)


@table({
    "in the forward": classifier(mark="  # <- 203"),
    "of its output's name": classifier(forward="pooled = self.bert(input_ids=ids, attention_mask=mask).pooler_output", mark="  # <- 203"),
    "in a method of the forward": classifier(forward="pooled = self._pooled(ids, mask)\n        pooled = pooled * 2", mark="  # <- 203").replace(
        "    def forward", "    def _pooled(self, ids, mask):\n        return self.bert(ids, attention_mask=mask)[1]\n\n    def forward"),
    "given from outside": classifier(mark="  # <- 203").replace('BertModel.from_pretrained("bert-base-cased")', "bert").replace(
        "def __init__(self)", "def __init__(self, bert)").replace("Classifier()", 'Classifier(BertModel.from_pretrained("bert-base-cased"))'),
    "with two groups of parameters": classifier(held='[{"params": model.parameters()}]', mark="  # <- 203"),
})
def test_found(code):
    holds(code)


@table({
    "put in training mode": classifier(prepare="model.train()"),
    "in each epoch": classifier(before="model.train()"),
    "the part alone": classifier(init="self.bert.train()"),
    "frozen": classifier(init="self.bert.requires_grad_(False)"),
    "asked without gradients": classifier(forward="with torch.no_grad():\n            pooled = self.bert(ids, attention_mask=mask)[1]"),
    "the head is trained alone": classifier(held="model.head.parameters()"),
    "something unseen is given the model": classifier(prepare="prepare(model)"),
    "without dropout by its kind": classifier().replace("BertModel", "LlamaModel").replace("bert-base-cased", "meta-llama/Llama-3.2-1B"),
})
def test_silent(code):
    holds(code)


BEHIND = """
from transformers import BertForSequenceClassification

@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = sum((model(ids).logits.argmax(1) == labels).sum() for ids, labels in loader)
    model.train()
    return right

def train(loader, held_out, other, prepare):
    model = BertForSequenceClassification.from_pretrained("bert-base-cased")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    {before}
    for epoch in range(3):
        {first}
        for step, (ids, labels) in enumerate(loader):
            {inside}
            loss = F.cross_entropy(model(ids).logits, labels){mark}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        {behind}
"""


def behind(behind="print(evaluate(model, held_out))", before="pass", first="pass", inside="pass", mark=""):
    return BEHIND.format(behind=behind, before=before, first=first, inside=inside, mark=mark)


@table({
    "in the evaluation": behind(mark="  # <- 203"),
    "now and then": behind("if epoch % 2 == 0:\n            evaluate(model, held_out)", mark="  # <- 203"),
    "another model before": behind(before="other = nn.Linear(2, 2).train()", mark="  # <- 203"),
    "of a part": classifier(mark="  # <- 203").replace("optimizer.step()\n", "optimizer.step()\n        model.train()\n"),
})
def test_put_in_training_mode_behind(code):
    holds(code)


@table({
    "before the epochs": behind(before="model.train()"),
    "at the start of each": behind(first="model.train()"),
    "in each step": behind(inside="model.train()"),
    "evaluated before": behind(before="print(evaluate(model, held_out))"),
    "something unseen is put before": behind(before="other.train()"),
    "something unseen is given the model": behind(before="prepare(model)"),
    "of a part, before": classifier(prepare="model.train()").replace("optimizer.step()\n", "optimizer.step()\n        model.train()\n"),
    "of a part, the part": classifier(prepare="model.bert.train()").replace("optimizer.step()\n", "optimizer.step()\n        model.train()\n"),
    "on a path before": behind(before="if prepare:\n        model.train()"),
})
def test_put_in_training_mode_before(code):
    holds(code)


def test_the_part_is_told_by_its_name(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import torch\nfrom torch import nn\nimport torch.nn.functional as F\n" + classifier(), "utf-8")
    found = [finding for finding in torchlint.check([path], isolated=True, cache=False) if finding.code == "TL203"]
    assert [finding.message.partition(" trains")[0] for finding in found] == ["`bert` of `model`"]
