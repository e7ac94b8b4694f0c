"""passes.md: the pipeline, and what each pass says of itself."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from pages.markdown import ASIDE, NOTE, ROOT, cell, table
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
        "In the order they run; `tile-ascend passes` prints the same list. A pass is a function\n"
        "from a function and a target to a function. The driver checks the phase before it,\n"
        "and verifies what users wrote and the result, or each step where `TILE_VERIFY_EACH` says\n"
        "so, as in tests, or one is broken. What a phase promises: [ir.md](ir.md#phases).\n",
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
    return "\n".join(parts)


def definition(text: str) -> str:
    """`Needs: … Gives: … Idea: … Limits: …` as a list."""
    flat = ASIDE.sub("", " ".join(text.split()))
    found = re.split(r"(?:^|(?<=\. ))(Needs, gives|Needs|Gives|Idea|Limits): ", flat)
    pairs = zip(found[1::2], found[2::2], strict=True)
    return "".join(f"* **{name}:** {value.strip()}\n" for name, value in pairs)
