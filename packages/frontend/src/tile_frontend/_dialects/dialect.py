"""Define what a dialect is: one table of how its scripts differ from the language.

Another language that scripts are written in is one more table, listed in `known.py`.
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
    """What scripts of a dialect import, which is how a dialect is recognised.

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

    `imports` is the place of its ImportTable, `modules` are those of the language that only its
    scripts import, and `signs` names of `T`, or arguments `name=`, that tell it from the others in
    the text of a kernel. `operations` has other names of operations, by
    namespace, and `arguments` those of their arguments: an argument is the first of these that the
    operation has and that is not given, and one of `same_arguments` whatever is given.
    `working_memory` names arguments of operations that compute it themselves here. `removed` tells
    by namespace what to write instead of a name that is not here.
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
