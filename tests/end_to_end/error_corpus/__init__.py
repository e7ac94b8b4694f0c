"""Right programs, and the one change that makes each of many wrong ones."""
