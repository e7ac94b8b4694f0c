"""Define the symbols of the language that are no operations, such as `T.Kernel`, `T.serial`."""
