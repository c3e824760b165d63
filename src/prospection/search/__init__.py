"""Pure search: arrays and lists in, arrays and lists out. Nothing here does I/O or knows a store."""
