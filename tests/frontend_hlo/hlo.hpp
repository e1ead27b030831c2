#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "fusewright/frontend/hlo/export.hpp"
#include "fusewright/frontend/hlo/import.hpp"
#include "fusewright/frontend/hlo/parse.hpp"
#include "fusewright/interpret/evaluate.hpp"

namespace fusewright::tests {

inline std::shared_ptr<const ops::OpTable> builtin_table() {
  static const auto table = std::make_shared<const ops::OpTable>(ops::OpTable::builtin());
  return table;
}

inline SourcePtr hlo_source(const std::string& text) {
  return std::make_shared<const SourceText>(SourceText{"test.hlo", text});
}

/// The only graph of a text that must import and verify.
inline graph::Graph import_text(const std::string& text, const frontend_hlo::ImportOptions& options = {}) {
  const auto graphs = frontend_hlo::import_hlo(hlo_source(text), builtin_table(), options);
  INFO((graphs ? "" : print_error(graphs.error())));
  REQUIRE(graphs.has_value());
  REQUIRE(graphs->size() == 1);
  const Status status = graph::verify(graphs->front());
  INFO((status ? "" : print_error(status.error())));
  REQUIRE(status.has_value());
  return graphs->front();
}

/// The printed error of a text that must not import.
inline std::string error_of(const std::string& text, const frontend_hlo::ImportOptions& options = {}) {
  const auto graphs = frontend_hlo::import_hlo(hlo_source(text), builtin_table(), options);
  REQUIRE(!graphs.has_value());
  REQUIRE(!graphs.error().diagnostics.empty());
  return print_error(graphs.error());
}

/// Results of a graph without inputs, each as its elements.
inline std::vector<std::vector<double>> values_of(const graph::Graph& graph) {
  const auto results = interpret::evaluate(graph, {});
  INFO((results ? "" : print_error(results.error())));
  REQUIRE(results.has_value());
  std::vector<std::vector<double>> out;
  for (const ops::Tensor& tensor : *results) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(ops::get_double(tensor, i));
    out.push_back(std::move(values));
  }
  return out;
}

inline std::string export_text(const graph::Graph& graph, const std::vector<frontend_hlo::FusionGroup>& groups = {}) {
  const auto text = frontend_hlo::export_hlo(graph, groups);
  INFO((text ? "" : print_error(text.error())));
  REQUIRE(text.has_value());
  return *text;
}

/// Number of nodes of an operator.
inline std::size_t count_op(const graph::Graph& graph, const std::string& op) {
  std::size_t count = 0;
  for (const graph::Node& node : graph.nodes) count += (*graph.table)[node.op].name == op;
  return count;
}

}  // namespace fusewright::tests
