"""Write reference.md: every name of the language, from the functions and records themselves."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from run_blocks import blocks

import tile_frontend as T
from pages import language_examples
from pages.legality import known_slugs, slugs_of, slugs_raised_in
from pages.markdown import ASIDE, NOTE, block, code, table
from pages.op_examples import FRAGMENT
from pages.operations import (
    anchor,
    cast_table,
    errors_line,
    families,
    general_slugs,
    op_section,
)
from pages.signatures import called, native_parameters
from tile_codegen_ascendc import emit
from tile_frontend._language.conversions import DTypeName
from tile_frontend._symbols import NAMES
from tile_ir import DEFAULT_TARGET, OPS, Func, KernelError
from tile_passes import run_pipeline
from tile_runtime.tools.command_line.ops import language_name

# Names that are no operations, in the order a reader needs them.
GROUPS: dict[str, tuple[str, ...]] = {
    "kernels": ("prim_func", "macro", "Tensor", "Buffer", "symbolic", "const", "empty",
                "alloc_global",
                "dtype", "Kernel", "Scope", "func_attr", "assume", "print", "Task", "megakernel",
                "after", "prefetch"),
    "buffers": ("alloc_ub", "alloc_L1", "alloc_L0A", "alloc_L0B", "alloc_L0C", "alloc_BT",
                "alloc_shared", "alloc_fragment", "alloc_var", "reinterpretcast", "view", "reshape",
                "annotate_address", "annotate_layout", "make_zn_layout", "make_nz_layout"),
    "loops": ("serial", "range", "unroll", "grid", "Parallel", "vectorized", "Pipelined",
              "Persistent", "loop_break", "use_swizzle", "recommend_tiles", "recommend_configs"),
    "branches": ("If", "Then", "Else"),
    "devices": ("Scale", "rank", "num_ranks", "SymmTensor", "Signals", "put", "get", "put_signal",
                "put_async", "get_async", "wait",
                "wait_eq", "wait_ne", "wait_ge", "wait_gt", "wait_le", "wait_lt"),
    "scalars": ("if_then_else", "Select", "And", "Or", "Not", "max", "min", "abs", "exp", "log",
                "sqrt", "rsqrt", "floor", "ceil", "round", "trunc", "pow", "exp2", "log2", "log10",
                "sigmoid", "tanh", "erf", "sin", "cos", "clamp", "isnan", "isinf", "isfinite",
                "ceildiv", "floordiv", "floormod", "truncdiv", "truncmod", "bitwise_and",
                "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right", "cast",
                "Cast", "reinterpret", "infinity", "max_value", "min_value", "cdiv",
                "next_power_of_2"),
}  # fmt: skip
# Names that belong to a family of operations without being one.
BESIDE = {"reduce": ("reduce",)}
NOT_SECTIONS = ("tile", "DataType", "PrimFunc")
INTRODUCTION = """\
For authors of kernels: every name of the language with an example, its rules and its errors.
A script needs `import tile_frontend as T`; under `tile-ascend run` the module is also
`tilelang.language`. The page is generated from the functions, the op table and the kernels of the
tests. Each line shown is traced, and compiled unless the text says otherwise.

* Operands stand in the order of a call; `=` gives a default, `*` takes any number.
* An operand is a buffer, or a slice of one with Python's `[start:stop:step]`. Each bound may be a
  runtime value. `T.tile` operations take the destination first.
* In ub, slices and their rows start at multiples of 32 bytes. Matrices in l1, l0a, l0b and l0c are
  cut at multiples of 16 rows and 32 bytes. A slice that surely breaks this rule is an error.
* An operand without types takes those of the first operand, or those of the rules.
* Names of pipes and rounding modes ignore case.
* The comments above an example describe its buffers. The C++ is that of the emitter.

Every call of an operation can raise
"""
TYPES = """\
Each type annotates a scalar parameter; a call with a value is `T.cast`. A name (`"float16"`; also
`"float"`, `"int"`), `T.float16`, a `T.DataType` and torch's type mean the same. `T.DataType(name)`
is a string with `.bits`, `.itemsize` and `.lanes`.
"""
FOUR_BITS = """\
Two elements of `int4` share a byte, the first one in its low half. Tensors and tiles in ub, l1, l0a
and l0b have this type; scalars do not. Copies move whole bytes. `T.gemm_v0` and `T.mma` multiply
int4 into int32 (A stored as [m, k]). `T.tile.cast` and copies from ub to ub convert from and to
float16. Rows have an even number of elements; slices in ub start at multiples of 64. `torch.int4`
uses one byte per element: the kernel reads the first half, which holds all elements, packed. An
int8 or uint8 argument with half as many columns also serves as int4. A kernel may take the bytes as
an int8 tensor with half as many columns; `T.reinterpretcast` names the bytes of a ub tile as int4.
"""


@cache
def language_page() -> str:
    general = quoted(general_slugs())
    compiled = quoted(slugs_raised_in("tile_passes.lower"))
    parts = [
        NOTE,
        "# Language\n",
        f"{INTRODUCTION}{general};\nits compilation can raise {compiled}\n"
        "([errors](../use/errors.md)).\n",
        contents(),
    ]
    for group, names in GROUPS.items():
        parts.append(f"## {group}\n")
        parts += [name_section(f"T.{name}", NAMES[name]) for name in names]
    parts += ["## types\n", types()]
    for family, opdefs in families(language=True).items():
        parts.append(f"## {family}\n")
        parts += [op_section(o) for o in opdefs]
        parts += [name_section(f"T.{name}", NAMES[name]) for name in BESIDE.get(family, ())]
        if family == "reduce":
            step = "T.tile.softmax_flash_v2"
            parts.append(name_section(step, T.tile.softmax_flash_v2))
        if family == "cast":
            parts.append(cast_table())
    parts.append("## host\n")
    parts.append("Loaded with torch when first used.\n")
    parts += [name_section(f"T.{name}", getattr(T, name)) for name in T._HOST_NAMES]
    return "\n".join(parts)


def quoted(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def contents() -> str:
    """All names with links, by group."""
    rows = [(g, [f"T.{n}" for n in names]) for g, names in GROUPS.items()]
    for family, opdefs in families(language=True).items():
        names = [language_name(o) for o in opdefs]
        rows.append((family, names + [f"T.{n}" for n in BESIDE.get(family, ())]))
    rows.append(("host", [f"T.{n}" for n in T._HOST_NAMES]))
    return table(
        ("group", "names"),
        ((f"[{g}](#{g})", ", ".join(f"[{n}](#{anchor(n)})" for n in names)) for g, names in rows),
    )


def types() -> str:
    names = ", ".join(f"`T.{n}`" for n, v in NAMES.items() if isinstance(v, DTypeName))
    examples = (lines_with("T.float32"), lines_with("T.DataType"), FOUR_BITS, kernel("four_bits"))
    return "\n".join((f"{names}. {TYPES}", *examples))


def kernel(name: str) -> str:
    """One of language_examples.py, whole."""
    text = Path(language_examples.__file__).read_text()
    (found,) = (n for n in ast.parse(text).body if getattr(n, "name", "") == name)
    first = min(d.lineno for d in found.decorator_list)
    return block("python", text.splitlines()[first - 1 : found.end_lineno])


def name_section(title: str, value: Any) -> str:
    """Something of the language that is no operation."""
    parts = [f"### {title}\n", f"{code(spelling(title, value))}: {document(value)}\n"]
    found = slugs_of(called(value), known_slugs())
    parts += [f"{line}\n" for line in errors_line([s for s in found if s not in general_slugs()])]
    return "\n".join([*parts, *([lines_with(title)] if lines_with(title) else [])])


def spelling(title: str, value: Any) -> str:
    if isinstance(value, (ModuleType, type)):
        return title
    return f"{title}({', '.join(map(str, native_parameters(value)))})"


def document(value: Any) -> str:
    text = inspect.cleandoc(value.__doc__ or "").split("\n\nRaises")[0]
    if isinstance(value, (ModuleType, type)):  # what follows is for its maintainers
        text = text.split("\n\n")[0]
    return ASIDE.sub("", text)


# The line of a real script -----------------------------------------------------------------------


def lines_with(title: str) -> str:
    """The first line of the examples with a name, and what is missing until it runs."""
    for line, refused in example_lines().get(title, ()):
        text = block("python", [line])
        if refused:
            return text + f"\nNo pass takes it yet: compiling ends in the error `{refused}`.\n"
        return text
    return ""


@cache
def example_lines() -> dict[str, list[tuple[str, str]]]:
    """Lines by the names in them: those of language_examples.py, whose kernels are compiled here,
    then those of blocks that the written pages run."""
    found: dict[str, list[tuple[str, str]]] = {}
    path = Path(language_examples.__file__)
    refused = {
        name: refusal(value)
        for name, value in vars(language_examples).items()
        if isinstance(value, Func)
    }
    text = path.read_text()
    for name, line, function in named_lines(text):
        found.setdefault(name, []).append((line, refused.get(function, "")))
    docs = path.parents[1]
    for page in (docs.parent / "README.md", *sorted(docs.rglob("*.md"))):
        for b in blocks(page.read_text()):
            script = not b.name or b.name.endswith(".py")
            if b.language == "python" and b.action in ("run", "file") and script:
                for name, line, _ in named_lines(b.body):
                    found.setdefault(name, []).append((line, ""))
    return found


def refusal(func: Func) -> str:
    """The slug of the error that compiling a kernel ends in."""
    try:
        emit(run_pipeline(func, DEFAULT_TARGET, FRAGMENT).func, DEFAULT_TARGET)
    except KernelError as error:
        if error.slug != "not-lowered-yet":
            raise
        return error.slug
    return ""


def named_lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Each `T.name` with its line and the function at top level around it."""
    lines = text.splitlines()
    for top in ast.parse(text).body:
        function = top.name if isinstance(top, ast.FunctionDef) else ""
        for node in ast.walk(top):
            if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("T."):
                yield ast.unparse(node), lines[node.lineno - 1].strip(), function


def covered() -> set[str]:
    """Every name of the language that has a place on the page."""
    placed = {n for names in (*GROUPS.values(), *BESIDE.values()) for n in names}
    placed |= {n for n, v in NAMES.items() if isinstance(v, DTypeName)}
    placed |= {o.name for o in OPS.values() if o.namespace == ""}
    return placed | set(NOT_SECTIONS)
