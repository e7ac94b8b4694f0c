"""Parse, print and compare the textual form of the IR."""
