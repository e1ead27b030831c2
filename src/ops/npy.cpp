#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "fusewright/ops/tensor.hpp"
#include "fusewright/support/file.hpp"

namespace fusewright::ops {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = 1 << 16;
constexpr std::size_t kHighestRank = 32;

struct Header {
  std::string_view descr;
  bool fortran_order = false;
  std::vector<std::int64_t> dims;
};

// Reads the Python dictionary that is the header: three known keys in any order.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  /// False when the text is not what NumPy writes.
  bool read(Header& header) {
    bool descr = false, order = false, shape = false;
    if (!take('{')) return false;
    while (!take('}')) {
      std::string_view key;
      if (!read_string(key) || !take(':')) return false;
      if (key == "descr" && read_string(header.descr)) {
        descr = true;
      } else if (key == "fortran_order" && read_bool(header.fortran_order)) {
        order = true;
      } else if (key == "shape" && read_tuple(header.dims)) {
        shape = true;
      } else {
        return false;
      }
      take(',');
    }
    return descr && order && shape;
  }

 private:
  void skip() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t')) text_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool read_string(std::string_view& out) {
    skip();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return false;
    const std::size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool read_bool(bool& out) {
    out = take_word("True");
    return out || take_word("False");
  }
  bool read_tuple(std::vector<std::int64_t>& out) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0 || out.size() == kHighestRank) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      out.push_back(value);
      if (!take(',') && (text_.empty() || text_[0] != ')')) return false;
    }
    return true;
  }

  std::string_view text_;
};

std::optional<DType> dtype_of(std::string_view descr) {
  // '|' and '=' stand where the byte order says nothing or is the machine's own.
  if (descr.size() < 3 || (descr[0] != '<' && descr[0] != '|' && descr[0] != '=')) return std::nullopt;
  const std::string_view code = descr.substr(1);
  if (code == "b1" || code == "?") return DType::kPred;
  if (code == "i1") return DType::kS8;
  if (code == "u1") return DType::kU8;
  if (code == "V2") return DType::kBF16;
  if (descr[0] == '|') return std::nullopt;
  if (code == "i2") return DType::kS16;
  if (code == "i4") return DType::kS32;
  if (code == "i8") return DType::kS64;
  if (code == "u2") return DType::kU16;
  if (code == "u4") return DType::kU32;
  if (code == "u8") return DType::kU64;
  if (code == "f2") return DType::kF16;
  if (code == "f4") return DType::kF32;
  if (code == "f8") return DType::kF64;
  if (code == "c8") return DType::kC64;
  if (code == "c16") return DType::kC128;
  return std::nullopt;
}

const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::kPred: return "|b1";
    case DType::kS8: return "|i1";
    case DType::kS16: return "<i2";
    case DType::kS32: return "<i4";
    case DType::kS64: return "<i8";
    case DType::kU8: return "|u1";
    case DType::kU16: return "<u2";
    case DType::kU32: return "<u4";
    case DType::kU64: return "<u8";
    case DType::kF16: return "<f2";
    case DType::kBF16: return "<V2";
    case DType::kF32: return "<f4";
    case DType::kF64: return "<f8";
    case DType::kC64: return "<c8";
    case DType::kC128: return "<c16";
    case DType::kS4:
    case DType::kU4:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2: break;
  }
  return nullptr;
}

// From column-major order: the first axis of the file is the fastest.
Result<Tensor> from_fortran(const Tensor& source) {
  FW_TRY(Tensor out, make_tensor(source.dtype, source.dims));
  const std::size_t width = static_cast<std::size_t>(byte_width(source.dtype));
  const std::size_t rank = source.dims.size();
  std::vector<std::int64_t> stride(rank, 1), index(rank, 0);
  for (std::size_t i = 1; i < rank; ++i) stride[i] = stride[i - 1] * source.dims[i - 1];
  std::int64_t from = 0;
  for (std::int64_t to = 0, count = source.elements(); to < count; ++to) {
    std::memcpy(out.mutable_data() + static_cast<std::size_t>(to) * width,
                source.data() + static_cast<std::size_t>(from) * width, width);
    for (std::size_t axis = rank; axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < source.dims[axis]) break;
      from -= stride[axis] * source.dims[axis];
      index[axis] = 0;
    }
  }
  return out;
}

// A mapping is at the mercy of the header's length; kernels want whole vectors at 64-byte addresses.
Result<Tensor> aligned_copy(const Tensor& source) {
  FW_TRY(Tensor out, make_tensor(source.dtype, source.dims));
  if (out.bytes() > 0) std::memcpy(out.mutable_data(), source.data(), out.bytes());
  return out;
}

}  // namespace

Result<Tensor> read_npy(const std::string& path) {
  FW_TRY(auto storage, map_file(path));
  const std::string_view file(reinterpret_cast<const char*>(storage->data()), storage->size());
  const auto broken = [&](const std::string& why) {
    return fail("'" + path + "' is not a readable .npy file: " + why);
  };
  if (!file.starts_with(kMagic) || file.size() < 10) return broken("it does not start with NumPy's mark");
  const auto byte_at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(file[i])); };
  const std::size_t version = byte_at(6);
  if (version < 1 || version > 3) return broken("version " + std::to_string(version) + " is not known");
  const std::size_t start = version == 1 ? 10 : 12;
  if (file.size() < start) return broken("it ends inside the header");
  std::size_t length = byte_at(8) | byte_at(9) << 8;
  if (version > 1) length |= byte_at(10) << 16 | byte_at(11) << 24;
  if (length > kLongestHeader || start + length > file.size()) return broken("it ends inside the header");

  Header header;
  if (!HeaderReader(file.substr(start, length)).read(header)) return broken("the header is not NumPy's");
  const std::optional<DType> dtype = dtype_of(header.descr);
  if (!dtype) return broken("dtype '" + std::string(header.descr) + "' is not supported");
  Result<std::int64_t> elements = element_count(Shape(header.dims.begin(), header.dims.end()));
  if (!elements) return std::unexpected(with_context(std::move(elements).error(), "'" + path + "'"));
  const std::size_t bytes = static_cast<std::size_t>(*elements * byte_width(*dtype));
  if (file.size() - start - length < bytes)
    return broken("it holds " + std::to_string(file.size() - start - length) + " bytes of data where the header says " +
                  std::to_string(bytes));

  Tensor tensor{*dtype, std::move(header.dims), std::move(storage), start + length};
  if (header.fortran_order && tensor.dims.size() > 1) return from_fortran(tensor);
  return aligned_copy(tensor);
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  const char* descr = descr_of(tensor.dtype);
  if (descr == nullptr)
    return fail(ErrorKind::kUnsupported, "'" + path + "': .npy files cannot hold " + std::string(name(tensor.dtype)));
  std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t dim : tensor.dims) header += std::to_string(dim) + ",";
  header += "), }";
  // The data begins at a multiple of 64 bytes, after a newline.
  const std::size_t fixed = 10;
  header.append((64 - (fixed + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string front(kMagic);
  front += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  front += header;

  const std::size_t bytes = tensor.bytes();
  return write_file(path, {front, {bytes == 0 ? "" : reinterpret_cast<const char*>(tensor.data()), bytes}});
}

}  // namespace fusewright::ops
