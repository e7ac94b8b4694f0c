"""The kernel part of a source: the kernel and all that it names, directly or through others.

The rest of a file is code of the host: launches, the runtime API, bindings for Python, graph
operators. The caller of a simulation takes its place. It is left out, and with it the headers of
libraries that only it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.source_kernels.cxx_text import (
    Statement,
    Token,
    after_template,
    statements,
    tokens_of,
    without_comments,
)

# Headers of host libraries: runtime, PyTorch and its bindings, graphs, operator registration, marks
# of profilers, tests.
_HOST_INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*[<"](?:pybind11|torch|torch_npu|ATen|c10|acl|aclnn|aclnnop|graph|'
    r"ge|exe_graph|mstx|ms_tools_ext\.h|msprof|gtest|gmock|external|opdev|runtime|experiment|hccl|"
    r"nlohmann|third_party|onnx|platform|tiling|"
    r"all_ops\.h|ascendc/host_api/tiling/(?!template_argument)|ascendcl|op_proto|proto|Python\.h|"
    r"aclrtlaunch_\w*\.h|acl_rtc\.h|version/|register/(?!tilingdata_base))[^\n]*$",
    re.MULTILINE,
)
# Those of which no declaration is here, so that nothing of theirs can stay.
_LIBRARIES = re.compile(_HOST_INCLUDE.pattern.replace("acl|", ""), re.MULTILINE)
# Of this one the structs are here that a kernel may share a file with.
_STRUCTS_OF_TILINGS = "tiling/tiling_api.h"
# Any of these says that a file has host code.
_HOST_SIGNS = re.compile(
    r"<<<|\bacl\w+|\bmain\s*\(|\bPYBIND11_MODULE\b|\bTORCH_LIBRARY\w*\b|\bICPU_RUN_KF\b|"
    r"\bgert::|\bge::|\b(?:at|torch|c10|py)::|\bGmAlloc\b|^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch|"
    r"pybind11|acl|graph|ge|register|exe_graph)\b",
    re.MULTILINE,
)
# Macros of the kernel side that stand where a declaration does.
_DEVICE_MACRO = re.compile(
    r"BEGIN_TILING_DATA|TILING_DATA|END_TILING_DATA|REGISTER_TILING|ASCENDC_TPL"
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b((?:\\\n|[^\n])*)", re.MULTILINE)
_TYPES = ("class", "struct", "union", "enum")
_HOST_NAMESPACES = ("ge", "gert", "torch", "at", "c10", "optiling", "pybind11")
_NAME = re.compile(r"[A-Za-z_]\w*")
# Words before a bracket or a body that name nothing.
_NO_NAMES = frozenset(
    ("inline", "static", "constexpr", "const", "extern", "typename", "template", "class", "struct",
     "enum", "union", "public", "private", "protected", "virtual", "void", "auto", "int",
     "unsigned", "signed", "long", "short", "char", "bool", "float", "double", "final", "alignas",
     "decltype", "noexcept", "__attribute__", "__declspec", "operator", "typedef", "using",
     "friend", "volatile", "static_assert", "__aicore__", "__global__", "__vector__", "__cube__",
     "__mix__", "__schedmode__", "__inout_pipe__", "__in_pipe__", "__out_pipe__")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Part:
    """A statement or a macro: the names it declares, those it uses, and its characters."""

    declares: frozenset[str]
    uses: frozenset[str]
    begin: int
    end: int
    kernel: bool = False
    always: bool = False  # it stays, whatever is used


def without_host_code(text: str, wanted: Iterable[str] = (), *, always: bool = False) -> str:
    """The source with spaces for what the kernel does not need; lines keep their numbers.

    `wanted` are the names that stay, such as the kernel and its template arguments; every kernel
    of the source if there are none. A source without signs of host code stays as it is, unless
    `always`: then nothing stays but what those names need.
    """
    if not (always or _HOST_SIGNS.search(text) or _HOST_INCLUDE.search(text)):
        return text
    parts = _parts(text)
    names = set(wanted) or {n for p in parts if p.kernel for n in p.declares}
    kept = _needed([*parts, *_macros(text)], names)
    left_out = [p for p in parts if p not in kept]
    if not always and not _LIBRARIES.search(text):  # all that is no host code can stay
        left_out = _tainted(left_out, text)
    for part in left_out:
        text = text[: part.begin] + _blank(text[part.begin : part.end]) + text[part.end :]
    return _HOST_INCLUDE.sub(lambda m: m[0] if _STRUCTS_OF_TILINGS in m[0] else _blank(m[0]), text)


def function_name(statement: Statement) -> str | None:
    """The name of a function or a macro that a statement declares or calls."""
    return _called(statement.head, after_template(statement.head))


def _needed(parts: Sequence[_Part], names: set[str]) -> set[_Part]:
    """The parts that declare one of the names, and what those use in turn."""
    kept: set[_Part] = set()
    waiting = list(names)
    seen = set(names)
    by_name: dict[str, list[_Part]] = {}
    for part in parts:
        for name in part.declares:
            by_name.setdefault(name, []).append(part)
        if part.always:
            kept.add(part)
            waiting += part.uses - seen
            seen |= part.uses
    while waiting:
        for part in by_name.get(waiting.pop(), ()):
            if part not in kept:
                kept.add(part)
                waiting += part.uses - seen
                seen |= part.uses
    return kept


def _tainted(parts: Sequence[_Part], text: str) -> list[_Part]:
    """Those that show signs of host code, and those that use them."""
    chosen: list[_Part] = []
    removed: set[str] = set()
    plain = without_comments(text)
    waiting = [p for p in parts if _HOST_SIGNS.search(plain[p.begin : p.end])]
    while waiting:
        chosen += waiting
        removed |= {n for p in waiting for n in p.declares}
        waiting = [p for p in parts if p not in chosen and p.uses & removed]
    return chosen


def _parts(text: str) -> list[_Part]:
    parts: list[_Part] = []
    before: Statement | None = None
    for statement in statements(text):
        part = _part(statement)
        # `struct A {...} a;` are two statements here, of which none can stay alone.
        if before is not None and _is_type(before) and not text[before.end : part.begin].strip():
            both = parts[-1].declares | part.declares
            parts[-1] = replace(parts[-1], declares=both)
            part = replace(part, declares=both)
        parts.append(part)
        before = statement
    return parts


def _part(statement: Statement) -> _Part:
    words = [t.text for t in statement.head]
    uses = frozenset(t.text for t in (*statement.head, *statement.inside) if t.is_name)
    called = _called(statement.head, after_template(statement.head))
    macro = _DEVICE_MACRO.match(called or words[0]) is not None  # the end has no brackets
    stays = macro or (words[:2] == ["using", "namespace"] and words[2] not in _HOST_NAMESPACES)
    return _Part(
        frozenset(_declared(statement, words, called)), uses, statement.head[0].start,
        statement.end, kernel="__global__" in words, always=stays,
    )  # fmt: skip


def _declared(statement: Statement, words: list[str], called: str | None) -> list[str]:
    """The names a statement declares."""
    if words[0] == "using":
        return words[1:2] if "=" in words else words[-1:]
    if words[0] == "namespace":
        return words[1:2]
    if words[0] == "typedef":
        return _names(words[1:])
    begin = after_template(statement.head)
    if _is_type(statement) or (called is None and words[begin] in _TYPES and "=" not in words):
        names = _names(words[begin + 1 :])[:1]
        inside = [t.text for t in statement.inside if t.is_name]
        return names + (inside if words[begin] == "enum" else [])
    if called is not None:
        return [called]
    # A variable, or several: those before `=`, a comma or the end.
    ends = [i for i, w in enumerate(words) if w in ("=", ",", "[")] + [len(words)]
    return [n for end in ends for n in _names(words[begin:end])[-1:]]


def _is_type(statement: Statement) -> bool:
    """A class, struct, union or enum with its body."""
    words = [t.text for t in statement.head]
    begin = after_template(statement.head)
    return statement.body is not None and begin < len(words) and words[begin] in _TYPES


def _names(words: Sequence[str]) -> list[str]:
    return [w for w in words if _NAME.fullmatch(w) and w not in _NO_NAMES]


def _called(head: list[Token], begin: int) -> str | None:
    """The name before the first bracket that is no qualifier's: that of a function or a macro."""
    depth = 0
    for i in range(begin, len(head) - 1):
        word, following = head[i], head[i + 1].text
        depth += (word.text in "([") - (word.text in ")]")
        if word.text == "=" and depth == 0:
            return None
        if depth == 0 and following == "(" and word.is_name and word.text not in _NO_NAMES:
            return word.text
        if depth == 0 and word.text == "operator":
            return "operator"
    return None


def _macros(text: str) -> list[_Part]:
    """Macros, through which a kernel uses names. They stay as they are."""
    found = []
    for rest in _DEFINE.findall(text):
        words = [t.text for t in tokens_of(rest.replace("\\\n", " ")) if t.is_name]
        found.append(_Part(frozenset(words[:1]), frozenset(words[1:]), 0, 0))
    return found


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
