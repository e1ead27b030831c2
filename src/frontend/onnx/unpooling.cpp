#include <algorithm>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// Operators that put elements back where windows took them from.

Ints numbers(Call& c, const char* name, std::size_t count, std::int64_t fallback, std::int64_t least) {
  Ints values = c.ints_attr(name).value_or(Ints(count, fallback));
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (values.size() != count ||
      std::any_of(values.begin(), values.end(), [&](std::int64_t v) { return v < least || v > kMost; }))
    refuse("attribute '" + std::string(name) + "' does not fit");
  return values;
}

// Every element goes to the flat position that its index names.
Values max_unpool(Call& c) {
  const Value x = c.in(0);
  const Ints dims = c.e.dims(x);
  const auto kernel = c.ints_attr("kernel_shape");
  if (!kernel || kernel->size() + 2 != dims.size())
    refuse("attribute 'kernel_shape' does not fit " + ops::to_string(c.e.type(x)));
  const std::size_t n = kernel->size();
  const Ints strides = numbers(c, "strides", n, 1, 1), pads = numbers(c, "pads", 2 * n, 0, 0);
  Ints inferred = {dims[0], dims[1]};
  for (std::size_t i = 0; i < n; ++i)
    inferred.push_back(
        std::max<std::int64_t>((dims[i + 2] - 1) * strides[i] - pads[i] - pads[n + i] + (*kernel)[i], 0));
  const std::int64_t count = product(dims);
  const Value flat = c.e.op("scatter",
                            {c.e.fill(c.e.dtype(x), 0, {product(inferred)}),
                             c.e.reshape(c.e.convert(c.in(1), DType::kS64), {count, 1}), c.e.reshape(x, {count})},
                            {{"update_window_dims", Ints{}},
                             {"inserted_window_dims", Ints{0}},
                             {"scatter_dims_to_operand_dims", Ints{0}},
                             {"index_vector_dim", std::int64_t{1}},
                             {"combiner", std::string("assign")}});
  const Value y = c.e.reshape(flat, inferred);
  if (!c.has(2)) return {y};
  const Ints wanted = c.known_ints(2, "output shape");
  if (wanted.size() != inferred.size()) refuse("its output shape has another rank than its input");
  Ints high;
  for (std::size_t i = 0; i < wanted.size(); ++i) high.push_back(wanted[i] - inferred[i]);
  const Ints none(wanted.size(), 0);
  return {c.e.op("pad", {y, c.e.scalar(c.e.dtype(x), 0)}, {{"low", none}, {"high", high}, {"interior", none}})};
}

// The sum of overlapping blocks: [batch, channels * block, blocks] to [batch, channels, image...].
Values col2im(Call& c) {
  const Value x = c.in(0);
  const Ints dims = c.e.dims(x), image = c.known_ints(1, "image shape"), block = c.known_ints(2, "block shape");
  const std::size_t n = image.size();
  if (dims.size() != 3 || block.size() != n || n == 0) refuse("its shapes do not fit " + ops::to_string(c.e.type(x)));
  const Ints strides = numbers(c, "strides", n, 1, 1), dilations = numbers(c, "dilations", n, 1, 1),
             pads = numbers(c, "pads", 2 * n, 0, 0);
  Ints grid;  // blocks along each axis
  for (std::size_t i = 0; i < n; ++i)
    grid.push_back((image[i] + pads[i] + pads[n + i] - dilations[i] * (block[i] - 1) - 1) / strides[i] + 1);
  const std::int64_t size = product(block), blocks = product(grid);
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (size < 1 || blocks < 1 || dims[1] % size != 0 || dims[2] != blocks)
    refuse("its shapes do not fit " + ops::to_string(c.e.type(x)));
  if (size > kMost / blocks) unsupported("an image of more than 2^24 block elements is not supported");
  Ints positions;  // of each block element in the flat image; -1, which no scatter writes, outside of it
  for (std::int64_t k = 0; k < size; ++k) {
    for (std::int64_t l = 0; l < blocks; ++l) {
      std::int64_t flat = 0, scale = 1, rest_k = k, rest_l = l;
      bool inside = true;
      for (std::size_t i = n; i-- > 0;) {
        const std::int64_t at = rest_l % grid[i] * strides[i] - pads[i] + rest_k % block[i] * dilations[i];
        inside = inside && at >= 0 && at < image[i];
        flat += at * scale;
        scale *= image[i];
        rest_l /= grid[i];
        rest_k /= block[i];
      }
      positions.push_back(inside ? flat : -1);
    }
  }
  const std::int64_t channels = dims[1] / size;
  const Value flat = c.e.op("scatter",
                            {c.e.fill(c.e.dtype(x), 0, {dims[0], channels, product(image)}),
                             c.e.reshape(c.e.int_vector(DType::kS64, positions), {size * blocks, 1}),
                             c.e.reshape(x, {dims[0], channels, size * blocks})},
                            {{"update_window_dims", Ints{0, 1}},
                             {"inserted_window_dims", Ints{2}},
                             {"scatter_dims_to_operand_dims", Ints{2}},
                             {"index_vector_dim", std::int64_t{1}},
                             {"combiner", std::string("add")}});
  Ints out = {dims[0], channels};
  out.insert(out.end(), image.begin(), image.end());
  return {c.e.reshape(flat, out)};
}

}  // namespace

std::vector<OperatorRow> unpooling_operators() { return {{"MaxUnpool", max_unpool}, {"Col2Im", col2im}}; }

}  // namespace fusewright::frontend_onnx
