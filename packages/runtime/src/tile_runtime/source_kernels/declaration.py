"""Kernels of an Ascend C source: names, parameters and kernel type, read from its text.

Macros are not expanded and `#if` is not evaluated: a kernel is what is written as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tile_ir import KernelError, Loc, did_you_mean
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.source_kernels.cxx_text import (
    Lines,
    Statement,
    Token,
    after_template,
    closing,
    statements,
)

# Words that can end a type: a parameter that ends with one has no name.
_TYPE_WORDS = frozenset(
    ("int", "unsigned", "signed", "long", "short", "char", "bool", "float", "double", "half",
     "bfloat16_t", "void", "auto", "const", "volatile", "GM_ADDR", "size_t", "int8_t", "int16_t",
     "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "__restrict__",
     "__restrict")
)  # fmt: skip
_MIX_TYPES = {
    ("1", "2"): "KERNEL_TYPE_MIX_AIC_1_2",
    ("1", "1"): "KERNEL_TYPE_MIX_AIC_1_1",
    ("1", "0"): "KERNEL_TYPE_MIX_AIC_1_0",
    ("0", "1"): "KERNEL_TYPE_MIX_AIV_1_0",
}


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """One parameter as written. `default` is C++ text."""

    name: str
    type: str
    default: str | None
    loc: Loc


@dataclass(frozen=True, slots=True)
class KernelDeclaration:
    """A `__global__` function. `type` is a KernelMetaType if a qualifier says it."""

    name: str
    scope: tuple[str, ...]
    parameters: tuple[KernelParameter, ...]
    is_template: bool
    type: str | None
    loc: Loc
    defined: bool

    @property
    def qualified(self) -> str:
        return "::".join((*self.scope, self.name))


def find_kernel(
    text: str, file: str, kernel: str | None, template: str | None = None
) -> tuple[KernelDeclaration, str]:
    """The kernel a caller means, and the C++ expression that names it with template arguments.

    `kernel` may be qualified by namespaces and may carry the template arguments; without one the
    source must have a single kernel. Raises KernelError that says where it looked.
    """
    wanted, arguments = _split_name(kernel, template)
    found = [k for k in kernels_of(text, file) if wanted is None or _is_named(k, wanted)]
    defined = [k for k in found if k.defined] or found
    if not defined:
        raise _not_found(text, file, wanted)
    chosen = defined[-1]
    different = [k for k in defined if _shape(k) != _shape(chosen)]
    if different:
        names = ", ".join(f"{k.qualified} at {k.loc.line}" for k in (*different, chosen))
        why = "the source has several kernels" if wanted is None else f"`{wanted}` is ambiguous"
        raise KernelError("no-such-kernel", f"{why}: {names}", chosen.loc, "name one of them")
    # Defaults may stand at the declaration only.
    if len(found) > 1 and not any(p.default for p in chosen.parameters):
        chosen = next((k for k in found if any(p.default for p in k.parameters)), chosen)
    if chosen.is_template and not arguments:
        raise KernelError(
            "kernel-template",
            f"`{chosen.name}` is a template",
            chosen.loc,
            f'give its arguments: template="{chosen.name}<...>"',
        )
    if arguments and not chosen.is_template:
        raise KernelError(
            "kernel-template", f"`{chosen.name}` is not a template, but got {arguments}", chosen.loc
        )
    return chosen, f"::{chosen.qualified}{arguments}"


def kernels_of(text: str, file: str) -> list[KernelDeclaration]:
    """Every kernel declared or defined in a source."""
    lines = Lines(text)
    found = []
    for statement in statements(text):
        if any(t.text == "__global__" for t in statement.head):
            kernel = _kernel(statement, text, file, lines)
            if kernel is not None:
                found.append(kernel)
    return found


def _kernel(statement: Statement, text: str, file: str, lines: Lines) -> KernelDeclaration | None:
    head = statement.head
    begin = after_template(head)
    type_ = None
    for i in range(begin, len(head) - 1):
        word = head[i].text
        if word == "__mix__":
            type_ = _MIX_TYPES.get((head[i + 2].text, head[min(i + 4, len(head) - 1)].text))
        elif word in ("__vector__", "__cube__"):
            type_ = "KERNEL_TYPE_AIV_ONLY" if word == "__vector__" else "KERNEL_TYPE_AIC_ONLY"
        if head[i + 1].text == "(" and head[i].is_name and not _is_qualifier(word):
            inside = head[i + 2 : closing(head, i + 1)]
            loc = Loc(file, *lines.place(head[i].start))
            parameters = tuple(
                _parameter(p, n, text, file, lines) for n, p in enumerate(_split(inside))
            )
            return KernelDeclaration(
                word,
                statement.scope,
                parameters,
                begin > 0,
                type_,
                loc,
                statement.body is not None,
            )
    return None


def _is_qualifier(word: str) -> bool:
    """Words that may stand before a bracket and are not the kernel's name: __mix__(1, 2)."""
    return (word.startswith("__") and word.endswith("__")) or word == "decltype"


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Parameters of a list, split at the commas outside all brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in "<([{") - (token.text in ">)]}")
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    if len(parts) == 1 and [t.text for t in parts[0]] == ["void"]:
        return []
    return [p for p in parts if p]  # of text that is no C++, such as `(,`, one may be empty


def _parameter(
    tokens: list[Token], number: int, text: str, file: str, lines: Lines
) -> KernelParameter:
    words = [t.text for t in tokens]
    equals = words.index("=") if "=" in words else len(words)
    declarator = tokens[:equals]
    default = None
    if equals < len(words):
        last = tokens[-1]
        default = text[tokens[equals].start + 1 : last.start + len(last.text)].strip()
    while declarator and declarator[-1].text in ("]", "["):
        declarator = declarator[:-1]
    names = [t for t in declarator if t.is_name]
    last_word = declarator[-1] if declarator else tokens[0]
    loc = Loc(file, *lines.place(tokens[0].start))
    if len(names) > 1 and last_word.is_name and last_word.text not in _TYPE_WORDS:
        type_ = " ".join(t.text for t in declarator[:-1])
        return KernelParameter(last_word.text, type_, default, loc)
    return KernelParameter(f"argument{number}", " ".join(words[:equals]), default, loc)


def _split_name(kernel: str | None, template: str | None) -> tuple[str | None, str]:
    """`ns::add<half>` or `add` with `<half>` as name and template arguments."""
    name, bracket, rest = (kernel or "").partition("<")
    arguments = bracket + rest
    if template:
        before, bracket, rest = template.partition("<")
        if not bracket:
            raise KernelError("kernel-template", f"{template!r} is not of the form name<arguments>")
        name = name or before
        arguments = bracket + rest
    return (name.strip().removeprefix("::") or None), arguments.strip()


def _is_named(kernel: KernelDeclaration, wanted: str) -> bool:
    return kernel.qualified == wanted or kernel.qualified.endswith(f"::{wanted}")


def _shape(kernel: KernelDeclaration) -> tuple[object, ...]:
    return (kernel.qualified, kernel.is_template, [p.type for p in kernel.parameters])


def _not_found(text: str, file: str, wanted: str | None) -> KernelError:
    known = sorted({k.qualified for k in kernels_of(text, file)})
    lines = Lines(text)
    if wanted is None or not known:
        function = wanted and re.search(rf"\b{re.escape(wanted.split('::')[-1])}\s*\(", text)
        place = Loc(file, *lines.place(function.start() if function else 0))
        what = f"`{wanted}` is not declared as a kernel" if function else "there is no kernel"
        return KernelError(
            "no-such-kernel",
            f"{what}: none of the functions of this file is `__global__`",
            place,
            'a kernel reads `extern "C" __global__ __aicore__ void name(GM_ADDR x, ...)`, '
            "outside any class and not made by a macro",
        )
    return KernelError(
        "no-such-kernel",
        f"no kernel is called `{wanted}`; there are {', '.join(known)}",
        Loc(file, 1, 1),
        did_you_mean(wanted, known),
    )
