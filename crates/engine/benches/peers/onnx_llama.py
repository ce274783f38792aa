"""A LLaMA-shaped model under ONNX Runtime, timed for the benchmark of engines, which starts this as a child.

onnx_llama.py MODEL.gguf THREADS PROMPT TOKENS REPEATS    prints {"load_s":S,"prefill_tps":[...],"decode_tps":[...]}

The graph is made at the first use, beside the model, in the operators that its own builder of language models takes: attention
over a cache with its positions in one operator, norms that add first, and quantised weights as MatMulNBits.
"""

import json
import os
import sys
import time

import numpy as np
import onnxruntime as ort

CONTRIB = "com.microsoft"
BLOCK = 32
POSITIONS = 512


class Shape:
    """What the metadata of the file say."""

    def __init__(self, reader):
        def number(key):
            return int(reader.fields["llama." + key].contents())

        self.width = number("embedding_length")
        self.layers = number("block_count")
        self.heads = number("attention.head_count")
        self.kv_heads = number("attention.head_count_kv")
        self.head_dim = self.width // self.heads


class Builder:
    """Nodes and weights of the graph."""

    def __init__(self, tensors):
        self.tensors = {tensor.name: tensor for tensor in tensors}
        self.nodes, self.weights = [], []

    def node(self, kind, inputs, outputs, domain="", **attributes):
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def weight(self, name, values):
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def floats(self, name):
        from gguf.quants import dequantize

        tensor = self.tensors[name]
        return dequantize(tensor.data, tensor.tensor_type).astype(np.float32)

    def linear(self, source, names, output):
        """One product with the rows of all these tensors."""
        kind = self.tensors[names[0]].tensor_type.name
        if kind == "F32":
            rows = np.concatenate([self.floats(name) for name in names])
            return self.node("MatMul", [source, self.weight(output + ".w", rows.T)], [output])
        blocks = np.concatenate([blocks_of(self.tensors[name]) for name in names])
        scales = blocks[..., :2].copy().view(np.float16)[..., 0].astype(np.float32)
        bits, codes = {"Q4_0": (4, nibbles), "Q8_0": (8, offset_bytes)}[kind]
        inputs = [source, self.weight(output + ".w", codes(blocks[..., 2:])), self.weight(output + ".s", scales)]
        rows, columns = blocks.shape[0], blocks.shape[1] * BLOCK
        # Level 4: activations in bytes, the fastest it has.
        sizes = {"K": columns, "N": rows, "bits": bits, "block_size": BLOCK, "accuracy_level": 4}
        return self.node("MatMulNBits", inputs, [output], domain=CONTRIB, **sizes)


def blocks_of(tensor):
    """Bytes of each block of each row: a scale of two bytes, then codes."""
    size = {"Q4_0": 18, "Q8_0": 34}[tensor.tensor_type.name]
    rows, columns = int(tensor.shape[1]), int(tensor.shape[0])
    return np.asarray(tensor.data).view(np.uint8).reshape(rows, columns // BLOCK, size)


def nibbles(codes):
    """From element i beside i + 16 to neighbours."""
    values = np.concatenate([codes & 15, codes >> 4], axis=-1)
    return values[..., 0::2] | (values[..., 1::2] << 4)


def offset_bytes(codes):
    return codes ^ 0x80


def layer(builder, shape, index, stream, update):
    """One layer; gives the stream and what is to be added to it."""
    here = f"l{index}."

    def norm(name, stream, update):
        gamma = builder.weight(here + name, builder.floats(f"blk.{index}.{name}.weight"))
        return add_and_norm(builder, here + name, gamma, stream, update)

    def linear(source, names, output):
        return builder.linear(source, [f"blk.{index}.{name}.weight" for name in names], here + output)

    stream, normed = norm("attn_norm", stream, update)
    qkv = linear(normed, ["attn_q", "attn_k", "attn_v"], "qkv")
    inputs = [qkv, "", "", f"past_k{index}", f"past_v{index}", "last", "total", "cos", "sin"]
    outputs = [here + "attended", f"now_k{index}", f"now_v{index}"]
    attributes = {"num_heads": shape.heads, "kv_num_heads": shape.kv_heads, "do_rotary": 1, "rotary_interleaved": 1}
    attended = builder.node("GroupQueryAttention", inputs, outputs, domain=CONTRIB, **attributes)
    stream, normed = norm("ffn_norm", stream, linear(attended, ["attn_output"], "out"))
    gate, up = linear(normed, ["ffn_gate"], "gate"), linear(normed, ["ffn_up"], "up")
    silu = builder.node("Mul", [gate, builder.node("Sigmoid", [gate], [here + "sigmoid"])], [here + "silu"])
    return stream, linear(builder.node("Mul", [silu, up], [here + "inner"]), ["ffn_down"], "down")


def add_and_norm(builder, name, gamma, stream, update):
    if update is None:
        attributes = {"epsilon": 1e-5, "axis": -1, "stash_type": 1}
        return stream, builder.node("SimplifiedLayerNormalization", [stream, gamma], [name + ".n"], **attributes)
    outputs = [name + ".n", "", "", name + ".sum"]
    inputs = [stream, update, gamma]
    normed = builder.node("SkipSimplifiedLayerNormalization", inputs, outputs, domain=CONTRIB, epsilon=1e-5)
    return name + ".sum", normed


def build(path, target):
    from gguf import GGUFReader
    import onnx
    from onnx import TensorProto, helper

    reader = GGUFReader(path)
    shape, builder = Shape(reader), Builder(reader.tensors)
    angles = np.outer(np.arange(POSITIONS), 10000.0 ** (-np.arange(0, shape.head_dim, 2) / shape.head_dim))
    builder.weight("cos", np.cos(angles).astype(np.float32))
    builder.weight("sin", np.sin(angles).astype(np.float32))
    table = builder.weight("embedding", builder.floats("token_embd.weight"))
    stream, update = builder.node("Gather", [table, "tokens"], ["embedded"]), None
    for index in range(shape.layers):
        stream, update = layer(builder, shape, index, stream, update)
    gamma = builder.weight("output_norm", builder.floats("output_norm.weight"))
    _, normed = add_and_norm(builder, "final", gamma, stream, update)
    # The last token alone needs the head.
    ends = [builder.weight(name, np.array([value], np.int64)) for name, value in [("from", -1), ("to", 2**31), ("axis", 1)]]
    last = builder.node("Slice", [normed, *ends], ["last_normed"])
    builder.linear(last, ["token_embd.weight"], "logits")

    def caches(word):
        sizes = [1, shape.kv_heads, POSITIONS, shape.head_dim]
        names = [f"{word}_{part}{index}" for index in range(shape.layers) for part in "kv"]
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in names]

    inputs = [
        helper.make_tensor_value_info("tokens", TensorProto.INT64, [1, "count"]),
        helper.make_tensor_value_info("last", TensorProto.INT32, [1]),
        helper.make_tensor_value_info("total", TensorProto.INT32, []),
        *caches("past"),
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, None), *caches("now")]
    graph = helper.make_graph(builder.nodes, "llama", inputs, outputs, builder.weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    # The cache and the heads are told from the shapes of the inputs; they are kept beside.
    data = os.path.basename(target) + ".data"
    if os.path.exists(target + ".data"):
        os.remove(target + ".data")
    onnx.save(model, target + ".part", save_as_external_data=True, location=data, size_threshold=1024)
    os.rename(target + ".part", target)


class Engine:
    def __init__(self, target, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(target, options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for put in self.session.get_inputs():
            if put.name.startswith("past_"):
                cache = ort.OrtValue.ortvalue_from_numpy(np.zeros(put.shape, np.float32))
                self.binding.bind_ortvalue_input(put.name, cache)
                self.binding.bind_ortvalue_output(put.name.replace("past_", "now_"), cache)
        self.binding.bind_output("logits")

    def forward(self, position, tokens):
        """What the tokens are changes no step."""
        count = tokens.shape[1]
        self.binding.bind_cpu_input("tokens", tokens)
        self.binding.bind_cpu_input("last", np.array([position + count - 1], np.int32))
        self.binding.bind_cpu_input("total", np.array(position + count, np.int32))
        self.session.run_with_iobinding(self.binding)

    def rate(self, count, block):
        start = time.perf_counter()
        for position in range(0, count, block):
            self.forward(position, (np.arange(position, position + block, dtype=np.int64)[None] * 31 + 7) % 512)
        return count / (time.perf_counter() - start)


def main():
    path, numbers = sys.argv[1], sys.argv[2:]
    threads, prompt, tokens, repeats = map(int, numbers)
    target = os.path.splitext(path)[0] + ".onnx"
    if not os.path.exists(target):
        build(path, target)
    start = time.perf_counter()
    engine = Engine(target, threads)
    load = time.perf_counter() - start
    prefill = []
    if prompt:
        engine.rate(prompt, prompt)
        prefill = [engine.rate(prompt, prompt) for _ in range(repeats)]
    engine.rate(1, 1)
    decode = [engine.rate(tokens, 1) for _ in range(repeats)]
    print(json.dumps({"load_s": load, "prefill_tps": prefill, "decode_tps": decode}))


if __name__ == "__main__":
    main()
