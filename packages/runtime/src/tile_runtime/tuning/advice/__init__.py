"""Find changes of a kernel that make it faster by the model.

Changes concern text, options and arguments; each comes with its gain. They are derived from the
text and by trying: no rule recognises a kernel. Not here: the reasons for a slow kernel
(`tools.report.why`).
"""
