"""Place buffers that products and vector code both use in each memory.

Such a buffer becomes several, one in each memory, with copies between them: `accumulators.py` is
for what products add to, `operands.py` for what they read, `forwarding.py` removes tiles that only
pass a value on. `value_uses.py` says what a statement does to the value of a buffer, `handover.py`
copies it between memories, `place.py` goes through the tiles.

Not here: a buffer with one memory, which `infer_memory` chooses.
"""
