"""What the chapters share: kernels as files, ladders, and running the notebooks."""
from .change import changed
from .kernels import folder, load
from .ladder import Version, changes

__all__ = ["Version", "changed", "changes", "folder", "load"]
