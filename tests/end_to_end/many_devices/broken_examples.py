"""Examples of many devices with one mistake each, which a change of their text makes, and what the
simulator has to call it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BrokenExample:
    """An example (of example_cases.py) on so many ranks, with changes of its text. `words` stand in
    the report, and it is told at one place, or at one of so many that are wrong alike."""

    example: str
    slug: str
    edits: tuple[tuple[str, str], ...]
    ranks: int = 3
    words: tuple[str, ...] = ()
    places: int = 1


WAITS_FOR_ALL = """        for s in T.serial(num):
            T.wait_ge(words[s * blocks + cid], step)"""
HANDS_ON = """            T.put_signal(
                y[last, start : start + part],
                y[last, start : start + part],
                words[last * blocks + cid],
                step,
                right,
            )"""
HANDS_ON_UNFINISHED = """            T.put(y[last, start : start + part], y[last, start : start + part], right)
            T.signal(words[last * blocks + cid], step, right)"""
SENDS = """                        T.put_signal(
                            batch,
                            places[(count - 1) % window, start : start + part],
                            sent[cid],
                            count,
                            r + 1,
                        )"""
SENDS_EARLY = """                        T.signal(sent[cid], count, r + 1)
                        T.put(batch, places[(count - 1) % window, start : start + part], r + 1)
                        T.quiet()"""
WAITS_FOR_BATCH = "T.wait_ge(sent[cid], count)\n"
RESETS = "T.wait_ge(sent[cid], 1)\n                        T.signal(sent[cid], 0)\n"
SENDS_ONE = SENDS.replace("count,", "1,")
READS_WORDS = """                    for p in T.serial(first, T.if_then_else(i < down, first, last)):
                        T.wait_ge(words[source * pieces + p], step)
"""
QUIET = "                    T.quiet()\n"
WAITS_FOR_PART = "                        T.wait_ge(words[other * tiles + tile], step)\n"
WAITS_FOR_MADE = "                T.wait_ge(made[(s + 1) * tiles + tile], step)\n"
CREDIT = "                        T.wait_ge(used[cid], turn)\n"
WAITS_FOR_READ = """        for s in T.serial(num):
            T.wait_ge(read[s * blocks + cid], step - 1)
"""
TELLS = '    with T.Scale("device") as (r, num):\n        T.quiet()\n'

BROKEN = {
    "neighbour_no_barrier": BrokenExample(
        "neighbour", "race", (("                T.barrier()\n", "                T.quiet()\n"),)
    ),
    "ring_no_quiet": BrokenExample("ring", "unquiet-signal", ((HANDS_ON, HANDS_ON_UNFINISHED),)),
    "rows_no_quiet": BrokenExample("exchange_rows", "unquiet-signal", (("            T.quiet()\n", ""),)),
    "sum_before_the_last": BrokenExample(
        "scattered_sum", "race", ((WAITS_FOR_ALL, WAITS_FOR_ALL.replace("(num)", "(num - 1)")),)
    ),
    "slots_not_read": BrokenExample("scattered_sum", "race", ((WAITS_FOR_READ, ""),)),
    "slots_of_all_not_read": BrokenExample("sum_at_once", "race", ((WAITS_FOR_READ, ""),)),
    "sum_of_all_before_the_last": BrokenExample(
        "sum_of_all", "race", ((WAITS_FOR_ALL, WAITS_FOR_ALL.replace("(num)", "(num - 1)")),)
    ),
    "ag_gemm_no_wait": BrokenExample("ag_gemm", "race", ((READS_WORDS, ""),)),
    "gemm_rs_no_quiet": BrokenExample("gemm_rs", "unquiet-signal", ((QUIET, ""),)),
    "gemm_rs_no_wait": BrokenExample("gemm_rs", "race", ((WAITS_FOR_PART, ""),)),
    "gemm_rs_one_slot": BrokenExample("gemm_rs", "race", (("parts[r, row, column]", "parts[0, row, column]"),)),
    "gemm_ar_no_wait": BrokenExample("gemm_ar", "race", ((WAITS_FOR_MADE, ""),)),
    "moe_no_counts": BrokenExample("moe", "race", ((WAITS_FOR_ALL, ""),), places=2),
    "moe_no_quiet": BrokenExample("moe", "unquiet-signal", ((TELLS, TELLS.replace("        T.quiet()\n", "")),)),
    "attention_no_credit": BrokenExample("attention", "race", ((CREDIT, ""),), ranks=5),
    "pipeline_one_credit_more": BrokenExample(
        "pipeline", "race", (("count - window)", "count - window - 1)"),)
    ),
    "pipeline_no_credit": BrokenExample(
        "pipeline", "deadlock", (("count - window)", "count)"),), words=("cycle",)
    ),
    "pipeline_signal_first": BrokenExample("pipeline", "race", ((SENDS, SENDS_EARLY),)),
    "pipeline_reset": BrokenExample(
        "pipeline", "signal-reset", ((WAITS_FOR_BATCH, RESETS), (SENDS, SENDS_ONE))
    ),
    "pipeline_exact_wait": BrokenExample(
        "pipeline", "signal-lost", ((WAITS_FOR_BATCH, WAITS_FOR_BATCH.replace("ge", "eq")),)
    ),
    "halo_no_parity": BrokenExample("halo", "race", (("count % 2", "0"),)),
}  # fmt: skip
