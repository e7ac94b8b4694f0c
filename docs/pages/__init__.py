"""Generated pages, a file each, and what several of them need."""
