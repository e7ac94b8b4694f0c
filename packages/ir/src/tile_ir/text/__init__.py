"""The textual form of the IR: grammar, parser, printer, equality of texts."""
