"""How `insert_sync` finds the order inside a core; docs/finding_order.md tells it with an example.

A section is read as a tree (`build_tree`); the steps are named in `plan_section`: `dependences`,
`reduce`, `place`, `eliminate`, `allocate_events`, and `write` at the end. What is surely complete
where, which three of the steps ask, is in `completion`. The order between cores is in `cross`, the
proof that all of it suffices in `tile_ir.check_sync`, which uses nothing of this.
"""
