"""The code generators there are, by the word that scripts ask for one with: `target=`."""

from __future__ import annotations

from importlib import import_module

from tile_ir import Diagnostic, KernelError, Loc, warn
from tile_ir.code_generator import CodeGenerator

# target: the package whose CODE_GENERATOR makes it. The first is what "auto" means.
GENERATORS = {
    "ascendc": "tile_codegen_ascendc",
}
# What scripts for the next chip call the usual one.
_OTHER_WORDS = ("auto", "ascend")
# Targets of tilelang that nothing here makes. Scripts for them are run all the same, as what "auto"
# means, for their kernels mean the same; what the two do differently is decided by
# docs/rules/operations.md#reductions.
STOOD_IN_FOR = ("pto",)


def usual_target() -> str:
    """What "auto" means."""
    return next(iter(GENERATORS))


def code_generator(target: str = "auto", loc: Loc | None = None) -> CodeGenerator:
    """The code generator for the target of a kernel at `loc`.

    Raises KernelError for a target that nothing makes. One of tilelang's gets what "auto" means,
    and a warning that says so.
    """
    if target in _OTHER_WORDS:
        return named_generator(usual_target())
    if target in tuple(GENERATORS):  # what scripts hand over may have no hash
        return named_generator(target)
    usual = code_generator()
    *others, last = map(repr, ("auto", *GENERATORS))
    told = f"target {target!r} is not supported, expected {', '.join(others)} or {last}"
    if target in STOOD_IN_FOR:
        told = f"{told}: {usual.language} is emitted in its place"
        warn([Diagnostic("target-stood-in", told, loc, severity="warning")])
        return usual
    raise KernelError(
        "target", told, loc, f"leave target out: the emitted source is {usual.language}"
    )


def named_generator(name: str) -> CodeGenerator:
    """One of GENERATORS, loaded when it is first asked for."""
    generator: CodeGenerator = import_module(GENERATORS[name]).CODE_GENERATOR
    return generator
