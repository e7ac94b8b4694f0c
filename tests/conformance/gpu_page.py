"""What became of TileLang's own examples, by folder, for docs/use/coming_from_gpus.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from conformance.outcome import Kind
from conformance.run_task import Result

PAGE = Path(__file__).parents[2] / "docs/use/coming_from_gpus.md"
BEGIN, END = "<!-- measured: scripts -->", "<!-- end -->"
# A reason longer than this is cut.
_LONGEST = 90


def by_folder(results: Sequence[Result]) -> str:
    """Markdown: a row for each folder, with why each script that does not pass ends as it does."""
    folders: dict[str, list[Result]] = {}
    for result in results:
        folders.setdefault(result.task.name.partition("/")[0], []).append(result)
    able = [r for r in results if r.outcome.kind is not Kind.NEEDS_PORTING]
    passed = sum(r.passed for r in able)
    lines = [
        f"{passed} of {len(able)} scripts without constructs of a GPU alone end well; each of the "
        f"other {len(results) - len(able)} has a list of what to change.",
        "",
        "| folder | scripts | end well | must change | others |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for folder, found in sorted(folders.items()):
        port = sum(r.outcome.kind is Kind.NEEDS_PORTING for r in found)
        well = sum(r.passed for r in found)
        rest = Counter(map(_why, (r for r in found if not r.passed and not _must_change(r))))
        others = "; ".join(f"{n}: {why}" if n > 1 else why for why, n in rest.items())
        lines.append(f"| `{folder}` | {len(found)} | {well or ''} | {port or ''} | {others} |")
    return "\n".join(lines) + "\n"


def write_page(results: Sequence[Result], page: Path = PAGE) -> None:
    """Put the table between the marks of the page."""
    before, _, rest = page.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{by_folder(results)}{END}{after}")


def _must_change(result: Result) -> bool:
    return result.outcome.kind is Kind.NEEDS_PORTING


def _why(result: Result) -> str:
    o = result.outcome
    why = o.detail if o.kind is not Kind.TIMEOUT else "takes longer than the limit"
    text = f"{o.kind.value}: `{o.slug}`" if o.slug and not o.detail else f"{o.kind.value}: {why}"
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
