"""A kernel as its script makes it, as data: the text of the script, the name of the kernel or its
factory, and the arguments. A change gives another one; `apply_change` is the only way."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tile_ir import KernelError
from tile_ir.quick_dataclasses import dataclass, replace

# The kind of a change of pass configs.
OPTION = "option"


@dataclass(frozen=True, slots=True)
class Program:
    """`script` is where the text is from; `arguments` are those given to the factory by name, and
    what is not among them has its default."""

    script: str
    text: str
    kernel: str
    arguments: tuple[tuple[str, Any], ...] = ()

    @property
    def given(self) -> dict[str, Any]:
        return dict(self.arguments)


@dataclass(frozen=True, slots=True)
class Argument:
    """Another value of an argument of the factory."""

    name: str
    old: Any
    new: Any
    kind: str = "size"

    @property
    def target(self) -> str:
        return self.name

    @property
    def smaller(self) -> bool:
        return bool(self.new < self.old)

    @property
    def says(self) -> str:
        return f"{self.name}={self.new!r}"


@dataclass(frozen=True, slots=True)
class LineEdit:
    """A line of the script, counted from 1, and the one in its place; None removes it."""

    number: int
    old: str
    new: str | None


@dataclass(frozen=True, slots=True)
class Edit:
    """Other lines in place of some: `says` is what to write, in short, `kind` what for, and
    `target` what it is a change of: changes of one target exclude each other. `smaller` says that
    it makes tiles smaller."""

    says: str
    lines: tuple[LineEdit, ...]
    kind: str
    target: str
    smaller: bool = False


Change: TypeAlias = "Argument | Edit"


def apply_change(program: Program, change: Change) -> Program:
    """The program with a change. KernelError where its text is not what the change is for."""
    match change:
        case Argument(name=name, new=new):
            return replace(program, arguments=tuple({**program.given, name: new}.items()))
        case Edit(lines=edits):
            lines = program.text.splitlines(keepends=True)
            for edit in edits:
                found = lines[edit.number - 1] if edit.number <= len(lines) else ""
                if found.rstrip("\r\n") != edit.old:
                    raise KernelError(
                        "stale-change",
                        f"line {edit.number} of {program.script} is not the line to change",
                        hint=f"expected {edit.old.strip()!r}",
                    )
                new = "" if edit.new is None else edit.new + found[len(edit.old) :]
                lines[edit.number - 1] = new
            return replace(program, text="".join(lines))


def says_of(changes: Sequence[Change]) -> str:
    """The text to write for changes that are made together."""
    options = ", ".join(change.says for change in changes if change.kind == OPTION)
    others = [change.says for change in changes if change.kind != OPTION]
    return " and ".join([*others, *([f"pass_configs={{{options}}}"] if options else [])])


def difference(old: Program, new: Program) -> Iterator[str]:
    """The change from one program to the other, to paste: lines of a diff, and arguments."""
    before, after = old.text.splitlines(), new.text.splitlines()
    yield from difflib.unified_diff(before, after, old.script, new.script, lineterm="", n=0)
    changed = arguments_changed(old.given, new.given)
    if changed:
        yield "arguments: " + " ".join(f"-a {name}={value}" for name, value in changed.items())


def arguments_changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the new program that are not those of the old one."""
    return {name: value for name, value in new.items() if name not in old or old[name] != value}
