"""The judge: is a kernel right, free of findings, and how near to its roofline, as one document.

A candidate is not trusted. One process, behind a fence, executes its code and hands out nothing but
the text of its kernel. A process that never executes the candidate compiles and runs that text. A
third process runs the reference. The process of the judge compares the results.

Not here: how a kernel is compiled, run and explained, which is in the rooms that the jobs call.
"""
