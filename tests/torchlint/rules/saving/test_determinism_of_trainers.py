"""932: a trainer of Lightning that is asked for equal results, and for the fastest algorithms."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
import lightning.pytorch as lp
import pytorch_lightning as pl
from pytorch_lightning import Trainer

def main(net, loader, same):
    trainer = {made}
    trainer.fit(net, loader)
"""


@table({
    "both": CODE.format(made="pl.Trainer(max_epochs=3, benchmark=True, deterministic=True)  # <- 932"),
    "imported by name": CODE.format(made="Trainer(deterministic=True, benchmark=True)  # <- 932"),
    "of the new package": CODE.format(made="lp.Trainer(deterministic=True, benchmark=True)  # <- 932"),
    "over several lines": CODE.format(made="Trainer(\n        deterministic=True,\n        benchmark=True,  # <- 932\n    )"),
    "one of them": CODE.format(made="pl.Trainer(deterministic=True)"),
    "the other": CODE.format(made="pl.Trainer(benchmark=True)"),
    "no race": CODE.format(made="pl.Trainer(benchmark=False, deterministic=True)"),
    "an option": CODE.format(made="pl.Trainer(benchmark=True, deterministic=same)"),
    "one or the other": CODE.format(made="pl.Trainer(benchmark=not same, deterministic=same)"),
    "a word of warning alone": CODE.format(made='pl.Trainer(benchmark=True, deterministic="warn")'),
})
def test_of_a_trainer(code):
    holds(code)
