"""python -m tests.torchsan.errors.provoked: writes the tables anew, after the words were changed on purpose. Read the difference."""

import torch

from tests.torchsan.errors.provoked import HERE, cases, write

torch.set_num_threads(1)
for table in sorted(HERE.glob("*.txt")):
    write(table, [case.program for case in cases(table)])
