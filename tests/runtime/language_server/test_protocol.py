"""The language server as an editor sees it: pygls' own client over standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'tile-runtime[lsp]'")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tile_runtime.tools.command_line import main

Answer = TypeVar("Answer")
# No test waits so long: whatever the machine does, a server that hangs ends.
PATIENCE = 300.0

COMMAND = "from tile_runtime.tools.command_line import main; main(['lsp', '--stdio'])"

TEXT = """\
import tile_frontend as T


@T.jit(out_idx=[-1])
def double(M, N, rows=4):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((rows, N), "float32")
            T.copy(A[cid * rows, 0], a)
            T.copy(a, B[cid * rows, 0])

    return kernel


if __name__ == "__main__":
    double(8, 64)
"""
WRONG = TEXT.replace("T.copy(a, B", "T.copi(a, B")


class Editor:
    """One document in an editor."""

    def __init__(self, client: LanguageClient, path: Path) -> None:
        self.client, self.uri, self.version = client, path.as_uri(), 0
        self.published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(told: types.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(told)

    async def open(self, text: str) -> list[types.Diagnostic]:
        item = types.TextDocumentItem(self.uri, "python", self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.diagnostics()

    async def write(self, text: str) -> list[types.Diagnostic]:
        """The diagnostics of a text that takes the place of the whole document."""
        self.send(text)
        return await self.diagnostics()

    def send(self, text: str) -> None:
        self.version += 1
        document = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def diagnostics(self) -> list[types.Diagnostic]:
        """Of the present version."""
        while True:
            told = await asyncio.wait_for(self.published.get(), PATIENCE)
            if told.version == self.version:
                return list(told.diagnostics)

    async def hover(self, line: int, character: int) -> str | None:
        document = types.TextDocumentIdentifier(self.uri)
        asked = types.HoverParams(document, types.Position(line, character))
        found = await self.client.text_document_hover_async(asked)
        return None if found is None else found.contents.value

    async def fixes(self, told: types.Diagnostic) -> Any:
        document = types.TextDocumentIdentifier(self.uri)
        context = types.CodeActionContext([told])
        asked = types.CodeActionParams(document, told.range, context)
        return await self.client.text_document_code_action_async(asked)

    def configure(self, **settings: float) -> None:
        self.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"tile-ascend": settings})
        )


def in_editor(path: Path, use: Callable[[Editor], Awaitable[Answer]]) -> Answer:
    """What becomes of a document in an editor that has started the server."""

    async def session() -> Answer:
        client = LanguageClient("test", "1")
        editor = Editor(client, path)
        await client.start_io(sys.executable, "-c", COMMAND)
        options = {"timeLimit": PATIENCE, "delay": 0}
        await client.initialize_async(
            types.InitializeParams(types.ClientCapabilities(), initialization_options=options)
        )
        client.initialized(types.InitializedParams())
        try:
            return await use(editor)
        finally:
            await client.shutdown_async(None)
            client.exit(None)
            await client.stop()

    return asyncio.run(session())


def test_typing_hovering_and_fixing(tmp_path: Path) -> None:
    """From a mistake over its fix to a text that is right, then one that is no Python, then one
    that loops for ever."""

    async def use(editor: Editor) -> None:
        (told,) = await editor.open(WRONG)
        assert (told.code, told.severity) == ("unknown-name", types.DiagnosticSeverity.Error)
        assert (told.range.start.line, told.source) == (10, "tile-ascend")
        assert "hint: did you mean `copy`?" in told.message
        (fix,) = await editor.fixes(told)
        (edit,) = fix.edit.changes[editor.uri]
        lines = WRONG.splitlines(keepends=True)
        line = lines[edit.range.start.line]
        start, end = edit.range.start.character, edit.range.end.character
        lines[edit.range.start.line] = line[:start] + edit.new_text + line[end:]
        assert "".join(lines) == TEXT

        assert await editor.write("".join(lines)) == []
        about = await editor.hover(8, 12)
        assert about is not None and "ub, 512 bytes on each core" in about
        assert "MTE2" in (await editor.hover(9, 14) or "")

        (told,) = await editor.write(TEXT + "x = (1,\n")
        assert told.code == "python-syntax"
        assert await editor.hover(8, 12) == about

        editor.configure(timeLimit=0.2)
        (told,) = await editor.write("while True:\n    pass\n")
        assert (told.code, told.severity) == ("time-limit", types.DiagnosticSeverity.Warning)
        assert told.range.start.line in (0, 1)

    in_editor(tmp_path / "script.py", use)


@pytest.mark.exhaustive
def test_a_script_without_kernels_and_one_without_sizes(tmp_path: Path) -> None:
    async def use(editor: Editor) -> None:
        assert await editor.open("x = 1\n") == []
        assert await editor.hover(0, 0) is None
        (told,) = await editor.write(TEXT.replace("double(8, 64)", "pass"))
        assert (told.code, told.severity) == ("sizes-unknown", types.DiagnosticSeverity.Information)
        (fix,) = await editor.fixes(told)
        assert fix.edit.changes[editor.uri][0].new_text == "# tile-ascend: double(M=1024, N=1024)\n"

    in_editor(tmp_path / "script.py", use)


@pytest.mark.exhaustive
def test_a_newer_text_ends_what_looks_at_an_older_one(tmp_path: Path) -> None:
    """The limit of time is beyond the patience of the test."""

    async def use(editor: Editor) -> None:
        editor.configure(timeLimit=10 * PATIENCE)
        assert await editor.open("x = 1\n") == []
        editor.send("while True:\n    pass\n")
        assert await editor.write(TEXT) == []

    in_editor(tmp_path / "script.py", use)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import os\nos._exit(7)\n", "look-failed"),
        ("print('to standard output')\nimport sys\nsys.stdout.flush()\n", None),
        ("import os\nos.write(1, b'{}')\n", None),
        ("import ctypes\nctypes.string_at(0)\n", "look-failed"),
    ],
)
def test_no_script_breaks_the_server(text: str, code: str | None, tmp_path: Path) -> None:
    async def use(editor: Editor) -> None:
        told = await editor.open(text)
        assert [t.code for t in told] == ([] if code is None else [code])
        assert await editor.write(TEXT) == []

    in_editor(tmp_path / "script.py", use)


def test_without_pygls_the_command_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tile_runtime.tools.language_server import __main__ as program

    monkeypatch.setattr(program, "find_spec", lambda name: None)
    assert program.main([]) == 1
    assert "pip install 'tile-runtime[lsp]'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["lsp", "--help"])
    assert "quick fixes" in capsys.readouterr().out
