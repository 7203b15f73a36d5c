"""A small language model of the LLaMA family, with MindSpore's operators or with our kernels.

model        weights, sizes and words: SmolLM2-135M-Instruct where its package is installed, else two random layers
tokenizer    text to numbers and back
network      the decoder in MindSpore
shares       where the time of a layer goes at the sizes of a 7 B model
"""
