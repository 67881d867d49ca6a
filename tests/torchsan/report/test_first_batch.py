"""The first batch of a language model: what is told of it, by whom it is read, and that the run is as it would be without."""

from __future__ import annotations

import io
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import torchsan
from tests.torchsan.test_same_numbers import digest, states
from torchsan.program import letters
from torchsan.program.tokenizers import Reader, find
from torchsan.report.first_batch import (
    NO_FORWARD,
    NO_IDS,
    NO_TARGET,
    NONE,
    NOT_THESE,
    FirstBatch,
    Run,
    Shown,
    as_html,
    as_text,
    lines,
    tell,
)

CLASSES = 32


class Words(nn.Module):
    """A model of the next token."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(CLASSES, 8)
        self.dropout = nn.Dropout(0.1)
        self.out = nn.Linear(8, CLASSES)

    def forward(self, ids):
        return self.out(self.dropout(self.embed(ids)))


class Tokens:
    """Decodes ids as letters; `decode` is all that a tokenizer of one's own needs."""

    eos_token_id = 1

    def decode(self, ids):
        return "".join(chr(ord("a") + one) for one in ids)


def trained(target, ids=None, model=None, steps=2, **options):
    """The first batch of a few steps, where `target` makes a target of the ids."""
    torch.manual_seed(0)
    model = Words() if model is None else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    ids = torch.randint(2, CLASSES, (3, 10)) if ids is None else ids
    with torchsan.watch(model, on_finding="collect", **options) as san:
        for _ in range(steps):
            optimizer.zero_grad()
            wanted = target(ids)
            F.cross_entropy(model(ids)[:, : wanted.shape[1]].flatten(0, 1), wanted.flatten()).backward()
            optimizer.step()
    assert not san.off, san.off
    return san, ids


@pytest.mark.parametrize(
    ("target", "relation"),
    [
        (lambda ids: ids[:, 1:], "next"),
        (lambda ids: F.pad(ids[:, 1:], (0, 1), value=-100), "next"),
        (lambda ids: ids, "same"),
        (lambda ids: F.pad(ids[:, 2:], (0, 2), value=-100), "second"),
        (lambda ids: ids.flip(1), "other"),
        (lambda ids: torch.where(torch.arange(10) % 5 == 0, ids.flip(1), -100), "filled in"),
    ],
)
def test_how_the_target_lies_to_the_input(target, relation):
    san, _ = trained(target)
    assert san.first_batch.relation == relation


def test_what_counts_is_told_apart():
    def target(ids):
        wanted = F.pad(ids[:, 1:], (0, 1), value=-100)
        wanted[:, :4] = -100
        return wanted

    san, ids = trained(target, tokenizer=Tokens())
    batch = san.first_batch
    assert (batch.rows, batch.length, batch.counted) == (3, 10, 15)
    read = Tokens().decode
    assert batch.shown[0] == [Run(read(ids[0, :5].tolist()), False), Run(read(ids[0, 5:].tolist()), True)]
    assert batch.step == [15]
    assert batch.tokenizer == "Tokens"


def test_a_token_beyond_the_input_is_shown():
    text = torch.randint(2, CLASSES, (2, 11))
    san, _ = trained(lambda ids: text[:, 1:], ids=text[:, :-1])
    assert san.first_batch.shown[0][-1].text.endswith(f" {text[0, -1]}")


def test_all_but_the_first_of_each_row():
    told = trained(lambda ids: ids[:, 1:])[0].report()
    assert "3 rows of 10 tokens, 27 of 30 count for the loss (all but the first of each row, with nothing before it)" in told
    told = trained(lambda ids: F.pad(ids[:, 1:9], (0, 2), value=-100))[0].report()
    assert "24 of 30 count for the loss\n" in told


def test_another_text_stands_below_its_input():
    lines = trained(lambda ids: ids.flip(1))[0].report().splitlines()
    rows = [line[:17].split() for line in lines if "│" in line]
    assert rows == [["row", "0", "input"], ["counts"], ["row", "1", "input"], ["counts"]]


def test_groups_stand_below_each_other():
    model = Words()
    optimizer = torch.optim.Adafactor([{"params": [p]} for p in model.parameters()], lr=0.01)
    ids = torch.randint(2, CLASSES, (3, 10))
    with torchsan.watch(model, on_finding="collect") as san:
        F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()
    told = san.report()
    assert "\n  Adafactor group 0: learning rate 0.01, 256 values" in told and "\n  batch     3 rows" in told


def test_columns_may_be_sequences():
    text = torch.randint(2, CLASSES, (13, 4))
    san, _ = trained(lambda ids: text[1:], ids=text[:-1])
    batch = san.first_batch
    assert (batch.relation, batch.length, batch.shown[0][-1].text) == ("next", 12, " ".join(str(int(one)) for one in text[1:, 0]))


def test_parameters_and_rates():
    model = Words()
    model.embed.requires_grad_(False)
    san, _ = trained(lambda ids: ids[:, 1:], model=model)
    parts = san.first_batch.parameters
    assert (parts.frozen, parts.trained, parts.unknown) == (CLASSES * 8, CLASSES * 9, 0)
    assert [(group.optimizer, group.rate, group.values, group.learning) for group in parts.groups] == [("AdamW", 0.01, CLASSES * 17, CLASSES * 9)]
    assert "288 of 544 values (52.9 %), kept in float32" in san.report()


def test_the_rate_that_a_schedule_leaves():
    model = Words()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step / 4)
    ids = torch.randint(2, CLASSES, (3, 10))
    with torchsan.watch(model, on_finding="collect") as san:
        for _ in range(3):
            for _ in range(2):
                F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    told = san.report()
    assert "learning rate 0 in the first step (a schedule scales 0.5)" in told
    assert "2 batches in the first step, 54 tokens that count (27, 27)" in told


def test_no_language():
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchsan.watch(model, on_finding="collect") as san:
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 3, 4)), torch.randint(0, 4, (8,))).backward()
            optimizer.step()
    assert san.first_batch is None and "batch" not in san.report()
    told, *rest = repr(san.batch()).splitlines()
    assert told == f"torchsan: {NONE}: {NO_IDS}" and "looked for is a forward" in rest[0]
    assert told in san.batch()._repr_html_() and "<code>labels</code>" in san.batch()._repr_html_()


def test_why_there_is_none():
    model, ids = Words(), torch.randint(0, 9, (4, 6))
    with torchsan.watch(model, on_finding="collect") as san:
        with torch.no_grad():
            model(ids)
        assert san.batch().why == NO_FORWARD
        scores = model(ids)
        scores.sum().backward()
        assert san.batch().why == NO_TARGET
        F.cross_entropy(model(ids).mean(1), torch.randint(0, 3, (4,))).backward()
        assert san.batch().why == NOT_THESE
        nn.Linear(2, 2)(torch.ones(2, 2)).sum().backward()
        assert san.batch().why == NOT_THESE and NOT_THESE in repr(san.batch())


def test_a_classifier_of_texts_is_no_language_model():
    class Classifier(Words):
        def forward(self, ids):
            return super().forward(ids).mean(1)

    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchsan.watch(model, on_finding="collect") as san:
        F.cross_entropy(model(torch.randint(0, 9, (4, 6))), torch.randint(0, 3, (4,))).backward()
        optimizer.step()
    assert san.first_batch is None


def test_nothing_is_changed():
    """Numbers, gradients and random states, by a model that draws random numbers."""

    def run(watched):
        torch.manual_seed(3)
        model = Words()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        ids = torch.randint(2, CLASSES, (3, 10))
        san = torchsan.watch(model, on_finding="collect", tokenizer=Tokens())
        if watched:
            san.start()
        for _ in range(3):
            loss = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        if watched:
            san.stop()
            assert san.first_batch is not None
        return loss.item(), digest(model.parameters()), states()

    assert repr(run(False)) == repr(run(True))


NASTY = "<script>alert(1)</script>\x1b[31m\u202e##[error]::set\n"


def hostile():
    runs = [Run(NASTY, False), Run(NASTY, True, role="eos"), Run(NASTY * 200, None, left_out=9, end=NASTY)]
    return FirstBatch(NASTY, 1, 3, 1, 3, None, "next", False, NASTY, "", [runs], [1])


def test_hostile_text_takes_over_nothing():
    page = as_html(hostile())
    assert "<script" not in page and "&lt;script&gt;" in page
    for text in (page, as_text(hostile())):
        assert "\x1b" not in text and "\u202e" not in text and "##[" not in text


def test_names_of_the_program_are_code():
    batch = hostile()
    batch.moved_by_model = True
    assert "moves its <code>labels</code> itself" in as_html(batch)
    assert '<span class="masked">dimmed</span> ones do not' in Shown(batch)._repr_html_()


def test_a_long_run_is_cut_in_a_terminal():
    run = Run("x" * 5000, True)
    batch = FirstBatch("M", 1, 3, 1, 3, None, "next", False, "", "", [[run]], [1])
    assert max(map(len, as_text(batch).splitlines())) < 400 and "x" * 5000 in as_html(batch)


def test_a_stream_without_the_letters():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    tell(hostile(), stream)
    assert b"first batch" in raw.getvalue()


def test_colours(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = io.StringIO()
    tell(hostile(), out)
    assert "\x1b[2m" in out.getvalue() and len(lines(hostile())) >= 4


class TestReader:
    def test_roles(self):
        class Both:
            bos_token_id, eos_token_id, pad_token_id, all_special_ids = 3, 1, 1, [1, 3, 7]

        assert Reader(Both()).roles == {3: "bos", 1: "eos and pad", 7: "mark"}

    def test_the_config_knows_them_too(self):
        class Config:
            bos_token_id, eos_token_id, pad_token_id = 0, [1, 2], None

        assert Reader(None, Config()).roles == {0: "bos", 1: "eos", 2: "eos"}

    @pytest.mark.parametrize(("loaded", "name"), [("gpt2", "Named of gpt2"), ("/home/me/tiny/", "Named of tiny"), ("", "Named")])
    def test_the_name_says_what_was_loaded(self, loaded, name):
        class Named:
            name_or_path = loaded

        assert Reader(Named()).name == name

    def test_what_cannot_be_decoded_is_shown_as_ids(self):
        class Broken:
            def decode(self, ids):
                raise OverflowError

        assert Reader(Broken()).text([4, 5]) == "4 5"


class TestFind:
    """The tokenizer that is nearest to the training."""

    @staticmethod
    def made():
        tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
        return tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}, unk_token="a"))

    @staticmethod
    def asked():
        return find(sys._getframe())

    def test_a_variable_of_a_caller(self):
        ours = self.made()
        assert self.asked() is ours

    def test_what_a_loader_puts_together_by(self):
        class Collator:
            def __init__(self, tokenizer):
                self.words = tokenizer

            def __call__(self, rows):
                return rows

        loader = torch.utils.data.DataLoader([1], collate_fn=Collator(self.made()))
        assert self.asked() is loader.collate_fn.words

    def test_none(self):
        assert self.asked() is None


class Characters:
    """A data set as the small examples have it."""

    def __init__(self):
        self.itos = {at: chr(ord("A") + at) for at in range(CLASSES)}


class TestLetters:
    """A table of the program's own."""

    @staticmethod
    def read(ids, count=CLASSES):
        found = letters.find(sys._getframe(1), count)
        return found and found.decode(ids)

    def test_a_list(self):
        chars = [chr(ord("A") + at) for at in range(CLASSES)]
        assert self.read([0, 2, 1]) == "ACB" and len(chars) == CLASSES

    def test_ids_by_text(self):
        stoi = {f"w{at}": at for at in range(CLASSES)}
        assert self.read([0, 2]) == "w0 w2" and stoi

    def test_in_a_data_set(self):
        data = Characters()
        assert self.read([1]) == "B" and data

    def test_another_size(self):
        chars = [chr(ord("A") + at) for at in range(CLASSES)]
        assert self.read([0], CLASSES + 1) is None and chars

    @pytest.mark.parametrize("table", [["a"] * CLASSES, [1] * CLASSES, {at + 1: str(at) for at in range(CLASSES)}, {str(at): 0 for at in range(CLASSES)}])
    def test_no_table(self, table):
        assert self.read([0]) is None and table

    def test_the_first_batch_is_read_by_it(self):
        chars = [chr(ord("A") + at) for at in range(CLASSES)]
        san, ids = trained(lambda ids: ids[:, 1:])
        assert "".join(run.text for run in san.first_batch.shown[0]) == "".join(chars[one] for one in ids[0].tolist())
        assert "as the loss sees it, read by the program's own table of texts\n" in san.report()
