"""The order between the pipes of one core: an abstract interpreter of its section."""
