"""The report of a timed run: one HTML page that needs nothing else.

`page` puts it together; each other module prepares the data of one part.
"""
