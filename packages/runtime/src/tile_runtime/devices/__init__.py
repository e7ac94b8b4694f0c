"""Run kernels on the simulator or an NPU, each with its compiler, by one protocol.

Not here: the simulator itself (`simulator`), and the stand-in that scripts see as `torch.npu` where
there is no NPU (`host_npu`).
"""
