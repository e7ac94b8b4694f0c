"""Load code generators by the word that scripts choose one with: `target=`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from tile_ir import Diagnostic, KernelError, Loc, warn
from tile_ir.code_generator import CodeGenerator

# target: the package whose CODE_GENERATOR makes it. The first is what "auto" means.
GENERATORS = {
    "ascendc": "tile_codegen_ascendc",
}
# What scripts for the next chip call the usual one.
_OTHER_WORDS = ("auto", "ascend")
# GPUs, whose scripts run here as they are.
_GPUS = ("cuda", "hip", "rocm")
# Targets of tilelang that nothing here makes. Scripts for them are run all the same, as what "auto"
# means, for their kernels mean the same; what the two do differently is decided by
# docs/language/rules.md#reductions.
STOOD_IN_FOR = ("pto",)


def usual_target() -> str:
    """The meaning of "auto"."""
    return next(iter(GENERATORS))


def code_generator(target: object = "auto", loc: Loc | None = None) -> CodeGenerator:
    """The code generator for the target of a kernel at `loc`. A GPU is no target here: its name
    means nothing, alone, with options behind it, or as the `kind` of a dictionary.

    Raises KernelError for a target that nothing makes. One of tilelang's gets what "auto" means,
    and a warning that says so.
    """
    if target in _OTHER_WORDS or _is_gpu(target):
        return named_generator(usual_target())
    for name in GENERATORS:  # what scripts hand over may have no hash
        if target == name:
            return named_generator(name)
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


def _is_gpu(target: object) -> bool:
    kind = target.get("kind") if isinstance(target, Mapping) else target
    return isinstance(kind, str) and kind.split()[:1] in [[gpu] for gpu in _GPUS]


def named_generator(name: str) -> CodeGenerator:
    """Return one of GENERATORS, loaded at its first use."""
    generator: CodeGenerator = import_module(GENERATORS[name]).CODE_GENERATOR
    return generator
