"""Write the text that an editor shows at a place of a kernel: where a buffer lies and why, and the
cost of a statement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tile_runtime.tools.language_server.seen import SeenBuffer, SeenKernel, SeenScript, SeenWork

_CORES = {"cube": "cube core", "vector": "each vector core", "either": "each core"}


def hover_text(seen: SeenScript, line: int, word: str) -> str | None:
    """Markdown about the word at a line, or about the line; None if no kernel has any."""
    parts = [text for kernel in _around(seen, line) if (text := _of_kernel(kernel, line, word))]
    return "\n\n---\n\n".join(parts) or None


def _around(seen: SeenScript, line: int) -> list[SeenKernel]:
    """The kernels that begin last above a line, once for each of their sizes."""
    around = [k for k in seen.kernels if k.first <= line <= k.last]
    last = max((k.first for k in around), default=0)
    return [k for k in around if k.first == last]


def _of_kernel(kernel: SeenKernel, line: int, word: str) -> str:
    named = [b for b in kernel.buffers if b.name == word]
    work = [w for w in kernel.work if w.line == line]
    parts = ["\n".join(_buffer(b)) for b in named]
    if work:
        parts.append(
            f"{kernel.name}, modelled, in each of {kernel.blocks} blocks\n\n{_table(work)}"
        )
    if not parts and line in (kernel.first, kernel.first + 1):
        parts.append("\n".join(_whole(kernel)))
    return "\n\n".join(parts)


def _buffer(buffer: SeenBuffer) -> Iterator[str]:
    yield f"**{buffer.name}** {buffer.dtype} {buffer.shape}, line {buffer.line}\n"
    if not buffer.places:
        yield "* takes no room: nothing is left that uses it"
    yield from (f"* memory: {place}" for place in buffer.places)
    if buffer.reason:
        yield f"* because: {buffer.reason}"
    if buffer.lanes:
        yield f"* vector cores: {buffer.lanes}"


def _whole(kernel: SeenKernel) -> Iterator[str]:
    yield f"**{kernel.name}** on {kernel.chip}, {kernel.blocks} blocks\n"
    yield "Each block, pipe by pipe, modelled:\n"
    by_pipe: defaultdict[tuple[str, str], list[SeenWork]] = defaultdict(list)
    for work in kernel.work:
        by_pipe[work.core, work.pipe].append(work)
    yield _table([_sum(works) for works in by_pipe.values()])


def _sum(works: Sequence[SeenWork]) -> SeenWork:
    first = works[0]
    return SeenWork(
        first.line, first.core, first.pipe,
        sum(w.instructions for w in works),
        sum(w.cycles for w in works),
        sum(w.microseconds for w in works),
        sum(w.gm_bytes for w in works),
        any(w.assumed for w in works),
    )  # fmt: skip


def _table(works: Sequence[SeenWork]) -> str:
    lines = [
        "| core | pipe | instructions | cycles | µs | bytes of gm |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for w in sorted(works, key=lambda w: -w.cycles):
        about = "about " if w.assumed else ""
        moved = f"{about}{w.gm_bytes:,}" if w.gm_bytes else ""
        lines.append(
            f"| {_CORES[w.core]} | {w.pipe.upper()} | {about}{w.instructions:,} "
            f"| {about}{w.cycles:,.0f} | {w.microseconds:.2f} | {moved} |"
        )
    if any(w.assumed for w in works):
        lines.append("\nA loop whose trip count only the call knows counts 16 iterations.")
    return "\n".join(lines)
