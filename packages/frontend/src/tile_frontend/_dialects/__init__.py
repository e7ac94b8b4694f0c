"""List the names that other languages and versions have for names of `T`.

A dialect is one `Dialect` record: what its scripts import, other names of operations and of their
arguments, what to write instead of a name that is not here. `known.py` lists them and looks names
up; `imported_modules.py` makes the modules that scripts import; `foreign_names.py` has the words of
torch, NumPy and Triton, for hints only; `gpu_names.py` has what GPUs alone have, and why it stops.

Not here: what a call means, which is in `arguments`, and the parameters of today's operations,
which are fields of their records in `tile_ir.ops`.
"""
