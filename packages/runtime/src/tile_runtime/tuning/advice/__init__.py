"""Changes of a kernel's text, options and arguments that make it faster by the model: which there
are, what each gives, and which of them to advise. Derived from the text and by trying: no rule
knows a kernel. Not here: why a kernel is slow, which `tools.report.why` says.
"""
