"""How buffers get their addresses: side by side, by liveness, and what to say when they do not fit.
The facts about buffers' lives stand in `analysis`."""
