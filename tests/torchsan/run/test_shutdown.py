"""`torchsan run` while Python shuts a program down: its threads, pools, child processes and exit callbacks end as they
do without us, and are watched until then.

The time given to a program is there to end one that would hang, and says nothing else.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from tests.torchsan.run.test_run import BROKEN, ENV

PATIENCE = 120

# What a program does; each without torch, in which it would take ten times as long, unless it says so.
PROGRAMS = {
    "an idle pool of threads": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        print(pool.submit(pow, 2, 3).result())
    """,
    "a pool that is at work": """
        import time
        from concurrent.futures import ThreadPoolExecutor
        ThreadPoolExecutor(2).submit(lambda: (time.sleep(0.2), print("worked")))
        pool = ThreadPoolExecutor(2)
        pool.submit(lambda: (time.sleep(0.4), print("worked, too")))
        print("main")
    """,
    "an idle pool of processes": """
        from concurrent.futures import ProcessPoolExecutor
        if __name__ == "__main__":
            pool = ProcessPoolExecutor(1)
            print(pool.submit(pow, 2, 3).result())
    """,
    "an idle pool of processes, under a watch": """
        import torch
        from concurrent.futures import ProcessPoolExecutor
        if __name__ == "__main__":
            pool = ProcessPoolExecutor(1)
            print(pool.submit(pow, 2, 3).result())
    """,
    "a pool of multiprocessing": """
        import multiprocessing
        context = multiprocessing.get_context("fork")
        pool = context.Pool(1)
        print(pool.map(abs, [-1, 2]))
    """,
    "a child that an exit callback releases": """
        import atexit, multiprocessing, torch
        context = multiprocessing.get_context("fork")
        def job(event):
            event.wait()
            print("child", flush=True)
        event = context.Event()
        context.Process(target=job, args=(event,)).start()
        print("main", flush=True)
        atexit.register(lambda: (print("exit", flush=True), event.set()))
    """,
    "a thread that an exit callback of threading releases": """
        import threading
        end = threading.Event()
        threading.Thread(target=lambda: (end.wait(), print("released"))).start()
        threading._register_atexit(end.set)
    """,
    "a daemon thread": """
        import threading, time
        threading.Thread(target=time.sleep, args=(10 ** 6,), daemon=True).start()
        print("main")
    """,
    "a daemon child": """
        import multiprocessing, time
        context = multiprocessing.get_context("fork")
        context.Process(target=time.sleep, args=(10 ** 6,), daemon=True).start()
        print("main")
    """,
    "threads first, then exit callbacks, the last one first": """
        import atexit, threading, time
        atexit.register(print, "first registered")
        threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
        atexit.register(lambda: (print("middle"), atexit.register(print, "while it ends")))
        atexit.register(print, "last registered")
        print("main")
    """,
    "an exit callback that fails": """
        import atexit
        atexit.register(print, "after it")
        atexit.register(lambda: 1 / 0)
    """,
    "an exit callback that exits": """
        import atexit, sys
        atexit.register(print, "after it")
        atexit.register(sys.exit, 4)
    """,
    "a thread that fails late": """
        import threading, time
        def job():
            time.sleep(0.2)
            raise ValueError("late")
        threading.Thread(target=job).start()
    """,
    "sys.exit with open pools": """
        import sys
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
        if __name__ == "__main__":
            pools = ThreadPoolExecutor(1), ProcessPoolExecutor(1)
            print([pool.submit(pow, 2, 3).result() for pool in pools])
            sys.exit(3)
    """,
    "sys.exit with words, told before the shutdown": """
        import atexit, sys
        atexit.register(lambda: print("bye", file=sys.stderr))
        sys.exit("why")
    """,
    "an error with open pools, told before the shutdown": """
        import sys, threading, time
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        print(pool.submit(pow, 2, 3).result())
        threading.Thread(target=lambda: (time.sleep(0.2), print("thread", file=sys.stderr))).start()
        raise ValueError("x")
    """,
    "os._exit with an open pool": """
        import os, sys
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        print(pool.submit(pow, 2, 3).result(), flush=True)
        os._exit(7)
    """,
    "SIGTERM with an open pool": """
        import os, signal
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        print(pool.submit(pow, 2, 3).result(), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
    """,
    "an interrupt with an open pool": """
        import os, signal, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs are born deaf to it
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        print(pool.submit(pow, 2, 3).result(), flush=True)
        def wait():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        wait()
    """,
    "workers of a loader that persist": """
        import torch
        from torch.utils.data import DataLoader
        loader = DataLoader(range(4), num_workers=1, persistent_workers=True, multiprocessing_context="fork")
        print(sum(loader), sum(loader))
    """,
    "children of torch's, joined": """
        import torch.multiprocessing
        def job(rank): print("child", flush=True)
        torch.multiprocessing.start_processes(job, nprocs=2, start_method="fork")
        print("main")
    """,
    "children of torch's, left to the shutdown": """
        import time, torch.multiprocessing
        def job(rank): time.sleep(0.3); print("child", flush=True)
        torch.multiprocessing.start_processes(job, nprocs=2, join=False, start_method="fork")
        print("main", flush=True)
    """,
    "what functions held is let go of first": """
        import atexit, sys
        class Held:
            def __del__(self): print("gone")
        def main():
            held = Held()
            sys.exit(0)
        atexit.register(print, "bye")
        main()
    """,
    "a process that is forked": """
        import atexit, os, sys
        atexit.register(lambda: print("bye", flush=True))
        if os.fork() == 0: sys.exit(0)
        os.wait()
    """,
}


def ended(command, folder, **env):
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env={**ENV, **env}, capture_output=True, encoding="utf-8",
        timeout=PATIENCE,
    )


def run(*options, folder, **env):
    return ended(["-m", "torchsan", "run", *options, "a.py"], folder, **env)


def write(folder, text):
    (folder / "a.py").write_text(textwrap.dedent(text))


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=[name.replace(" ", "-") for name in PROGRAMS])
def test_as_under_python(tmp_path, text):
    write(tmp_path, text)
    bare = ended(["a.py"], tmp_path)
    assert "SyntaxError" not in bare.stderr and (bare.stdout or bare.stderr)
    for options in ((), ("--fail",)):
        watched = run("-q", "--ignore", "ALL", *options, folder=tmp_path)
        assert (watched.returncode, watched.stdout) == (bare.returncode, bare.stdout), watched.stderr
        assert address_free(watched.stderr) == address_free(bare.stderr)


def address_free(text):
    """What is told of errors in threads and callbacks names objects by where they are."""
    return "\n".join(line.split(" at 0x")[0] for line in text.splitlines())


@pytest.mark.parametrize("options", [(), ("--fail",)], ids=["", "fail"])
def test_interrupted_while_threads_are_waited_for(tmp_path, options):
    write(tmp_path, """
        import atexit, os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import torch
        atexit.register(print, "bye")
        def job():
            while threading.main_thread().is_alive():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
        threading.Thread(target=job).start()
    """)
    bare, watched = ended(["a.py"], tmp_path), run(*options, folder=tmp_path)
    assert (watched.returncode, watched.stdout) == (bare.returncode, bare.stdout) == (0, "bye\n")
    assert "KeyboardInterrupt" in bare.stderr and "KeyboardInterrupt" in watched.stderr
    assert watched.stderr.endswith("torchsan: nothing found in 0 optimizer steps: no optimizer was seen, and no backward call\n")


# What trains when the last line has run, and how the program came to it.
LATE = {
    "thread": "import threading\nthreading.Thread(target=train).start()\n",
    "exit callback": "import atexit\natexit.register(train)\n",
    "pool": "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\npool.submit(train)\n",
    "child": "import multiprocessing\nmultiprocessing.get_context('fork').Process(target=train).start()\n",
}


@pytest.mark.parametrize("ending", ["", "sys.exit(3)\n", "raise OSError\n"], ids=["end", "exit", "error"])
@pytest.mark.parametrize("late", LATE)
def test_what_is_found_late_is_in_the_report(tmp_path, late, ending):
    training = "def train():\n    time.sleep(0.2)\n" + textwrap.indent(BROKEN, "    ").replace(
        "    import sys\n    import torch\n    import torch.nn.functional as F\n", "")
    start = "import sys, time\nimport torch\nimport torch.nn.functional as F\n"
    (tmp_path / "a.py").write_text(start + training + LATE[late] + ending)
    done = run("--report", "out.json", "--fail", folder=tmp_path)
    assert done.stdout == "done\n"
    assert done.returncode == (3 if "exit" in ending else 1)
    [finding] = json.loads((tmp_path / "out.json").read_text())
    assert (finding["code"], finding["count"]) == ("TS101", 3)
    assert done.stderr.count("error TS101") == 1
    assert done.stderr.count("torchsan: 1 finding in 4 optimizer steps") == 1


def test_an_error_is_explained_when_it_is_told_and_not_when_all_is_over(tmp_path):
    write(tmp_path, "import atexit, sys, torch\natexit.register(lambda: print('bye', file=sys.stderr))\n"
          "torch.nn.Linear(5, 2)(torch.randn(8, 4))\n")
    done = run(folder=tmp_path)
    said = [done.stderr.index(text) for text in ("torchsan: TS508 shape-chain", "bye", "torchsan: 1 finding")]
    assert done.returncode == 1 and said == sorted(said)


def test_a_rank_that_is_terminated_while_its_threads_are_waited_for(tmp_path):
    write(tmp_path, BROKEN + textwrap.dedent("""
        import os, signal, threading, time
        def job():
            while threading.main_thread().is_alive():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10 ** 6)
        threading.Thread(target=job).start()
    """))
    done = run(folder=tmp_path, RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
    assert done.returncode == -signal.SIGTERM
    assert done.stderr.count("torchsan: 1 finding in 4 optimizer steps") == 1


def test_children_are_waited_for_where_multiprocessing_was_there_before_us(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import multiprocessing.util\n")
    training = textwrap.indent(BROKEN, "    ").replace("    import sys\n    import torch\n", "")
    start = "import time\nimport torch\ndef train():\n    time.sleep(0.5)\n"
    (tmp_path / "a.py").write_text(start + training + LATE["child"])
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    assert "1 finding in 4 optimizer steps" in run(folder=tmp_path, PYTHONPATH=paths).stderr
