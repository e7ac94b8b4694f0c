"""Define a dialect: one table of the differences between its scripts and the language.

Another language of scripts is one more table, listed in `known.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tile_ir.quick_dataclasses import dataclass

Names = Mapping[str, str]


def names(text: str) -> dict[str, str]:
    """The names of a text of words `theirs=ours`; one alone is the same in both."""
    words = (word.partition("=") for word in text.split())
    return {theirs: ours or theirs for theirs, _, ours in words}


def alternatives(text: str) -> dict[str, tuple[str, ...]]:
    """The same with several names of ours, `theirs=first|second`."""
    return {theirs: tuple(ours.split("|")) for theirs, ours in names(text).items()}


@dataclass(frozen=True, slots=True)
class ImportTable:
    """Imports of the scripts of a dialect, by which the compiler recognises it.

    `modules` has the names of each module with their places, `"package.module:name"`. The
    remaining names of a module of `bases` are those of a module of ours, one of `functions` is
    also called, and one of `aliases` is a module of ours as it stands.
    """

    modules: Mapping[str, Names]
    bases: Names = field(default_factory=dict)
    functions: Names = field(default_factory=dict)
    aliases: Names = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How scripts of another language or version differ.

    `imports` is the place of its ImportTable, and `modules` are the modules of the language that
    only its scripts import. `signs` are names of `T`, or arguments `name=`, that occur only in
    kernels of this dialect. `operations` maps other names of operations to ours, by namespace.
    `arguments` maps other names of an argument to candidates: the first that the operation has and
    the call has not given counts. `same_arguments` maps names to one candidate, given or not.
    `working_memory` names arguments of operations that compute it themselves here. `removed` has
    the text to write instead of a missing name, by namespace.
    """

    name: str
    imports: str = ""
    modules: frozenset[str] = frozenset()
    signs: frozenset[str] = frozenset()
    operations: Mapping[str, Names] = field(default_factory=dict)
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    same_arguments: Names = field(default_factory=dict)
    working_memory: tuple[str, ...] = ()
    removed: Mapping[str, Names] = field(default_factory=dict)
