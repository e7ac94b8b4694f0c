"""Interpret the options of a script: code generator, pass configs, family of chips.

Not here: the passes and the code generators themselves, which are packages of their own; and the
switches of the environment, which stand in `tile_ir.switches`.
"""
