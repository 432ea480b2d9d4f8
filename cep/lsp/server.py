"""The server: documents in, answers out.

Open documents are compiled a moment after the last key stroke, together with the open documents that import them;
imported files are taken as the editor has them, saved or not. Questions are answered from the newest text at once.

Guarantee: no text can end the session. A failure inside the compiler becomes a finding in the file and a line in the
log, and the next change is a new chance.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from cep import __version__
from cep.diagnostics import Diagnostic, Diagnostics
from cep.lsp.analysis import Analysis, analyse
from cep.lsp.complete import complete
from cep.lsp.define import define
from cep.lsp.hover import hover
from cep.lsp.protocol import Places, completion_item, diagnostic, narrow, symbols
from cep.lsp.rename import CannotRenameError, renamable, rename
from cep.source import Source
from cep.syntax.fmt import fmt

PAUSE = 0.15
"""Seconds without a key stroke before a file is compiled."""

_DID_YOU_MEAN = re.compile(r"did you mean `([^`]+)`\?")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _State:
    """`findings` holds, for each open document, what its analysis found in each file, itself included."""

    analyses: dict[str, tuple[int | None, Analysis | None]] = field(default_factory=dict)
    import_root: str | None = None
    findings: dict[str, dict[str, list[types.Diagnostic]]] = field(default_factory=dict)


class Server(LanguageServer):
    """A pygls server with what is known of the open documents."""

    def __init__(self) -> None:
        # Whole documents: they are small, and pygls splits lines where the protocol does not.
        super().__init__("cep", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.state = _State()

    # --- documents ---

    def places(self, text: str) -> Places:
        """Positions in a text, in the units that the client speaks."""
        return Places(text, self.workspace.position_codec)

    def analysis(self, uri: str) -> Analysis | None:
        """What is known of the newest text of a document; None where the compiler failed."""
        document = self.workspace.get_text_document(uri)
        known = self.state.analyses.get(uri)
        if known is None or known[0] != document.version:
            known = (document.version, self._analyse(document))
            self.state.analyses[uri] = known
        return known[1]

    def _analyse(self, document: TextDocument) -> Analysis | None:
        texts = {
            str(Path(path).resolve()): other.source
            for uri, other in self.workspace.text_documents.items()
            if (path := _path(uri)) is not None
        }
        try:
            return analyse(Source(_name(document.uri), document.source), texts, self.state.import_root)
        except Exception:  # whatever the bug, the session must outlive it
            _log.exception("cannot analyse %s", document.uri)
            return None

    # --- diagnostics ---

    def refresh(self, uri: str) -> None:
        """Compile a document and those that import it, and publish what is found."""
        path = _path(uri)
        for other in [uri, *self._importers(uri, path)]:
            self.state.analyses.pop(other, None)
            self._check(other)

    def refresh_all(self) -> None:
        """Compile all open documents anew, e.g. after files have changed on disk."""
        for uri in list(self.workspace.text_documents):
            self.state.analyses.pop(uri, None)
            self._check(uri)

    def forget(self, uri: str) -> None:
        """A document has been closed: what it alone said is taken back."""
        self.state.analyses.pop(uri, None)
        for target in self.state.findings.pop(uri, {}):
            self._publish(target)

    def _importers(self, uri: str, path: str | None) -> list[str]:
        if path is None:
            return []
        found = []
        for other in self.workspace.text_documents:
            known = self.state.analyses.get(other, (None, None))[1]
            if other == uri or known is None:
                continue
            if any(_same(path, name) for name in known.result.sources):
                found.append(other)
        return found

    def _check(self, uri: str) -> None:
        analysis = self.analysis(uri)
        before = set(self.state.findings.get(uri, {}))
        self.state.findings[uri] = self._findings(uri, analysis)
        for target in before | set(self.state.findings[uri]):
            self._publish(target)

    def _findings(self, uri: str, analysis: Analysis | None) -> dict[str, list[types.Diagnostic]]:
        if analysis is None:
            text = "internal failure of the compiler: the server's log has the traceback"
            start = types.Position(line=0, character=0)
            broken = types.Diagnostic(range=types.Range(start=start, end=start), message=text, source="cep")
            return {uri: [broken]}
        found: dict[str, list[types.Diagnostic]] = {uri: []}
        known = {name: self.places(source.text) for name, source in analysis.result.sources.items()}
        for item in analysis.result.diagnostics:
            narrowed = narrow(item, analysis)
            target = self.uri_of(narrowed.file, uri, analysis)
            places = known.get(narrowed.file) or self.places("")
            related = self._related(item, known, uri, analysis)
            found.setdefault(target, []).append(diagnostic(item, places, related, narrowed))
        return found

    def _related(
        self, found: Diagnostic, known: dict[str, Places], uri: str, analysis: Analysis
    ) -> list[types.DiagnosticRelatedInformation]:
        return [
            types.DiagnosticRelatedInformation(
                location=types.Location(
                    uri=self.uri_of(label.span.file, uri, analysis),
                    range=known[label.span.file].range(label.span.start, label.span.end),
                ),
                message=label.text,
            )
            for label in found.labels
            if label.span.file in known
        ]

    def uri_of(self, file: str, uri: str, analysis: Analysis) -> str:
        """The URI of a file, spelled as the client spells it where it is open."""
        if file == analysis.source.name:
            return uri
        for other in self.workspace.text_documents:
            path = _path(other)
            if path is not None and _same(path, file):
                return str(other)
        return uris.from_fs_path(str(Path(file).absolute())) or uri

    def _publish(self, target: str) -> None:
        """Send all that is known about a file. Several importers say the same things of it: each is sent once."""
        merged: dict[tuple[Any, ...], types.Diagnostic] = {}
        for by_target in self.state.findings.values():
            for item in by_target.get(target, []):
                start, end = item.range.start, item.range.end
                key = (item.code, item.message, start.line, start.character, end.line, end.character)
                merged.setdefault(key, item)
        document = self.workspace.text_documents.get(target)
        version = document.version if document is not None else None
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=target, diagnostics=list(merged.values()), version=version)
        )


def _path(uri: str) -> str | None:
    return uris.to_fs_path(uri) if uri.startswith("file:") else None


def _name(uri: str) -> str:
    """A document's name for the compiler; one that is in no file yet imports relative to the working directory."""
    return _path(uri) or f"<{uri}>"


def _same(left: str, right: str) -> bool:
    try:
        return Path(left).resolve() == Path(right).resolve()
    except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL in the name
        return left == right


def make_server() -> Server:
    """A server with all its features."""
    server = Server()
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(_did_open)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(_did_change)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(_did_save)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(_did_close)
    server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(_did_change_files)
    server.feature(types.TEXT_DOCUMENT_HOVER)(_hover)
    server.feature(types.TEXT_DOCUMENT_DEFINITION)(_definition)
    server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)(_symbols)
    server.feature(types.TEXT_DOCUMENT_FORMATTING)(_formatting)
    server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)(_prepare_rename)
    server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))(_rename)
    offers = types.CompletionOptions(trigger_characters=[".", "(", ","])
    server.feature(types.TEXT_DOCUMENT_COMPLETION, offers)(_completion)
    fixes = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, fixes)(_code_actions)
    return server


def serve(import_root: str | None = None) -> None:
    """Serve stdin and stdout until the client leaves, or is gone."""
    server = make_server()
    server.state.import_root = import_root
    # The protocol gets a stdout of its own: pygls closes it, and nothing that is printed elsewhere may get into it.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        server.start_io(sys.stdin.buffer, out)


# --- notifications ---


def _did_open(server: Server, params: types.DidOpenTextDocumentParams) -> None:
    server.refresh(params.text_document.uri)


async def _did_change(server: Server, params: types.DidChangeTextDocumentParams) -> None:
    uri, version = params.text_document.uri, params.text_document.version
    await asyncio.sleep(PAUSE)
    document = server.workspace.text_documents.get(uri)
    if document is not None and document.version == version:
        server.refresh(uri)


def _did_save(server: Server, params: types.DidSaveTextDocumentParams) -> None:
    server.refresh(params.text_document.uri)


def _did_close(server: Server, params: types.DidCloseTextDocumentParams) -> None:
    server.forget(params.text_document.uri)


def _did_change_files(server: Server, params: types.DidChangeWatchedFilesParams) -> None:
    del params
    server.refresh_all()


# --- questions ---


def _hover(server: Server, params: types.HoverParams) -> types.Hover | None:
    analysis = server.analysis(params.text_document.uri)
    if analysis is None:
        return None
    places = server.places(analysis.source.text)
    found = hover(analysis, places.offset(params.position))
    if found is None:
        return None
    text, thing = found
    return types.Hover(
        contents=types.MarkupContent(types.MarkupKind.Markdown, text),
        range=places.range(thing.word.start, thing.word.end),
    )


def _definition(server: Server, params: types.DefinitionParams) -> list[types.Location]:
    uri = params.text_document.uri
    analysis = server.analysis(uri)
    if analysis is None:
        return []
    spans = define(analysis, server.places(analysis.source.text).offset(params.position))
    sources = analysis.result.sources
    return [
        types.Location(
            uri=server.uri_of(span.file, uri, analysis),
            range=server.places(sources[span.file].text if span.file in sources else "").range(span.start, span.end),
        )
        for span in spans
    ]


def _completion(server: Server, params: types.CompletionParams) -> types.CompletionList | None:
    analysis = server.analysis(params.text_document.uri)
    if analysis is None:
        return None
    places = server.places(analysis.source.text)
    offset = places.offset(params.position)
    typed = next((w for w in analysis.words if w.is_word and w.start < offset <= w.end), None)
    replaced = places.range(typed.start if typed is not None else offset, offset)
    items = [completion_item(offer, replaced) for offer in complete(analysis, offset)]
    return types.CompletionList(is_incomplete=False, items=items)


def _symbols(server: Server, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    analysis = server.analysis(params.text_document.uri)
    return symbols(analysis, server.places(analysis.source.text)) if analysis is not None else []


def _formatting(server: Server, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    document = server.workspace.get_text_document(params.text_document.uri)
    diagnostics = Diagnostics()
    text = fmt(Source(_name(document.uri), document.source), diagnostics)
    if diagnostics.has_errors or text == document.source:
        return None
    return [types.TextEdit(range=server.places(document.source).whole(), new_text=text)]


def _prepare_rename(server: Server, params: types.PrepareRenameParams) -> types.Range | None:
    analysis = server.analysis(params.text_document.uri)
    if analysis is None:
        return None
    places = server.places(analysis.source.text)
    thing = renamable(analysis, places.offset(params.position))
    return None if thing is None else places.range(thing.word.start, thing.word.end)


def _rename(server: Server, params: types.RenameParams) -> types.WorkspaceEdit | None:
    uri = params.text_document.uri
    analysis = server.analysis(uri)
    if analysis is None:
        return None
    places = server.places(analysis.source.text)
    try:
        spans, text = rename(analysis, places.offset(params.position), params.new_name)
    except CannotRenameError as error:
        raise JsonRpcInvalidParams(message=str(error)) from error
    edits = [types.TextEdit(range=places.range(span.start, span.end), new_text=text) for span in spans]
    return types.WorkspaceEdit(changes={uri: edits})


def _code_actions(server: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """A fix for each finding at the cursor that knows what was meant."""
    del server
    uri = params.text_document.uri
    actions = []
    for item in params.context.diagnostics:
        hint = item.data.get("hint") if isinstance(item.data, dict) else None
        meant = _DID_YOU_MEAN.fullmatch(hint) if isinstance(hint, str) else None
        if meant is None:
            continue
        edit = types.TextEdit(range=item.range, new_text=meant[1])
        actions.append(
            types.CodeAction(
                title=f"Change to `{meant[1]}`",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[item],
                is_preferred=True,
                edit=types.WorkspaceEdit(changes={uri: [edit]}),
            )
        )
    return actions
