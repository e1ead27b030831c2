"""Shows how planning time grows with the model: models of more and more equal layers, made here.

usage: python bench/planning.py [--fusewright build/fusewright] [--layers 1,4,16,64,256] [--models training,encoder] [--repeats N]

`training` is the gradient of dense layers with layer norms and residual sums, every activation read again far behind where it
is made; `encoder` is a transformer encoder. Each model is audited; seconds are those of the run of least user time of `--repeats` (default 3), of
the whole program, and shares those of its phases on the clock by `--profile`. Where the time per node grows with the number
of layers, some phase does not see that they repeat, or looks through the whole model for one node.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PHASES = ["rules", "import", "saturate", "choose nodes", "group", "improve", "windows", "other"]


class Hlo:
    """Writes one module, instruction by instruction; values are (name, shape)."""

    def __init__(self):
        self.lines, self.results = [], []
        self.zero = self.add((), "constant(0)")

    def add(self, shape, text, attributes=""):
        name = f"v{len(self.lines)}"
        self.lines.append(f"  {name} = f32[{','.join(map(str, shape))}] {text}{attributes}")
        return name, tuple(shape)

    def parameter(self, *shape):
        count = sum("parameter(" in line for line in self.lines)
        return self.add(shape, f"parameter({count})")

    def op(self, name, *operands):
        return self.add(operands[0][1], f"{name}({', '.join(n for n, _ in operands)})")

    def spread(self, value, shape, axes):
        return self.add(shape, f"broadcast({value[0]})", f", dimensions={{{','.join(map(str, axes))}}}")

    def number(self, value, shape):
        return self.spread(self.add((), f"constant({value})"), shape, ())

    def sum(self, value, axis, by="sum"):
        kept = [n for i, n in enumerate(value[1]) if i != axis]
        start = self.zero if by == "sum" else self.add((), "constant(-inf)")
        return self.add(kept, f"reduce({value[0]}, {start[0]})", f", dimensions={{{axis}}}, to_apply={by}")

    def dot(self, a, b, over_a, over_b, batch=0):
        rest = [n for i, n in enumerate(a[1]) if i >= batch and i != over_a] + [n for i, n in enumerate(b[1]) if i >= batch and i != over_b]
        batches = ",".join(map(str, range(batch)))
        of = f", lhs_batch_dims={{{batches}}}, rhs_batch_dims={{{batches}}}" if batch else ""
        return self.add(a[1][:batch] + tuple(rest), f"dot({a[0]}, {b[0]})", f"{of}, lhs_contracting_dims={{{over_a}}}, rhs_contracting_dims={{{over_b}}}")

    def transpose(self, value, order):
        return self.add([value[1][i] for i in order], f"transpose({value[0]})", f", dimensions={{{','.join(map(str, order))}}}")

    def reshape(self, value, shape):
        return self.add(shape, f"reshape({value[0]})")

    def text(self):
        results = ", ".join(f"f32[{','.join(map(str, s))}]" for _, s in self.results)
        names = ", ".join(n for n, _ in self.results)
        reducers = "".join(f"{n} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] {op}(a, b)\n}}\n\n"
                           for n, op in (("sum", "add"), ("max", "maximum")))
        return "\n".join(["HloModule layers\n", reducers + "ENTRY main {", *self.lines, f"  ROOT out = ({results}) tuple({names})", "}\n"])

    # Layers -----------------------------------------------------------------------------------------

    def layer_norm(self, x, gain, bias):
        """The result, and what its gradient needs."""
        rows, width = x[1]
        mean = self.op("divide", self.sum(x, 1), self.number(width, (rows,)))
        centred = self.op("subtract", x, self.spread(mean, x[1], [0]))
        variance = self.op("divide", self.sum(self.op("multiply", centred, centred), 1), self.number(width, (rows,)))
        scale = self.op("rsqrt", self.op("add", variance, self.number(1e-5, (rows,))))
        unit = self.op("multiply", centred, self.spread(scale, x[1], [0]))
        return self.op("add", self.op("multiply", unit, self.spread(gain, x[1], [1])), self.spread(bias, x[1], [1])), unit, scale

    def layer_norm_gradient(self, by_result, gain, unit, scale):
        """With respect to what was normalised, the gain and the bias."""
        rows, width = unit[1]
        by_unit = self.op("multiply", by_result, self.spread(gain, unit[1], [1]))
        mean = self.op("divide", self.sum(by_unit, 1), self.number(width, (rows,)))
        along = self.op("divide", self.sum(self.op("multiply", by_unit, unit), 1), self.number(width, (rows,)))
        centred = self.op("subtract", by_unit, self.spread(mean, unit[1], [0]))
        rest = self.op("subtract", centred, self.op("multiply", unit, self.spread(along, unit[1], [0])))
        return (self.op("multiply", rest, self.spread(scale, unit[1], [0])),
                self.sum(self.op("multiply", by_result, unit), 0), self.sum(by_result, 0))


def training(layers, rows=64, width=64, inner=256):
    m = Hlo()
    x = m.parameter(rows, width)
    kept = []
    for _ in range(layers):
        gain, bias = m.parameter(width), m.parameter(width)
        up, shift, down = m.parameter(width, inner), m.parameter(inner), m.parameter(inner, width)
        y, unit, scale = m.layer_norm(x, gain, bias)
        active = m.op("tanh", m.op("add", m.dot(y, up, 1, 0), m.spread(shift, (rows, inner), [1])))
        x = m.op("add", x, m.dot(active, down, 1, 0))
        kept.append((gain, up, down, y, unit, scale, active))
    by_x = m.op("multiply", x, m.number(2 / (rows * width), x[1]))
    for gain, up, down, y, unit, scale, active in reversed(kept):
        by_active = m.dot(by_x, down, 1, 1)
        slope = m.op("subtract", m.number(1, active[1]), m.op("multiply", active, active))
        by_sum = m.op("multiply", by_active, slope)
        by_inner, by_gain, by_bias = m.layer_norm_gradient(m.dot(by_sum, up, 1, 1), gain, unit, scale)
        m.results += [m.dot(active, by_x, 0, 0), m.sum(by_sum, 0), m.dot(y, by_sum, 0, 0), by_gain, by_bias]
        by_x = m.op("add", by_x, by_inner)
    m.results.append(by_x)
    return m.text()


def encoder(layers, rows=64, heads=4, width=64, inner=256):
    m = Hlo()
    x = m.parameter(rows, width)
    for _ in range(layers):
        y, _, _ = m.layer_norm(x, m.parameter(width), m.parameter(width))
        q, k, v = (m.transpose(m.reshape(m.dot(y, m.parameter(width, width), 1, 0), (rows, heads, width // heads)), (1, 0, 2)) for _ in range(3))
        scores = m.op("divide", m.dot(q, k, 2, 2, batch=1), m.number((width // heads)**0.5, (heads, rows, rows)))
        powers = m.op("exponential", m.op("subtract", scores, m.spread(m.sum(scores, 2, "max"), scores[1], [0, 1])))
        shares = m.op("divide", powers, m.spread(m.sum(powers, 2), powers[1], [0, 1]))
        mixed = m.reshape(m.transpose(m.dot(shares, v, 2, 1, batch=1), (1, 0, 2)), (rows, width))
        x = m.op("add", x, m.dot(mixed, m.parameter(width, width), 1, 0))
        y, _, _ = m.layer_norm(x, m.parameter(width), m.parameter(width))
        inside = m.op("add", m.dot(y, m.parameter(width, inner), 1, 0), m.spread(m.parameter(inner), (rows, inner), [1]))
        x = m.op("add", x, m.dot(m.op("maximum", inside, m.number(0, inside[1])), m.parameter(inner, width), 1, 0))
    m.results.append(x)
    return m.text()


def audit(fusewright, path):
    """User seconds, seconds on the clock and resident megabytes of one run, and milliseconds by phase."""
    with tempfile.TemporaryFile("w+") as report:
        start = time.perf_counter()
        child = subprocess.Popen([fusewright, "audit", path, "--json", "--profile"], stdout=subprocess.DEVNULL, stderr=report)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        report.seek(0)
        text = report.read()
    if status != 0:
        sys.exit(f"{path}: {text}")
    found = {name: float(ms) for name, ms in re.findall(r"^ {0,2}(\S.*?) +([\d.]+) +[\d.]+ %$", text, re.M)}
    return usage.ru_utime, seconds, usage.ru_maxrss / 1024, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fusewright", default=str(ROOT / "build/fusewright"))
    parser.add_argument("--layers", default="1,4,16,64,256", type=lambda s: [int(n) for n in s.split(",")])
    parser.add_argument("--models", default="training,encoder", type=lambda s: s.split(","))
    parser.add_argument("--repeats", default=3, type=int)
    args = parser.parse_args()
    print(f"| model | layers | nodes | user s | wall s | ms a node | MB | {' | '.join(PHASES)} |")
    print("|---|" + "---:|" * (len(PHASES) + 6))
    for name in args.models:
        for layers in args.layers:
            text = {"training": training, "encoder": encoder}[name](layers)
            nodes = text.count(" = ") - 6  # those of the two reducers apart
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, f"{name}{layers}.hlo")
                pathlib.Path(path).write_text(text)
                user, wall, memory, phases = min((audit(args.fusewright, path) for _ in range(args.repeats)), key=lambda run: run[0])
            whole = phases["the whole"]
            shares = [100 * phases.get(p, 0) / whole for p in PHASES[:-1]]
            shares.append(100 - sum(shares))
            print(f"| {name} | {layers} | {nodes} | {user:.2f} | {wall:.2f} | {1000 * user / nodes:.3f} | {memory:.0f} | "
                  + " | ".join(f"{s:.0f} %" for s in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
