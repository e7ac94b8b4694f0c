"""Host code in a kernel's source: launches, the runtime API, `main`. It is left out, since the
caller does its work; what can not be left out is told."""

from __future__ import annotations

import re

from tile_runtime.source_kernel.cxx_text import Statement, statements, without_comments

_DEVICE = ("__global__", "__aicore__", "__vector__", "__cube__", "__mix__")
# Calls that need a device, a driver or the vendor's own simulator.
_HOST_CALLS = re.compile(
    r"<<<|\bacl[A-Z]\w*|\bacl(rt|nn|op|mdl)\w+|\bACL_\w+|\brt[A-Z]\w+\s*\(|\bICPU_RUN_KF\b|"
    r"\bGmAlloc\b|\bGmFree\b|\bSetKernelMode\b"
)


def without_host_code(text: str) -> str:
    """The source with spaces for functions that run on the host only; lines keep their numbers.

    These are `main`, functions that launch or call the runtime, and functions that call those.
    """
    if "<<<" not in text and "acl" not in text and not re.search(r"\bmain\s*\(", text):
        return text
    plain = without_comments(text)
    functions = [s for s in statements(text) if s.body and _is_host_function(s)]
    removed: set[str] = set()
    chosen: list[Statement] = []
    changed = True
    while changed:
        changed = False
        for function in [f for f in functions if f not in chosen]:
            assert function.body is not None, "only definitions are in the list"
            piece = plain[function.head[0].start : function.body[1]]
            calls = any(re.search(rf"\b{name}\s*[(<]", piece) for name in removed)
            name = _name(function)
            if name == "main" or calls or _HOST_CALLS.search(piece):
                chosen.append(function)
                removed.add(name)
                changed = True
    for function in chosen:
        begin, end = function.head[0].start, function.end
        text = text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]
    return text


def _is_host_function(statement: Statement) -> bool:
    words = [t.text for t in statement.head]
    return "(" in words and not any(w in _DEVICE for w in words) and words[0] != "class"


def _name(statement: Statement) -> str:
    for token, following in zip(statement.head, statement.head[1:], strict=False):
        if following.text == "(" and token.is_name:
            return token.text
    return ""
