"""NumPy tiling simulation: Python code that moves slices GM -> UB -> GM through the twin's own library.

abi          the library's structs and entry points (twin/abi_front.h)
simulation   @ubsim, the launch of a function, its Run
core         what the function sees: copies, instructions, flags     queues: TQue, TBuf
gm, local    GlobalTensor, LocalTensor; slices: what an index means
vector       element-wise instructions     reduce: reductions     copies: DataCopy, DataCopyPad
state        the running simulation, and how errors reach the learner's line
names        words of Ascend C as numbers
"""
from .copies import DataCopyExtParams, DataCopyPadExtParams, DataCopyParams
from .core import Core
from .gm import GlobalTensor
from .local import LocalTensor
from .queues import TBuf, TQue
from .simulation import Simulation, ubsim
from .vector import BinaryRepeatParams, UnaryRepeatParams

__all__ = ["BinaryRepeatParams", "Core", "DataCopyExtParams", "DataCopyPadExtParams", "DataCopyParams", "GlobalTensor", "LocalTensor", "Simulation",
           "TBuf", "TQue", "UnaryRepeatParams", "ubsim"]
