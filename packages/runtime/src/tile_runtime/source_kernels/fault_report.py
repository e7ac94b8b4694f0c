"""Faults of hand-written kernels as users read them: names for buffers, short paths, and the lines
of the source and its headers."""

from __future__ import annotations

import os
import re
from dataclasses import field
from pathlib import Path, PurePath

from tile_ir import Diagnostic, Loc
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.simulator.buffer_names import name_buffers, places_made
from tile_runtime.simulator.build_simulator import include_directory
from tile_runtime.simulator.simulation_error import Fault, SimulationError

# Such as `DataCopy at dir/add.cpp:12`, which the simulator and crash reports write.
_PLACE = re.compile(r"(?:(?P<word>\w+) )?\bat (?P<file>(?:(?! at )[^():;,])+):(?P<line>\d+)")
_MOST_NOTES = 4


@dataclass
class KernelSource:
    """The user's source and, as far as reports mention them, the headers it includes."""

    name: str
    text: str
    folder: Path
    _texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._texts[self.name] = self.text

    def text_of(self, file: str) -> str | None:
        """The text of a file the compiler named; None if it is none of the user's."""
        if file not in self._texts:
            path = self.folder / file
            if path.is_relative_to(include_directory()) or not path.is_file():
                return None
            self._texts[file] = path.read_text(errors="replace")
        return self._texts[file]

    def shown(self, file: str) -> str:
        """The path of a file as it is shown: seen from the current folder if it lies in it."""
        if file == self.name or not os.path.isabs(file):
            return file
        here = os.path.relpath(file)
        return file if here.startswith("..") else here


def readable(fault: Fault, source: KernelSource) -> Fault:
    """The fault with names for buffers and last parts of paths in its text."""
    files = {m["file"] for m in _PLACE.finditer(fault.text)}
    texts = {PurePath(f).name: t for f in files if (t := source.text_of(f)) is not None}
    text = name_buffers(fault.text, {name: text.splitlines() for name, text in texts.items()})

    def short(match: re.Match[str]) -> str:
        file = match["file"]
        return match[0].replace(file, PurePath(file).name) if file in files else match[0]

    return replace(fault, text=_PLACE.sub(short, text))


def fault_error(raw: Fault, source: KernelSource) -> SimulationError:
    """The error for a fault as the simulator wrote it: at its line, with a note at each other."""
    fault = readable(raw, source)
    told = ", ".join(filter(None, (fault.api, fault.where)))
    sources: dict[str, str] = {}
    loc = _loc(fault.file, fault.line, fault.api, source, sources)
    notes = []
    for file, line, api in _other_places(raw)[:_MOST_NOTES]:
        if source.text_of(file) is not None:
            place = _loc(file, line, api, source, sources)
            what = "another core waits here" if raw.kind == "deadlock" else f"the earlier {api}"
            notes.append(Diagnostic("", what, place, severity="note"))
    for file, line in places_made(raw.text) if raw.kind == "out-of-bounds" else ():
        if source.text_of(file) is not None:
            place = _loc(file, line, "", source, sources)
            notes.append(Diagnostic("", "the buffer is made here", place, severity="note"))
    message = f"{fault.text} ({told})" if told else fault.text
    return SimulationError(fault, message, loc, fault.hint or None, sources, notes)


def fault_warning(raw: Fault, source: KernelSource) -> Diagnostic:
    """The same for what works on a device, without notes."""
    return replace(fault_error(raw, source).diagnostic, severity="warning")


def _other_places(fault: Fault) -> list[tuple[str, int, str]]:
    """Places of calls the text mentions besides that of the fault, each once, in order: file,
    line and the API if it is given."""
    found: dict[tuple[str, int], str] = {}
    for match in _PLACE.finditer(fault.text):
        place = match["file"], int(match["line"])
        word = match["word"] or ""
        if word != "made" and place != (fault.file, fault.line):
            found.setdefault(place, word if word[:1].isupper() else "call")
    return [(file, line, api) for (file, line), api in found.items()]


def _loc(
    file: str, line: int, api: str, source: KernelSource, sources: dict[str, str]
) -> Loc | None:
    """Where a call stands; its file is added to the sources the error shows lines of."""
    if not line:
        return None
    text = source.text_of(file)
    shown = source.shown(file)
    if text is not None:
        sources[shown] = text
    return Loc(shown, line, _column(text or "", line, api))


def _column(text: str, number: int, api: str) -> int:
    """Where the call stands in its line, from 1; the first word if it is not found."""
    lines = text.splitlines()
    if number > len(lines):
        return 1
    line = lines[number - 1]
    call = line.find(api.split("::")[-1]) if api else -1
    return 1 + (call if call >= 0 else len(line) - len(line.lstrip()))
