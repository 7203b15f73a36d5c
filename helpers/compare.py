"""hp.compare: two runs side by side."""
from __future__ import annotations


def compare(left, right, names=("kernel", "simulation")):
    """Bytes, instructions, cycles and time of two runs, and the first instruction in which they part.

        hp.compare(kernel[8](x, y), simulation[8](x, y))
    """
    from .run import Run
    for run in (left, right):
        if not isinstance(run, Run):
            raise TypeError(f"hp.compare takes two runs, such as kernel[8](x, y), not {type(run).__name__}")
    from .views.compare import compare as page           # draws nothing, but the views bring Matplotlib along
    return page(left, right, names)
