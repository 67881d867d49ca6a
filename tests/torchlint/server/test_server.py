"""The server as an editor meets it: opened, typed into, saved, mended, asked."""

import json

import pytest

pytest.importorskip("pygls")
from lsprotocol import types as lsp  # noqa: E402

from tests.torchlint.server.editor import Editor, run, uri_of  # noqa: E402
from tests.torchlint.support import run_python, write  # noqa: E402

SUM = "from torch import nn\n\n\ndef f(x, y):\n    return nn.functional.cross_entropy(x.softmax(1), y)\n"
RIGHT = SUM.replace(".softmax(1)", "")
NET = (
    "import torch.nn.functional as F\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
    "        x = F.dropout(x)\n        return F.dropout(x, 0.1)\n"
)
UNCALLED = "import torch\n\n\ndef step(optimizer, scheduler):\n    optimizer.step\n    optimizer.zero_grad\n"

pytestmark = pytest.mark.slow  # each test starts processes


def command_says(path, *options):
    done = run_python("-m", "torchlint", "-f", "json", "--no-cache", *options, path)
    return [(one["code"], one["location"]["row"]) for one in json.loads(done.stdout)]


@pytest.mark.parametrize("client", ["vscode", "neovim", "plain"])
def test_typed_mended_silenced_and_saved(tmp_path, client):
    async def work():
        path = write(tmp_path, {"setup.cfg": "", "a.py": NET}) / "a.py"
        async with Editor(tmp_path, client=client) as editor:
            uri = await editor.open(path)
            first = editor.codes(uri)
            assert first == command_says(path) == [("TL204", 7), ("TL204", 8)]
            found = editor.diagnostics[uri][0]
            assert found.source == "torchlint" and found.severity == lsp.DiagnosticSeverity.Error
            assert editor.shown(uri, found) == "F.dropout(x)"
            # One of the findings is mended, what was said of it goes.
            mend = (await editor.actions(uri, found))[0]
            assert mend.kind == "quickfix" and "(TL204)" in mend.title and list(mend.diagnostics) == [found]
            assert bool(mend.is_preferred) == (client != "plain")
            await editor.do(mend)
            await editor.settled(uri)
            assert "F.dropout(x, training=self.training)\n" in editor.texts[uri] and editor.codes(uri) == [("TL204", 8)]
            # And back: all of the rule at once.
            editor.type(uri, NET)
            await editor.settled(uri)
            assert editor.codes(uri) == first
            offered = await editor.actions(uri, editor.diagnostics[uri][0])
            every = next(one for one in offered if one.title == "fix all 2 of TL204 in this file")
            assert (every.command is None) == (client != "plain")
            await editor.do(every)
            await editor.settled(uri)
            assert editor.texts[uri].count(", training=self.training)") == 2 and editor.codes(uri) == []
            # What may change what the program does says so, and is not the one to be preferred.
            editor.type(uri, UNCALLED)
            await editor.settled(uri)
            offered = await editor.actions(uri, editor.diagnostics[uri][0])
            assert [one.title for one in offered] == [
                "unsafe, may change what the program does: call it: add `()` (TL132)",
                "unsafe, may change what the program does: fix all 2 of TL132 in this file",
                "silence TL132 here (`# noqa: TL132`)",
            ]
            assert not any(one.is_preferred for one in offered)
            await editor.do(offered[1])
            await editor.settled(uri)
            assert editor.texts[uri] == UNCALLED.replace("step\n", "step()\n").replace("grad\n", "grad()\n")
            # A comment hides a finding.
            editor.type(uri, SUM)
            await editor.settled(uri)
            found = editor.diagnostics[uri][0]
            assert bool(found.related_information) == (client != "plain")
            assert ("softmax is applied here" in found.message) == (client == "plain")
            silence = (await editor.actions(uri, found))[-1]
            assert silence.title == "silence TL301 here (`# noqa: TL301`)"
            await editor.do(silence)
            await editor.settled(uri)
            assert editor.texts[uri].endswith("y)  # noqa: TL301\n") and editor.codes(uri) == []
            editor.save(uri, path)
            await editor.settled(uri)
            assert editor.codes(uri) == command_says(path) == []
            # Closed, nothing is told of it any more.
            editor.type(uri, SUM)
            await editor.settled(uri)
            editor.close(uri)
            await editor.until(lambda: editor.diagnostics[uri] == [])
        assert editor.status == 0 and editor.messages == []

    run(work)


def test_only_what_was_asked_for_is_offered(tmp_path):
    async def work():
        path = write(tmp_path, {"setup.cfg": "", "a.py": NET}) / "a.py"
        async with Editor(tmp_path) as editor:
            uri = await editor.open(path)
            kinds = {one.kind for one in await editor.actions(uri)}
            assert kinds == {"quickfix", "source.fixAll.torchlint"}
            for only in (["source.fixAll"], ["source"], ["source.fixAll.torchlint"]):
                assert {one.kind for one in await editor.actions(uri, only=only)} == {"source.fixAll.torchlint"}
            assert await editor.actions(uri, only=["refactor", "source.organizeImports"]) == []
            await editor.do((await editor.actions(uri, only=["source.fixAll"]))[0])
            await editor.settled(uri)
            assert editor.codes(uri) == [] and "self.training" in editor.texts[uri]

    run(work)


# What stands before the finding in its row.
ODD = ["\U0001f600\U0001f600", "\u00e4\u20ac", "a\x0cb\u2028c\x1c", "e\u0301"]


@pytest.mark.parametrize("client", ["vscode", "neovim"])
def test_places_in_texts_of_all_kinds(tmp_path, client):
    """UTF-16 for one client, UTF-8 for the other; what Python and editors do not take for the end of a row is none."""
    async def work():
        write(tmp_path, {"setup.cfg": "", "a.py": ""})
        async with Editor(tmp_path, client=client) as editor:
            assert editor.codec.encoding == ("utf-16" if client == "vscode" else "utf-8")
            uri = await editor.open(tmp_path / "a.py")
            for end in ("\n", "\r\n", "\r"):
                lines = [f'    "{odd}"; optimizer.step' for odd in ODD]
                text = end.join(["import torch", "", "def f(optimizer):", *lines, ""])
                editor.type(uri, text)
                await editor.settled(uri)
                assert [editor.shown(uri, one) for one in editor.diagnostics[uri]] == ["optimizer.step"] * 4
                # Typed in the middle of such rows, as ranges.
                at = text.index("optimizer.step")
                editor.type(uri, (at, at + 9, "opt"), (at - 3, at - 3, "\U0001f600"))
                await editor.settled(uri)
                assert sorted(editor.shown(uri, one) for one in editor.diagnostics[uri]) == ["opt.step", *["optimizer.step"] * 3]
                assert [one.title for one in await editor.actions(uri, editor.diagnostics[uri][-1])][0].endswith("(TL132)")
                every = next(one for one in await editor.actions(uri) if "fix all 4" in one.title)
                await editor.do(every)
                await editor.settled(uri)
                assert editor.diagnostics[uri] == [] and editor.texts[uri].count(".step()" + end) == 4
                # What is put in has the ends of the rows that are there.
                assert editor.texts[uri].count("\r") == (0 if end == "\n" else text.count("\r"))

    run(work)


def test_a_helper_is_saved_and_others_are_told_anew(tmp_path):
    async def work():
        use = "from torch import nn\nfrom net import scores\n\n\ndef f(x, y):\n    return nn.functional.cross_entropy(scores(x), y)\n"
        write(tmp_path, {"setup.cfg": "", "net.py": "def scores(x):\n    return x\n", "use.py": use})
        async with Editor(tmp_path) as editor:
            main, helper = await editor.open(tmp_path / "use.py"), await editor.open(tmp_path / "net.py")
            assert editor.codes(main) == []
            editor.type(helper, "def scores(x):\n    return x.softmax(1)\n")
            await editor.settled(helper)
            editor.save(helper, tmp_path / "net.py")
            await editor.until(lambda: editor.codes(main) == [("TL301", 6)])
            related = editor.diagnostics[main][0].related_information
            assert [one.location.uri for one in related] == [helper]
            # A file that nobody has open changes on disk, or goes.
            editor.close(helper)
            (tmp_path / "net.py").unlink()
            editor.client.workspace_did_change_watched_files(
                lsp.DidChangeWatchedFilesParams([lsp.FileEvent(helper, lsp.FileChangeType.Deleted)])
            )
            await editor.until(lambda: editor.codes(main) == [])

    run(work)


def test_what_other_files_make_known(tmp_path):
    """Findings of the files that use a helper stand in it; where these take too long they are left out, and that is said."""
    async def work():
        write(tmp_path, {
            "setup.cfg": "", "helper.py": "def prepare(model):\n    model.eval\n    return model\n",
            "use.py": "import torch\nfrom helper import prepare\n\nprepare(torch.nn.Linear(2, 2))\n",
        })
        expected = command_says(tmp_path / "helper.py")
        assert expected
        async with Editor(tmp_path) as editor:
            uri = await editor.open(tmp_path / "helper.py")
            await editor.until(lambda: editor.codes(uri) == expected)
        async with Editor(tmp_path, options={"timeout": 0}) as editor:
            uri = await editor.open(tmp_path / "helper.py")
            await editor.until(lambda: any("took too long" in one for one in editor.logged))
            assert editor.codes(uri) == []

    run(work)


def test_settings_of_the_client(tmp_path):
    async def work():
        path = write(tmp_path, {"setup.cfg": "", "a.py": SUM}) / "a.py"
        async with Editor(tmp_path, options={"settings": {"ignore": "TL3"}}) as editor:
            uri = await editor.open(path)
            assert editor.codes(uri) == []
            editor.settings = {"ignore": []}
            editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(None))
            await editor.until(lambda: editor.codes(uri) == [("TL301", 5)])
            editor.client.workspace_did_change_configuration(
                lsp.DidChangeConfigurationParams({"torchlint": {"selekt": ["TL1"], "delay": "soon", "ignore": []}})
            )
            await editor.until(lambda: len(editor.messages) == 2)
            assert editor.messages[0] == "torchlint: there is no setting 'selekt' (did you mean 'select'?)"
            assert editor.messages[1].startswith("torchlint: the setting 'delay' is left out, 'soon' cannot be used: ")
            # A selector that means nothing is told, and mended without a restart.
            editor.settings = {"select": ["TL99"]}
            editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(None))
            await editor.until(lambda: any("'TL99' is no rule" in one for one in editor.messages))
            editor.settings = {"select": ["TL301"]}
            editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(None))
            await editor.until(lambda: editor.codes(uri) == [("TL301", 5)])
        async with Editor(tmp_path, options=["what"]) as editor:
            await editor.until(lambda: editor.messages)
            assert "must be an object" in editor.messages[0]
            assert editor.codes(await editor.open(path)) == [("TL301", 5)]

    run(work)


def test_a_client_that_refuses_what_it_said_it_could(tmp_path):
    async def work():
        path = write(tmp_path, {"setup.cfg": "", "a.py": SUM}) / "a.py"
        async with Editor(tmp_path, options={"select": "TL301"}, refuses=True) as editor:
            uri = await editor.open(path)
            assert await editor.hover(uri, editor.diagnostics[uri][0].range.start)
            assert editor.codes(uri) == [("TL301", 5)] and editor.messages == []

    run(work)


def test_settings_of_the_project(tmp_path):
    async def work():
        path = write(tmp_path, {"torchlint.toml": "ignore = ['TL3']\nexclude = ['made']\n", "a.py": SUM, "made/b.py": SUM}) / "a.py"
        async with Editor(tmp_path) as editor:
            uri, made = await editor.open(path), await editor.open(tmp_path / "made" / "b.py")
            assert editor.codes(uri) == editor.codes(made) == []
            settings = tmp_path / "torchlint.toml"
            changed = lsp.DidChangeWatchedFilesParams([lsp.FileEvent(uri_of(settings), lsp.FileChangeType.Changed)])
            settings.write_text("exclude = ['made']\nseverity = {correctness = 'note'}\n")
            editor.client.workspace_did_change_watched_files(changed)
            await editor.until(lambda: editor.codes(uri) == [("TL301", 5)])
            assert editor.diagnostics[uri][0].severity == lsp.DiagnosticSeverity.Information and editor.codes(made) == []
            settings.write_text("selekt = []\n")
            editor.client.workspace_did_change_watched_files(changed)
            await editor.until(lambda: any("selekt" in one for one in editor.messages))
            settings.write_text("")
            editor.client.workspace_did_change_watched_files(changed)
            await editor.until(lambda: editor.codes(made) == [("TL301", 5)])

    run(work)


def test_on_save_alone(tmp_path):
    async def work():
        path = write(tmp_path, {"setup.cfg": "", "a.py": RIGHT}) / "a.py"
        async with Editor(tmp_path, options={"run": "onSave"}) as editor:
            uri = await editor.open(path)
            editor.type(uri, SUM)
            other = await editor.open(write(tmp_path, {"b.py": SUM}) / "b.py")
            assert editor.codes(other) == [("TL301", 5)] and editor.codes(uri) == []
            assert await editor.actions(uri) == []
            editor.save(uri, path)
            await editor.until(lambda: editor.codes(uri) == [("TL301", 5)])

    run(work)


def test_what_cannot_be_judged(tmp_path):
    async def work():
        path = write(tmp_path, {"setup.cfg": "", "a.py": SUM}) / "a.py"
        async with Editor(tmp_path) as editor:
            uri = await editor.open(path)
            # In the middle of a line: what was told stays where its row is, but nothing can be done about it now.
            for text, row in ((SUM + "x = (\n", 5), ("\ny = [\n" + SUM, 7)):
                editor.type(uri, text)
                await editor.settled(uri)
                assert sorted(editor.codes(uri)) == [("TL301", row), ("not-judged", 6 if row == 5 else 2)]
                broken = next(one for one in editor.diagnostics[uri] if one.code == "not-judged")
                assert broken.severity == lsp.DiagnosticSeverity.Information and "does not parse" in broken.message
                assert await editor.actions(uri) == []
            editor.type(uri, SUM.replace("y)", "y"))
            await editor.settled(uri)
            assert [code for code, _ in editor.codes(uri)] == ["not-judged"]
            editor.type(uri, SUM)
            await editor.settled(uri)
            assert editor.codes(uri) == [("TL301", 5)]
            # The file goes while it is open.
            path.unlink()
            editor.type(uri, "\n" + SUM)
            await editor.settled(uri)
            assert editor.codes(uri) == [("TL301", 6)]
            # What is no file yet, what is no Python, what is one side of a diff.
            new = await editor.open(None, SUM, uri="untitled:Untitled-1")
            assert editor.codes(new) == [("TL301", 5)]
            await editor.open(None, SUM, language="markdown", uri=uri_of(tmp_path / "a.md"))
            editor.client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem("git:/a.py?x", "python", 1, SUM)))
            empty = await editor.open(tmp_path / "c.py", "")
            assert editor.codes(empty) == [] and set(editor.diagnostics) == {uri, new, empty}
        assert editor.messages == []

    run(work)


def test_files_outside_and_several_folders(tmp_path):
    async def work():
        write(tmp_path, {
            "one/torchlint.toml": "ignore = ['TL3']\n", "one/a.py": SUM, "two/a.py": SUM, "else/a.py": SUM,
            "else/lib/python3/site-packages/pack/a.py": SUM,
        })
        async with Editor(tmp_path / "one", tmp_path / "two") as editor:
            told = [editor.codes(await editor.open(tmp_path / name / "a.py")) for name in ("one", "two", "else")]
            assert told == [[], [("TL301", 5)], [("TL301", 5)]]
            assert editor.codes(await editor.open(tmp_path / "else/lib/python3/site-packages/pack/a.py")) == []
            two = uri_of(tmp_path / "two")
            editor.client.workspace_did_change_workspace_folders(lsp.DidChangeWorkspaceFoldersParams(
                lsp.WorkspaceFoldersChangeEvent([], [lsp.WorkspaceFolder(two, "two")])
            ))
            editor.type(uri_of(tmp_path / "two" / "a.py"), RIGHT)
            await editor.settled(uri_of(tmp_path / "two" / "a.py"))
            assert editor.codes(uri_of(tmp_path / "two" / "a.py")) == []
        async with Editor() as editor:
            assert editor.codes(await editor.open(tmp_path / "else" / "a.py")) == [("TL301", 5)]

    run(work)


def test_hover(tmp_path):
    async def work():
        path = write(tmp_path, {"setup.cfg": "", "a.py": SUM + "x = 1  # noqa: TL101\n"}) / "a.py"
        async with Editor(tmp_path) as editor:
            uri = await editor.open(path)
            shown = await editor.hover(uri, editor.diagnostics[uri][0].range.start)
            assert shown.kind == "markdown"
            assert "**TL301 softmax-before-cross-entropy**" in shown.value and "# <-" not in shown.value and "```python bad" not in shown.value
            assert "**TL101 missing-zero-grad**" in (await editor.hover(uri, lsp.Position(5, 18))).value
            for place in (lsp.Position(0, 3), lsp.Position(5, 2), lsp.Position(99, 0)):
                assert await editor.hover(uri, place) is None

    run(work)


def test_typed_fast_only_the_last_state_is_told(tmp_path):
    async def work():
        path = write(tmp_path, {"setup.cfg": "", "a.py": RIGHT}) / "a.py"
        async with Editor(tmp_path) as editor:
            uri = await editor.open(path)
            for count in range(30):
                editor.type(uri, (0, 0, "#\n"))
            editor.type(uri, SUM)
            await editor.settled(uri)
            assert editor.codes(uri) == [("TL301", 5)]
            # Actions for a state that is not judged yet are none.
            editor.type(uri, "\n" + SUM)
            assert await editor.actions(uri) == []
            await editor.settled(uri)
            assert len(await editor.actions(uri)) == 1

    run(work)


CELLS = ["# Notes", "%matplotlib inline\nimport torch.nn.functional as F\nfrom torch import nn", NET.split("\n\n\n")[1], "!ls\nx = ("]


def test_a_notebook_cell_by_cell(tmp_path):
    async def work():
        path = write(tmp_path, {"setup.cfg": ""}) / "n.ipynb"
        cells = [{"cell_type": "markdown" if one[0] == "#" else "code", "source": one, "metadata": {}} for one in CELLS]
        path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        async with Editor(tmp_path) as editor:
            names = await editor.open_notebook(path, cells)
            net = names[2]
            assert [editor.codes(name) for name in names] == [[], [], [("TL204", 3), ("TL204", 4)], [("not-judged", 2)]]
            # As the command counts cells, the text ones, too.
            said = json.loads(run_python("-m", "torchlint", "-f", "json", "--no-cache", path).stdout)
            assert [(one["cell"], one["location"]["row"]) for one in said if one["code"] == "TL204"] == [(3, 3), (3, 4)]
            found = editor.diagnostics[net][0]
            assert "**TL204 " in (await editor.hover(net, found.range.start)).value
            # A fix goes to its cell.
            await editor.do((await editor.actions(net, found))[0])
            assert editor.texts[net].count("self.training") == 1
            editor.told_of_cells(net)
            await editor.until(lambda: editor.codes(net) == [("TL204", 4)])
            every = next(one for one in await editor.actions(net, only=["source.fixAll"]))
            await editor.do(every)
            assert editor.texts[net].count("self.training") == 2 and editor.texts[names[1]] == CELLS[1]
            editor.told_of_cells(net)
            await editor.until(lambda: editor.codes(net) == [])
            # A cell is typed into, as a range, and one goes.
            text = editor.texts[net]
            editor.type_into_cell(net, text.index(", training"), text.index(")", text.index(", training")), "")
            await editor.until(lambda: editor.codes(net) == [("TL204", 3)])
            editor.remove_cell(3)
            await editor.until(lambda: editor.diagnostics[names[3]] == [])
            offered = await editor.actions(net, editor.diagnostics[net][0])
            await editor.do(next(one for one in offered if one.title.startswith("silence")))
            assert editor.texts[net].split("\n")[2].endswith("F.dropout(x)  # noqa: TL204")
            editor.close_notebook()
            await editor.until(lambda: not any(editor.diagnostics.values()))
        assert editor.messages == []

    run(work)


def test_an_editor_that_goes_without_a_word():
    done = run_python("-m", "torchlint", "server", input=b"")
    assert (done.returncode, done.stdout) == (1, b"")


def test_without_pygls():
    code = "import sys; sys.modules['pygls'] = None; from torchlint.cli import main; sys.exit(main(['server']))"
    done = run_python("-c", code)
    assert done.returncode == 2 and done.stdout == b""
    assert done.stderr.decode().splitlines() == ["torchlint: error: the server needs pygls 2 or later: pip install 'torchlint[server]'"]


def test_what_prints_does_not_speak_to_the_editor():
    """As a matcher of somebody's own may."""
    code = (
        "import os, sys\nfrom torchlint.server import process\nfrom torchlint.server.features import made\n"
        "class One:\n    asked_to_end = True\n    def start_io(self, stdin, wire):\n        print('hello')\n        os.write(1, b'low')\n"
        "        wire.write(b'wire')\n        wire.flush()\n"
        "process.made = One\nprocess.run(False)\n"
    )
    done = run_python("-c", code)
    assert (done.returncode, done.stdout) == (0, b"wire") and b"hello" in done.stderr and b"low" in done.stderr

