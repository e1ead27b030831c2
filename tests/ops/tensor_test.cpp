#include "fusewright/ops/tensor.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "fusewright/ops/attrs.hpp"
#include "fusewright/ops/scalar.hpp"

using namespace fusewright;
using namespace fusewright::ops;

namespace {

// A folder of its own for each run, removed at the end.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("fusewright_ops_test_" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
};

std::string npy(const std::string& header, const std::string& data) {
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

constexpr DType kAll[] = {DType::kPred,     DType::kS8,     DType::kS16, DType::kS32, DType::kS64,
                          DType::kU8,       DType::kU16,    DType::kU32, DType::kU64, DType::kF16,
                          DType::kBF16,     DType::kF32,    DType::kF64, DType::kS4,  DType::kU4,
                          DType::kF8E4M3FN, DType::kF8E5M2, DType::kC64, DType::kC128};

}  // namespace

TEST_CASE("every dtype has a name that is found again", "[dtype]") {
  for (const DType dtype : kAll) CHECK(dtype_from_name(name(dtype)) == dtype);
  CHECK_FALSE(dtype_from_name("f31").has_value());
  CHECK(bit_width(DType::kS4) == 4);
  CHECK(byte_width(DType::kS4) == 1);
  CHECK(byte_width(DType::kC128) == 16);
}

TEST_CASE("scalar operations are named and have their arity", "[scalar]") {
  CHECK(name(ScalarOp::kRoundEven) == "round_even");
  CHECK(name(ScalarOp::kFma) == "fma");
  CHECK(arity(ScalarOp::kSelect) == 3);
  CHECK(is_comparison(ScalarOp::kEq));
  CHECK_FALSE(is_comparison(ScalarOp::kSelect));
  CHECK(is_expensive(ScalarOp::kExp));
  CHECK_FALSE(is_expensive(ScalarOp::kAdd));
  CHECK(work(ScalarOp::kExp, DType::kF64) > work(ScalarOp::kExp, DType::kF32));
}

TEST_CASE("narrow floats round once, to nearest even, with subnormals and infinities", "[tensor]") {
  CHECK(round_to(DType::kF16, 1.0 + 0x1p-11) == 1.0);
  CHECK(round_to(DType::kF16, 1.0 + 3 * 0x1p-11) == 1.0 + 0x1p-9);
  CHECK(round_to(DType::kF16, 65519.99) == 65504.0);
  CHECK(round_to(DType::kF16, 65520.0) == std::numeric_limits<double>::infinity());
  CHECK(round_to(DType::kF16, 0x1p-24) == 0x1p-24);
  CHECK(round_to(DType::kF16, 0x1p-25) == 0.0);
  CHECK(round_to(DType::kF16, std::nextafter(0x1p-25, 1.0)) == 0x1p-24);
  CHECK(std::signbit(round_to(DType::kF16, -0.0)));
  CHECK(round_to(DType::kBF16, 1.0 + 0x1p-8) == 1.0);
  // Through f32 this would round twice, to the tie and then down to 1.
  CHECK(round_to(DType::kBF16, 1.0 + 0x1p-8 + 0x1p-40) == 1.0 + 0x1p-7);
  CHECK(round_to(DType::kF8E4M3FN, 448.0) == 448.0);
  CHECK(std::isnan(round_to(DType::kF8E4M3FN, 1000.0)));
  CHECK(round_to(DType::kF8E5M2, 57344.0) == 57344.0);
  CHECK(std::isnan(round_to(DType::kBF16, std::nan(""))));
}

TEST_CASE("every bit pattern of f16 and bf16 survives being read and written", "[tensor]") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Tensor tensor = make_tensor(dtype, {2}).value();
    std::size_t changed = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      tensor.mutable_as<std::uint16_t>()[0] = static_cast<std::uint16_t>(bits);
      const double value = get_double(tensor, 0);
      set_double(tensor, 1, value);
      const bool same = tensor.as<std::uint16_t>()[1] == bits;
      changed += same || std::isnan(value) ? 0 : 1;
    }
    CHECK(changed == 0);
  }
}

TEST_CASE("integers wrap from integers and saturate from floats", "[tensor]") {
  Tensor tensor = make_tensor(DType::kS8, {1}).value();
  set_int(tensor, 0, 300);
  CHECK(get_int(tensor, 0) == 44);
  set_double(tensor, 0, 300.7);
  CHECK(get_int(tensor, 0) == 127);
  set_double(tensor, 0, -1e30);
  CHECK(get_int(tensor, 0) == -128);
  set_double(tensor, 0, std::nan(""));
  CHECK(get_int(tensor, 0) == 0);
  Tensor wide = make_tensor(DType::kU64, {1}).value();
  set_double(wide, 0, 0x1p64);
  CHECK(get_double(wide, 0) == 0x1p64);
  set_double(wide, 0, -5);
  CHECK(get_int(wide, 0) == 0);
  Tensor nibble = make_tensor(DType::kS4, {1}).value();
  set_int(nibble, 0, 9);
  CHECK(get_int(nibble, 0) == -7);
}

TEST_CASE("small constants are equal by their bits, large ones only to themselves", "[tensor]") {
  const auto handle = [](std::int64_t count) {
    return std::make_shared<const Tensor>(make_tensor(DType::kF32, {count}).value());
  };
  CHECK(same_constant(handle(1024), handle(1024)));
  CHECK(hash_constant(handle(1024)) == hash_constant(handle(1024)));
  CHECK_FALSE(same_constant(handle(1025), handle(1025)));
  CHECK(hash_constant(handle(1025)) == hash_constant(handle(1025)));
  const TensorHandle large = handle(1025);
  CHECK(same_constant(large, large));
  CHECK(same_constant(large, std::make_shared<const Tensor>(*large)));
  const auto scalar = [](DType dtype, double x) { return std::make_shared<const Tensor>(scalar_tensor(dtype, x)); };
  CHECK_FALSE(same_constant(scalar(DType::kF32, 0.0), scalar(DType::kF32, -0.0)));
  CHECK_FALSE(same_constant(scalar(DType::kF32, 0.0), scalar(DType::kS32, 0.0)));
}

TEST_CASE("attributes are sorted, compared by bits and printed", "[attrs]") {
  Attrs attrs = {{"b", std::int64_t{1}}, {"a", 0.5}};
  attrs.set("c", std::vector<std::int64_t>{1, 2});
  attrs.set("b", std::int64_t{2});
  REQUIRE(attrs.entries().size() == 3);
  CHECK(attrs.entries()[0].first == "a");
  CHECK(attrs.get<std::int64_t>("b") == 2);
  CHECK(attrs.get_or<double>("z", 4.0) == 4.0);
  CHECK(to_string(AttrValue(2.0)) == "2.0");
  CHECK(to_string(AttrValue(0.1)) == "0.1");
  CHECK(to_string(AttrValue(std::string("say \"hi\""))) == "\"say \\\"hi\\\"\"");
  CHECK(to_string(AttrValue(std::make_shared<const Tensor>(vector_tensor({1, 2, 3})))) == "s64[3]{1,2,3}");
  CHECK(equal(AttrValue(std::nan("")), AttrValue(std::nan(""))));
  CHECK_FALSE(equal(AttrValue(0.0), AttrValue(-0.0)));
  Attrs same = {{"a", 0.5}, {"c", std::vector<std::int64_t>{1, 2}}, {"b", std::int64_t{2}}};
  CHECK(attrs == same);
  CHECK(attrs.hash() == same.hash());
  same.erase("a");
  CHECK_FALSE(attrs == same);
}

TEST_CASE("types print, count their elements and refuse too many", "[type]") {
  CHECK(to_string(Type::tensor(DType::kBF16, {Dim::symbol("n"), 4})) == "bf16[n,4]");
  CHECK(to_string(Type::tuple({Type::tensor(DType::kF32, {}), Type::token()})) == "(f32[], token[])");
  CHECK(element_count({2, 3}).value() == 6);
  CHECK(element_count({0, 3}).value() == 0);
  CHECK_FALSE(element_count({-1}).has_value());
  CHECK_FALSE(element_count({Dim::symbol("n")}).has_value());
  CHECK_FALSE(element_count({std::int64_t{1} << 40, std::int64_t{1} << 40}).has_value());
  CHECK_FALSE(element_count({0, std::int64_t{1} << 60}).has_value());
  CHECK(broadcast_shapes({2, 1, 4}, {3, 1}).value() == Shape{2, 3, 4});
  CHECK(broadcast_shapes({0}, {1}).value() == Shape{0});
  CHECK_FALSE(broadcast_shapes({2}, {3}).has_value());
}

TEST_CASE("an .npy file is written and read back with every dtype that it can hold", "[npy]") {
  const Folder folder;
  for (const DType dtype : kAll) {
    const std::string path = (folder.path / (std::string(name(dtype)) + ".npy")).string();
    Tensor tensor = make_tensor(dtype, {2, 3}).value();
    for (std::int64_t i = 0; i < 6; ++i) set_int(tensor, i, dtype == DType::kPred ? i % 2 : i);
    const Status written = write_npy(path, tensor);
    const bool possible = bit_width(dtype) != 4 && dtype != DType::kF8E4M3FN && dtype != DType::kF8E5M2;
    REQUIRE(written.has_value() == possible);
    if (!possible) continue;
    const Tensor back = read_npy(path).value();
    CHECK(back.dtype == dtype);
    CHECK(back.dims == tensor.dims);
    CHECK(std::memcmp(back.data(), tensor.data(), tensor.bytes()) == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(back.data()) % 64 == 0);
  }
  const std::string scalar = (folder.path / "scalar.npy").string();
  REQUIRE(write_npy(scalar, scalar_tensor(DType::kF64, 2.5)).has_value());
  CHECK(get_double(read_npy(scalar).value(), 0) == 2.5);
}

TEST_CASE("an .npy file in Fortran order is read in row-major order", "[npy]") {
  const Folder folder;
  const std::string path =
      folder.write("f.npy", npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\1\4\2\5\3\6"));
  const Tensor tensor = read_npy(path).value();
  for (std::int64_t i = 0; i < 6; ++i) CHECK(get_int(tensor, i) == i + 1);
}

TEST_CASE("a broken .npy file is an error that names it", "[npy]") {
  const Folder folder;
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const std::vector<std::string> broken = {
      "",
      "\x93NUMPY",
      "hello world, this is text",
      std::string("\x93NUMPY\x01\x00\xff\xff{", 11),
      std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14),
      npy(good, "1234567"),
      npy("{'descr': '<f4'", "12345678"),
      npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "12345678"),
      npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "12345678"),
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "12345678"),
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "12345678"),
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }",
          "12345678"),
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (281474976710656,), }", "12345678"),
      npy("{'descr': '<f4', 'fortran_order': 1, 'shape': (2,), }", "12345678"),
      npy("{'descr': '<f4', 'shape': (2,), }", "12345678"),
  };
  for (std::size_t i = 0; i < broken.size(); ++i) {
    const std::string path = folder.write("broken" + std::to_string(i) + ".npy", broken[i]);
    const Result<Tensor> read = read_npy(path);
    INFO(path);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().diagnostics[0].message.find(path) != std::string::npos);
  }
  CHECK_FALSE(read_npy((folder.path / "absent.npy").string()).has_value());
  CHECK_FALSE(read_npy(folder.path.string()).has_value());
}
