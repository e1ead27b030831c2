#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// LSTM, GRU and RNN are unrolled over time: the number of steps is known, and each step's matmul is visible to the
// rules.

struct Cell {
  std::int64_t hidden = 0, steps = 0, batch = 0, directions = 1, gates = 1;
  bool batch_first = false;
  std::string direction;
  double clip = 0;
  Value x;        // [time, batch, input]
  Value lengths;  // s64[batch], or invalid
};

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

Value activate(Emitter& e, const Activation& f, Value x) {
  if (f.name == "Sigmoid") return e.unary("logistic", x);
  if (f.name == "Tanh") return e.unary("tanh", x);
  if (f.name == "Relu") return e.binary("max", x, 0.0);
  if (f.name == "Affine") return e.binary("add", e.binary("mul", x, f.alpha), f.beta);
  if (f.name == "LeakyRelu") return e.op("leaky_relu", {x}, {{"alpha", f.alpha}});
  if (f.name == "HardSigmoid") return e.op("hard_sigmoid", {x}, {{"alpha", f.alpha}, {"beta", f.beta}});
  if (f.name == "Elu") return e.op("elu", {x}, {{"alpha", f.alpha}});
  if (f.name == "Softsign") return e.op("softsign", {x});
  if (f.name == "Softplus") return e.op("softplus", {x});
  unsupported("activation '" + f.name + "' is not supported");
}

std::vector<Activation> read_activations(Call& c, const Cell& cell, const std::vector<std::string>& defaults) {
  std::vector<std::string> names;
  for (const auto& attribute : c.proto.attribute()) {
    if (attribute.name() == "activations") names.assign(attribute.strings().begin(), attribute.strings().end());
  }
  if (names.empty()) {
    for (std::int64_t d = 0; d < cell.directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != defaults.size() * static_cast<std::size_t>(cell.directions))
    refuse("attribute 'activations' has the wrong length");
  const auto alphas = c.floats_attr("activation_alpha").value_or(std::vector<double>{});
  const auto betas = c.floats_attr("activation_beta").value_or(std::vector<double>{});
  std::vector<Activation> result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Activation f{names[i]};
    if (f.name == "LeakyRelu") f.alpha = 0.01f;
    if (f.name == "HardSigmoid") f.alpha = 0.2f, f.beta = 0.5;
    if (f.name == "Elu" || f.name == "Affine") f.alpha = 1;
    if (i < alphas.size()) f.alpha = alphas[i];
    if (i < betas.size()) f.beta = betas[i];
    result.push_back(f);
  }
  return result;
}

Cell read_cell(Call& c, std::int64_t gates) {
  Cell cell;
  cell.gates = gates;
  cell.direction = c.string_attr("direction", "forward");
  if (cell.direction != "forward" && cell.direction != "reverse" && cell.direction != "bidirectional")
    refuse("attribute 'direction' is '" + cell.direction + "'");
  cell.directions = cell.direction == "bidirectional" ? 2 : 1;
  cell.batch_first = c.int_attr("layout", 0) != 0;
  cell.clip = c.float_attr("clip", 0);
  cell.x = c.in(0);
  if (c.e.rank(cell.x) != 3) refuse("its input is not of rank 3");
  if (cell.batch_first) cell.x = c.e.transpose(cell.x, {1, 0, 2});
  const Ints dims = c.e.dims(cell.x), w = c.e.dims(c.in(1)), r = c.e.dims(c.in(2));
  cell.steps = dims[0];
  cell.batch = dims[1];
  if (r.size() != 3 || w.size() != 3) refuse("its weights are not of rank 3");
  cell.hidden = r[2];
  if (w != Ints{cell.directions, gates * cell.hidden, dims[2]} ||
      r != Ints{cell.directions, gates * cell.hidden, cell.hidden}) {
    refuse("its weights " + ops::to_string(c.e.type(c.in(1))) + " and " + ops::to_string(c.e.type(c.in(2))) +
           " do not fit its input");
  }
  constexpr std::int64_t kMostSteps = 4096;
  if (cell.steps > kMostSteps) unsupported("more than 4,096 time steps are not supported");
  if (c.has(4)) cell.lengths = c.e.convert(c.in(4), DType::kS64);
  return cell;
}

Value clipped(Emitter& e, const Cell& cell, Value x) {
  if (cell.clip <= 0) return x;
  const Ints dims = e.dims(x);
  return e.op("clamp", {e.fill(e.dtype(x), -cell.clip, dims), x, e.fill(e.dtype(x), cell.clip, dims)});
}

// What one direction works with: its weights without the direction axis.
struct Direction {
  Value w, r, wb, rb;            // [gates * hidden, input], [gates * hidden, hidden], [gates * hidden] or invalid
  std::vector<Value> peepholes;  // of the LSTM: [hidden], input, output, forget
  std::vector<Activation> f;
};

Value pick(Emitter& e, Value x, std::int64_t direction) {
  Ints dims = e.dims(x);
  dims.erase(dims.begin());
  return e.reshape(e.slice(x, 0, direction, direction + 1), dims);
}
Value gate(Emitter& e, const Cell& cell, Value x, std::int64_t i) {
  return e.slice(x, e.rank(x) - 1, i * cell.hidden, (i + 1) * cell.hidden);
}
Value times(Emitter& e, Value x, Value weights) {
  return e.op("dot", {x, weights}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{1}}, {"dtype", e.dtype(x)}});
}
Value add_maybe(Emitter& e, Value x, Value bias) { return bias.valid() ? e.binary("add", x, bias) : x; }

Direction read_direction(Call& c, const Cell& cell, std::int64_t d, const std::vector<Activation>& activations) {
  Direction dir;
  dir.w = pick(c.e, c.in(1), d);
  dir.r = pick(c.e, c.in(2), d);
  if (c.has(3)) {
    const Value bias = pick(c.e, c.in(3), d);
    const std::int64_t n = cell.gates * cell.hidden;
    if (c.e.dims(bias) != Ints{2 * n}) refuse("its bias does not fit its weights");
    dir.wb = c.e.slice(bias, 0, 0, n);
    dir.rb = c.e.slice(bias, 0, n, 2 * n);
  }
  const std::size_t count = activations.size() / static_cast<std::size_t>(cell.directions);
  const auto first = activations.begin() + static_cast<std::ptrdiff_t>(count * static_cast<std::size_t>(d));
  dir.f.assign(first, first + static_cast<std::ptrdiff_t>(count));
  return dir;
}

struct State {
  Value h, c;
};
using Step = State (*)(Call&, const Cell&, const Direction&, Value xw, const State&);

State lstm_step(Call& call, const Cell& cell, const Direction& d, Value xw, const State& s) {
  Emitter& e = call.e;
  const Value all = add_maybe(e, e.op("add", {xw, times(e, s.h, d.r)}), d.rb);
  const auto peep = [&](Value x, std::size_t i, Value state) {
    return d.peepholes.empty() ? x : e.op("add", {x, e.binary("mul", state, d.peepholes[i])});
  };
  const Value i = activate(e, d.f[0], clipped(e, cell, peep(gate(e, cell, all, 0), 0, s.c)));
  Value f;
  if (call.int_attr("input_forget", 0) != 0)
    f = e.binary("sub", 1.0, i);
  else
    f = activate(e, d.f[0], clipped(e, cell, peep(gate(e, cell, all, 2), 2, s.c)));
  const Value candidate = activate(e, d.f[1], clipped(e, cell, gate(e, cell, all, 3)));
  const Value next = e.op("add", {e.op("mul", {f, s.c}), e.op("mul", {i, candidate})});
  const Value o = activate(e, d.f[0], clipped(e, cell, peep(gate(e, cell, all, 1), 1, next)));
  return {e.op("mul", {o, activate(e, d.f[2], next)}), next};
}

State gru_step(Call& call, const Cell& cell, const Direction& d, Value xw, const State& s) {
  Emitter& e = call.e;
  const auto part = [&](Value x, std::int64_t i) { return x.valid() ? gate(e, cell, x, i) : Value{}; };
  const auto weights = [&](std::int64_t i) { return e.slice(d.r, 0, i * cell.hidden, (i + 1) * cell.hidden); };
  const auto through = [&](std::int64_t i) {
    return add_maybe(e, e.op("add", {part(xw, i), times(e, s.h, weights(i))}), part(d.rb, i));
  };
  const Value z = activate(e, d.f[0], clipped(e, cell, through(0)));
  const Value r = activate(e, d.f[0], clipped(e, cell, through(1)));
  Value inner;
  if (call.int_attr("linear_before_reset", 0) != 0) {
    inner = e.op("mul", {r, add_maybe(e, times(e, s.h, weights(2)), part(d.rb, 2))});
  } else {
    inner = add_maybe(e, times(e, e.op("mul", {r, s.h}), weights(2)), part(d.rb, 2));
  }
  const Value h = activate(e, d.f[1], clipped(e, cell, e.op("add", {part(xw, 2), inner})));
  return {e.op("add", {e.op("mul", {e.binary("sub", 1.0, z), h}), e.op("mul", {z, s.h})}), {}};
}

State rnn_step(Call& call, const Cell& cell, const Direction& d, Value xw, const State& s) {
  Emitter& e = call.e;
  const Value sum = add_maybe(e, e.op("add", {xw, times(e, s.h, d.r)}), d.rb);
  return {activate(e, d.f[0], clipped(e, cell, sum)), {}};
}

// Outputs of one direction: y[t] in the order of time, and the last state.
struct Run {
  std::vector<Value> y;
  State last;
};
Run run_direction(Call& c, const Cell& cell, const Direction& d, bool backwards, State state, Step step) {
  Emitter& e = c.e;
  Run run;
  run.y.resize(static_cast<std::size_t>(cell.steps));
  const Ints dims = e.dims(cell.x);
  for (std::int64_t k = 0; k < cell.steps; ++k) {
    const std::int64_t t = backwards ? cell.steps - 1 - k : k;
    const Value x = e.reshape(e.slice(cell.x, 0, t, t + 1), {dims[1], dims[2]});
    const Value xw = add_maybe(e, times(e, x, d.w), d.wb);
    State next = step(c, cell, d, xw, state);
    Value y = next.h;
    if (cell.lengths.valid()) {
      // Beyond a row's length its state stays and its output is zero.
      const Value inside =
          e.broadcast(e.binary("gt", cell.lengths, e.scalar_int(DType::kS64, t)), {cell.batch, cell.hidden}, {0});
      y = e.select(inside, y, e.scalar(e.dtype(y), 0));
      next.h = e.select(inside, next.h, state.h);
      if (next.c.valid()) next.c = e.select(inside, next.c, state.c);
    }
    run.y[static_cast<std::size_t>(t)] = y;
    state = next;
  }
  run.last = state;
  return run;
}

Value initial(Call& c, const Cell& cell, std::size_t input, std::int64_t d) {
  if (!c.has(input)) return c.e.fill(c.e.dtype(cell.x), 0, {cell.batch, cell.hidden});
  Value x = c.in(input);
  if (c.e.rank(x) != 3) refuse("its initial state is not of rank 3");
  if (cell.batch_first) x = c.e.transpose(x, {1, 0, 2});
  return pick(c.e, x, d);
}

Values recurrent(Call& c, std::int64_t gates, const std::vector<std::string>& defaults, Step step) {
  const Cell cell = read_cell(c, gates);
  Emitter& e = c.e;
  const auto activations = read_activations(c, cell, defaults);
  const bool memory = step == lstm_step;
  std::vector<Run> runs;
  for (std::int64_t d = 0; d < cell.directions; ++d) {
    Direction dir = read_direction(c, cell, d, activations);
    if (memory && c.has(7)) {
      const Value p = pick(e, c.in(7), d);
      for (std::int64_t i = 0; i < 3; ++i)
        dir.peepholes.push_back(e.slice(p, 0, i * cell.hidden, (i + 1) * cell.hidden));
    }
    State state{initial(c, cell, 5, d), memory ? initial(c, cell, 6, d) : Value{}};
    runs.push_back(run_direction(c, cell, dir, cell.direction == "reverse" || d == 1, state, step));
  }
  Values rows, last_h, last_c;
  for (std::int64_t t = 0; t < cell.steps; ++t) {
    for (const Run& run : runs)
      rows.push_back(e.reshape(run.y[static_cast<std::size_t>(t)], {1, 1, cell.batch, cell.hidden}));
  }
  for (const Run& run : runs) {
    last_h.push_back(e.reshape(run.last.h, {1, cell.batch, cell.hidden}));
    if (memory) last_c.push_back(e.reshape(run.last.c, {1, cell.batch, cell.hidden}));
  }
  if (rows.empty()) refuse("its input has no time steps");
  Value y = e.reshape(e.concat(rows, 0), {cell.steps, cell.directions, cell.batch, cell.hidden});
  Values results = {y, e.concat(last_h, 0)};
  if (memory) results.push_back(e.concat(last_c, 0));
  if (cell.batch_first) {
    results[0] = e.transpose(results[0], {2, 0, 1, 3});
    for (std::size_t i = 1; i < results.size(); ++i) results[i] = e.transpose(results[i], {1, 0, 2});
  }
  return results;
}

Values lstm(Call& c) { return recurrent(c, 4, {"Sigmoid", "Tanh", "Tanh"}, lstm_step); }
Values gru(Call& c) { return recurrent(c, 3, {"Sigmoid", "Tanh"}, gru_step); }
Values rnn(Call& c) { return recurrent(c, 1, {"Tanh"}, rnn_step); }

}  // namespace

std::vector<OperatorRow> recurrent_operators() { return {{"LSTM", lstm}, {"GRU", gru}, {"RNN", rnn}}; }

}  // namespace fusewright::frontend_onnx
