"""What a script chooses for its kernels, in its words: the code generator by `target=`, pass
configs, the family of chips.

Not here: the passes and the code generators themselves, which are packages of their own; and the
switches of the environment, which stand in `tile_ir.switches`.
"""
