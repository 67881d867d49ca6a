"""The process of the server: standard output is the editor's, whoever else prints goes to standard error."""

from __future__ import annotations

import logging
import os
import sys

from torchlint.files.garbage import only_if_much
from torchlint.server.features import made
from torchlint.server.language_server import Server


def run(verbose: bool) -> int:
    """Serve until the editor is done.

    Returns:
        0 where it said so, 1 where it went without a word.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(message)s")
    logging.getLogger("torchlint").setLevel(logging.INFO if verbose else logging.WARNING)
    only_if_much()
    if sys.stdin.isatty():
        print("torchlint server: an editor starts this, and talks to it; Ctrl-C ends it (docs/editors.md)", file=sys.stderr)
    wire = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    server: Server = made()
    server.start_io(sys.stdin.buffer, wire)
    sys.stderr.flush()
    # What is being judged has nobody left to wait for it.
    os._exit(0 if server.asked_to_end else 1)
