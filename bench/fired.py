"""Runs every model of some folders with --check and prints a table: right or not, kernels, and which rules fired.

usage: python bench/fired.py [FOLDER...] [--fusewright build/fusewright] [--jobs N] [--markdown]

Folders default to the fusion models and the near-twins of the test corpora (FUSEWRIGHT_CORPORA); without
them it says so and ends with 0. Where `test_data_set_0` stands beside a model, its inputs are given and its outputs compared, within
the tolerances of `case.json`. Open extents are bound to small numbers, and to those that the error messages name.

right        ran, every kernel and the whole agree with the reference and with the stored outputs
WRONG        they do not
unsupported  refused: an operator, a type or an attribute that the message names is not supported or not executed
refused      the model itself is at fault, in the words of the message, or its extents cannot be guessed
CRASH        anything else: no message with a cause, another exit code, no end

A name that says the model is not to be fused (no_fusion, invalid, graph_output, ...) is marked with `!`; the operators that
were recognised in it are then what to look at. Ends with 1 on WRONG or CRASH.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRIES = 40  # bindings of open extents for one model
SECONDS = 300
LARGE = 512  # a guessed extent
NOT_TO_BE_FUSED = re.compile(
    r"no_?fus|not_?fus|unfus|un_fus|invalid|graph_output|mismatch|missing|unsupported|negative|wrong|multi|no_match|bad|does_not|not_")


def run(fusewright, model, dims):
    """The exit code, standard output and the first line of the errors of one run."""
    command = [fusewright, "run", str(model), "--check", "--json"] + [f"--dim={name}={size}" for name, size in dims.items()]
    data, case = model.parent / "test_data_set_0", model.parent / "case.json"
    if data.is_dir():
        command += ["--data", str(data)]
    if case.is_file():
        stated = json.loads(case.read_text())
        command += [f"--{name}={stated[name]}" for name in ("rtol", "atol") if name in stated]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "timeout", "", f"no end after {SECONDS} s"
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    return done.returncode, done.stdout, (errors or done.stderr.strip().splitlines() or [""])[0]


def open_extents(fusewright, model):
    """Names of the extents that nothing binds."""
    names = {}
    while len(names) < 12:
        _, _, error = run(fusewright, model, names)
        found = re.search(r"dim '([^']+)' .*is not bound", error)
        if found is None or found[1] in names:
            break
        names[found[1]] = 4
    return list(names)


def recognised(fusewright, model, dims):
    """The composite operators found in a model that spells them out, however its kernels were made in the end."""
    command = [fusewright, "audit", str(model), "--json"] + [f"--dim={name}={size}" for name, size in dims.items()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
        rules = json.loads(done.stdout)["rules"] if done.returncode == 0 else []
    except (subprocess.TimeoutExpired, ValueError):
        return []
    return sorted(rule["rule"].removeprefix("recognise-") for rule in rules
                  if rule["rule"].startswith("recognise-") and rule["applied"] > 0)


def outcome(fusewright, model):
    """How it went, and the report where there is one."""
    names = open_extents(fusewright, model)
    queue, seen, first = [{"*": n} for n in (4, 2, 8, 1, 3, 16)], [], None
    while queue and len(seen) < TRIES:
        dims = queue.pop(0)
        if dims in seen:
            continue
        seen.append(dims)
        code, out, error = run(fusewright, model, dims)
        if code == 0:
            return "right", {**json.loads(out), "recognised": recognised(fusewright, model, dims)}, ""
        if code == 1:
            return "WRONG", json.loads(out) if out.startswith("{") else None, error
        if code == "timeout" and any(size >= LARGE for size in dims.values()):
            first = first or error  # a guess that made the tensors huge
            continue
        if code != 2 or "error:" not in error:
            return "CRASH", None, f"exit code {code}: {error}"
        if "not supported" in error or "does not execute" in error:
            return "unsupported", None, error
        first = first or error
        if len(dims) < 3:  # the numbers that the error names may be what single extents have to be
            numbers = sorted({int(n) for n in re.findall(r"\d+", error.split("error:")[-1])} & set(range(2, 5000)), reverse=True)
            queue += [{**dims, name: n} for name in names if name not in dims for n in numbers]
    return "refused", None, first


def cells(name, kind, report, error):
    """Kind, name, kernels with their fuse rules, rewrites behind them, operators recognised."""
    name += " !" if NOT_TO_BE_FUSED.search(name) else ""
    if report is None:
        return kind, name, "", error.split("error: ")[-1], ""
    fused = collections.Counter(group["fuse_rule"] or "alone" for group in report["groups"])
    rewrites = sorted({rewrite["rule"] for group in report["groups"] for rewrite in group["rewrites"]})
    kernels = ", ".join(f"{rule} {count}" if count > 1 else rule for rule, count in fused.items())
    return kind, name, kernels, ", ".join(rewrites), ", ".join(report.get("recognised", []))


def row(columns, markdown):
    if markdown:
        return "| " + " | ".join(columns) + " |"
    kind, name, kernels, rewrites, operators = columns
    return f"{kind:12} {name:72} {kernels:40} {rewrites}" + (f" [{operators}]" if operators else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--fusewright", default=str(ROOT / "build/fusewright"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--markdown", action="store_true", help="a table for a document")
    options = parser.parse_args()
    corpora = pathlib.Path(os.environ.get("FUSEWRIGHT_CORPORA", ROOT / "../shared/corpora"))
    folders = options.folders or [corpora / "onnx-fusion", corpora / "twins"]
    if not options.folders and not corpora.is_dir():
        print(f"skipped: there is no folder {corpora}")
        return 0
    models = [(folder, model) for folder in folders for kind in ("onnx", "hlo") for model in sorted(folder.rglob(f"*.{kind}"))]
    if not models:
        parser.error(f"no .onnx or .hlo file in {', '.join(map(str, folders))}")
    if options.markdown:
        print(row(("outcome", "model", "kernels", "rewrites", "recognised"), True) + "\n" + row(["---"] * 5, True))
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda entry: outcome(options.fusewright, entry[1]), models)
        for (folder, model), (kind, report, error) in zip(models, results):
            counts[kind] += 1
            name = str(model.parent.relative_to(folder) if model.name.startswith("model.") else model.relative_to(folder))
            print(row(cells(name, kind, report, error), options.markdown), flush=True)
    print(("\n" if options.markdown else "") + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 1 if counts["WRONG"] or counts["CRASH"] else 0


if __name__ == "__main__":
    sys.exit(main())
