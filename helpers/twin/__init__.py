"""The host twin: C++ headers and runtime, and what Python knows of them."""
