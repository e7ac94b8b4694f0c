"""Verify the rules of the IR: the forms that each phase allows."""
