"""944 of a tokenizer by any name."""

from tests.torchlint.dryrun.support import holds, table

START = """
from transformers import AutoModelForCausalLM, AutoProcessor, AutoTokenizer
tok = AutoTokenizer.from_pretrained("gpt2", padding_side="left")
model = AutoModelForCausalLM.from_pretrained("gpt2")
"""


@table({
    "in a script": START + """
batch = tok(["a", "b c"], padding=True, return_tensors="pt")
out = model.generate(batch["input_ids"])  # <- 944
""",
    "in a function": START + """
def answer(texts):
    batch = tok(texts, padding="longest", return_tensors="pt")
    return model.generate(batch.input_ids)  # <- 944
""",
    "in a class": START + """
class Writer:
    def __init__(self):
        self.tok, self.model = AutoTokenizer.from_pretrained("a"), AutoModelForCausalLM.from_pretrained("a")

    def answer(self, texts):
        ids = self.tok(texts, padding=True, return_tensors="pt")["input_ids"]
        return self.model.generate(ids)  # <- 944
""",
    "by its name": START + """
def embed(texts):
    batch = tok(texts, padding=True, return_tensors="pt")
    return model(input_ids=batch["input_ids"]).logits  # <- 944
""",
    "to generate, by its name": START + """
def answer(texts):
    ids = tok.batch_encode_plus(texts, padding=True, return_tensors="pt")["input_ids"]
    return model.generate(inputs=ids, max_new_tokens=3)  # <- 944
""",
    "of one kind": """
from transformers import BertModel, BertTokenizerFast
words, bert = BertTokenizerFast.from_pretrained("a"), BertModel.from_pretrained("a").eval()


def embed(texts):
    batch = words(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        mask = batch["attention_mask"]
        good = bert(input_ids=batch["input_ids"], attention_mask=mask)
        return good, bert(input_ids=batch["input_ids"])  # <- 944
""",
    "with its mask": START + """
batch = tok(["a", "b c"], padding=True, return_tensors="pt")
out = model.generate(batch["input_ids"], attention_mask=batch["attention_mask"])
out = model.generate(**batch)
""",
    "one text": START + """
batch = tok("a b", return_tensors="pt")
out = model.generate(batch["input_ids"])
""",
    "not a tokenizer": START + """
prepare = AutoProcessor.from_pretrained("a")
batch = prepare(["a"], padding=True, return_tensors="pt")
out = model.generate(batch["input_ids"])
""",
})
def test_a_tokenizer_is_known_by_where_it_comes_from(code):
    holds(code)
