"""Runs PyTorch and ONNX Runtime in turns with the benchmark that started it.

A command per line on standard input, an answer per line on standard output:
  libraries                                       -> names and versions, or nothing
  prepare LIBRARY OPERATION ROWS COLUMNS IN OUT   -> a number for it, or `absent`; runs once, from the file IN to the file OUT
  run NUMBER CALLS                                -> nanoseconds of wall time and of CPU time, for all calls together
  forget                                          -> `done`; drops all that was prepared
"""

import sys
import time

EPSILON = 1e-5


def torch_operations(torch):
    aten = torch.ops.aten
    functional = torch.nn.functional

    def layer_norm(x, weight, bias, out):
        rows, columns = x.shape
        mean, deviation = torch.empty(rows, 1), torch.empty(rows, 1)
        return lambda: aten.native_layer_norm.out(
            x, [columns], weight, bias, EPSILON, out0=out, out1=mean, out2=deviation
        )

    return {
        "add": lambda x, w, b, out: lambda: torch.add(x, x, out=out),
        "exp": lambda x, w, b, out: lambda: torch.exp(x, out=out),
        "gelu_tanh": lambda x, w, b, out: lambda: aten.gelu.out(x, approximate="tanh", out=out),
        "gelu_erf": lambda x, w, b, out: lambda: aten.gelu.out(x, out=out),
        "silu": lambda x, w, b, out: lambda: aten.silu.out(x, out=out),
        "softmax": lambda x, w, b, out: lambda: aten._softmax.out(x, 1, False, out=out),
        "layer_norm": layer_norm,
        # There is no form of it that takes an output.
        "rms_norm": lambda x, w, b, out: lambda: functional.rms_norm(x, [x.shape[1]], w, EPSILON),
    }


class Torch:
    def __init__(self):
        import torch

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        self.torch = torch
        self.operations = torch_operations(torch)
        self.version = f"PyTorch {torch.__version__}"

    def prepare(self, operation, x):
        if operation not in self.operations:
            return None
        torch = self.torch
        columns = x.shape[1]
        x = torch.from_numpy(x)
        out = torch.empty_like(x)
        call = self.operations[operation](x, torch.ones(columns), torch.zeros(columns), out)
        return call, lambda: call_and_take(call, out)


def call_and_take(call, out):
    result = call()
    result = out if isinstance(result, tuple) else result
    return result.numpy()


class OnnxRuntime:
    def __init__(self):
        import onnx
        import onnxruntime

        self.onnx = onnx
        self.runtime = onnxruntime
        self.version = f"ONNX Runtime {onnxruntime.__version__}"

    def node(self, operation):
        """The operator's name, its inputs besides x, its attributes, and its domain."""
        return {
            "add": ("Add", ["x"], {}, ""),
            "exp": ("Exp", [], {}, ""),
            "gelu_tanh": ("Gelu", [], {"approximate": "tanh"}, ""),
            "gelu_erf": ("Gelu", [], {}, ""),
            "silu": ("QuickGelu", [], {"alpha": 1.0}, "com.microsoft"),
            "softmax": ("Softmax", [], {"axis": -1}, ""),
            "layer_norm": ("LayerNormalization", ["weight", "bias"], {"epsilon": EPSILON}, ""),
            "rms_norm": ("SimplifiedLayerNormalization", ["weight"], {"epsilon": EPSILON}, ""),
        }.get(operation)

    def prepare(self, operation, x):
        node = self.node(operation)
        if node is None:
            return None
        import numpy

        session = self.session(node, x.shape)
        out = numpy.empty_like(x)
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", self.runtime.OrtValue.ortvalue_from_numpy(x))
        value = self.runtime.OrtValue.ortvalue_from_numpy(out)
        binding.bind_ortvalue_output("y", value)

        def call():
            session.run_with_iobinding(binding)

        def result():
            call()
            return value.numpy()

        return call, result

    def session(self, node, shape):
        import numpy

        helper, kind = self.onnx.helper, self.onnx.TensorProto.FLOAT
        name, more, attributes, domain = node
        values = {"weight": numpy.ones(shape[1], "f"), "bias": numpy.zeros(shape[1], "f")}
        constants = [self.onnx.numpy_helper.from_array(values[key], key) for key in more if key in values]
        graph = helper.make_graph(
            [helper.make_node(name, ["x", *more], ["y"], domain=domain, **attributes)],
            "one",
            [helper.make_tensor_value_info("x", kind, shape)],
            [helper.make_tensor_value_info("y", kind, shape)],
            constants,
        )
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        return self.runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )


def load():
    libraries = {}
    for name, kind in (("torch", Torch), ("onnxruntime", OnnxRuntime)):
        try:
            libraries[name] = kind()
        except ImportError:
            pass
    return libraries


def prepare(libraries, prepared, words):
    import numpy

    library, operation, rows, columns, source, target = words
    if library not in libraries:
        return "absent"
    x = numpy.fromfile(source, "f").reshape(int(rows), int(columns))
    contender = libraries[library].prepare(operation, x)
    if contender is None:
        return "absent"
    call, result = contender
    result().astype("f").tofile(target)
    prepared.append(call)
    return len(prepared) - 1


def run(call, calls):
    cpu = time.thread_time_ns()
    wall = time.perf_counter_ns()
    for _ in range(calls):
        call()
    wall = time.perf_counter_ns() - wall
    return f"{wall} {time.thread_time_ns() - cpu}"


def main():
    libraries = load()
    prepared = []
    for line in sys.stdin:
        command, *words = line.split()
        if command == "libraries":
            answer = ", ".join(library.version for library in libraries.values())
        elif command == "prepare":
            answer = prepare(libraries, prepared, words)
        elif command == "run":
            answer = run(prepared[int(words[0])], int(words[1]))
        else:
            prepared.clear()
            answer = "done"
        print(answer, flush=True)


main()
