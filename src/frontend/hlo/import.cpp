#include "fusewright/frontend/hlo/import.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fusewright/frontend/hlo/parse.hpp"
#include "src/frontend/hlo/handlers.hpp"
#include "src/frontend/hlo/opcodes.hpp"

namespace fusewright::frontend_hlo {

namespace {

constexpr std::size_t kMostErrors = 20;
constexpr std::size_t kDeepestCalls = 200;
constexpr std::size_t kMostInstructions = 4'000'000;  // after inlining, which can double the size with every call

// What depends on a failed instruction fails too, but has nothing new to say.
std::unexpected<Error> reported_already() { return std::unexpected(Error{}); }

std::string join_types(const std::vector<Type>& types) {
  if (types.size() == 1) return ops::to_string(types[0]);
  return ops::to_string(Type::tuple(types));
}

// A declared type fits when it is the same but for dims that are written `?`.
bool fits(const ShapeTree& declared, const Type& type) {
  if (declared.is_tuple || ops::dtype_from_name(declared.element_type) != type.dtype) return false;
  if (declared.dims.size() != type.shape.size()) return false;
  for (std::size_t i = 0; i < declared.dims.size(); ++i)
    if (!declared.dims[i].unknown && type.shape[i] != Dim(declared.dims[i].extent)) return false;
  return true;
}

}  // namespace

// --- Site ----------------------------------------------------------------------------------------------

Span Site::span() const { return importer.module.span(instruction.opcode); }

std::unexpected<Error> Site::unsupported(const std::string& why) const {
  return fail(ErrorKind::kUnsupported, "'" + std::string(instruction.opcode) + "' is not supported: " + why, span());
}

std::unexpected<Error> Site::wrong(const std::string& message) const {
  return fail("'" + std::string(instruction.name) + "': " + message, span());
}

Result<std::vector<Value>> Site::tensors_at_least(std::size_t count) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].size() != 1)
      return fail("operand '" + std::string(instruction.operands[i].name) + "' of '" + std::string(instruction.opcode) +
                      "' is not a tensor",
                  importer.module.span(instruction.operands[i].name));
    values.push_back(operands[i][0]);
  }
  if (values.size() < count)
    return fail("'" + std::string(instruction.opcode) + "' takes " + std::to_string(count) +
                    (count == 1 ? " operand" : " operands") + ", not " + std::to_string(operands.size()),
                span());
  return values;
}

Result<std::vector<Value>> Site::tensors(std::size_t count) {
  FW_TRY(std::vector<Value> values, tensors_at_least(count));
  if (values.size() > count)
    return fail("'" + std::string(instruction.opcode) + "' takes " + std::to_string(count) +
                    (count == 1 ? " operand" : " operands") + ", not " + std::to_string(values.size()),
                span());
  return values;
}

Result<Type> Site::declared() {
  if (!instruction.has_shape) return wrong("its shape cannot be left out");
  FW_TRY(Type type, importer.to_type(instruction.shape));
  if (scope.map_shape && type.shape.empty()) type.shape = *scope.map_shape;
  return type;
}

Result<std::vector<Type>> Site::declared_leaves() {
  if (!instruction.has_shape) return wrong("its shape cannot be left out");
  std::vector<Type> types;
  FW_TRY_STATUS(importer.append_types(instruction.shape, types));
  return types;
}

Result<Value> Site::add(std::string_view op, std::vector<Value> values, const ops::Attrs& attrs) {
  return builder().add(op, std::move(values), attrs, span());
}

Result<Leaves> Site::leaf(Result<Value> value) {
  if (!value) return std::unexpected(std::move(value).error());
  return Leaves{*value};
}

void append_arrays(const ShapeTree& shape, std::vector<const ShapeTree*>& arrays) {
  if (shape.is_token()) return;
  if (!shape.is_tuple) arrays.push_back(&shape);
  for (const ShapeTree& element : shape.elements) append_arrays(element, arrays);
}

std::size_t leaf_count(const ShapeTree& shape) {
  if (!shape.is_tuple) return shape.is_token() ? 0 : 1;
  std::size_t count = 0;
  for (const ShapeTree& element : shape.elements) count += leaf_count(element);
  return count;
}

// --- Types ---------------------------------------------------------------------------------------------

Result<Type> Importer::to_type(const ShapeTree& shape) const {
  if (shape.is_tuple) return fail("expected one tensor, not a tuple", module.span(shape.text));
  const auto dtype = ops::dtype_from_name(shape.element_type);
  if (!dtype)
    return fail(ErrorKind::kUnsupported, "element type '" + std::string(shape.element_type) + "' is not supported",
                module.span(shape.element_type));
  Type type = Type::tensor(*dtype, {});
  for (const ShapeDim& dim : shape.dims) {
    if (dim.unknown)
      return fail(ErrorKind::kUnsupported, "a dimension '?' is supported only where it follows from the operands",
                  module.span(shape.text));
    type.shape.emplace_back(dim.extent);
  }
  if (Result<std::int64_t> count = ops::element_count(type.shape); !count)
    return std::unexpected(
        with_context(std::move(count).error(), "shape " + std::string(shape.text), module.span(shape.text)));
  return type;
}

Status Importer::append_types(const ShapeTree& shape, std::vector<Type>& types) const {
  std::vector<const ShapeTree*> arrays;
  append_arrays(shape, arrays);
  for (const ShapeTree* array : arrays) {
    FW_TRY(Type type, to_type(*array));
    types.push_back(std::move(type));
  }
  return {};
}

Status Importer::check_declared(Site& site, const Leaves& leaves) const {
  if (!site.instruction.has_shape) return {};
  std::vector<const ShapeTree*> declared;
  append_arrays(site.instruction.shape, declared);
  bool same = declared.size() == leaves.size();
  for (std::size_t i = 0; same && i < leaves.size(); ++i) {
    const Type& type = site.type(leaves[i]);
    const bool mapped = site.scope.map_shape && declared[i]->dims.empty() && type.shape == *site.scope.map_shape;
    same = mapped ? ops::dtype_from_name(declared[i]->element_type) == type.dtype : fits(*declared[i], type);
  }
  if (same) return {};
  std::vector<Type> types;
  for (const Value leaf : leaves) types.push_back(site.type(leaf));
  std::string text;  // as written, without the layout
  for (const ShapeTree* array : declared) {
    std::string_view one = array->text;
    text += (text.empty() ? "" : ", ") + std::string(one.substr(0, one.find('{')));
  }
  if (declared.size() != 1) text = "(" + text + ")";
  const bool is_parameter = site.instruction.opcode == "parameter";
  return fail("'" + std::string(site.instruction.name) + "' is declared " + text + ", but " +
                  (is_parameter ? "the argument is " : "this " + std::string(site.instruction.opcode) + " gives ") +
                  join_types(types),
              module.span(site.instruction.shape.text));
}

// --- Computations --------------------------------------------------------------------------------------

Result<std::uint32_t> Importer::find_computation(std::string_view name) const {
  const auto at = names.by_name.find(name);
  if (at != names.by_name.end()) return at->second;
  auto failure = fail("there is no computation '" + std::string(name) + "'", module.span(name));
  std::vector<std::string> candidates;
  for (const Computation& c : module.computations) candidates.emplace_back(c.name);
  if (const std::string near = nearest(name, candidates); !near.empty())
    failure.error().diagnostics[0].suggestion = "did you mean '" + near + "'?";
  return failure;
}

Status Importer::enter(Site& site, std::uint32_t index) {
  if (active_[index])
    return fail("computation '" + std::string(computation(index).name) + "' calls itself", site.span());
  if (depth_ >= kDeepestCalls)
    return fail(ErrorKind::kUnsupported, "calls are nested deeper than " + std::to_string(kDeepestCalls), site.span());
  active_[index] = true;
  ++depth_;
  return {};
}

Result<Leaves> Importer::inline_call(Site& site, std::string_view name, std::vector<Leaves> arguments,
                                     std::optional<ops::Shape> map_shape, std::string_view step) {
  FW_TRY(const std::uint32_t index, find_computation(name));
  const std::size_t wanted = names.computations[index].parameters.size();
  if (wanted != arguments.size())
    return site.wrong("computation '" + std::string(name) + "' has " + std::to_string(wanted) + " parameters, not " +
                      std::to_string(arguments.size()));
  FW_TRY_STATUS(enter(site, index));
  Scope scope{index,
              site.scope.builder,
              std::move(arguments),
              site.scope.path + std::string(site.instruction.name) + std::string(step) + "/",
              map_shape ? std::move(map_shape) : site.scope.map_shape,
              {}};
  const std::optional<Leaves> results = run_scope(scope);
  --depth_;
  active_[index] = false;
  if (!results) return reported_already();
  return *results;
}

Result<graph::ComputationId> Importer::import_body(Site& site, std::string_view name,
                                                   const std::vector<Type>& parameters, std::size_t offset,
                                                   std::size_t count) {
  FW_TRY(const std::uint32_t index, find_computation(name));
  const Computation& body = computation(index);
  std::size_t wanted = 0;
  for (const std::uint32_t p : names.computations[index].parameters) {
    const Instruction& parameter = body.instructions[p];
    if (!parameter.has_shape) return fail("the shape of a parameter cannot be left out", module.span(parameter.name));
    wanted += leaf_count(parameter.shape);
  }
  if (wanted != count)
    return site.wrong("computation '" + std::string(name) + "' takes " + std::to_string(wanted) + " tensors, not " +
                      std::to_string(count));
  FW_TRY_STATUS(enter(site, index));
  const graph::ComputationId id = graph::add_computation(graph_, std::string(name));
  graph::Builder builder(graph_, id);
  Scope scope{index, builder, {}, site.scope.path + std::string(site.instruction.name) + "/", std::nullopt, {}};
  Leaves leaves;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    leaves.push_back(builder.parameter(parameters[i], "p" + std::to_string(i)));
  std::size_t next = offset;
  for (const std::uint32_t p : names.computations[index].parameters) {
    const auto first = leaves.begin() + static_cast<std::ptrdiff_t>(next);
    const std::size_t size = leaf_count(body.instructions[p].shape);
    scope.arguments.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
    next += size;
  }
  const std::optional<Leaves> results = run_scope(scope);
  --depth_;
  active_[index] = false;
  if (!results) return reported_already();
  builder.set_results(*results);
  return id;
}

std::optional<Leaves> Importer::run_scope(Scope& scope) {
  const Computation& body = computation(scope.computation);
  const ResolvedComputation& resolved = names.computations[scope.computation];
  scope.values.resize(body.instructions.size());
  const auto import = [&](std::uint32_t index) {
    Result<Leaves> leaves = import_instruction(scope, index);
    if (leaves)
      scope.values[index] = *std::move(leaves);
    else
      report(std::move(leaves).error());
  };
  // Parameters come first and by number, wherever they stand; they are kept even where nothing reads them.
  for (const std::uint32_t parameter : resolved.parameters) import(parameter);
  for (std::uint32_t i = 0; i < body.instructions.size() && error_.diagnostics.size() < kMostErrors; ++i)
    if (resolved.live[i] && body.instructions[i].opcode != "parameter") import(i);
  return scope.values[body.root];
}

Result<Leaves> Importer::import_instruction(Scope& scope, std::uint32_t index) {
  const Instruction& instruction = computation(scope.computation).instructions[index];
  if (++instructions_ > kMostInstructions)
    return fail(ErrorKind::kUnsupported,
                "inlining the calls gives more than " + std::to_string(kMostInstructions) + " instructions",
                module.span(instruction.name));
  Site site{*this, scope, instruction, AttributeReader(module, instruction), {}};
  for (const std::uint32_t operand : names.computations[scope.computation].operands[index]) {
    if (!scope.values[operand]) return reported_already();
    site.operands.push_back(*scope.values[operand]);
  }
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    const std::optional<ShapeTree>& written = instruction.operands[i].shape;
    if (!written || written->is_tuple || site.operands[i].size() != 1) continue;
    const Type& type = site.type(site.operands[i][0]);
    if (!fits(*written, type) && !scope.map_shape)
      return fail("operand '" + std::string(instruction.operands[i].name) + "' is " + ops::to_string(type) + ", not " +
                      std::string(written->text.substr(0, written->text.find('{'))),
                  module.span(written->text));
  }
  const auto source = graph::SourceId(graph_.sources.size());
  graph_.sources.push_back(
      {scope.path + std::string(instruction.name), std::string(instruction.opcode), module.span(instruction.text)});
  scope.builder.set_origin({source}, std::string(instruction.name));
  const Handler handler =
      find_elementwise(instruction.opcode) != nullptr ? import_elementwise : find_handler(instruction.opcode);
  if (handler == nullptr) return site.unsupported(std::string(unsupported_opcode(instruction.opcode)));
  FW_TRY(Leaves leaves, handler(site));
  FW_TRY_STATUS(check_declared(site, leaves));
  return leaves;
}

void Importer::report(Error error) {
  if (error.diagnostics.empty()) return;
  if (error_.diagnostics.empty()) error_.kind = error.kind;
  if (error.kind == ErrorKind::kInput) error_.kind = ErrorKind::kInput;
  for (Diagnostic& diagnostic : error.diagnostics)
    if (error_.diagnostics.size() < kMostErrors) error_.diagnostics.push_back(std::move(diagnostic));
}

// --- The whole module ----------------------------------------------------------------------------------

// A tuple's outputs are named by what they are; names that occur twice get their position behind them.
void Importer::name_outputs(const Leaves& results) {
  const Computation& entry = computation(module.entry);
  const Instruction& root = entry.instructions[entry.root];
  std::vector<std::string> found;
  if (root.opcode == "tuple" && root.operands.size() == results.size())
    for (const Operand& operand : root.operands) found.emplace_back(operand.name);
  else
    found.assign(results.size(), std::string(root.name));
  std::set<std::string> taken;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::string name = found[i];
    if (results.size() > 1 && (std::count(found.begin(), found.end(), name) > 1 || taken.contains(name)))
      name += "." + std::to_string(i);
    taken.insert(name);
    graph_.outputs.push_back({std::move(name), graph_.type(results[i]), std::nullopt});
  }
}

Result<graph::Graph> Importer::run() {
  FW_TRY_STATUS(check_options());
  graph_.format = "hlo";
  graph::Builder builder(graph_, graph_.entry);
  Scope scope{module.entry, builder, {}, "", std::nullopt, {}};
  active_[module.entry] = true;
  const std::optional<Leaves> results = run_scope(scope);
  if (!error_.diagnostics.empty()) return std::unexpected(std::move(error_));
  FW_CHECK(results.has_value()) << "an import that failed without a word";
  name_outputs(*results);
  builder.set_results(*results);
  return graph::remove_dead(std::move(graph_));
}

Result<std::vector<graph::Graph>> import_hlo(const SourcePtr& text, std::shared_ptr<const ops::OpTable> table,
                                             const ImportOptions& options) {
  FW_TRY(const std::vector<Module> modules, parse_hlo(text));
  return import_hlo(modules, std::move(table), options);
}

Result<std::vector<graph::Graph>> import_hlo(const std::vector<Module>& modules,
                                             std::shared_ptr<const ops::OpTable> table, const ImportOptions& options) {
  std::vector<graph::Graph> graphs;
  for (const Module& module : modules) {
    FW_TRY(const Resolution names, resolve_names(module));
    FW_TRY(graph::Graph graph, Importer(module, names, table, options).run());
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

Result<SourcePtr> read_hlo_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    return fail("'" + path + "' is not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("cannot open '" + path + "'");
  std::ostringstream text;
  text << file.rdbuf();
  if (text.bad()) return fail("cannot read '" + path + "'");
  return std::make_shared<const SourceText>(SourceText{path, std::move(text).str()});
}

}  // namespace fusewright::frontend_hlo
