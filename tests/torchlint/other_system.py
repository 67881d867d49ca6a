"""Runs the command as another system would: `python other_system.py {spawn|without} ARGUMENTS...`

spawn       worker processes are started anew, as on macOS and Windows, instead of forked
without     what Windows lacks is not there (os.fork, os.geteuid, os.chown ...), and the package is told that it is on Windows
"""

import importlib
import pkgutil
import sys
import types

LACKS = """fork forkpty getuid geteuid getgid getegid getgroups chown lchown fchown fchmod mkfifo sched_getaffinity wait3 wait4 killpg setsid
    O_NOFOLLOW O_NONBLOCK O_DIRECTORY O_CLOEXEC uname sysconf nice getpgid posix_spawn pread pwrite statvfs""".split()


def all_modules():
    """Every module of the package, loaded."""
    import torchlint

    names = [info.name for info in pkgutil.walk_packages(torchlint.__path__, "torchlint.") if not info.name.endswith("__main__")]
    return [importlib.import_module(name) for name in names]


def pretend(modules, how):
    """What the package's modules see of `os` and `sys`; the standard library keeps its own."""
    import os

    for module in modules:
        if how == "without" and vars(module).get("os") is os:
            own = types.ModuleType("os")
            own.__dict__.update({name: value for name, value in vars(os).items() if name not in LACKS}, name="nt")
            module.os = own
        if vars(module).get("sys") is sys and module.__name__ != "torchlint.cli":
            own = types.ModuleType("sys")
            own.__dict__.update(vars(sys), platform="win32")
            module.sys = own


if __name__ == "__main__":
    import multiprocessing

    multiprocessing.set_start_method("spawn")
    how, *arguments = sys.argv[1:]
    pretend(all_modules(), how)
    from torchlint.cli import main

    sys.exit(main(arguments))
