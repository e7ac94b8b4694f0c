"""The macros by which the vendor's compiler says for which kind of core it compiles.

That compiler compiles a kernel once for each kind of core. Here it is compiled once for all: a
kernel for one kind gets the macros of that kind. In a kernel for both kinds no branch that tests
such a macro would run: a warning reports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tile_ir import Diagnostic, Loc

_CUBE = ("__DAV_C220_CUBE__", "__DAV_CUBE__")
_VECTOR = ("__DAV_C220_VEC__", "__DAV_VEC__")
_OF_TYPE: Mapping[str | None, tuple[str, ...]] = {
    "KERNEL_TYPE_AIC_ONLY": _CUBE,
    "KERNEL_TYPE_MIX_AIC_1_0": _CUBE,
    "KERNEL_TYPE_AIV_ONLY": _VECTOR,
    "KERNEL_TYPE_MIX_AIV_1_0": _VECTOR,
}
_TEST = re.compile(
    r"^[ \t]*(#[ \t]*(?:if|ifdef|ifndef|elif)\b[^\n]*?\b(__DAV_(?:C220_)?(?:CUBE|VEC)__)\b)",
    re.MULTILINE,
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def core_macros(kernel_type: str | None) -> tuple[str, ...]:
    """Macros that are defined for a kernel of a type; none if it is for both kinds of cores."""
    return _OF_TYPE.get(kernel_type, ())


def branches_of_no_core(kernel_type: str | None, texts: Mapping[str, str]) -> Iterator[Diagnostic]:
    """A warning for each test of such a macro in a kernel for both kinds of cores.

    `texts` maps the names of the source and its headers to their text.
    """
    if core_macros(kernel_type):
        return
    for name, text in texts.items():
        plain = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        for found in _TEST.finditer(plain):
            line = plain.count("\n", 0, found.start(1)) + 1
            column = found.start(1) - plain.rfind("\n", 0, found.start(1))
            macro = found[2]
            core = "ASCEND_IS_AIC" if "CUBE" in macro else "ASCEND_IS_AIV"
            yield Diagnostic(
                "core-macro",
                f"{macro} is defined on no core here: a kernel for cube and vector cores is "
                "compiled once for both",
                Loc(name, line, column),
                f"test it while the kernel runs: if {core} {{ ... }}",
                severity="warning",
            )
