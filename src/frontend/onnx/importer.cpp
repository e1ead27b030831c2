#include "src/frontend/onnx/importer.hpp"

#include <algorithm>
#include <new>
#include <set>

#include "fusewright/support/names.hpp"

namespace fusewright::frontend_onnx {

namespace {

constexpr std::int64_t kOldestWithDefaults = 4;  // IR version from which an initialiser may be an input's default
constexpr std::int64_t kOldestWithOpsets = 3;    // IR version
constexpr std::int64_t kNewestOpset = 28;
constexpr std::int64_t kMostNodes = 5'000'000;  // after functions are inlined: they can grow without bound
constexpr int kDeepest = 200;

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string describe(const ::onnx::NodeProto& node) {
  std::string name = node.name();
  for (int i = 0; name.empty() && i < node.output_size(); ++i) name = node.output(i);
  const std::string domain = domain_of(node.domain());
  return "node '" + name + "' (" + (domain.empty() ? "" : domain + ".") + node.op_type() + ")";
}

// Fields that are younger than the protobuf definitions we are built with.
std::string unknown_string(const google::protobuf::Message& message, int number) {
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      return field.length_delimited();
    }
  }
  return "";
}
constexpr int kNodeOverload = 8;
constexpr int kFunctionOverload = 13;
constexpr int kFunctionAttributeDefaults = 11;

std::map<std::string, ::onnx::AttributeProto> attribute_defaults(const ::onnx::FunctionProto& function) {
  std::map<std::string, ::onnx::AttributeProto> defaults;
  const auto& fields = function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() != kFunctionAttributeDefaults ||
        field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      continue;
    }
    ::onnx::AttributeProto attribute;
    if (attribute.ParseFromString(field.length_delimited())) defaults[attribute.name()] = attribute;
  }
  return defaults;
}

// Attributes of a function's nodes that stand for the caller's take its value; those without one are left out.
void substitute_attributes(google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes,
                           const std::map<std::string, ::onnx::AttributeProto>& values) {
  for (auto& node : nodes) {
    google::protobuf::RepeatedPtrField<::onnx::AttributeProto> kept;
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.ref_attr_name().empty()) {
        if (attribute.has_g()) substitute_attributes(*attribute.mutable_g()->mutable_node(), values);
        *kept.Add() = std::move(attribute);
        continue;
      }
      const auto it = values.find(attribute.ref_attr_name());
      if (it == values.end()) continue;
      auto* copy = kept.Add();
      *copy = it->second;
      copy->set_name(attribute.name());
    }
    node.mutable_attribute()->Swap(&kept);
  }
}

}  // namespace

Importer::Importer(ModelFile& file, const ImportOptions& options, graph::Graph& graph)
    : file_(file), options_(options), graph_(graph), knowledge_(graph), entry_(graph, graph.entry, knowledge_) {}

graph::SourceId Importer::add_source(std::string name, std::string op) {
  graph_.sources.push_back({std::move(name), std::move(op), {}});
  return graph::SourceId(graph_.sources.size() - 1);
}

void Importer::read_opsets() {
  for (const auto& entry : file_.model.opset_import()) {
    const std::string domain = domain_of(entry.domain());
    if (domain.empty() && (entry.version() < 1 || entry.version() > kNewestOpset)) {
      unsupported("the model uses opset " + std::to_string(entry.version()) + "; those from 1 to " +
                  std::to_string(kNewestOpset) + " are supported");
    }
    opsets_[domain] = entry.version();
  }
  if (file_.model.opset_import_size() == 0 && file_.model.ir_version() >= kOldestWithOpsets) {
    refuse("not a valid ONNX file: it states no operator set; it may have been cut off");
  }
  opsets_.emplace("", 1);
}

void Importer::read_functions() {
  for (auto& function : *file_.model.mutable_functions()) {
    const std::string overload = unknown_string(function, kFunctionOverload);
    const std::string key = domain_of(function.domain()) + ":" + function.name() + ":" + overload;
    if (!functions_.emplace(key, &function).second) refuse("function '" + function.name() + "' is defined twice");
    auto& opsets = function_opsets_[&function];
    for (const auto& entry : function.opset_import()) opsets[domain_of(entry.domain())] = entry.version();
    for (const auto& [domain, version] : opsets_) opsets.emplace(domain, version);
  }
}

void Importer::import_model() {
  read_opsets();
  read_functions();
  auto& proto = *file_.model.mutable_graph();
  graph_.name = proto.name();
  graph_.format = "onnx";
  Scope scope;
  scope.emitter = &entry_;
  scope.opsets = &opsets_;
  declare_initializers(proto, scope);
  import_inputs(scope);
  import_nodes(*proto.mutable_node(), scope, "the graph");
  import_outputs(scope);
}

void Importer::declare_initializers(::onnx::GraphProto& graph, Scope& scope) {
  if (graph.sparse_initializer_size() > 0) {
    unsupported("sparse initialiser '" + graph.sparse_initializer(0).values().name() + "' is not supported");
  }
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.name().empty()) refuse("an initialiser has no name");
    if (!scope.initializers.emplace(tensor.name(), &tensor).second) {
      refuse("initialiser '" + tensor.name() + "' is given twice");
    }
  }
}

bool Importer::frozen(const InputOption& input) const {
  return std::any_of(options_.freeze.begin(), options_.freeze.end(), [&](const std::string& glob) {
    return glob == "all" ? input.given == nullptr : glob_matches(glob, input.proto->name());
  });
}

void Importer::check_freeze() const {
  std::vector<std::string> names;
  for (const auto& input : file_.model.graph().input()) names.push_back(input.name());
  for (const auto& tensor : file_.model.graph().initializer()) names.push_back(tensor.name());
  for (const std::string& glob : options_.freeze) {
    const auto matches = [&](const std::string& name) { return glob_matches(glob, name); };
    if (glob == "all" || std::any_of(names.begin(), names.end(), matches)) continue;
    refuse("--freeze: " + unknown_name("input or initialiser", glob, names));
  }
}

std::vector<InputOption> Importer::input_options(const Scope& scope) const {
  const auto& protos = file_.model.graph().input();
  std::set<std::string> names;
  for (const auto& proto : protos) {
    if (proto.name().empty()) refuse("an input has no name");
    if (!names.insert(proto.name()).second) refuse("input '" + proto.name() + "' is listed twice");
  }
  const bool data_for_all = static_cast<std::size_t>(protos.size()) == options_.data.size();
  std::vector<InputOption> inputs;
  std::int64_t counted = 0;
  for (const auto& proto : protos) {
    InputOption& input = inputs.emplace_back();
    input.proto = &proto;
    input.position = static_cast<std::int64_t>(inputs.size()) - 1;
    input.initialized = scope.initializers.contains(proto.name());
    if (!input.initialized) input.number = std::to_string(counted++);
    if (const auto it = options_.data.find(data_for_all ? input.position : counted - 1);
        it != options_.data.end() && (data_for_all || !input.initialized)) {
      input.given = it->second;
    }
    if (names.contains(input.number)) input.number.clear();
    for (const std::string& key : {input.number, proto.name()}) {
      if (key.empty()) continue;
      if (const auto it = options_.inputs.find(key); it != options_.inputs.end()) input.given = it->second;
      if (const auto it = options_.shapes.find(key); it != options_.shapes.end()) input.shape = &it->second;
    }
  }
  const std::int64_t numbered = data_for_all ? protos.size() : counted;
  if (!options_.data.empty() && options_.data.rbegin()->first >= numbered) {
    refuse("--data: input_" + std::to_string(options_.data.rbegin()->first) + " is of no input: the model has " +
           std::to_string(protos.size()) + ", " + std::to_string(counted) + " of them without an initialiser");
  }
  return inputs;
}

void Importer::import_inputs(Scope& scope) {
  const std::vector<InputOption> inputs = input_options(scope);
  DimBinder binder(options_);
  binder.check_inputs(inputs);
  binder.check_dims(inputs);
  check_freeze();
  const bool defaults = file_.model.ir_version() >= kOldestWithDefaults;
  std::vector<const InputOption*> ports;
  for (const InputOption& input : inputs) {
    if (input.initialized) graph_.skipped_inputs.push_back(input.position);
    if (input.initialized && (!defaults || frozen(input)))
      fix_input(input, scope);
    else
      ports.push_back(&input);
  }
  // Extents that are given bind the names of dims, also for inputs that stand before them.
  std::map<std::string, Type> types;
  for (const bool given : {true, false}) {
    for (const InputOption* port : ports) {
      if (given != (port->given != nullptr || port->shape != nullptr)) continue;
      const auto initializer = scope.initializers.find(port->proto->name());
      types[port->proto->name()] =
          initializer != scope.initializers.end() ? type_of(*initializer->second) : binder.bind(*port);
    }
  }
  for (const InputOption* port : ports) add_input(*port, types[port->proto->name()], scope);
}

namespace {

void check_given(const InputOption& input, const Type& type) {
  if (input.given == nullptr || input.given->type() == type) return;
  refuse("input '" + input.proto->name() + "' is " + ops::to_string(type) + ", but " +
         ops::to_string(input.given->type()) + " is given");
}

}  // namespace

// An initialiser that is a constant, with the value that was given for it if there is one.
void Importer::fix_input(const InputOption& input, Scope& scope) {
  if (input.given == nullptr) return;
  const std::string& name = input.proto->name();
  const auto initializer = scope.initializers.find(name);
  check_given(input, type_of(*initializer->second));
  entry_.set_origin({add_source(name, "initializer")}, name);
  scope.values[name] = entry_.constant(*input.given);
  scope.initializers.erase(initializer);
}

void Importer::add_input(const InputOption& input, Type type, Scope& scope) {
  const std::string& name = input.proto->name();
  graph::Port port{name, type, std::nullopt, input.position};
  entry_.set_origin({add_source(name, "input")}, name);
  const Value value = entry_.builder().parameter(type, name);
  if (const auto it = scope.initializers.find(name); it != scope.initializers.end()) {
    Tensor tensor = take_tensor(*it->second, file_.folder);
    if (options_.replace_weight && ops::is_float(tensor.dtype)) {
      if (auto other = options_.replace_weight(name, type)) tensor = *std::move(other);
    }
    port.fallback = std::make_shared<const Tensor>(std::move(tensor));
    scope.initializers.erase(it);
  }
  check_given(input, type);
  const ops::TensorHandle known = input.given != nullptr ? input.given : port.fallback.value_or(ops::TensorHandle{});
  constexpr std::size_t kLargestKnown = 64 * 1024;
  if (known != nullptr && known->bytes() <= kLargestKnown) knowledge_.set(value, *known);
  graph_.inputs.back() = std::move(port);
  set_narrow(value, find_narrow(input.proto->type().tensor_type().elem_type()));
  scope.values[name] = value;
}

void Importer::import_outputs(Scope& scope) {
  std::vector<Value> results;
  for (const auto& output : file_.model.graph().output()) {
    if (output.type().has_sequence_type())
      unsupported("output '" + output.name() + "' is a sequence, which is not supported");
    const Value value = made(output.name(), scope, "output");
    const Type type = graph_.type(value);
    if (output.type().has_tensor_type() && output.type().tensor_type().elem_type() != 0 && type.is_tensor() &&
        dtype_of(output.type().tensor_type().elem_type()) != type.dtype) {
      refuse("output '" + output.name() + "' is stated as " +
             element_type_name(output.type().tensor_type().elem_type()) + ", but it is computed as " +
             std::string(ops::name(type.dtype)));
    }
    results.push_back(value);
  }
  entry_.builder().set_results(std::move(results));
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    graph_.outputs[i].name = file_.model.graph().output(static_cast<int>(i)).name();
  }
}

Value Importer::constant_of(::onnx::TensorProto& proto, Emitter& emitter, bool weight) {
  Tensor tensor;
  try {
    tensor = take_tensor(proto, file_.folder);
  } catch (Failure& failure) {
    throw Failure{with_context(std::move(failure.error), "tensor '" + proto.name() + "'")};
  }
  if (weight && options_.replace_weight && ops::is_float(tensor.dtype)) {
    if (auto other = options_.replace_weight(proto.name(), tensor.type())) tensor = *std::move(other);
  }
  const Value value = emitter.constant(std::move(tensor));
  set_narrow(value, find_narrow(proto.data_type()));
  return value;
}

const NarrowType* Importer::narrow(Value value) const {
  const auto it = narrow_.find(value);
  return it == narrow_.end() ? nullptr : it->second;
}
void Importer::set_narrow(Value value, const NarrowType* type) {
  if (type != nullptr) narrow_[value] = type;
}

std::optional<Value> Importer::lookup(const std::string& name, Scope& scope) {
  for (Scope* at = &scope; at != nullptr; at = at->outer) {
    if (const auto it = at->values.find(name); it != at->values.end()) return it->second;
    const auto it = at->initializers.find(name);
    if (it == at->initializers.end()) continue;
    const auto [sources, stem] = at->emitter->origin();
    at->emitter->set_origin({add_source(name, "initializer")}, name);
    const Value value = constant_of(*it->second, *at->emitter, true);
    at->emitter->set_origin(sources, stem);
    at->initializers.erase(it);
    at->values[name] = value;
    return value;
  }
  return std::nullopt;
}

Value Importer::made(const std::string& name, Scope& scope, const std::string& what) {
  const auto value = lookup(name, scope);
  if (!value || !value->valid()) refuse(what + " '" + name + "' is made by no node");
  return *value;
}

void Importer::import_nodes(google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes, Scope& scope,
                            const std::string& what) {
  if (scope.depth > kDeepest) unsupported("functions and nested graphs call each other more than 200 deep");
  for (const int i : topological_order(nodes, what)) import_node(nodes[i], scope);
}

void Importer::import_node(::onnx::NodeProto& node, Scope& scope) {
  try {
    if (++node_count_ > kMostNodes)
      unsupported("the model has more than 5,000,000 nodes after its functions are inlined");
    std::vector<Value> inputs;
    for (const std::string& name : node.input()) {
      const auto value = name.empty() ? Value{} : lookup(name, scope);
      if (!value) refuse("its input '" + name + "' is made by no node and is no input");
      inputs.push_back(*value);  // invalid where an optional input of a function is left out
    }
    const std::string& name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    scope.emitter->set_origin({add_source(scope.prefix + name, node.op_type())}, scope.prefix + name);
    const std::vector<Value> results = dispatch(node, scope, std::move(inputs));
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& output = node.output(i);
      if (output.empty()) continue;
      if (static_cast<std::size_t>(i) >= results.size() || !results[static_cast<std::size_t>(i)].valid()) {
        unsupported("its output " + std::to_string(i) + " ('" + output + "') is not supported");
      }
      if (!scope.values.emplace(output, results[static_cast<std::size_t>(i)]).second ||
          scope.initializers.contains(output)) {
        refuse("its output '" + output + "' has the name of another value");
      }
    }
  } catch (Failure& failure) {
    throw Failure{with_context(std::move(failure.error), describe(node))};
  }
}

std::vector<Value> Importer::dispatch(::onnx::NodeProto& node, Scope& scope, std::vector<Value> inputs) {
  const std::string domain = domain_of(node.domain());
  const auto function = functions_.find(domain + ":" + node.op_type() + ":" + unknown_string(node, kNodeOverload));
  if (function != functions_.end()) return call_function(*function->second, node, scope, std::move(inputs));
  const auto opset = scope.opsets->find(domain);
  const OperatorRow* row = find_operator(domain, node.op_type());
  if (row == nullptr) {
    unsupported("operator '" + node.op_type() + "' of " +
                (domain.empty() ? "the standard domain" : "domain '" + domain + "'") + " is not supported");
  }
  Call call(*this, scope, *scope.emitter, node, opset != scope.opsets->end() ? opset->second : 1);
  call.inputs = std::move(inputs);
  call.target = row->target;
  const std::vector<Value> results = row->handler(call);
  // What moves narrow elements makes narrow elements: the operators that make others say so themselves, or give
  // another dtype.
  const NarrowType* narrow_input = call.has(0) ? narrow(call.inputs[0]) : nullptr;
  if (narrow_input == nullptr || row->target == kMakesOwnType) return results;
  for (const Value result : results)
    if (result.valid() && graph_.type(result).is_tensor() && graph_.type(result).dtype == narrow_input->carrier &&
        narrow(result) == nullptr)
      set_narrow(result, narrow_input);
  return results;
}

std::vector<Value> Importer::call_function(::onnx::FunctionProto& function, ::onnx::NodeProto& node, Scope& scope,
                                           std::vector<Value> inputs) {
  Scope inner;
  inner.emitter = scope.emitter;
  inner.opsets = &function_opsets_[&function];
  inner.prefix = scope.prefix + (node.name().empty() ? function.name() : node.name()) + ".";
  inner.depth = scope.depth + 1;
  if (inputs.size() > static_cast<std::size_t>(function.input_size())) {
    refuse("function '" + function.name() + "' takes " + std::to_string(function.input_size()) + " inputs, not " +
           std::to_string(inputs.size()));
  }
  for (int i = 0; i < function.input_size(); ++i) {
    inner.values[function.input(i)] =
        static_cast<std::size_t>(i) < inputs.size() ? inputs[static_cast<std::size_t>(i)] : Value{};
  }
  std::map<std::string, ::onnx::AttributeProto> attributes = attribute_defaults(function);
  for (const auto& attribute : node.attribute()) attributes[attribute.name()] = attribute;
  auto nodes = function.node();  // a copy: the function may be called again with other attributes
  substitute_attributes(nodes, attributes);
  import_nodes(nodes, inner, "function '" + function.name() + "'");
  std::vector<Value> results;
  for (const std::string& output : function.output()) {
    results.push_back(made(output, inner, "output of function '" + function.name() + "',"));
  }
  return results;
}

std::vector<Value> Importer::import_graph(::onnx::GraphProto& graph, Scope& scope) {
  declare_initializers(graph, scope);
  import_nodes(*graph.mutable_node(), scope, "graph '" + graph.name() + "'");
  std::vector<Value> results;
  for (const auto& output : graph.output()) {
    results.push_back(made(output.name(), scope, "output of graph '" + graph.name() + "',"));
  }
  return results;
}

namespace {

/// What `read` returns of the file, or why it could not be read.
template <class Read>
auto reading(const std::string& path, const Read& read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kResource, "'" + path + "' needs more memory than there is");
  } catch (Failure& failure) {
    const Span place{std::make_shared<SourceText>(SourceText{path, ""}), 0, 0};
    for (Diagnostic& diagnostic : failure.error.diagnostics) {
      if (!diagnostic.span.valid()) diagnostic.span = place;
    }
    return std::unexpected(std::move(failure.error));
  }
}

}  // namespace

Result<std::shared_ptr<ModelFile>> read_onnx(const std::string& path) {
  return reading(path, [&] { return std::make_shared<ModelFile>(read_model(path)); });
}

Result<graph::Graph> import_onnx(std::shared_ptr<ModelFile> file, std::shared_ptr<const ops::OpTable> table,
                                 const ImportOptions& options) {
  return reading(file->path, [&] {
    graph::Graph graph = graph::make_graph(std::move(table), file->model.graph().name());
    Importer(*file, options, graph).import_model();
    return graph::remove_dead(std::move(graph));
  });
}

Result<graph::Graph> import_onnx(const std::string& path, std::shared_ptr<const ops::OpTable> table,
                                 const ImportOptions& options) {
  FW_TRY(std::shared_ptr<ModelFile> file, read_onnx(path));
  return import_onnx(std::move(file), std::move(table), options);
}

}  // namespace fusewright::frontend_onnx
