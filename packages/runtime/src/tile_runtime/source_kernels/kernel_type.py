"""Which cores a kernel is for, where neither a qualifier nor the caller says it.

A kernel names its type with KERNEL_TASK_TYPE_DEFAULT, anywhere in its body: the vendor's compiler
reads it before anything runs. Where none is named, that compiler decides by the code it compiled
for each kind of core. Here it is the words of the source: what only a cube core has, and what only
a vector core has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tile_runtime.source_kernels.cxx_text import statements, without_comments

KERNEL_TYPES = (
    "KERNEL_TYPE_AIV_ONLY", "KERNEL_TYPE_AIC_ONLY", "KERNEL_TYPE_MIX_AIV_1_0",
    "KERNEL_TYPE_MIX_AIC_1_0", "KERNEL_TYPE_MIX_AIC_1_1", "KERNEL_TYPE_MIX_AIC_1_2",
)  # fmt: skip
_CUBE_WORDS = re.compile(
    r"\b(Mmad|Fixpipe|LoadData\w*|ASCEND_IS_AIC|ASCEND_IS_NOT_AIV|TPosition::(A1|A2|B1|B2|C1|C2|"
    r"CO1|CO2|TSCM)|CrossCore\w+)\b|SyncAll\s*<\s*false"
)
_VECTOR_WORDS = re.compile(r"\b(ASCEND_IS_AIV|ASCEND_IS_NOT_AIC|VEC(IN|OUT|CALC)|CrossCore\w+)\b")
# Where one kind of core synchronises in hardware, the type is the MIX type of that kind: the sample
# sync_all of asc-devkit is `__vector__` and does so on A2.
_SYNC_WORDS = re.compile(r"\bSyncAll\s*(<[^<>;]*>\s*)?\(\s*\)|\bCrossCore(Set|Wait)Flag\b")
_SYNCHRONISED = {
    "KERNEL_TYPE_AIV_ONLY": "KERNEL_TYPE_MIX_AIV_1_0",
    "KERNEL_TYPE_AIC_ONLY": "KERNEL_TYPE_MIX_AIC_1_0",
}
_NAMED = re.compile(r"\bKERNEL_TASK_TYPE_DEFAULT\s*\(\s*(KERNEL_TYPE_\w+)\s*\)")
_OPENED = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_CLOSED = re.compile(r"^[ \t]*#[ \t]*endif", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)


def kernel_type(
    text: str, name: str, folders: Sequence[Path], qualifier: str | None = None
) -> str | None:
    """The type of kernel `name`; None if it depends on the run which of several
    KERNEL_TASK_TYPE_DEFAULT it reaches.

    `qualifier` is the type a word such as `__vector__` says. Bodies of other kernels are left
    aside; headers in `folders` count.
    """
    words = " ".join(_code(text, name, folders))
    if qualifier is not None:
        return _SYNCHRONISED.get(qualifier, qualifier) if _SYNC_WORDS.search(words) else qualifier
    if "KERNEL_TASK_TYPE_DEFAULT" in words:
        return _named_type(text, name)
    cube, vector = bool(_CUBE_WORDS.search(words)), bool(_VECTOR_WORDS.search(words))
    if cube and vector:
        return "KERNEL_TYPE_MIX_AIC_1_2"
    type_ = "KERNEL_TYPE_AIC_ONLY" if cube else "KERNEL_TYPE_AIV_ONLY"
    return _SYNCHRONISED[type_] if _SYNC_WORDS.search(words) else type_


def _named_type(text: str, name: str) -> str | None:
    """The one type that the body of the kernel names, whatever is compiled of it.

    GetBlockIdx depends on it, also in calls before the macro.
    """
    for statement in statements(text):
        words = [t.text for t in statement.head]
        if statement.body and "__global__" in words and name in words:
            begin, end = statement.body
            found = list(_NAMED.finditer(without_comments(text)[begin:end]))
            named = {match[1] for match in found}
            before = [text[begin : begin + match.start()] for match in found]
            certain = all(len(_OPENED.findall(b)) == len(_CLOSED.findall(b)) for b in before)
            if len(named) == 1 and certain:
                return named.pop() if named <= set(KERNEL_TYPES) else None
    return None


def _code(text: str, name: str, folders: Sequence[Path]) -> Iterable[str]:
    """The source without comments and other kernels, then the headers it includes by quotes."""
    plain = without_comments(text)
    for statement in statements(text):
        words = [t.text for t in statement.head]
        if statement.body and "__global__" in words and name not in words:
            begin, end = statement.body
            plain = plain[:begin] + " " * (end - begin) + plain[end:]
    yield plain
    for header in included_headers(text, folders).values():
        yield without_comments(header)


def included_headers(text: str, folders: Sequence[Path]) -> dict[Path, str]:
    """The headers in `folders` that a source includes by quotes, and those that they include."""
    found: dict[Path, str] = {}
    waiting = [text]
    while waiting:
        for wanted in _INCLUDE.findall(waiting.pop()):
            for path in (folder / wanted for folder in folders):
                if path.is_file() and path.resolve() not in found:
                    found[path.resolve()] = path.read_text(errors="replace")
                    waiting.append(found[path.resolve()])
                    break
    return found
