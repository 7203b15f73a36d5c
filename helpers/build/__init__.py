"""From the text of a cell to a loadable kernel: compiler, cache, twin runtime, source scan, messages."""
