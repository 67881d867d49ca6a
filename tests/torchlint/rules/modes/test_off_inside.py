"""202: a forward that switches gradients off itself, for what a flag asks of it."""

import pytest

from tests.torchlint.dryrun.support import engine, holds

MODEL = """
import torch
import torch.nn as nn


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x=None, z=None, reverse=False):
        if reverse:
            {back}
        return self.second(self.first(x))
"""
BACK = {
    "off": "with torch.no_grad():\n                return self.first(self.second(z))",
    "on": "return self.first(self.second(z))",
    "off for a part": "with torch.no_grad():\n                z = self.second(z)\n            return self.first(z)",
}
TRAINS = """
def train(flow, optimizer, loader, writer):
    for epoch in range(9):
        for x in loader:
            optimizer.zero_grad()
            z = flow(x=x)
            z.pow(2).mean().backward()
            optimizer.step()
        flow.eval()
        for x in loader:
            writer.add_image("sample", flow(z=z.detach(), reverse=True).data{mark}
        flow.train()
"""
BEGINS = """
flow = Flow()
train(flow, torch.optim.Adam(flow.parameters()), loader, writer)
"""


@pytest.mark.parametrize("back", BACK)
def test_a_flag_asks_for_what_has_no_graph(back):
    mark = ")" if back == "off" else ")  # <- 202"
    holds(MODEL.format(back=BACK[back]) + TRAINS.format(mark=mark) + BEGINS)


@pytest.mark.parametrize("wraps", ["", "    flow = nn.DataParallel(flow)\n"], ids=["as it is", "wrapped"])
@pytest.mark.parametrize("back", ["off", "on"])
def test_a_model_of_another_file_is_handed_over(back, wraps, tmp_path):
    (tmp_path / "setup.cfg").write_text("[metadata]\nname = flows\n")
    (tmp_path / "flows.py").write_text(MODEL.format(back=BACK[back]))
    trains = "import torch\nimport torch.nn as nn\nfrom flows import Flow\n" + TRAINS.format(mark=")").replace("    for epoch", wraps + "    for epoch")
    (tmp_path / "training.py").write_text(trains)
    told = [finding.code for finding in engine().check(str(tmp_path / "training.py"), trains).findings]
    assert told == ([] if back == "off" else ["TL202"])
