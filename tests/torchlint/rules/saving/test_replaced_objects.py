"""901 of what takes the place of an object of a class."""

from tests.torchlint.dryrun.support import holds, table

MEMORY = """
import os
from collections import OrderedDict
from pathlib import Path

class Memory:
    def __init__(self, size):
        self.size, self.items = size, []

    def add(self, item):
        self.items.append(item)
"""


@table({
    "in one of two ways": MEMORY + """
def main(args, env):
    if os.path.exists(args.memory):
        memory = torch.load(args.memory)  # <- 901
    else:
        memory = Memory(args.size)
    memory.add(env.reset())
""",
    "after it was made": MEMORY + """
def main(args, env):
    memory = Memory(args.size)
    if args.resume:
        memory = torch.load(args.resume)  # <- 901
    memory.add(env.reset())
""",
    "an attribute, in another method": MEMORY + """
class Agent:
    def __init__(self, args):
        self.memory = Memory(args.size)

    def restore(self, path):
        self.memory = torch.load(path)  # <- 901
""",
    "a class of another file": """
from data import Vocabulary

def main(args):
    vocabulary = None
    if args.vocabulary:
        vocabulary = torch.load(args.vocabulary)  # <- 901
    else:
        vocabulary = Vocabulary(args.words)
    return vocabulary
""",
    "said to be read so": MEMORY + """
def main(args):
    memory = Memory(args.size)
    if args.resume:
        memory = torch.load(args.resume, weights_only=False)
    return memory
""",
    "what is tried": MEMORY + """
def main(args):
    memory = Memory(args.size)
    try:
        memory = torch.load(args.resume)
    except Exception:
        pass
    return memory
""",
    "the name of a file": MEMORY + """
def main(args):
    checkpoint = Path(args.folder)
    file = Memory(args.folder)
    if args.resume:
        checkpoint = torch.load(checkpoint)
        file = torch.load(file.size)
    return checkpoint, file
""",
    "something that is no object of a class": MEMORY + """
def main(args):
    if args.resume:
        state = torch.load(args.resume)
        weights = torch.load(args.weights)
        size = torch.load(args.sizes)
    else:
        state = OrderedDict()
        weights = torch.FloatTensor(3)
        size = 3
    return state, weights, size
""",
    "another thing in between": MEMORY + """
def main(args):
    found = Memory(3)
    if args.plain:
        found = {}
    if args.resume:
        found = torch.load(args.resume)
    return found
""",
    "another thing of that name behind it": MEMORY + """
def main(args):
    found = torch.load(args.resume)
    weights = found["weights"]
    found = Memory(weights)
    return found
""",
})
def test_replaced(code):
    holds(code)
