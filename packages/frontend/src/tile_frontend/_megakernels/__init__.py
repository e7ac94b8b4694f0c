"""Build one launch from several kernels: `T.Task` and `T.megakernel`.

`tasks` has the functions that scripts call. `shapes` finds equal sizes, `dependences` the order of
tasks, `rooms` temporaries that share memory, and `text` writes the function.

Not here: the waits between blocks, which are in `tile_passes.tasks`.
"""
