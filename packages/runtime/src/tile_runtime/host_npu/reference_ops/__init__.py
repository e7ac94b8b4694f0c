"""Operations of torch_npu that scripts compare with, computed by torch in float32.

Names, argument order and what is returned are those of the torch_npu documentation.
"""
