"""List the names that other languages and versions have for names of `T`.

A dialect is one `Dialect` record: imports of its scripts, other names of operations and of their
arguments, replacements for missing names. `known.py` lists them and looks names up;
`imported_modules.py` makes the modules that scripts import; `foreign_names.py` has the words of
torch, NumPy and Triton, for hints only; `gpu_names.py` has names for GPUs alone, each with the
reason why it stops a kernel.

Not here: the meaning of a call, which is in `arguments`, and the parameters of today's operations,
which are fields of their records in `tile_ir.ops`.
"""
