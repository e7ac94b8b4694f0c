"""`conflicts` among some pairs only, as where the order is by hand: those of all pairs, and no more."""

from __future__ import annotations

import random
from dataclasses import replace

from order_steps.random_sections import kernel_flows
from tile_ir import DEFAULT_TARGET
from tile_passes.insert_sync import plan_for
from tile_passes.order.conflicts import conflicts, with_generated


def test_conflicts_of_some_statements() -> None:
    left_out = 0
    for seed in range(40):
        for flow in kernel_flows(seed):
            tree = flow.tree
            chosen = {
                i.item.stmt
                for i in tree.instances
                if random.Random(seed * 99 + i.bit).random() < 0.3
            }
            for stmt in chosen:
                object.__setattr__(stmt, "loc", replace(stmt.loc, generated=True))
            theirs = [i for i in tree.instances if i.item.stmt in chosen]
            ours = sum(1 << i.bit for i in theirs)
            ours |= sum(1 << bit for bit, instance, _ in tree.runs if instance in theirs)
            found = conflicts(tree, with_generated(tree))
            expected = [b if ours >> n & 1 else b & ours for n, b in enumerate(flow.conflicts)]
            assert found == expected, seed
            left_out += found != list(flow.conflicts)
            # A plan for nothing is empty, and one for all orders this too.
            assert bool(plan_for(tree, found, DEFAULT_TARGET).plan.ops) <= any(found)
    assert left_out > 20
