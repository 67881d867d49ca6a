"""A `with` of a library that knows nothing of autograd: gradients are on within as they are around it."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
import contextlib, tempfile, threading, warnings
import helpers, mlflow
import speech_recognition as sr
from alive_progress import alive_bar
from rich.console import Console
from torch.utils.tensorboard import SummaryWriter

console = Console()


class Trainer:
    def __init__(self, model, guard):
        self.lock, self.model, self.guard = threading.Lock(), model, guard

    def validate(self, loader):
        self.model.eval()
        with {entered}:
            for x, y in loader:
                print((self.model(x).argmax(1) == y).sum().item()){mark}
"""
KNOWN = (
    "self.lock", "warnings.catch_warnings()", "tempfile.TemporaryDirectory() as folder", "contextlib.redirect_stdout(None)", "mlflow.start_run()",
    "sr.Microphone() as source", "alive_bar(10) as bar", "console.status('validating')", "SummaryWriter() as writer",
)
MAYBE = ("self.guard", "helpers.quiet()", "contextlib.nullcontext(self.guard), self.guard", "torch.no_grad()", "warnings.catch_warnings(), torch.no_grad()")


@table({entered: CODE.format(entered=entered, mark="  # <- 202") for entered in KNOWN} | {
    entered: CODE.format(entered=entered, mark="") for entered in MAYBE
})
def test_entered(code):
    holds(code)
