"""The engine against its peers, in turn, on one machine: saturation, planning of real graphs, extraction.

usage: python bench/engine/peers.py [--build build/release] [--rounds N] [--only math,rules,graphs,extraction,anytime] [--corpora DIR]

`scripts/build release bench_engine_math bench_engine_never` makes the benchmarks of saturation. Needs egglog (PyPI) for `math` and jax for
`graphs` and `rules`, in the environment that runs it: python -m venv V && V/bin/pip install egglog jax. Rounds alternate, so that noise hits both
sides; the least time of each counts (`math`: of the processor, on which both sides are one thread). `extraction` and `anytime` read e-graphs as JSON from DIR/egraphs ($FUSEWRIGHT_CORPORA/egraphs), with best_known.tsv beside them.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


# --- saturation --------------------------------------------------------------------------------------

# The rules of math.cpp in egglog's own language.
MATH_RULES = """
(rewrite (Add a b) (Add b a)) (rewrite (Mul a b) (Mul b a))
(rewrite (Add a (Add b c)) (Add (Add a b) c)) (rewrite (Mul a (Mul b c)) (Mul (Mul a b) c))
(rewrite (Sub a b) (Add a (Mul (Const -1) b)))
(rewrite (Add a (Const 0)) a) (rewrite (Mul a (Const 0)) (Const 0)) (rewrite (Mul a (Const 1)) a)
(rewrite (Sub a a) (Const 0))
(rewrite (Mul a (Add b c)) (Add (Mul a b) (Mul a c))) (rewrite (Add (Mul a b) (Mul a c)) (Mul a (Add b c)))
(rewrite (Mul (Pow a b) (Pow a c)) (Pow a (Add b c)))
(rewrite (Pow a (Const 1)) a) (rewrite (Pow a (Const 2)) (Mul a a))
(rewrite (Diff x (Add a b)) (Add (Diff x a) (Diff x b)))
(rewrite (Diff x (Mul a b)) (Add (Mul a (Diff x b)) (Mul b (Diff x a))))
(rewrite (Diff x (Sin x)) (Cos x)) (rewrite (Diff x (Cos x)) (Mul (Const -1) (Sin x)))
(rewrite (Integral (Const 1) x) x)
(rewrite (Integral (Cos x) x) (Sin x)) (rewrite (Integral (Sin x) x) (Mul (Const -1) (Cos x)))
(rewrite (Integral (Add f g) x) (Add (Integral f x) (Integral g x)))
(rewrite (Integral (Sub f g) x) (Sub (Integral f x) (Integral g x)))
(rewrite (Integral (Mul a b) x) (Sub (Mul a (Integral b x)) (Integral (Mul (Diff x a) (Integral b x)) x)))
"""
MATH_TERMS = """
(let $x (Var "x")) (let $y (Var "y")) (let $five (Var "five"))
(Integral (Ln $x) $x) (Integral (Add $x (Cos $x)) $x) (Integral (Mul (Cos $x) $x) $x)
(Diff $x (Add (Const 1) (Mul (Const 2) $x)))
(Diff $x (Sub (Pow $x (Const 3)) (Mul (Const 7) (Pow $x (Const 2)))))
(Add (Mul $y (Add $x $y)) (Sub (Add $x (Const 2)) (Add $x $x)))
(Div (Const 1) (Sub (Div (Add (Const 1) (Sqrt $five)) (Const 2)) (Div (Sub (Const 1) (Sqrt $five)) (Const 2))))
"""
MATH_TYPE = """(datatype Math (Diff Math Math) (Integral Math Math) (Add Math Math) (Sub Math Math) (Mul Math Math) (Div Math Math)
(Pow Math Math) (Ln Math) (Sqrt Math) (Sin Math) (Cos Math) (Const i64) (Var String))"""


def egglog_math(iterations):
    from egglog.bindings import EGraph

    egraph = EGraph()
    egraph.run_program(*egraph.parse_program(MATH_TYPE + MATH_RULES + MATH_TERMS))
    start = time.process_time()
    egraph.run_program(*egraph.parse_program(f"(run {iterations})"))
    return time.process_time() - start


def math(args):
    program = ROOT / args.build / "bench" / "bench_engine_math"

    def ours(*options):
        text = run([program, "11", "1", *options])
        nodes, seconds = re.search(r"(\d+) e-nodes.*, ([\d.]+) s", text).groups()
        return int(nodes), float(seconds), text

    recorded, plain, peer = [], [], []
    for _ in range(args.rounds):
        nodes, seconds, _ = ours()
        recorded.append(seconds)
        plain.append(ours("--plain")[1])
        peer.append(egglog_math(11))
    r, p, e = map(min, (recorded, plain, peer))
    print(f"math, 11 iterations, {nodes} e-nodes: {p:.3f} s, egglog {e:.3f} s: {p / e:.2f} of it (0.5 wanted)")
    print(f"  with justifications {r:.3f} s: {r / p:.2f} of plain (1.2 wanted)")
    curve = run([program, "11", "1", "--plain", "--curve"]).splitlines()
    print("  as it grows: " + "; ".join(curve[-4:]))
    print("  " + ours("--explain")[2].splitlines()[-1] + " (5 ms wanted)")


# --- planning ----------------------------------------------------------------------------------------

def transformer(layers, train, path):
    """HLO text of a transformer's encoder of this many layers, or of the gradient of a loss on it."""
    import jax
    import jax.numpy as jnp

    width, heads, length, batch = 64, 4, 32, 2

    def norm(x, g, b):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * g + b

    def block(x, p):
        h = norm(x, p["g1"], p["b1"])
        q, k, v = [(h @ p[n]).reshape(batch, length, heads, -1).transpose(0, 2, 1, 3) for n in "qkv"]
        weights = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / (width // heads) ** 0.5, axis=-1)
        x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, width) @ p["o"]
        h = norm(x, p["g2"], p["b2"])
        return x + jax.nn.gelu(h @ p["w1"] + p["c1"], approximate=False) @ p["w2"] + p["c2"]

    def forward(params, x):
        for p in params:
            x = block(x, p)
        return x

    def loss(params, x):
        return (forward(params, x) ** 2).mean()

    def of(*shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    w = width
    layer = dict(g1=of(w), b1=of(w), g2=of(w), b2=of(w), q=of(w, w), k=of(w, w), v=of(w, w), o=of(w, w),
                 w1=of(w, 4 * w), c1=of(4 * w), w2=of(4 * w, w), c2=of(w))
    lowered = jax.jit(jax.grad(loss) if train else forward).lower([layer] * layers, of(batch, length, width))
    path.write_text(lowered.compiler_ir("hlo").as_hlo_text())
    return path


def planned(args, model, *options):
    """Instructions of the model, seconds from the model to its plan, and the plan."""
    report = json.loads(run([ROOT / args.build / "fusewright", "run", model, "--json", *options]))
    return report["phases"]["saturate"] + report["phases"]["extract"], report


def graphs(args):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for layers, train in ((12, False), (32, False), (8, True), (16, True), (32, True)):
            path = transformer(layers, train, folder / "model.hlo")
            count = path.read_text().count(" = ")
            seconds = []
            for _ in range(args.rounds):
                time_taken, report = planned(args, path)
                seconds.append(time_taken)
            s = min(seconds)
            print(f"{'gradient of ' if train else ''}{layers} layers, {count} instructions: {s:.3f} s to plan, "
                  f"{1e6 * s / count:.0f} us each, {report['kernels']} kernels, {report['peak_bytes'] >> 20} MiB")


def rules(args):
    """Rules that never match: half of them rooted at operators that occur."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path = transformer(12, False, folder / "model.hlo")
        lines = []
        for i in range(500):
            lines.append(f"rewrite never-{i} {{ match add(sinh(a), atan2(b, cosh(c))) as r{i} where rank(r{i}) == {7 + i} to r{i} }}")
            lines.append(f"rewrite absent-{i} {{ match asinh(acosh(a)) as r{i} where rank(r{i}) == {7 + i} to r{i} }}")
        added = folder / "never.fuse"
        added.write_text("\n".join(lines) + "\n")
        print("1,000 rules that never match: " +
              run([ROOT / args.build / "bench" / "bench_engine_never", path, added, str(20 * args.rounds), ROOT / "rules"]).strip() +
              " (2 % wanted)")


# --- extraction --------------------------------------------------------------------------------------

def egraphs(args):
    """The folder of e-graphs, and what is known of each."""
    if args.corpora is None:
        sys.exit("extraction: give --corpora DIR or set FUSEWRIGHT_CORPORA")
    folder = pathlib.Path(args.corpora) / "egraphs"
    with open(folder / "best_known.tsv") as table:
        return folder, list(csv.DictReader(table, delimiter="\t"))


def anytime(args):
    """After one second against the quick ways to extract: the cheapest tree of each class, greedy choice of what is shared, and beam search."""
    import beam

    folder, rows = egraphs(args)
    worse = better = 0
    for row in rows:
        cost = json.loads(run([ROOT / args.build / "fusewright", "extract", folder / row["file"], "--time", "1", "--json"]))["cost"]
        searched = beam.extract(folder / row["file"])
        quick = min(float(row["bottom_up"]), float(row["greedy_dag"]), searched)
        worse += cost > quick * (1 + 1e-6)
        better += cost < quick * (1 - 1e-6)
        print(f"{row['file']}: {cost:.6g} after 1 s, bottom-up {float(row['bottom_up']):.6g}, "
              f"greedy {float(row['greedy_dag']):.6g}, beam {searched:.6g}", flush=True)
    print(f"anytime: of {len(rows)} files better than all on {better}, worse than one on {worse} (0 wanted)")


def extraction(args):
    folder, rows = egraphs(args)
    reached = proved = optimal = worse = 0
    for row in rows:
        report = json.loads(run([ROOT / args.build / "fusewright", "extract", folder / row["file"], "--time", "30", "--json"]))
        best, cost = float(row["best_known"]), report["cost"]
        is_optimal = row["status"] == "optimal"
        optimal += is_optimal
        reached += is_optimal and cost <= best * (1 + 1e-6)
        proved += report["gap"] < 1e-9
        worse += cost > best * (1 + 1e-6)
        print(f"{row['file']}: {cost:.6g} (best known {best:.6g}), bound {report['bound']:.6g} (known {float(row['lower_bound']):.6g}), "
              f"gap {100 * report['gap']:.1f} %, {report['seconds']:.1f} s")
    print(f"extraction: {reached} of {optimal} known optima reached, {proved} proved, {worse} files worse than the best known")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="math,rules,graphs,extraction,anytime")
    parser.add_argument("--corpora", default=os.environ.get("FUSEWRIGHT_CORPORA"))
    args = parser.parse_args()
    for part in args.only.split(","):
        {"math": math, "rules": rules, "graphs": graphs, "extraction": extraction, "anytime": anytime}[part](args)


if __name__ == "__main__":
    main()
