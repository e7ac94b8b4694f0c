"""The server: documents come and go, findings are published, hovers and quick fixes answered.

A text is looked at a moment after it was typed last; what was begun for an older one is broken off.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from tile_runtime import __version__
from tile_runtime.child_processes.child_server import ChildServer
from tile_runtime.tools.language_server.hover_text import hover_text
from tile_runtime.tools.language_server.look_apart import WARM_UP, look_apart
from tile_runtime.tools.language_server.quick_fixes import Fix, fixes_of, sizes_for
from tile_runtime.tools.language_server.seen import SeenFactory, SeenFinding, SeenScript
from tile_runtime.tools.language_server.syntax import syntax_mistake

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
}
_SOURCE = "tile-ascend"
_UNSIZED = "sizes-unknown"
# Documents that are looked at together; a text that takes long does not hold up the others.
_AT_ONCE = 8
_OPTIONS = ("timeLimit", "delay")


class KernelServer(LanguageServer):
    """Seconds a script may take to be looked at, and to wait after the last change; what was seen
    of each document last, and of which text; what is being looked at."""

    def __init__(self, time_limit: float, delay: float) -> None:
        super().__init__("tile-ascend", __version__, types.TextDocumentSyncKind.Incremental)
        self.time_limit, self.delay = time_limit, delay
        self.children = ChildServer(WARM_UP, _AT_ONCE)
        self.seen: dict[str, tuple[str, SeenScript]] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}

    def configure(self, given: Any) -> None:
        """Take the options of the editor: numbers of seconds."""
        for name in _OPTIONS:
            value = given.get(name) if isinstance(given, dict) else None
            if isinstance(value, (int, float)) and value >= 0:
                setattr(self, {"timeLimit": "time_limit", "delay": "delay"}[name], float(value))

    def look_at(self, uri: str, delay: float) -> None:
        """Look at a document a little later, and no more at an older text of it."""
        self.forget_task(uri)
        self._looking[uri] = asyncio.ensure_future(self._look(uri, delay))

    def forget_task(self, uri: str) -> None:
        task = self._looking.pop(uri, None)
        if task is not None:
            task.cancel()

    async def _look(self, uri: str, delay: float) -> None:
        path = to_fs_path(uri)
        if path is None:
            return
        await asyncio.sleep(delay)
        document = self.workspace.get_text_document(uri)
        text, version = document.source, document.version
        mistake = syntax_mistake(Path(path), text)
        if mistake is not None:
            # Hovers go on with the last text that was Python.
            kernels = self.seen[uri][1].kernels if uri in self.seen else ()
            seen = SeenScript((mistake,), kernels)
        else:
            seen = await look_apart(self.children, Path(path), text, self.time_limit)
        self.seen[uri] = text, seen
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, _diagnostics(document, path, seen), version)
        )


def make_server(time_limit: float, delay: float) -> KernelServer:
    """A server whose features are registered; `start_io` runs it."""
    server = KernelServer(time_limit, delay)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.configure(params.initialization_options)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        await asyncio.to_thread(server.children.start)

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.children.close()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configured(params: types.DidChangeConfigurationParams) -> None:
        settings = params.settings
        server.configure(settings.get("tile-ascend") if isinstance(settings, dict) else None)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.look_at(params.text_document.uri, 0.0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.look_at(params.text_document.uri, server.delay)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        """Modules that a script imports may have changed."""
        server.look_at(params.text_document.uri, 0.0)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.forget_task(uri)
        server.seen.pop(uri, None)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        if uri not in server.seen:
            return None
        word = server.workspace.get_text_document(uri).word_at_position(params.position)
        text = hover_text(server.seen[uri][1], params.position.line + 1, word)
        if text is None:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.workspace.get_text_document(params.text_document.uri)
        text, seen = server.seen.get(document.uri, ("", SeenScript()))
        if text != document.source:
            return []  # it has changed since: places are others
        path = to_fs_path(document.uri) or ""
        lines = range(params.range.start.line + 1, params.range.end.line + 2)
        findings = [f for f in seen.findings if f.line in lines and f.file == path]
        found = [
            (_diagnostic(document, path, f), fix) for f in findings for fix in fixes_of(f, text)
        ]
        found += [
            (_unsized(document, f), sizes_for(f, text)) for f in seen.unsized if f.line in lines
        ]
        return [_action(document, told, fix) for told, fix in found]

    return server


def _diagnostics(document: TextDocument, path: str, seen: SeenScript) -> list[types.Diagnostic]:
    told = [_diagnostic(document, path, finding) for finding in seen.findings]
    return [*told, *(_unsized(document, factory) for factory in seen.unsized)]


def _diagnostic(document: TextDocument, path: str, finding: SeenFinding) -> types.Diagnostic:
    """Place a finding of another file at the top of the file that imports it."""
    here = finding.file in ("", path)
    place = "" if here else f"{finding.file}:{finding.line}: "
    hint = f"\nhint: {finding.hint}" if finding.hint else ""
    notes = [
        types.DiagnosticRelatedInformation(
            types.Location(Path(note.file).as_uri(), _point(note.line, note.column)), note.message
        )
        for note in finding.notes
        if note.file
    ]
    return types.Diagnostic(
        _word_at(document, finding.line, finding.column) if here else _point(1, 1),
        f"{place}{finding.message}{hint}",
        _SEVERITIES.get(finding.severity, types.DiagnosticSeverity.Information),
        finding.slug,
        source=_SOURCE,
        related_information=notes or None,
    )


def _unsized(document: TextDocument, factory: SeenFactory) -> types.Diagnostic:
    missing = ", ".join(factory.missing)
    return types.Diagnostic(
        _word_at(document, factory.line, 1),
        f"`{factory.name}` is not looked at: no call in this file says {missing}\n"
        f"hint: write a comment above it, # tile-ascend: {factory.name}({missing}) with numbers",
        types.DiagnosticSeverity.Information,
        _UNSIZED,
        source=_SOURCE,
    )


def _point(line: int, column: int) -> types.Range:
    place = types.Position(max(line - 1, 0), max(column - 1, 0))
    return types.Range(place, place)


def _word_at(document: TextDocument, line: int, column: int) -> types.Range:
    """The word, with its dots, that begins at a place, or the rest of the line."""
    lines = document.lines
    text = lines[line - 1].rstrip("\r\n") if 0 < line <= len(lines) else ""
    column = max(column, len(text) - len(text.lstrip()) + 1)
    word = re.compile(r"[\w.]+").match(text, column - 1)
    return _range(document, line, column, line, (word.end() if word else len(text)) + 1)


def _range(
    document: TextDocument, line: int, column: int, end_line: int, end_column: int
) -> types.Range:
    """In the units that the client counts in."""
    found = types.Range(
        types.Position(max(line - 1, 0), max(column - 1, 0)),
        types.Position(max(end_line - 1, 0), max(end_column - 1, 0)),
    )
    return document.position_codec.range_to_client_units(document.lines, found)


def _action(document: TextDocument, told: types.Diagnostic, fix: Fix) -> types.CodeAction:
    place = _range(document, fix.line, fix.column, fix.end_line, fix.end_column)
    edit = types.WorkspaceEdit({document.uri: [types.TextEdit(place, fix.text)]})
    return types.CodeAction(
        fix.title, types.CodeActionKind.QuickFix, [told], is_preferred=True, edit=edit
    )
