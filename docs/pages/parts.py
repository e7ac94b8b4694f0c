"""Tables inside pages that people write."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from slugs import uses

from pages.markdown import ROOT, cell, code, listed, table
from pages.source_map import folder_table
from tile_frontend._dialects.imported_modules import import_table
from tile_ir import Automatic, LoopKind, Phase
from tile_ir.switches import SWITCHES
from tile_ir.verification.phases import PHASES
from tile_passes import PIPELINE
from tile_runtime.options.pass_configs import _AUTOMATIC_OF_KEY, _SWITCHES, PassConfigKey
from tile_runtime.tools.command_line import COMMANDS


def slug_table() -> str:
    found: dict[tuple[str, str], list[Any]] = {}
    for use in uses(ROOT):
        found.setdefault((use.slug, use.error), []).append(use)
    rows = []
    for (slug, error), places in sorted(found.items()):
        message = next((u.message for u in places if u.message not in ("", "…")), "")
        rows.append((f"`{slug}`", error, listed(u.module for u in places), cell(message[:110])))
    return table(("slug", "error", "raised in", "a message"), rows)


def command_table() -> str:
    rows = [(f"`tile-ascend {name}`", cell(purpose)) for name, purpose in COMMANDS.items()]
    return table(("command", "purpose"), rows)


def switch_table() -> str:
    rows = [
        (
            f"`{s.variable}`",
            type(s.default).__name__,
            code(repr(s.default)),
            cell(s.doc) + (f": {', '.join(s.choices)}" if s.choices else ""),
        )
        for s in SWITCHES.values()
    ]
    return table(("variable", "type", "default", "effect"), rows)


def phase_table() -> str:
    made = {p.gives: f"`{p.name}`" for p in PIPELINE if p.gives is not None}
    rows = []
    before: list[str] = []
    for phase, rule in PHASES.items():
        gone = [
            word
            for word, holds in (
                ("`shared` and `fragment` buffers", not rule.open_memories),
                ("`threads 2`", not rule.compiler_lanes),
                ("composite operations", not rule.composites),
                ("operations outside sections", not rule.unsectioned),
                ("buffers without address", rule.addresses_required),
                *((f"`{k.value}` loops", k not in rule.loop_kinds) for k in LoopKind),
            )
            if holds
        ]
        maker = "the frontend" if phase is Phase.BUILT else made.get(phase, "no pass yet")
        rows.append((phase.name, maker, ", ".join(g for g in gone if g not in before)))
        before = gone
    return table(("phase", "made by", "forbids from here on"), rows)


def module_table() -> str:
    """The modules that scripts import, and what they find there."""
    rows = []
    whole = import_table().bases
    for module, names in import_table().modules.items():
        found = [code(n) for n in names if not n.startswith("__")] or [code(n) for n in names]
        parts = (
            "all of [the language](../language/reference.md)" if module in whole else "modules only"
        )
        rows.append((code(module), ", ".join(found) or parts))
    return table(("module", "has"), rows)


_LEFT = {
    Automatic.SYNC: "the order of each core's pipes",
    Automatic.MEMORY: "which buffers share bytes",
    Automatic.CROSS: "the order between the cores of a block",
    Automatic.BLOCKS: "which core does which blocks of a grid larger than the chip",
    Automatic.TILES: "how large the tiles of a block are (kernels for GPUs: unless it is False)",
    Automatic.STORES: "what carries single elements to gm: copies, unless the scalar unit may",
    Automatic.BANKS: "in which banks of ub the operands of an instruction lie, if there is room",
}


def config_table() -> str:
    """What keys of `pass_configs` do here."""
    rows = [
        (
            f"`{k.name}`",
            code(k.value),
            f"left to the compiler: {' and '.join(sorted(_LEFT[what] for what in left))}",
        )
        for k, left in _AUTOMATIC_OF_KEY.items()
    ]
    rows += [
        (f"`{k.name}`", code(k.value), "checked to be True or False; see below")
        for k in PassConfigKey
        if k in _SWITCHES and k not in _AUTOMATIC_OF_KEY
    ]
    others = [k for k in PassConfigKey if k not in _SWITCHES]
    rows.append((f"{len(others)} others", "", "accepted, no effect"))
    return table(("`PassConfigKey`", "as a string", "here"), rows)


def pages_of(*folders: str) -> str:
    """The pages of folders of docs/, by their titles, linked from docs/."""
    docs = ROOT / "docs"
    pages = [p for f in folders for p in sorted((docs / f).glob("*.md")) if p.name != "index.md"]
    titles = ((p, re.search(r"^# (.*)$", p.read_text(), re.M)) for p in pages)
    return "".join(f"* [{t[1]}]({p.relative_to(docs)})\n" for p, t in titles if t)


PARTS: dict[str, Callable[[], str]] = {
    "slugs": slug_table,
    "commands": command_table,
    "switches": switch_table,
    "phases": phase_table,
    "folders": folder_table,
    "modules": module_table,
    "configs": config_table,
    "pages for users": partial(pages_of, "tutorial", "use"),
}
