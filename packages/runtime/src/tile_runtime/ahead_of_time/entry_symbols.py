"""The names of one variant in an emitted source, and the parameters of its entry.

Tokens are renamed, not words of the text: comments and strings stay unchanged. `kernel_spec`
defines the names of a variant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from tile_ir import BuildError
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.source_kernels.cxx_text import Statement, Token, closing, statements, tokens_of


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an entry: its type, with single spaces and none around `*` and `&`."""

    cpp_type: str
    name: str


@dataclass(frozen=True, slots=True)
class KernelAbi:
    """The return type and the parameters of the function that C++ calls."""

    return_type: str
    parameters: tuple[Parameter, ...]

    def to_json(self) -> dict[str, object]:
        return {
            "return_type": self.return_type,
            "parameters": [{"cpp_type": p.cpp_type, "name": p.name} for p in self.parameters],
        }

    def types(self) -> str:
        """The parameters as a list of declarations."""
        return ", ".join(f"{p.cpp_type} {p.name}" for p in self.parameters)


def with_variant(source: str, entry: str, symbol: str, variant: str) -> str:
    """The source with its entry called `symbol`, and its device functions and their tilings with
    the variant behind their names, so that many variants link into one library.

    BuildError if the source does not define the entry, or names it for something else.
    """
    found = list(statements(source))
    if not any(_defines(s, entry) for s in found):
        raise BuildError(
            "aot-entry",
            f'the source defines no `extern "C"` function `{entry}`',
            hint="generate_source returns what `tilelang.engine.lower(...)` emits, or set "
            "SOURCE_ENTRY_SYMBOL",
        )
    names = {entry: symbol}
    for name in (_function(s) for s in found):
        if name is not None and name != entry and _is_of_kernel(name, found):
            names[name] = f"{name}__{variant}"
    return _renamed(source, names)


def abi_of(source: str, entry: str) -> KernelAbi:
    """The return type and the parameters of an entry. BuildError if they cannot be read."""
    for statement in statements(source):
        if _defines(statement, entry):
            head = [t for t in statement.head if t.text not in ("extern", '"', '"C"')]
            at = next(i for i, t in enumerate(head) if t.text == entry)
            inside = head[at + 2 : closing(head, at + 1)]
            return KernelAbi(_spelled(head[:at]), tuple(_parameters(inside, entry)))
    raise BuildError("aot-entry", f"the source defines no function `{entry}`")


def _defines(statement: Statement, name: str) -> bool:
    return statement.body is not None and not statement.scope and _function(statement) == name


def _function(statement: Statement) -> str | None:
    """The name of the function a declaration is of."""
    head = statement.head
    for token, after in pairwise(head):
        if after.text == "(" and token.is_name and not token.text.startswith("__"):
            return token.text
    return None


def _is_of_kernel(name: str, found: list[Statement]) -> bool:
    """Whether a function is a device function of the source, or the tiling of one."""
    device = {_function(s) for s in found if any(token.text == "__global__" for token in s.head)}
    return name in device or name.removesuffix("_tiling") in device


def _renamed(source: str, names: Mapping[str, str]) -> str:
    parts: list[str] = []
    end = 0
    before = ""
    for token in tokens_of(source):
        member = before in (".", ">", "::")  # of something that has a name of its own
        before = token.text
        if token.text in names and not member:
            parts += [source[end : token.start], names[token.text]]
            end = token.start + len(token.text)
    return "".join((*parts, source[end:]))


def _parameters(inside: list[Token], entry: str) -> list[Parameter]:
    if [t.text for t in inside] in ([], ["void"]):
        return []
    found, part = [], list[Token]()
    for token in (*inside, None):
        if token is None or token.text == ",":
            if len(part) < 2 or not part[-1].is_name:
                raise BuildError("aot-entry", f"a parameter of `{entry}` has no name or no type")
            found.append(Parameter(_spelled(part[:-1]), part[-1].text))
            part = []
        elif token.text in "()":
            raise BuildError("aot-entry", f"a parameter of `{entry}` is a function")
        else:
            part.append(token)
    return found


def _spelled(tokens: list[Token]) -> str:
    text = " ".join(t.text for t in tokens)
    return re.sub(r"\s*(::|[*&<>])\s*", r"\1", text)
