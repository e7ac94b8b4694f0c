"""Pipeline loops in software, on one core and over both kinds of core.

`software_pipeline` is the entry. It builds a dependence graph (`dependence_graph`), finds an order
and stages (`modulo_schedule`, `assign_stages`), counts versions of buffers (`plan_versions`) and
gives a plan (`schedule`) that `skew_loops` writes.
"""
