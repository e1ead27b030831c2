"""Fusewright against ONNX Runtime and OpenBLAS (through NumPy), in turn, on one machine.

usage: python bench/peers.py [--fusewright build/fusewright] [--only NAME,...] [--rounds N]

Needs numpy, onnx and onnxruntime (PyPI) in the environment that runs it. Every figure is the least of the rounds' medians, in
milliseconds; the last column is the peer's time over ours: above 1 we are faster. Rounds alternate, so that noise hits both.
Limits stated per workload: `need` is the least ratio that counts as kept.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.pop("OPENBLAS_CORETYPE", None)
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

rng = np.random.default_rng(11)


class Builder:
    """Collects nodes of one ONNX graph; `node` returns the name of its result."""

    def __init__(self):
        self.nodes, self.weights, self.count = [], [], 0

    def node(self, op, *inputs, **attributes):
        self.count += 1
        name = f"t{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def weight(self, array):
        self.count += 1
        name = f"w{self.count}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def save(self, path, inputs, result):
        ports = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, a.shape) for i, a in enumerate(inputs)]
        out = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, path.stem, ports, [out], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(model, path)


def f32(*shape):
    return rng.standard_normal(shape, dtype=np.float32)


def chain(b):
    """Eight pointwise operators, one after the other."""
    t = b.node("Mul", "x0", b.weight(np.float32(1.5)))
    for op in ("Tanh", "Abs", "Sqrt", "Neg", "Exp"):
        t = b.node(op, t)
    t = b.node("Add", t, b.weight(np.float32(0.25)))
    return [f32(2048, 2048)], b.node("Relu", t)


def layer_norm(b):
    axes = b.weight(np.array([-1]))
    mean = b.node("ReduceMean", "x0", axes)
    d = b.node("Sub", "x0", mean)
    variance = b.node("ReduceMean", b.node("Mul", d, d), axes)
    scale = b.node("Sqrt", b.node("Add", variance, b.weight(np.float32(1e-5))))
    y = b.node("Mul", b.node("Div", d, scale), b.weight(f32(1024)))
    return [f32(2048, 1024)], b.node("Add", y, b.weight(f32(1024)))


def softmax(b):
    axes = b.weight(np.array([-1]))
    e = b.node("Exp", b.node("Sub", "x0", b.node("ReduceMax", "x0", axes)))
    return [f32(1536, 512)], b.node("Div", e, b.node("ReduceSum", e, axes))


def matmul(b):
    return [f32(1024, 1024), f32(1024, 1024)], b.node("MatMul", "x0", "x1")


def conv(b):
    return [f32(1, 64, 56, 56)], b.node("Conv", "x0", b.weight(f32(64, 64, 3, 3)), pads=[1, 1, 1, 1])


# name: (graph, threads, peer, least ratio of the peer's time to ours)
WORKLOADS = {
    "chain of eight, 2048x2048": (chain, 2, "onnxruntime", 1.0),
    "LayerNorm written out, 2048x1024": (layer_norm, 2, "onnxruntime", 1.0),
    "softmax written out, 1536x512": (softmax, 2, "onnxruntime", 1.0),
    "matrix product 1024^3": (matmul, 1, "openblas", 1 / 3),
    "convolution 64->64 3x3 on 56x56": (conv, 1, "onnxruntime", 1 / 4),
}


def timed(run, seconds=1.0):
    run()
    times, begin = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def onnxruntime(path, inputs, threads):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feed = {p.name: a for p, a in zip(session.get_inputs(), inputs)}
    return timed(lambda: session.run(None, feed))


def openblas(_, inputs, threads):
    from threadpoolctl import threadpool_limits

    out = np.empty((inputs[0].shape[0], inputs[1].shape[1]), np.float32)
    with threadpool_limits(threads):
        return timed(lambda: np.matmul(*inputs, out=out))


def fusewright(program, path, inputs, threads):
    command = [program, "bench", str(path), "--json", "--threads", str(threads)]
    for i, a in enumerate(inputs):
        file = path.with_suffix(f".{i}.npy")
        np.save(file, a)
        command += ["--input", f"{i}={file}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["seconds_median"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fusewright", default="build/fusewright")
    parser.add_argument("--only")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    kept = True
    print(f"{'workload':36} {'threads':>7} {'peer':>12} {'peer ms':>9} {'ours ms':>9} {'ratio':>6} {'need':>5}")
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (build, threads, peer, need)) in enumerate(WORKLOADS.items()):
            if args.only and not any(part in name for part in args.only.split(",")):
                continue
            builder, path = Builder(), pathlib.Path(folder) / f"m{number}.onnx"
            inputs, result = build(builder)
            builder.save(path, inputs, result)
            theirs, ours = [], []
            for _ in range(args.rounds):
                theirs.append(globals()[peer](path, inputs, threads))
                ours.append(fusewright(args.fusewright, path, inputs, threads))
            ratio = min(theirs) / min(ours)
            kept = kept and ratio >= need
            print(f"{name:36} {threads:7} {peer:>12} {1e3 * min(theirs):9.3f} {1e3 * min(ours):9.3f} {ratio:6.2f} {need:5.2f}", flush=True)
    sys.exit(0 if kept else 1)


main()
