"""From the text of a kernel to the IR: what stands behind the names of `tile_frontend`, the package
that scripts use."""
