"""Read the parts of a kernel in other files: separately compiled functions of the device, and the
tiling structs that an operator's host code defines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tile_ir import CallError
from tile_runtime.source_kernels.cxx_text import (
    Statement,
    statements,
    with_device_words,
    without_comments,
)
from tile_runtime.source_kernels.host_code import function_name, without_host_code
from tile_runtime.source_kernels.kernel_type import included_headers

_SOURCES = (".asc", ".cpp", ".cce", ".cc", ".cxx")
_HEADERS = (".h", ".hpp")
_DEFAULT = re.compile(r"\bREGISTER_TILING_DEFAULT\s*\(")
_USES_TILING = re.compile(r"\b(?:GET_TILING_DATA|REGISTER_TILING)\w*\s*\(")
_USES_DEFAULT = re.compile(r"\bGET_TILING_DATA\s*\(")
_TILING = re.compile(
    r"\bBEGIN_TILING_DATA_DEF\s*\(\s*(\w+)\s*\)(?:.|\n)*?\bEND_TILING_DATA_DEF\s*;?"
)
_REGISTERED = re.compile(r"\bREGISTER_TILING_DATA_CLASS\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_LENGTH = re.compile(r"\bTILING_DATA_FIELD_DEF_ARR\s*\([^,]*,\s*([A-Za-z_]\w*)")


def second_sources(text: str, kernel: str, part: str, folders: Sequence[Path]) -> tuple[str, str]:
    """C++ that goes before `part`, the kernel part of `text`, and behind it, from files in and near
    the first folder.

    Raises CallError if a tiling struct is used that no file names.
    """
    return _tiling_structs(text, kernel, folders), _functions(part, folders[0])


def file_of_kernel(kernel: str, folder: Path, besides: Path) -> Path | None:
    """The one other source of a folder that defines a kernel."""
    short = kernel.split("<")[0].split("::")[-1].strip()
    found = [
        path
        for path, text in _files(folder, _SOURCES)
        if path != besides and any(_defines(s, short, "__global__") for s in statements(text))
    ]
    return found[0] if len(found) == 1 else None


def _functions(part: str, folder: Path) -> str:
    """Definitions of the device functions that `part` only declares."""
    here = list(statements(part))
    defined = {function_name(s) for s in here if s.body}
    missing = {
        name
        for s in here
        if s.body is None and "__aicore__" in (t.text for t in s.head)
        if (name := function_name(s)) is not None and name not in defined
    }
    if not missing:
        return ""
    heads = {_head(s) for s in here}
    units = []
    for path, text in _files(folder, _SOURCES):
        found = {n for s in statements(text) for n in missing if _defines(s, n, "__aicore__")}
        if found:
            kept = without_host_code(text, found, always=True)
            units.append(f'#line 1 "{path.name}"\n{_without(kept, heads)}')
    return "\n".join(units)


def _without(text: str, heads: set[str]) -> str:
    """The text without the statements that the kernel's own file has as well."""
    for s in statements(text):
        if _head(s) in heads:
            begin = s.head[0].start
            text = text[:begin] + re.sub(r"[^\n]", " ", text[begin : s.end]) + text[s.end :]
    return text


def _head(statement: Statement) -> str:
    return " ".join(t.text for t in statement.head) + ("{" if statement.body else ";")


def _defines(statement: Statement, name: str, qualifier: str) -> bool:
    words = [t.text for t in statement.head]
    return statement.body is not None and qualifier in words and function_name(statement) == name


def _files(folder: Path, suffixes: Sequence[str]) -> Iterator[tuple[Path, str]]:
    try:
        paths = sorted(p for p in folder.iterdir() if p.suffix in suffixes and p.is_file())
    except OSError:
        return
    for path in paths:
        yield path, with_device_words(path.read_text(errors="replace"))


def _tiling_structs(text: str, kernel: str, folders: Sequence[Path]) -> str:
    """The tiling structs that the kernel's sources name and none of them defines; and which of all
    GET_TILING_DATA fills where the kernel registers none."""
    plain = without_comments(text)
    if not _USES_TILING.search(plain):
        return ""
    own = [plain, *(without_comments(t) for t in included_headers(text, folders).values())]
    near = list(_near(folders[0]))
    own_structs, near_structs = _structs(own), _structs(near)
    default = ""
    if _USES_DEFAULT.search(plain) and not any(_DEFAULT.search(t) for t in own):
        default = _default_struct(kernel, own, own_structs) or _default_struct(
            kernel, near, near_structs
        )
        if not default:
            raise CallError(
                "kernel-arguments",
                "GET_TILING_DATA does not say which struct it fills, and no file near the source "
                "defines a tiling struct",
                None,
                "name it with REGISTER_TILING_DEFAULT(...) in the kernel",
            )
    words = {default}.union(*(re.findall(r"\w+", t) for t in own))
    plain_structs = {n for t in own for n in re.findall(r"\b(?:struct|class)\s+(\w+)\s*\{", t)}
    missing = [n for n in near_structs if n in words - own_structs.keys() - plain_structs]
    parts = dict.fromkeys(p for n in missing for p in _struct_with_parts(n, near_structs))
    lines = [f"#define TileDefaultTiling {default}"] if default else []
    if parts:
        lines += ['#include "register/tilingdata_base.h"', *_lengths(parts, near), *parts]
    return "".join(f"{line}\n" for line in lines)


def _structs(texts: Sequence[str]) -> dict[str, str]:
    """The definition of each tiling struct."""
    return {m[1]: m[0] for t in texts for m in _TILING.finditer(t)}


def _default_struct(kernel: str, texts: Sequence[str], structs: Mapping[str, str]) -> str:
    """The struct that is registered for the kernel, or the only one; empty if there is none."""
    operation = re.sub(r"_", "", kernel).lower()
    registered = [m[2] for t in texts for m in _REGISTERED.finditer(t)
                  if m[1].lower() in (operation, operation.removesuffix("kernel"))]  # fmt: skip
    names = {n for n in registered if n in structs} or set(structs)
    if not names:
        names = {n for t in texts for n in re.findall(r"\bstruct\s+(\w*[Tt]iling\w*)\s*\{", t)}
    if len(names) > 1:
        raise CallError(
            "kernel-arguments",
            "GET_TILING_DATA does not say which struct it fills: " + ", ".join(sorted(names)),
            None,
            "name it with REGISTER_TILING_DEFAULT(...) in the kernel",
        )
    return next(iter(names), "")


def _lengths(structs: Iterable[str], texts: Sequence[str]) -> Iterator[str]:
    """The definitions of constants that are lengths of arrays in the structs."""
    for name in {n: 0 for s in structs for n in _LENGTH.findall(s)}:
        defined = (
            rf"(?:\bconst(?:expr)?\s+\w+\s+{name}\s*=[^;]*;|^[ \t]*#[ \t]*define\s+{name}\s.*)"
        )
        found = next((m[0] for t in texts if (m := re.search(defined, t, re.MULTILINE))), None)
        if found is not None:
            yield found


def _struct_with_parts(name: str, structs: Mapping[str, str]) -> Iterator[str]:
    """The text of a struct, after those of its fields."""
    text = structs[name]
    for other in structs:
        if other != name and re.search(rf"\b{other}\b", text):
            yield from _struct_with_parts(other, structs)
    yield text


def _near(folder: Path) -> Iterator[str]:
    """Texts of an operator's host code: beside the kernel, or in op_host beside op_kernel."""
    for place in (
        folder,
        folder.parent / "op_host",
        folder.parent.parent / "op_host" / folder.name,
    ):
        for _, text in _files(place, (*_HEADERS, *_SOURCES)):
            yield without_comments(text)
