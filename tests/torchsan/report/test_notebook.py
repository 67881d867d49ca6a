"""A watch in a notebook, in a real kernel: it is begun in one cell and ended in another, and cells have names."""

from __future__ import annotations

import re

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

SET_UP = """
import torch, torchsan
import torch.nn.functional as F

torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
"""
TRAIN = """
for step in range(3):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """Runs cells in one kernel; what each of them printed, errors without colours at the end of it."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def cells(*texts):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in texts])
        nbclient.NotebookClient(notebook, timeout=300, allow_errors=True, kernel_name="python3").execute()
        return ["".join(map(_text, cell.outputs)) for cell in notebook.cells]

    return cells


def _text(output):
    if output.output_type == "display_data":
        return ""  # the table
    text = output["text"] if output.output_type == "stream" else "\n".join(output.get("traceback", ["?"]))
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_cells_have_names(cells):
    out = cells(
        SET_UP,
        "san = torchsan.watch(on_finding='collect').start()",
        TRAIN,
        "san.stop()\nprint(san.report())",
        TRAIN,
        "print(len(san.findings), san.findings[0].count, torchsan.stream.events.listening())",
    )
    assert out[:3] == ["", "", ""]
    assert out[3].startswith("torchsan: 1 finding in 3 optimizer steps\n")
    assert "Cell In[3]:3:5" in out[3] and "3 │     loss.backward()" in out[3], out[3]
    assert out[4:] == ["", "1 2 False\n"]


def test_an_error_in_a_cell_does_not_end_the_watch(cells):
    out = cells(
        SET_UP,
        "with torchsan.watch() as san:\n    model(torch.randn(8, 5))",
        "san = torchsan.watch(on_finding='collect').start()",
        "model(torch.randn(8, 5))",
        TRAIN,
        "san.stop()\nprint([finding.code for finding in san.findings], torchsan.stream.events.listening())",
        "with torchsan.watch(on_finding='raise'):\n    F.cross_entropy(model(x).softmax(1), y)",
        "print(torchsan.stream.events.listening())",
    )
    for cell, row in (2, 2), (4, 1):
        text = " ".join(out[cell - 1].split())
        assert "mat1 and mat2 shapes cannot be multiplied" in text
        assert text.count("torchsan: TS508 shape-chain") == 1
        assert f" at Cell In[{cell}]:{row}: model(torch.randn(8, 5))" in text
    assert out[5] == "['TS508', 'TS101'] False\n"
    assert "SanError" in out[6] and "TS301" in out[6]
    assert out[7] == "False\n"


def test_a_table_shows_the_run(tmp_path, monkeypatch):
    """It stands below the cell that began the watch, is drawn anew meanwhile, and says at last what was found."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    texts = [SET_UP, "san = torchsan.watch(model, on_finding=lambda finding: None).start()", TRAIN, "san.stop()"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in texts])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    assert [len(cell.outputs) for cell in notebook.cells] == [0, 1, 0, 0]
    table = next(output for output in notebook.cells[1].outputs if output.output_type == "display_data")
    assert "<b>torchsan</b> · 3 optimizer steps · loss <b>" in table["data"]["text/html"]
    assert "missing-zero-grad" in table["data"]["text/html"] and "TS101" in table["data"]["text/plain"]


def test_cells_under_a_magic_are_told_as_they_were_typed(cells):
    """What %%time runs has no file, what %%capture runs has one that begins below the magic."""
    net = "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.parts = [torch.nn.Linear(4, 4)]\n" \
          "        self.head = torch.nn.Linear(4, 3)\n    def forward(self, x):\n        return self.head(self.parts[0](x))\nnet = Net()"
    out = cells(
        SET_UP,
        "san = torchsan.watch(on_finding='collect').start()",
        f"%%time\n{net}",
        f"%%time\n# a remark\n{TRAIN.strip()}",
        f"%%capture\n{TRAIN.strip()}",
        "F.cross_entropy(net(x), y).backward()\ntorch.optim.SGD(net.parameters(), lr=0.1).step()",
        "san.stop()\nprint(san.report())",
    )
    assert "Cell In[4]:5:5" in out[6] and "5 │     loss.backward()" in out[6], out[6]
    assert "Cell In[5]:4:5" in out[6] and "4 │     loss.backward()" in out[6], out[6]
    assert "Cell In[3]:5:9" in out[6] and "5 │         self.parts = [torch.nn.Linear(4, 4)]" in out[6], out[6]
    assert "ipykernel" not in out[6] and "run_cell_magic" not in out[6]


def test_a_warning_names_the_cell_once(cells):
    out = cells(SET_UP, "san = torchsan.watch().start()", TRAIN, "san.stop()\nsan")
    assert out[2].count("TS101") == 1 and out[2].startswith("torchsan: Cell In[3]:3: TS101 `loss.backward()`"), out[2]
    assert "ipykernel" not in "".join(out)


def test_the_extension_tells_after_each_cell(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    softmax = TRAIN.strip().replace("model(x)", "model(x).softmax(1)")
    texts = [
        "%load_ext torchsan\n%torchsan", SET_UP.replace(", torchsan", ""), TRAIN, TRAIN, f"%%torchlint --select TL301\n{softmax}\nstep",
        "%torchlint --select TL301", "%torchsan", "%torchsan report report.html", "%torchsan nonsense", "%torchlint --nonsense 1",
        "%torchlint --select nonsense", "%torchsan stop", "%unload_ext torchsan", TRAIN, "%load_ext torchsan", TRAIN,
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in texts])
    nbclient.NotebookClient(book, timeout=300, allow_errors=True, kernel_name="python3").execute()

    def shown(number):
        """Kind, and text, of all outputs of a cell."""
        return [(one.output_type, one.get("text") or one.data["text/plain"]) for one in book.cells[number - 1].outputs]

    assert shown(1) == [("stream", "torchsan: torch was not imported yet: nothing is watched\n")] and shown(2) == []
    (kind, text), = shown(3)
    assert kind == "display_data" and text.startswith("torchsan\nTS101 Cell In[3]:3:5: `loss.backward()` adds to the gradients")
    assert text.count("\n") == 1 and "<td" in book.cells[2].outputs[0].data["text/html"]
    assert shown(4) == []  # the same lines, typed again: nothing new
    (_, lint), (_, result), (_, live) = shown(5)
    assert "TL101" not in lint
    assert lint.startswith("torchlint\nTL301 Cell In[5]:3:12: ") and result == "2" and "TS301 Cell In[5]:3:12: " in live
    assert shown(6)[0][1].count("TL301 Cell In[5]:3:12") == 1 and "<b>torchlint</b>" in book.cells[5].outputs[0].data["text/html"]
    assert shown(7)[0][1].startswith("<torchsan.Watch: ") and "optimizer steps</b>" in book.cells[6].outputs[0].data["text/html"]
    assert "error TS101" in shown(8)[0][1] and (tmp_path / "report.html").is_file()
    assert all(shown(number)[0][1].startswith("UsageError: ") for number in (9, 10, 11))
    assert shown(13) == shown(14) == [] and "TS101" in shown(16)[0][1]
