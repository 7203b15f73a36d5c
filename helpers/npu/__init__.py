"""Kernels on an Ascend device: find CANN, build a cell's text, launch it through ACL, and measure it.

toolkit.py    where CANN is, its version, the SoC, and which build route fits
build.py      from a kernel's text to a shared object for the device
acl.py        libascendcl.so by ctypes; every return value is looked at
session.py    one device: memory, launch, copy back, timing by events
child.py      the process in which that happens; client.py speaks to it
kernel.py     the Kernel that runs there and returns the same Run
codes.py      what the error numbers mean
"""
