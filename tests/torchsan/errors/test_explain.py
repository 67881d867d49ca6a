"""torch's errors explained: number, place, module, operands, where these were made, and the mend."""

from __future__ import annotations

import re
import sys
import textwrap
import traceback

import pytest
import torch
from torch import nn

import torchsan
from torchsan.errors import explain, inplace, operands
from torchsan.errors import note as notes
from torchsan.errors.known import FAMILIES
from torchsan.report import wording
from torchsan.report.mends import MENDS

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.head = nn.Linear(5, 2)
        self.mask = torch.ones(4, device="meta")

    def forward(self, x, way=None):
        if way == "mask":
            return x * self.mask
        if way == "sigmoid":
            gate = torch.sigmoid(x @ self.encoder[0].weight.t())
            gate += 1
            return gate
        h = self.encoder(x)
        if way == "head":
            return self.head(h)
        return h

model = Net()
x = torch.randn(8, 4)
"""
SAMPLES = """
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __init__(self, make):
        self.make = make
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return self.make(index)

"""
# A program, its pitfall, and what the note must say.
CASES = {
    "shape of a layer": ("model(x, 'head')", 508, [
        "in  Net.head (Linear)", "self.head.weight  float32 [2, 5] on cpu, strides (5, 1)", "h  float32 [8, 3] on cpu",
        "made at PROGRAM:20: h = self.encoder(x)", "the last dimension of the input is 3, and the layer takes 5",
    ]),
    "shape inside of a Sequential": ("model.encoder[2] = nn.Linear(7, 3)\nmodel(x)", 508, [
        "in  Net.encoder.2 (Linear)", "input of encoder.2  float32 [8, 8]", "made by encoder.1 (ReLU)",
        "weight of encoder.2  float32 [3, 7]",
    ]),
    "product": ("x @ torch.randn(5, 2)", 508, [
        "the last dimension of the left one is 4, and the first of the right one is 5",
    ]),
    "channels": ("nn.Conv1d(4, 2, 1)(torch.randn(8, 5, 4))", 508, [
        "what  dimension 1 is the channels: the layer takes 4, the input has 5; dimension 2 of the input has 4",
    ]),
    "handed on under other names": ("""
def step(batch):
    given, labels = batch
    return F.cross_entropy(model(given), labels)

step((x, torch.zeros(7, dtype=torch.long)))""", 308, [
        "what  the output has 8 rows, the target 7", "labels  int64 [7]", "made at PROGRAM:32: step((x,",
    ]),
    "binary targets": (
        "labels = torch.ones(8, 3, dtype=torch.long)\nF.binary_cross_entropy(model(x).sigmoid(), labels)", 306,
        ["what  `labels` is int64", "`labels.float()`"],
    ),
    "a target that has no name": (
        "labels = torch.ones(8, dtype=torch.long)\nF.cross_entropy(model(x), labels.float())", 306,
        ["what  `target of cross_entropy` is float32", "`target.long()`"],
    ),
    "binary shapes": (
        "F.binary_cross_entropy_with_logits(model(x), torch.ones(8))", 308,
        ["the output is [8, 3], the target [8]", "these are class numbers against 3 scores: `F.cross_entropy`"],
    ),
    "shapes of a sum": ("y = torch.ones(3, 5)\nx + y", 508, ["y  float32 [3, 5]", "made at PROGRAM:27: y = "]),
    "cat": ("torch.cat([x, torch.randn(3, 5)])", 508, ["x  float32 [8, 4]"]),
    "conv": ("nn.Conv2d(3, 4, 3)(x.view(1, 1, 8, 4))", 508, ["in  Conv2d", "weight of Conv2d  float32 [4, 3, 3, 3]"]),
    "device": (
        "model(x, 'mask')", 401, ["self.mask  float32 [4] on meta", "made at PROGRAM:11", "self.mask.to(device)"],
    ),
    "device of a model": ("nn.Linear(4, 2, device='meta')(x)", 401, ["weight of Linear  float32 [2, 4] on meta"]),
    "view": (
        "t = x.t()\nt.view(-1)", 406, ["t  float32 [4, 8] on cpu, strides (1, 4)", "made at PROGRAM:27: t = x.t()"],
    ),
    "integers": ("rows = torch.ones(8, 4, dtype=torch.long)\nmodel(rows)", 409, [
        "in  Net.encoder.0 (Linear)", "x  int64 [8, 4]", "made at PROGRAM:27: rows = torch.ones",
    ]),
    "double": ("model(x.double())", 410, ["float64 [8, 4]", "made at PROGRAM:27: model(x.double())"]),
    "index": ("F.embedding(x, torch.randn(4, 4))", 411, ["x  float32 [8, 4]", "`x.long()`"]),
    "index of a tensor": ("i = torch.tensor([1.5])\nx[i]", 411, ["i  float32 [1]"]),
    "target dtype": ("labels = torch.ones(8)\nF.cross_entropy(model(x), labels)", 306, ["labels  float32 [8]"]),
    "target range": ("labels = torch.full((8,), 9)\nF.cross_entropy(model(x), labels)", 307, [
        "labels  int64 [8]", "there is no class 9 among 3: they count from 0 to 2",
    ]),
    "loss shape": ("F.cross_entropy(x, torch.zeros(7, dtype=torch.long))", 308, [
        "what  the output has 8 rows, the target 7", "keep the batch in front",
    ]),
    "backward twice": (
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nloss = model(x).sum()\nloss.backward()\n"
        "loss.backward()", 107,
        ["at  PROGRAM:30: loss.backward()", "where  PROGRAM:29: loss.backward(): the backward before it"],
    ),
    "no graph": ("x.sum().backward()", 108, ["no_grad"]),
    "numpy": ("model(x).numpy()", 416, ["detach"]),
    "expanded": (
        "e = torch.ones(1).expand(4)\ne += 1", 414, ["e  float32 [4] on cpu, strides (0,)", "PROGRAM:27: e ="],
    ),
    "in place, on a leaf": ("model.head.weight += 1", 114, ["at  PROGRAM:27: model.head.weight += 1"]),
    "made under inference_mode": (
        "with torch.inference_mode():\n    h = x * 2\nmodel(h)", 205,
        ["at  PROGRAM:20: h = self.encoder(x)", "made at PROGRAM:28: h = x * 2"],
    ),
    "einsum": ("torch.einsum('ij,jk->ik', x, torch.randn(5, 2))", 428, ["x  float32 [8, 4]"]),
    "memory": ("torch.empty(1 << 48)", None, ["torchsan: out-of-memory:", "1 PiB were asked for", "checkpointing"]),
    "embedding": ("i = torch.tensor([9])\nF.embedding(i, x)", None, [
        "torchsan: index-out-of-range:", "i  int64 [1]", "what  `i` holds 9, and `x` has 8 rows, 0 to 7",
    ]),
    "positions": (
        "class Text(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.tokens, self.places = nn.Embedding(100, 4), nn.Embedding(16, 4)\n"
        "    def forward(self, ids):\n"
        "        return self.tokens(ids) + self.places(torch.arange(ids.shape[1]))\n"
        "Text()(torch.full((2, 20), 99))", None, [
            "in  Text.places (Embedding)",
            "what  `input of embedding` holds 19, and `self.places.weight` has 16 rows, 0 to 15: `input of embedding` "
            "counts 20 positions, more than there are rows", "one of positions,",
        ],
    ),
    "an index that has no name": ("i = torch.tensor([99])\nF.embedding(i * 0 + 9, x)", None, [
        "what  `input of embedding` holds 9, and `x` has 8 rows, 0 to 7",
    ]),
    "an index beside another one": ("i, j = torch.tensor([99]), torch.tensor([9])\nx[i * 0 + j]", None, [
        "torchsan: index-out-of-range:", "what  `j` holds 9, and `x` has 8 rows, 0 to 7",
    ]),
    "an index of a column": ("i = torch.tensor([5])\nx[:, i]", None, ["`i` holds 5, and `x` has 4 columns, 0 to 3"]),
    "an index into one of two dimensions of a size": (
        "i = torch.tensor([9])\ny = torch.ones(5, 5)\ny[:, i]", None, ["`i` holds 9, and `y` has 5 places there, 0"],
    ),
    "an index into one of two dimensions": (
        "i = torch.tensor([9])\ntorch.index_select(x, 0, i)", None, ["what  `i` holds 9\n"],
    ),
    "an index below zero": ("i = torch.tensor([-9, 3])\nx[i]", None, ["what  `i` holds -9, and `x` has 8 rows"]),
    "device of a plain tensor, on the left": (
        "class Shifted(Net):\n    def forward(self, x):\n        return self.mask * x\nShifted()(x)", 401,
        ["what  `self.mask` is on meta, `x` is on cpu", "self.mask.to(device)"],
    ),
    "a layer left behind": (
        "model.head = nn.Linear(3, 2)\nmodel.encoder.to('meta')\nmodel(x.to('meta'), 'head')", 401,
        ["in  Net.head (Linear)", "what  the parameters of `self.head` are on cpu, all others of `Net` on meta",
         "`self.head.to(device)`"],
    ),
    "layers left behind": (
        "outer = nn.Sequential(nn.Linear(4, 4), model)\nouter[0].to('meta')\nouter(x.to('meta'))", 401,
        ["in  Sequential.1.encoder.0 (Linear)",
         "what  the parameters of `Sequential.1` are on cpu, all others of `Sequential` on meta"],
    ),
    "a layer that the model does not know": (
        "class Many(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.first, self.others = nn.Linear(4, 4), [nn.Linear(4, 4)]\n"
        "    def forward(self, x):\n        return self.others[0](self.first(x))\n"
        "Many().to('meta')(x.to('meta'))", 401,
        ["what  the parameters of `self.others[0]` are on cpu, all others of `Many` on meta"],
    ),
    "an input left behind": (
        "model.to('meta')(x)", 401, ["what  `x` is on cpu, `weight of encoder.0` is on meta", "`x.to(device)`"],
    ),
    "a value that has no name, on another device": (
        "class Cat(Net):\n    def forward(self, x):\n        h = self.encoder(x)\n"
        "        return torch.cat([h, torch.ones(8, 3)])\nCat().to('meta')(x.to('meta'))", 401,
        ["h  float32 [8, 3] on meta", "mend  move it first, `x = x.to(device)`"],
    ),
    "two tensors of no model, on two devices": (
        "other = torch.ones(4, device='meta')\nx + other", 401,
        ["what  `x` is on cpu, `other` is on meta", "mend  move it first, `x = x.to(device)`"],
    ),
    "targets on another device": (
        "out = model(x)\nlabels = torch.zeros(8, 3, device='meta')\nF.mse_loss(out, labels)", 401,
        ["what  `labels` is on meta, `out` is on cpu", "labels.to(device)"],
    ),
    "integers beside others": (
        "rows, i = torch.ones(8, 4, dtype=torch.long), torch.arange(8)\nmodel.encoder[0](rows[i])", 409,
        ["what  `input of Linear` is int64"],
    ),
    "samples of different sizes": (SAMPLES + "next(iter(DataLoader(Samples(lambda i: (0, torch.ones(i))), 4)))", 615, [
        "what  `sample[1]`: [0], [1], [2], [3]", "pad_sequence",
    ]),
    "samples of different sizes, by name": (
        SAMPLES + "next(iter(DataLoader(Samples(lambda i: {'a': 0, 'b': [[1] * i, 2]}), 4)))", 615,
        ["what  `sample['b'][0]`: 0 items, 1 items, 2 items, 3 items"],
    ),
    "samples of different sizes, in a worker": (
        SAMPLES + "next(iter(DataLoader(Samples(lambda i: torch.ones(i)), 4, num_workers=1)))", 615,
        ["what  sample 0 of the batch is [0], sample 1 is [1]", "what  in worker 0"],
    ),
    "stacked by a collate_fn of one's own": (SAMPLES + """
def stack(samples):
    return torch.stack(samples)
next(iter(DataLoader(Samples(torch.ones), 4, collate_fn=stack)))""", 615, ["what  the samples: [0], [1], [2], [3]"]),
    "stacked by the dataset": (
        SAMPLES + "def item(i):\n    return torch.stack([x, x[0]])\nnext(iter(DataLoader(Samples(item), 4)))", 508,
        ["x  float32 [8, 4]"],
    ),
    "a sample that is None": (SAMPLES + "next(iter(DataLoader(Samples(lambda i: None), 4)))", None, [
        "torchsan: sample-of-unknown-type:", "a path of `__getitem__` that returns nothing",
    ]),
    "sampler and shuffle": (
        SAMPLES + "DataLoader(Samples(None), sampler=range(8), shuffle=True)", 608, ["sampler decides the order"],
    ),
    "batch_sampler and batch_size": (
        SAMPLES + "DataLoader(Samples(None), batch_size=4, batch_sampler=[[0]])", 608, ["at  PROGRAM:"],
    ),
    "a stream that is to be shuffled": (
        SAMPLES + "class Lines(torch.utils.data.IterableDataset):\n    __iter__ = iter\nDataLoader(Lines(), shuffle=True)",
        608, ["keep the one that is meant"],
    ),
    "persistent_workers": (SAMPLES + "DataLoader(Samples(None), persistent_workers=True)", 612, ["`num_workers` of 1"]),
    "prefetch_factor": (SAMPLES + "DataLoader(Samples(None), prefetch_factor=2)", 612, ["`num_workers` of 1"]),
    "context": (
        SAMPLES + "DataLoader(Samples(None), multiprocessing_context='fork')", 612, ["`num_workers` of 1"],
    ),
    "in place, in the frame": (
        "w = torch.ones(3, requires_grad=True)\ne = w.exp()\ne[0] = 0\ne.sum().backward()", 115, [
        "where  PROGRAM:29: e[0] = 0: `e` is changed in place here",
    ]),
    "in place, in the forward": ("loss = model(x, 'sigmoid').sum()\nloss.backward()", 115, [
        "where  PROGRAM:18: gate += 1: in the forward",
    ]),
    "in place, by the optimizer": (
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nout = model(x)\na, b = out.sum(), (out ** 2).sum()\n"
        "a.backward(retain_graph=True)\noptimizer.step()\nb.backward()", 115,
        ["where  PROGRAM:31: optimizer.step(): this step changes the weights"],
    ),
}


@pytest.mark.parametrize(("program", "row", "name"), [
    ("w = torch.ones(3, requires_grad=True)\ne = w.exp()\ne[0] = 0\ne.sum().backward()", 29, "e"),
    ("loss = model(x, 'sigmoid').sum()\nloss.backward()", 18, "gate"),
])
def test_written_in_place_is_found_where_it_is_written(run, program, row, name):
    ran = run(HEAD + program + "\n", select="TS115")
    [finding] = ran.findings
    assert finding.location.row == row
    assert f"`{name} = {name} + ...`" in finding.help
    assert [other.message for other in finding.related][0] == "backward needs the value as it was"
    assert "`function`" not in finding.message and "`name`" not in finding.message


def test_our_words_where_a_page_names_what_is_not_known(monkeypatch):
    """A page's message may ask for roles that torchlint knows and a run does not."""
    page = wording.rule(508, "").__class__
    odd = page(508, "shape-chain", "s", "correctness", "0.1", "{problem} in {unheard}", "h", "", "", "", {}, "", "")
    with pytest.raises(RuntimeError):
        with torchsan.watch(on_finding="collect", select="TS508") as san:
            san.pages = {508: odd}
            nn.Linear(5, 2)(torch.randn(8, 4))
    [finding] = san.findings
    assert finding.message.startswith(MENDS[508][1])


def squeezed(text):
    return re.sub(r"(?<=\S)  +", "  ", text)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes came with Python 3.11")
@pytest.mark.parametrize("name", CASES)
def test_note(run, name, tmp_path):
    program, number, wanted = CASES[name]
    ran = run(HEAD + program + "\n")
    [note] = ran.error.__notes__
    path = str(next(tmp_path.glob("program_*.py")))
    note = squeezed(note.replace(path, "PROGRAM"))
    assert note.startswith(f"torchsan: TS{number:03d} " if number else "torchsan: ")
    for part in wanted:
        assert part in note, note
    assert "mend  " in note
    codes = {f.number for f in ran.findings} - {501, 502}
    assert codes == ({number} if number else set()), ran.san.report()
    assert len([f for f in ran.findings if f.number == number]) <= 1


def test_the_error_itself_stays_the_same():
    x = torch.randn(8, 4)

    def raised(watched):
        try:
            if watched:
                with torchsan.watch(on_finding="collect"), torchsan.watch(on_finding="collect"):
                    nn.Linear(5, 2)(x)
            else:
                nn.Linear(5, 2)(x)
        except RuntimeError as error:
            return error

    bare, watched = raised(False), raised(True)
    assert (type(bare), bare.args) == (type(watched), watched.args)
    assert len(getattr(watched, "__notes__", [1])) == 1


def test_printed_where_python_knows_no_notes(capsys):
    class Old(RuntimeError):
        @property
        def add_note(self):
            raise AttributeError

    error = Old("x")
    notes.attach(error, "torchsan: what it is")
    notes.attach(error, "torchsan: what it is")
    assert capsys.readouterr().err == "torchsan: what it is\n"


def test_an_error_that_cannot_carry_anything():
    class Slotted(Exception):
        def __setattr__(self, name, value):
            raise AttributeError(name)

    notes.attach(Slotted(), "torchsan: x")


@pytest.mark.parametrize("error", [
    KeyError("a"), RuntimeError("of my own"), KeyboardInterrupt(), AssertionError("shape")],
)
def test_other_errors_are_left_alone(error):
    with pytest.raises(type(error)):
        with torchsan.watch(on_finding="collect") as san:
            raise error
    assert not hasattr(error, "__notes__") and not san.findings and not san.off


def test_what_is_not_asked_for_is_not_explained(run):
    ran = run(HEAD + "x.t().view(-1)", ignore="TS406,TS502")
    assert not ran.findings and not hasattr(ran.error, "__notes__")


def test_anomaly_mode_tells_where_it_was_made(run):
    ran = run(textwrap.dedent("""
        import torch
        def make(w):
            return w * 2

        with torch.autograd.detect_anomaly():
            t = make(torch.ones(3, 4, requires_grad=True)).t()
            u = t
            u.view(-1)
    """), ignore="TS502")
    assert "made at" in "".join(traceback.format_exception(ran.error))
    [finding] = ran.findings
    assert finding.related[0].location.row == 7


def test_unused_parameters_are_named():
    model = nn.Module()
    wrapper = nn.parallel.DistributedDataParallel.__new__(nn.parallel.DistributedDataParallel)
    nn.Module.__init__(wrapper)
    wrapper.module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))

    def forward(self):
        raise RuntimeError("Expected to have finished reduction in the prior iteration before starting a new one.\n"
                           "Parameter indices which did not receive grad for rank 0: 2 3")

    with pytest.raises(RuntimeError) as caught:
        forward(wrapper)
    told = explain.explain(caught.value)
    assert (told.number, told.facts) == (809, ["no gradient for 1.weight, 1.bias"])
    assert model is not None


def test_the_rerun_leaves_no_trace():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(4)
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            y = torch.sigmoid(self.drop(self.norm(x)))
            y.mul_(2)
            return y

    model, x = Odd(), torch.randn(8, 4)
    with pytest.raises(RuntimeError):
        with torchsan.watch(model, on_finding="collect") as san:
            loss = model(x).sum()
            before = [b.clone() for b in model.buffers()], torch.get_rng_state()
            loss.backward()
    assert all(torch.equal(a, b) for a, b in zip(before[0], model.buffers()))
    assert torch.equal(before[1], torch.get_rng_state())
    [finding] = [f for f in san.findings if f.number == 115]
    assert any("in the forward" in other.message for other in finding.related)


@pytest.mark.parametrize("kind", ["gone", "not plain"])
def test_no_rerun_without_the_inputs(kind):
    class Sigmoid(nn.Module):
        def forward(self, x):
            y = torch.sigmoid(x[0] if isinstance(x, list) else x)
            y += 1
            return y

    def run(model):
        x = torch.randn(3, requires_grad=True) * 1
        return model([x] if kind == "not plain" else x.clone()).sum()

    model = nn.Sequential(Sigmoid())
    with pytest.raises(RuntimeError):
        with torchsan.watch(model, on_finding="collect", select="TS115") as san:
            run(model).backward()
    [finding] = [f for f in san.findings if f.number == 115]
    assert not finding.related and not san.off


def test_a_message_without_shape_names_no_place():
    assert inplace.find(RuntimeError("modified by an inplace operation"), [], None) == []


def test_looking_up_runs_nothing():
    class Trap:
        @property
        def value(self):
            raise AssertionError("a property was run")

    trap, frame = Trap(), sys._getframe()
    node = operands.ast.parse("trap.value", mode="eval").body
    assert operands.look_up(frame, node) is None
    assert operands.look_up(frame, operands.ast.parse("1", mode="eval").body) is None
    assert trap is not None


def test_sparse_tensors_have_no_strides():
    assert "torch.sparse_coo" in operands.describe(torch.eye(2).to_sparse())


def test_cuda_in_a_worker_is_told_at_the_line_of_the_worker(run):
    """The words are those of `torch.cuda._lazy_init` in a forked process."""
    ran = run(HEAD + SAMPLES + textwrap.dedent("""
        def item(i):
            raise RuntimeError("Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
                               "must use the 'spawn' start method")  # the last line of the call

        for batch in DataLoader(Samples(item), 4, num_workers=1):
            pass
    """))
    [finding] = ran.findings
    lines = (HEAD + SAMPLES).count("\n")
    assert (finding.number, finding.location.row) == (607, lines + 3)
    assert [other.location.row for other in finding.related] == [lines + 6]


def test_two_ranks_on_one_gpu(run):
    """NCCL's own words; the page speaks of the line that put the model there, which the error does not know."""
    text = (
        "NCCL error in: ProcessGroupNCCL.cpp:94, invalid usage\\nLast error:\\n"
        "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000"
    )
    [finding] = run(f"raise RuntimeError('{text}')\n").findings
    assert finding.number == 804 and finding.message.startswith(MENDS[804][1])
    assert "torch.cuda.set_device(local_rank)" in finding.help


def test_no_deterministic_implementation(run):
    program = "import torch\ntorch.zeros(3).put_(torch.tensor([1]), torch.tensor([1.0]))\n"
    torch.use_deterministic_algorithms(True)
    try:
        [finding] = run(program, select="TS934").findings
        assert not run(program).findings
    finally:
        torch.use_deterministic_algorithms(False)
    assert finding.number == 934 and finding.location.row == 2
    assert finding.message.startswith(MENDS[934][1] + " (put_ does not have a deterministic implementation")


def test_every_kind_has_words():
    for family in FAMILIES:
        assert family.number in MENDS if family.number is not None else family.name and family.what and family.mend, family


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu():
    model = nn.Linear(4, 2).cuda()
    rows = torch.randn(8, 4)
    with pytest.raises(RuntimeError) as caught:
        with torchsan.watch(on_finding="collect") as san:
            model(rows)
    assert [f.number for f in san.findings] == [401]
    assert "rows  float32 [8, 4] on cpu" in squeezed(caught.value.__notes__[0])
    with pytest.raises(torch.OutOfMemoryError) as caught:
        with torchsan.watch(on_finding="collect"):
            torch.empty(10**14, device="cuda")
    assert "torchsan: out-of-memory" in caught.value.__notes__[0]
