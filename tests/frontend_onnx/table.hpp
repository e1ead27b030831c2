#pragma once

#include <memory>
#include <stdexcept>

#include "fusewright/rule/check.hpp"
#include "tests/main/paths.hpp"

namespace fusewright::frontend_onnx {

/// The built-in operators and the ONNX operators that rules/onnx declares.
inline std::shared_ptr<const ops::OpTable> test_table() {
  static const std::shared_ptr<const ops::OpTable> table = [] {
    const auto folder = tests::source_dir() / "rules";
    auto rules =
        rule::load_rules({(folder / "operators.fuse").string(), (folder / "onnx").string()}, ops::OpTable::builtin());
    if (!rules) throw std::runtime_error(print_error(rules.error()));
    return rules->table;
  }();
  return table;
}

}  // namespace fusewright::frontend_onnx
