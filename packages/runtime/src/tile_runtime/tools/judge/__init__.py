"""The judge: is a kernel right, free of findings, and how near to its roofline, as one document.

A candidate is not trusted. Its code runs in one process, behind a fence, which hands out nothing but
the text of its kernel; a process that never executes the candidate compiles and runs that text; the
reference runs in a third; and the results are compared in the process of the judge.
"""
