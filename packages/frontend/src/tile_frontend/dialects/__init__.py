"""Tables of the names that other languages and versions have for what this one offers."""
