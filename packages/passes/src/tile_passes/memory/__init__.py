"""How buffers get their addresses: side by side, or by solvers of an allocation problem; and what
to say when they do not fit. The facts about buffers' lives stand in `analysis`."""
