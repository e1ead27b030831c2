"""Compares what the cost model says of each kernel with what the kernel takes.

usage: python bench/cost.py [MODEL|FOLDER...] [--fusewright build/fusewright] [--device-file FILE] [--threads N]
                            [--repeats N] [--json FILE] [--minimum SECONDS]

Each model is run by `fusewright bench`; models default to the examples and the real models of the test corpora
(FUSEWRIGHT_CORPORA). Open extents are bound to 1. Kernels that are the same in name (but for the number behind it), bytes,
operations and estimate count once, by their median.

Prints the rank correlation (Spearman's, ties share their mean rank) of estimates and times over all kernels, the median of
|estimate / time - 1|, both by template, and the kernels that are furthest off. `--minimum` leaves out kernels that take less
(default 0: none). Measure on a quiet machine, and with a description of it: `fusewright calibrate -o FILE`.
"""
import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def models_of(paths):
    """Model files, in order of name."""
    for path in paths:
        if path.is_file():
            yield path
        else:
            yield from sorted(p for p in path.rglob("*") if p.suffix in (".onnx", ".hlo", ".txt") and p.stat().st_size > 0)


def default_paths():
    corpora = pathlib.Path(os.environ.get("FUSEWRIGHT_CORPORA", ROOT.parent / "shared/corpora"))
    return [ROOT / "examples"] + [folder for name in ("onnx-real", "hlo") if (folder := corpora / name).is_dir()]


def bench(args, model):
    """The groups of one model, or why there are none."""
    command = [args.fusewright, "bench", str(model), "--json", f"--repeats={args.repeats}", "--random-weights", "--dim=*=1"]
    if args.device_file:
        command.append(f"--device-file={args.device_file}")
    if args.threads:
        command.append(f"--threads={args.threads}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return [], "no end after 600 s"
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        return [], (errors or done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
    return json.loads(done.stdout)["groups"], ""


def ranks(values):
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for k in order[at:end]:
            out[k] = (at + end + 1) / 2
        at = end
    return out


def correlation(xs, ys):
    """Pearson's; of ranks it is Spearman's."""
    if len(xs) < 3:
        return math.nan
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    sxy = sum((x - mx) * (y - my) for x, y in zip(xs, ys))
    sxx, syy = sum((x - mx) ** 2 for x in xs), sum((y - my) ** 2 for y in ys)
    return sxy / math.sqrt(sxx * syy) if sxx > 0 and syy > 0 else math.nan


def summary(kernels):
    estimated, measured = [k["estimated"] for k in kernels], [k["measured"] for k in kernels]
    errors = [abs(e / m - 1) for e, m in zip(estimated, measured)]
    bias = [math.log2(e / m) for e, m in zip(estimated, measured)]
    return correlation(ranks(estimated), ranks(measured)), statistics.median(errors), statistics.median(bias)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--fusewright", default=str(ROOT / "build/fusewright"))
    parser.add_argument("--device-file")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--minimum", type=float, default=0)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    found = {}
    for model in models_of(args.models or default_paths()):
        groups, why = bench(args, model)
        print(f"{model.name}: {why or f'{len(groups)} kernels'}", file=sys.stderr)
        for group in groups:
            key = (re.sub(r"_\d+$", "", group["name"]), group["bytes"], group["flops"], group["seconds_estimated"])
            found.setdefault(key, (group, model.name, []))[2].append(group["seconds"])
    kernels = [
        {
            "name": group["name"],
            "model": model,
            "kind": group["kind"],
            "bytes": group["bytes"],
            "flops": group["flops"],
            "estimated": group["seconds_estimated"],
            "measured": statistics.median(times),
        }
        for group, model, times in found.values()
    ]
    kernels = [k for k in kernels if k["measured"] > max(0, args.minimum) and k["estimated"] > 0]
    if len(kernels) < 3:
        sys.exit("fewer than three kernels ran")
    if args.json:
        args.json.write_text(json.dumps(kernels, indent=1))
    print(f"{'kernels':24}{'number':>8}{'rank correlation':>18}{'median error':>14}{'estimate / time':>17}")
    kinds = sorted({k["kind"] for k in kernels})
    for kind in ["all"] + kinds:
        those = [k for k in kernels if kind in ("all", k["kind"])]
        rank, error, bias = summary(those)
        print(f"{kind:24}{len(those):8}{rank:18.3f}{error:13.0%} {2 ** bias:16.2f}")
    print("\nfurthest off (estimate / time):")
    for k in sorted(kernels, key=lambda k: -abs(math.log(k["estimated"] / k["measured"])))[:15]:
        print(f"  {k['estimated'] / k['measured']:8.2f}  {k['kind']:10} {1e6 * k['measured']:10.1f} us  {k['name'][:50]:50} {k['model']}")


if __name__ == "__main__":
    main()
