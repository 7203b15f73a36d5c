"""Kernels as operators of MindSpore, PyTorch and ONNX. Each framework is imported by its own module, when it is asked for."""
