"""Train the digits network and write model.onnx, images.npy and labels.npy beside this file.

Python 3.11, jax==0.10.2, jaxlib==0.10.2, numpy==2.4.6, onnx==1.23.2, onnxruntime==1.32.0, scikit-learn==1.9.1

Data: the 8x8 handwritten digits that ship with scikit-learn; 200 are held out, 1597 train.
Network: a stem, one residual block, max pooling, a wider convolution, global average pooling and a linear layer.
Every convolution is followed by BatchNormalization, whose running statistics are learned in training and exported as they are.
"""
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

CONVS = {"stem": (1, 16), "block1": (16, 16), "block2": (16, 16), "top": (16, 32)}  # name: (channels in, channels out)
CLASSES, HELD_OUT, BATCH, EPOCHS = 10, 200, 64, 60
EPSILON, MOMENTUM = 1e-5, 0.9


def data():
    bunch = load_digits()
    images = (bunch.images / 16).astype(np.float32)[:, None]
    labels = bunch.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(images))
    test, train = order[:HELD_OUT], order[HELD_OUT:]
    return images[train], labels[train], images[test], labels[test]


def initial(rng):
    params, stats = {}, {}
    for name, (i, o) in CONVS.items():
        params[name] = {"weight": (rng.standard_normal((o, i, 3, 3)) * np.sqrt(2 / (9 * i))).astype(np.float32),
                        "scale": np.ones(o, np.float32), "bias": np.zeros(o, np.float32)}
        stats[name] = {"mean": np.zeros(o, np.float32), "var": np.ones(o, np.float32)}
    width = CONVS["top"][1]
    params["classifier"] = {"weight": (rng.standard_normal((CLASSES, width)) / np.sqrt(width)).astype(np.float32),
                            "bias": np.zeros(CLASSES, np.float32)}
    return params, stats


def forward(params, stats, x, training):
    """Logits, and the running statistics after this batch."""
    new = {}

    def conv_bn(name, x):
        p, s = params[name], stats[name]
        y = jax.lax.conv_general_dilated(x, p["weight"], (1, 1), [(1, 1), (1, 1)])
        mean, var = (y.mean((0, 2, 3)), y.var((0, 2, 3))) if training else (s["mean"], s["var"])
        new[name] = {"mean": MOMENTUM * s["mean"] + (1 - MOMENTUM) * mean, "var": MOMENTUM * s["var"] + (1 - MOMENTUM) * var}
        column = lambda v: v[None, :, None, None]
        return (y - column(mean)) * column(p["scale"] * jax.lax.rsqrt(var + EPSILON)) + column(p["bias"])

    x = jax.nn.relu(conv_bn("stem", x))
    x = jax.nn.relu(x + conv_bn("block2", jax.nn.relu(conv_bn("block1", x))))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = jax.nn.relu(conv_bn("top", x)).mean((2, 3))
    return x @ params["classifier"]["weight"].T + params["classifier"]["bias"], new


@jax.jit
def step(params, stats, moments, t, rate, x, labels):
    """One Adam step on the cross entropy."""
    def loss(params):
        logits, new = forward(params, stats, x, True)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean(), new

    grads, stats = jax.grad(loss, has_aux=True)(params)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], grads)
    update = lambda p, m, v: p - rate * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return jax.tree.map(update, params, first, second), stats, (first, second)


def shift(rng, x):
    """Each image moved by at most one pixel, zeros moving in."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    at = rng.integers(0, 3, (len(x), 2))
    return np.stack([p[:, r:r + 8, c:c + 8] for p, (r, c) in zip(padded, at)])


def train(images, labels):
    rng = np.random.default_rng(1)
    params, stats = initial(rng)
    zeros = jax.tree.map(np.zeros_like, params)
    moments, t, total = (zeros, zeros), 0, EPOCHS * (len(images) // BATCH)
    for _ in range(EPOCHS):
        order = rng.permutation(len(images))
        for i in range(len(images) // BATCH):
            pick = order[i * BATCH:(i + 1) * BATCH]
            rate = 0.005 * (1 + np.cos(np.pi * t / total))
            t += 1
            params, stats, moments = step(params, stats, moments, float(t), rate, shift(rng, images[pick]), labels[pick])
    return jax.tree.map(np.asarray, params), jax.tree.map(np.asarray, stats)


def export(params, stats):
    nodes, weights = [], []

    def constant(name, value):
        weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(op, name, *inputs, **attributes):
        nodes.append(helper.make_node(op, list(inputs), [f"{name}_out"], name=name, **attributes))
        return f"{name}_out"

    def conv_bn(name, x):
        p, s = params[name], stats[name]
        y = node("Conv", f"{name}_conv", x, constant(f"{name}_conv.weight", p["weight"]),
                 kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
        return node("BatchNormalization", f"{name}_bn", y, constant(f"{name}_bn.scale", p["scale"]), constant(f"{name}_bn.bias", p["bias"]),
                    constant(f"{name}_bn.running_mean", s["mean"]), constant(f"{name}_bn.running_var", s["var"]), epsilon=EPSILON)

    stem = node("Relu", "stem_relu", conv_bn("stem", "image"))
    inner = node("Relu", "block1_relu", conv_bn("block1", stem))
    x = node("Relu", "block2_relu", node("Add", "residual_add", conv_bn("block2", inner), stem))
    x = node("MaxPool", "pool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = node("Relu", "top_relu", conv_bn("top", x))
    x = node("Flatten", "flatten", node("GlobalAveragePool", "global_pool", x), axis=1)
    nodes.append(helper.make_node("Gemm", [x, constant("classifier.weight", params["classifier"]["weight"]),
                                           constant("classifier.bias", params["classifier"]["bias"])], ["logits"], name="classifier", transB=1))
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="digits-example")
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    here = pathlib.Path(__file__).parent
    train_x, train_y, test_x, test_y = data()
    params, stats = train(train_x, train_y)
    onnx.save(export(params, stats), here / "model.onnx")
    np.save(here / "images.npy", test_x)
    np.save(here / "labels.npy", test_y)

    session = onnxruntime.InferenceSession(str(here / "model.onnx"), providers=["CPUExecutionProvider"])
    right = lambda x, y: (session.run(None, {"image": x})[0].argmax(1) == y).mean()
    print(f"accuracy: training {right(train_x, train_y):.4f}, held out {right(test_x, test_y):.4f}")
    ours = np.asarray(forward(params, stats, test_x, False)[0])
    print(f"largest difference between jax and onnxruntime: {np.abs(session.run(None, {'image': test_x})[0] - ours).max():.3g}")


if __name__ == "__main__":
    main()
