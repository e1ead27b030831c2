#!/usr/bin/env bash
# scripts/check_layers must refuse each of these trees, naming the line, and accept the one without a fault.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# check <file> <its one include> <what must be said; empty: nothing>
check() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/scripts" "$tree/$(dirname "$1")"
  cp "$root/scripts/layers.txt" "$tree/scripts/"
  printf '#pragma once\n#include %s\n' "$2" >"$tree/$1"
  local said status=0
  said=$("$root/scripts/check_layers" "$tree") || status=$?
  if [[ -z $3 && $status -ne 0 ]] || [[ -n $3 && ($status -eq 0 || $said != *"$1:$4: "*"$3"*) ]]; then
    echo "FAILED: $2 in $1: expected '$3', got '$said'"
    failures=$((failures + 1))
  fi
}

refuses() { check "$1" "$2" "$3" "${4:-2}"; }
accepts() { check "$1" "$2" "" 0; }

refuses src/ops/a.cpp '"fusewright/graph/graph.hpp"' 'room ops may not include room graph'
refuses src/frontend/onnx/a.cpp '"fusewright/frontend/hlo/a.hpp"' 'room frontend_onnx may not include room frontend_hlo'
refuses include/fusewright/plan/a.hpp '<fusewright/saturate/a.hpp>' 'room plan may not include room saturate'
refuses src/plan/a.cpp '"backends/llvm/lower.hpp"' 'room plan may not include room backend_llvm'
refuses backends/x86/a.cpp '"backends/nvptx/a.hpp"' 'room backend_x86 may not include room backend_nvptx'
refuses grammar/a.hpp '"fusewright/rule/ast.hpp"' 'room grammar may not include room rule'
refuses src/driver/a.cpp '"src/audit/a.hpp"' 'is private to room audit'
refuses src/ops/a.cpp '"../graph/a.hpp"' 'write the path from the root'
refuses src/ops/a.cpp '"tests/main/paths.hpp"' 'is in no room'
refuses src/ops/a.cpp '"fusewright/nowhere/a.hpp"' 'is in no room'
refuses src/nowhere/a.cpp '<vector>' 'this file is in no room' 1
refuses src/match/a.cpp '<tao/pegtl.hpp>' 'seen only in grammar, rule, frontend_hlo'
refuses src/egraph/a.cpp '<boost/graph/adjacency_list.hpp>' 'seen only in graph, region, extract'
refuses src/runtime/a.cpp '"llvm/IR/Module.h"' 'seen only in backend_llvm'
refuses src/driver/a.cpp '<cuda.h>' 'seen only in backend_nvptx, runtime'
refuses src/driver/a.cpp '<onnx/onnx_pb.h>' 'seen only in frontend_onnx'
refuses src/cost/a.cpp '<google/protobuf/message.h>' 'seen only in frontend_onnx'
refuses src/driver/a.cpp '<catch2/catch.hpp>' 'seen only in the tests'

accepts src/ops/a.cpp '"fusewright/support/check.hpp"'
accepts src/extract/a.cpp '"fusewright/ops/dtype.hpp"'
accepts src/extract/a.cpp '"memo.hpp"'
accepts src/extract/a.cpp '"src/extract/memo.hpp"'
accepts src/frontend/hlo/a.cpp '"grammar/hlo_grammar.hpp"'
accepts src/frontend/hlo/a.cpp '<tao/pegtl.hpp>'
accepts backends/sim/a.cpp '"backends/llvm/lower.hpp"'
accepts src/driver/a.cpp '"fusewright/runtime/program.hpp"'

if [[ $failures -gt 0 ]]; then exit 1; fi
echo "check_layers refuses and accepts as it should"
