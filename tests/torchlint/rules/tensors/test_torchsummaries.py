"""401: torchsummary makes an input on the GPU for a model that is on the CPU."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import os
from torchsummary import summary
from torchvision import models

{head}

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x):
        {forward}
        return self.layers(x)


def show(helper):
    model = {made}
    {then}
    {summary}
"""


def program(summary="summary(model, (4,))", made="Net()", then="", head="", forward="", told=False):
    return PROGRAM.format(summary=summary + ("  # <- 401" if told else ""), made=made, then=then, head=head, forward=forward)


@table({
    "of a model of the program": program(told=True),
    "of one of torchvision": program("summary(model, (3, 224, 224))", "models.resnet18(weights='DEFAULT')", told=True),
    "by name": program("summary(model, input_size=(4,), batch_size=2)", told=True),
    "on cuda": program("summary(model, (4,), device='cuda')", told=True),
    "printed before": program(then="print(model)", told=True),
    "for the CPU": program("summary(model, (4,), device='cpu')"),
    "for the device": program("summary(model, (4,), device=helper.device)"),
    "for the CPU, by place": program("summary(model, (4,), -1, 'cpu')"),
    "moved": program(then="model.cuda()"),
    "moved in place": program("summary(model.cuda(), (4,))"),
    "moved where there is a GPU": program(then="if torch.cuda.is_available():\n        model.cuda()"),
    "made on the device": program(made="nn.Linear(4, 2, device=helper.device)"),
    "made by somebody who is not seen": program(made="helper.model()"),
    "moved by somebody who is not seen": program(then="helper.place(model)"),
    "where there is no GPU": program("if not torch.cuda.is_available():\n        summary(model, (4,))"),
    "without a GPU in sight": program(head='os.environ["CUDA_VISIBLE_DEVICES"] = "-1"'),
    "the model brings it": program(forward="x = x.to(self.layers[0].weight.device)"),
    "another package of that name": program("summary(model, (4,), col_names=['input_size'])"),
    "without weights": program(made="nn.Flatten()"),
})
def test_summaries(code):
    holds(code)


def test_another_function_of_that_name():
    holds(program(told=False).replace("from torchsummary", "from torchinfo"))
