"""Makes formats.txt: random blocks of every format with the weights they stand for, and values with the blocks that stand
for them, by the Python package `gguf` (0.19.0, MIT), which is independent of this crate.

    pip install gguf==0.19.0 numpy && python formats.py > formats.txt

A line is `dequantise FORMAT BLOCKS WEIGHTS` or `quantise FORMAT WEIGHTS BLOCKS`: blocks as bytes in hexadecimal, weights as the
bits of their f32, eight digits each.
"""

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type, quants

random = np.random.default_rng(20240)

# Where the halves stand in a block: those are made finite, so that every weight has one bit pattern.
HALVES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
}


def words(weights):
    return "".join(f"{word:08x}" for word in np.ascontiguousarray(weights, np.float32).view(np.uint32).ravel())


def random_blocks(name, count):
    """Any bytes, with scales from subnormal to large of either sign."""
    block = random.integers(0, 256, (count, GGML_QUANT_SIZES[Type[name]][1]), dtype=np.uint8)
    for at in HALVES[name]:
        scale = random.normal(size=count) * 10.0 ** random.integers(-7, 3, count)
        block[:, at : at + 2] = scale.astype(np.float16).view(np.uint8).reshape(count, 2)
    return block


def dequantise(name, blocks):
    weights = quants.dequantize(blocks.reshape(1, -1), Type[name])
    print("dequantise", name.lower(), blocks.tobytes().hex(), words(weights))


for name, count in [("F16", 24), ("BF16", 24), ("F32", 8)]:
    values = (random.normal(size=count) * 10.0 ** random.integers(-7, 5, count)).astype(np.float32)
    values[:2] = [0.0, -0.0]
    dequantise(name, quants.quantize(values.reshape(1, -1), Type[name]).view(np.uint8))
for name in HALVES:
    dequantise(name, random_blocks(name, 2 if name.endswith("K") else 4))

values = random.normal(size=96).astype(np.float32)
values[32:64] *= np.float32(0.02)
values[70:96] = 0
values[64:70] = [1.5, -1.5, 0.75, 0.25, -0.25, 1e-9]
for name in ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]:
    blocks = quants.quantize(values.reshape(1, -1), Type[name])
    print("quantise", name.lower(), words(values), blocks.tobytes().hex())
for name in ["F16", "BF16"]:
    values = (random.normal(size=24) * 10.0 ** random.integers(-9, 8, 24)).astype(np.float32)
    values[:4] = [np.inf, -np.inf, 65520.0, 65519.99]
    blocks = quants.quantize(values.reshape(1, -1), Type[name]).view(np.uint8)
    print("quantise", name.lower(), words(values), blocks.tobytes().hex())
