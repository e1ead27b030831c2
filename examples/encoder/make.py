"""Write the transformer encoder block: model.hlo, input_<i>.npy and output_0.npy beside this file.

Python 3.11, jax==0.10.2, jaxlib==0.10.2, numpy==2.4.6 (another jax may name or order instructions differently).

One pre-norm block on x[2,128,256]: x1 = x + attention(norm(x)), y = x1 + mlp(norm(x1)), 4 heads, MLP width 1024.
The weights are seeded random numbers of a trained block's scale; they are parameters of the HLO, in the order of `shapes`.
"""
import math
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np

BATCH, TOKENS, WIDTH, HEADS, HIDDEN = 2, 128, 256, 4, 1024
HEAD = WIDTH // HEADS
EPSILON = 1e-5


def shapes():
    """Parameter name -> shape; parameter 0 is the activations."""
    s = {"x": (BATCH, TOKENS, WIDTH), "norm1_scale": (WIDTH,), "norm1_bias": (WIDTH,)}
    for name in ("query", "key", "value", "out"):
        s |= {f"{name}_weight": (WIDTH, WIDTH), f"{name}_bias": (WIDTH,)}
    s |= {"norm2_scale": (WIDTH,), "norm2_bias": (WIDTH,)}
    s |= {"up_weight": (WIDTH, HIDDEN), "up_bias": (HIDDEN,), "down_weight": (HIDDEN, WIDTH), "down_bias": (WIDTH,)}
    return s


def draw(rng, name, shape):
    z = rng.standard_normal(shape)
    if name.endswith("_scale"):
        z = 1 + 0.1 * z
    elif name.endswith("_bias"):
        z = 0.1 * z
    elif name.endswith("_weight"):
        z = z / math.sqrt(shape[0])
    return z.astype(np.float32)


def layer_norm(x, scale, bias):
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + EPSILON) * scale + bias


def gelu(x):  # jax.nn.gelu goes through erfc, which jax expands into a polynomial; erf stays one instruction
    return 0.5 * x * (1 + jax.lax.erf(x * np.float32(math.sqrt(0.5))))


def split_heads(x):
    return x.reshape(BATCH, TOKENS, HEADS, HEAD).transpose(0, 2, 1, 3)


def encoder_block(x, norm1_scale, norm1_bias, query_weight, query_bias, key_weight, key_bias, value_weight, value_bias,
                  out_weight, out_bias, norm2_scale, norm2_bias, up_weight, up_bias, down_weight, down_bias):
    h = layer_norm(x, norm1_scale, norm1_bias)
    q = split_heads(h @ query_weight + query_bias)
    k = split_heads(h @ key_weight + key_bias)
    v = split_heads(h @ value_weight + value_bias)
    scores = q @ k.swapaxes(-1, -2) * np.float32(1 / math.sqrt(HEAD))
    context = jax.nn.softmax(scores, axis=-1) @ v
    context = context.transpose(0, 2, 1, 3).reshape(BATCH, TOKENS, WIDTH)
    x1 = x + (context @ out_weight + out_bias)
    h = layer_norm(x1, norm2_scale, norm2_bias)
    return x1 + (gelu(h @ up_weight + up_bias) @ down_weight + down_bias)


def reference(arrays):
    """The same block in float64 NumPy, written apart from the JAX one."""
    p = {k: v.astype(np.float64) for k, v in arrays.items()}

    def norm(x, n):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPSILON) * p[n + "_scale"] + p[n + "_bias"]

    def dense(x, n):
        return x @ p[n + "_weight"] + p[n + "_bias"]

    h = norm(p["x"], "norm1")
    q, k, v = (dense(h, n).reshape(BATCH, TOKENS, HEADS, HEAD) for n in ("query", "key", "value"))
    e = np.exp(np.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(HEAD))
    context = np.einsum("bhij,bjhd->bihd", e / e.sum(-1, keepdims=True), v).reshape(BATCH, TOKENS, WIDTH)
    x1 = p["x"] + dense(context, "out")
    u = dense(norm(x1, "norm2"), "up")
    return x1 + dense(u * (1 + np.vectorize(math.erf)(u / math.sqrt(2))) / 2, "down")


def main():
    here = pathlib.Path(__file__).parent
    rng = np.random.default_rng(2024)
    arrays = {name: draw(rng, name, shape) for name, shape in shapes().items()}
    lowered = jax.jit(encoder_block).lower(*arrays.values())
    (here / "model.hlo").write_text(lowered.compiler_ir("hlo").as_hlo_text())
    with jax.default_matmul_precision("highest"):
        y = np.asarray(jax.jit(encoder_block)(*arrays.values()))
    for i, a in enumerate(arrays.values()):
        np.save(here / f"input_{i}.npy", a)
    np.save(here / "output_0.npy", y)
    error = np.abs(y - reference(arrays)).max()
    print(f"output {y.shape}, largest magnitude {np.abs(y).max():.4g}, largest difference from float64 {error:.3g}")


if __name__ == "__main__":
    main()
