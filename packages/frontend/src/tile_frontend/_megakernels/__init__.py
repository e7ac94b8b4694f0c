"""Build one launch from several kernels: `T.Task` and `T.megakernel`.

`tasks` is what scripts call; `shapes` finds sizes that are the same, `dependences` what must come
before what, `rooms` which temporaries share memory, and `text` writes the function.

Not here: which block waits for which, and how; that is `tile_passes.tasks`.
"""
