"""Kernels in developer style that are slow for different reasons, as newcomers write them: what a
report advises is applied to them and measured."""
