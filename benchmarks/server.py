"""How long somebody waits for the language server: a line typed into a file of a project, and what is told of it.

    python benchmarks/server.py speechbrain/ timm/

Lays out 200 Python files of these folders as warm.py does, starts `torchlint server`, opens the five files that are nearest to 600
lines, and types a line into a function in the middle of each, again and again. Counted is the time from the last key to the
answer, with the pause that the server waits for (`delay`), and the CPU time of the server's process; beside it the CPU time of
the command on the same file, with nothing in the cache. Linux alone: CPU times come from /proc. Writes its part of RESULTS.md, between
its marks.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from results import RESULTS, put  # noqa: E402
from warm import EACH, lay_out, rows_of, typed  # noqa: E402

_TICKS = os.sysconf("SC_CLK_TCK")


class Client:
    """Talks to a server over its standard input and output, one message after the other."""

    def __init__(self, folder: Path):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "torchlint", "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        self._send({"id": 1, "method": "initialize", "params": {"capabilities": {}, "rootUri": folder.as_uri(), "processId": None}})
        while "result" not in self._receive():
            pass
        self._send({"method": "initialized", "params": {}})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        length = 0
        while (line := self._process.stdout.readline().strip()):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise EOFError("the server is gone")
        return json.loads(self._process.stdout.read(length))

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Sends a notification."""
        self._send({"method": method, "params": params})

    def answer(self, uri: str, version: int) -> int:
        """Waits for what is told of a version of a text; how much that is."""
        while True:
            message = self._receive()
            params = message.get("params", {})
            if message.get("method") == "textDocument/publishDiagnostics" and (params["uri"], params.get("version")) == (uri, version):
                return len(params["diagnostics"])

    def quiet(self) -> None:
        """Waits until the server has nothing to do: what a file says by itself is told before what others make known."""
        before = -1.0
        while before != (before := self.cpu()):
            time.sleep(1)

    def cpu(self) -> float:
        """The CPU seconds of the server so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def close(self) -> None:
        """Ends the server."""
        self._process.stdin.close()
        self._process.wait()


def rows(files: Sequence[Path], project: Path, rounds: int) -> list[list[str]]:
    """The table's rows, by file."""
    client = Client(project)
    table = []
    for path in files:
        uri, text = path.as_uri(), path.read_text(encoding="utf-8")
        client.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}})
        client.answer(uri, 1)
        client.quiet()
        walls, cpus = [], []
        for turn in range(rounds):
            document, change = {"uri": uri, "version": turn + 2}, {"text": typed(text, turn)}
            cpu, began = client.cpu(), time.perf_counter()
            client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
            client.answer(uri, turn + 2)
            walls.append(time.perf_counter() - began)
            cpus.append(client.cpu() - cpu)
        client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        client.quiet()
        command = statistics.median(_command(path) for _ in range(3))
        cpu = statistics.median(cpus[1:])
        table.append([
            path.name, f"{rows_of(path):,}", f"{statistics.median(walls[1:]):.2f} s", f"{max(walls[1:]):.2f} s", f"{walls[0]:.2f} s",
            f"{cpu:.2f} s", f"{command:.2f} s", f"{command / max(cpu, 1 / _TICKS):.0f}",
        ])
    client.close()
    return table


def _command(path: Path) -> float:
    """The CPU seconds of the command on a file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "torchlint", "--no-cache", "-q", path], stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write(table: list[list[str]], count: int, lines: int, names: str) -> None:
    """Puts the table between its marks in RESULTS.md."""
    head = f"""## How long somebody waits for the language server

`python benchmarks/server.py`, {date.today()}: a line typed into a file of a project of {count} files and {lines:,} lines of {names};
from the last key to the answer, with the 0.1 s that the server waits for another key. CPU seconds of the server for an answer
(they are counted in hundredths), and of the command on the same file. Load average {os.getloadavg()[0]:.1f}; {platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.

| file | lines | answer | the slowest | the first | CPU | command | command against server |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
    put("server", head + "".join(f"| {' | '.join(row)} |\n" for row in table), RESULTS)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--dry", action="store_true", help="print the table and write nothing")
    options = parser.parse_args()
    folders = [folder.resolve() for folder in options.folders]
    with tempfile.TemporaryDirectory() as place:
        files = lay_out(folders, Path(place), options.files)
        table = rows(files[:EACH], Path(place), options.rounds)
        lines = sum(map(rows_of, files))
    for row in table:
        print(" | ".join(row))
    if not options.dry:
        write(table, len(files), lines, ", ".join(folder.name for folder in folders))


if __name__ == "__main__":
    main()
