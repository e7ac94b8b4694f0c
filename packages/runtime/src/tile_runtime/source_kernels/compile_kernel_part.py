"""Compile the kernel part of a source, and leave out more of it where it does not compile.

Code of the host can use libraries and headers beyond every list here. If the source does not
compile with them, only the kernel and its dependences are compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tile_ir import BuildError, Diagnostic, Loc
from tile_runtime.source_kernels.compile_source import NO_SUCH_HEADER, CompiledSource
from tile_runtime.source_kernels.cxx_text import Lines, statements
from tile_runtime.source_kernels.host_code import without_host_code

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"][^>"\n]*[>"])')


def compile_kernel_part(
    text: str, name: str, wanted: Iterable[str], compiled: Callable[[str], CompiledSource]
) -> tuple[CompiledSource, list[Diagnostic]]:
    """The library that `compiled` makes of the kernel part of a source, and a warning for each
    header that was left out.

    `wanted` are the names that the kernel part has to declare, `name` is what reports call the
    source. Raises the BuildError of the first attempt if the kernel needs what does not compile.
    """
    names = tuple(wanted)
    try:
        return compiled(without_host_code(text, names)), []
    except BuildError as error:
        first = error
    if not _may_be_host_code(first, text, name):
        raise first
    part = without_host_code(text, names, always=True)
    warnings: list[Diagnostic] = []
    while True:
        try:
            return compiled(part), warnings
        except BuildError as error:
            header = _missing_header(error, part, name)
            if header is None:
                raise first from None
        lines = part.split("\n")
        lines[header.line - 1] = ""
        part = "\n".join(lines)
        warnings.append(_left_out(text.split("\n")[header.line - 1], header))


def _may_be_host_code(error: BuildError, text: str, name: str) -> bool:
    """Whether the error is at a line of the source that no function of the device contains."""
    if error.loc is None or error.loc.file != name:
        return False
    lines = Lines(text)
    for statement in statements(text):
        first, _ = lines.place(statement.head[0].start)
        last, _ = lines.place(statement.end - 1)
        if first <= error.loc.line <= last:
            words = {t.text for t in (*statement.head, *statement.inside)}
            return not words & {"__aicore__", "__global__"}
    return error.slug == NO_SUCH_HEADER


def _missing_header(error: BuildError, part: str, name: str) -> Loc | None:
    """The line of the source that includes a header of which some file is missing."""
    loc = error.loc
    if error.slug != NO_SUCH_HEADER or loc is None or loc.file != name:
        return None
    return loc if _INCLUDE.match(part.split("\n")[loc.line - 1]) else None


def _left_out(line: str, loc: Loc) -> Diagnostic:
    found = _INCLUDE.match(line)
    header = found[1] if found else line.strip()
    return Diagnostic(
        "header-left-out",
        f"{header} or a header that it includes is missing; the kernel compiles without it",
        loc,
        "if the kernel needs it, give its folder (includes=, -I)",
        severity="warning",
    )
