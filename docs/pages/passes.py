"""Write passes.md: the pipeline, the docstring of each pass, and the operations of passes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from pages.markdown import ASIDE, NOTE, ROOT, cell, table
from pages.operations import operations_of_passes
from tile_passes import PIPELINE


def passes_page() -> str:
    rows = [
        (
            f"[{p.name}](#{p.name})",
            p.needs.name,
            p.gives.name if p.gives else "the same",
            "yes" if p.optional else "no",
            cell(p.summary),
        )
        for p in PIPELINE
    ]
    parts = [
        NOTE,
        "# Passes\n",
        "For contributors: the passes in the order in which they run. `tile-ascend passes` prints\n"
        "the same list. A pass maps a function and a target to a function. The driver checks the\n"
        "phase before each pass ([phases](index.md#phases)). It verifies the user's function and\n"
        "the result, and with `TILE_VERIFY_EACH` every step. The operations that only passes make\n"
        "[follow](#operations-made-by-passes).\n",
        table(("pass", "needs", "gives", "may be skipped", "what it does"), rows),
    ]
    for p in PIPELINE:
        doc = inspect.cleandoc(p.run.__doc__ or "")
        path = Path(inspect.getsourcefile(inspect.unwrap(p.run)) or "")
        summary, _, rest = doc.partition("\n")
        parts.append(
            f"## {p.name}\n\n{summary}\n\n{definition(rest)}\n"
            f"[source](../../{path.relative_to(ROOT)}), "
            f"[tests](../../tests/passes/{p.name})\n"
        )
    return "\n".join([*parts, operations_of_passes()])


def definition(text: str) -> str:
    """`Needs: … Gives: … Idea: … Limits: …` as a list."""
    flat = ASIDE.sub("", " ".join(text.split()))
    found = re.split(r"(?:^|(?<=\. ))(Needs, gives|Needs|Gives|Idea|Limits): ", flat)
    pairs = zip(found[1::2], found[2::2], strict=True)
    return "".join(f"* **{name}:** {value.strip()}\n" for name, value in pairs)
