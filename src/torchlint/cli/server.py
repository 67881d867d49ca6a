"""`torchlint server`: the language server, which editors start."""

from __future__ import annotations

import click

from torchlint.cli.status import FAILED

_NEEDS = ("pygls", "lsprotocol")


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--stdio", is_flag=True, help="Talk over standard input and output, as it does in any case: some editors say so.")
@click.option("--check", is_flag=True, help="Say by the exit status whether the server can be started here, and end.")
@click.option("-v", "--verbose", is_flag=True, help="Tell on standard error what is judged, and how long that takes.")
def server(stdio: bool, check: bool, verbose: bool) -> int:
    """Judge while somebody types: a language server for editors, which start it themselves.

    It speaks the Language Server Protocol on standard input and output. docs/editors.md has what to write where for VS Code,
    Neovim, Vim, Emacs, Helix, Zed and Sublime Text.
    """
    try:
        from torchlint.server.process import run
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _NEEDS:
            raise
        click.echo("torchlint: error: the server needs pygls 2 or later: pip install 'torchlint[server]'", err=True)
        return FAILED
    return 0 if check else run(verbose)
