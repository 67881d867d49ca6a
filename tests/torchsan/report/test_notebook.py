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
