"""What is known of a program's command line: a switch that is on whatever is typed."""

import pytest

from tests.torchlint.dryrun.support import events, runs

PROGRAM = """
import argparse

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument(%s)
    return parser.parse_args()

def main():
    args = options()
    if args.use_ema:
        torch.save(1, "on")
    else:
        torch.save(2, "off")

main()
"""


def saved(said):
    return sorted(event.args[0].value for run in runs(PROGRAM % said) for event in events(run, "save"))


@pytest.mark.parametrize("said, ways", [
    ('"--use-ema", action="store_true", default=True', [1]),
    ('"-e", "--use-ema", action="store_true", default=True, help="keep an average"', [1]),
    ('"--average", dest="use_ema", action="store_true", default=True', [1]),
    ('"--use-ema", action="store_false", default=False', [2]),
    ('"--use-ema", action="store_true"', [1, 2]),
    ('"--use-ema", action="store_true", default=False', [1, 2]),
    ('"--use-ema", action="store_false", default=True', [1, 2]),
    ('"--use-ema", type=int, default=1', [1, 2]),
    ('"--use-ema", action="store_true", default=True); parser.set_defaults(use_ema=False', [1, 2]),
])
def test_switches(said, ways):
    assert saved(said) == ways
