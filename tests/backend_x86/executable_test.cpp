#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/x86/pool.hpp"
#include "run.hpp"

namespace fusewright {
namespace {

namespace fs = std::filesystem;

Kernel scaled(double by, const std::string& name = "scaled", std::int64_t n = 1003) {
  KernelBuilder b(name, TargetFamily::kCpu);
  const BufferId x = b.buffer("x", DType::kF32, n, Space::kGlobal);
  const BufferId y = b.buffer("y", DType::kF32, n, Space::kGlobal, Buffer::Role::kOutput);
  over(b, name, n, 8, [&](ExprId at) {
    b.store(y, at, b.op(ScalarOp::kMul, DType::kF32, {b.load(x, at), b.number(DType::kF32, by)}));
  });
  return b.finish();
}

void check_scaled(kernel::Executable& executable, std::size_t index, double by, int threads = 2,
                  std::int64_t n = 1003) {
  std::vector<Tensor> tensors{numbers(DType::kF32, n, [](std::int64_t i) { return static_cast<double>(i); }),
                              tensor(DType::kF32, n)};
  run(executable, index, tensors, threads);
  for (std::int64_t i = 0; i < n; ++i)
    if (ops::get_double(tensors[1], i) != static_cast<double>(i) * by) FAIL("element " << i);
}

/// A folder that goes away.
struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("fusewright-cache-test-{}", getpid());
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    if (fs::exists(path))
      for (const auto& entry : fs::directory_iterator(path)) out.push_back(entry.path());
    return out;
  }
};

}  // namespace

TEST_CASE("x86 compiles several kernels, equal ones once", "[x86]") {
  const Folder folder;
  const auto executable = compiled({scaled(2), scaled(3), scaled(2, "same_by_another_name")}, {"", folder.path, 0});
  check_scaled(*executable, 0, 2);
  check_scaled(*executable, 1, 3);
  check_scaled(*executable, 2, 2);
  CHECK(folder.files().size() == 2);
}

TEST_CASE("x86 takes compiled objects from its cache and mistrusts damaged ones", "[x86]") {
  const Folder folder;
  const backend_x86::Options options{"", folder.path, 0};
  check_scaled(*compiled({scaled(2)}, options), 0, 2);
  REQUIRE(folder.files().size() == 1);
  const fs::path file = folder.files()[0];
  const auto size = fs::file_size(file);

  // Taken from there: a valid file that was put in its place is what runs.
  const fs::path saved = folder.path / "saved";
  fs::copy_file(file, saved);
  const auto written = fs::last_write_time(file);
  check_scaled(*compiled({scaled(2)}, options), 0, 2);
  CHECK(fs::last_write_time(file) == written);

  for (const std::string& damage : {"short", "empty", "changed", "folder"}) {
    fs::remove_all(file);
    if (damage == "folder") {
      fs::create_directory(file);
    } else {
      fs::copy_file(saved, file);
      if (damage == "short") fs::resize_file(file, size - 9);
      if (damage == "empty") fs::resize_file(file, 0);
      if (damage == "changed") {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekp(static_cast<std::streamoff>(size / 2));
        bytes.write("?!?!?!", 6);
      }
    }
    check_scaled(*compiled({scaled(2)}, options), 0, 2);
    if (damage != "folder") CHECK(fs::file_size(file) == size);
  }
}

TEST_CASE("x86 runs without a cache, or with a folder that cannot be made", "[x86]") {
  check_scaled(*compiled({scaled(2)}, {"", "off", 0}), 0, 2);
  check_scaled(*compiled({scaled(2)}, {"", "/dev/null/nowhere", 0}), 0, 2);
}

TEST_CASE("x86 makes code for other CPUs, and names what it does not know", "[x86]") {
  for (const std::string& cpu : {"avx2", "avx512", "znver4"}) {
    const auto objects = backend_x86::emit_objects({scaled(2), scaled(2, "again")}, {cpu, "", 0});
    REQUIRE(objects.has_value());
    REQUIRE(objects->size() == 2);
    CHECK((*objects)[0].symbols == std::vector<std::string>{"scaled"});
    CHECK((*objects)[1].symbols == std::vector<std::string>{"again"});
    CHECK(
        (*objects)[0].bytes.starts_with("\x7f"
                                        "ELF"));
  }
  const auto unknown = backend_x86::emit_objects({scaled(2)}, {"pentium-of-my-aunt", "", 0});
  REQUIRE(!unknown.has_value());
  CHECK(unknown.error().diagnostics[0].message.find("unknown x86 CPU 'pentium-of-my-aunt'") != std::string::npos);
  const auto old = backend_x86::emit_objects({scaled(2)}, {"core2", "", 0});
  REQUIRE(!old.has_value());
  CHECK(old.error().diagnostics[0].message.find("AVX2") != std::string::npos);
}

TEST_CASE("x86 refuses dtypes that have no code", "[x86]") {
  KernelBuilder b("complex", TargetFamily::kCpu);
  const BufferId x = b.buffer("x", DType::kC64, 8, Space::kGlobal);
  const BufferId y = b.buffer("y", DType::kC64, 8, Space::kGlobal, Buffer::Role::kOutput);
  over(b, "copy", 8, 8, [&](ExprId at) { b.store(y, at, b.load(x, at)); });
  const auto made = backend_x86::compile_x86({b.finish()}, {"", "off", 0});
  REQUIRE(!made.has_value());
  CHECK(made.error().diagnostics[0].message.find("c64") != std::string::npos);
}

TEST_CASE("x86 assembly of a vector loop has wide fused instructions and no calls", "[x86]") {
  KernelBuilder b("exp", TargetFamily::kCpu);
  const BufferId x = b.buffer("x", DType::kF32, 1600, Space::kGlobal);
  const BufferId y = b.buffer("y", DType::kF32, 1600, Space::kGlobal, Buffer::Role::kOutput);
  over(b, "exp", 1600, 16, [&](ExprId at) { b.store(y, at, b.op(ScalarOp::kExp, DType::kF32, {b.load(x, at)})); });
  const Kernel kernel = b.finish();
  for (const auto& [cpu, reg] : {std::pair{"avx2", "%ymm"}, std::pair{"avx512", "%zmm"}}) {
    const auto text = backend_x86::emit_assembly(kernel, {cpu, "", 0});
    REQUIRE(text.has_value());
    CHECK(text->find(reg) != std::string::npos);
    CHECK(text->find("vfmadd") != std::string::npos);
    CHECK(text->find("fw_exp") == std::string::npos);
  }
}

TEST_CASE("x86 results do not depend on the number of threads", "[x86]") {
  const std::int64_t n = 50000;
  const auto executable = compiled({scaled(1.5, "scaled", n)});
  for (const int threads : {0, 1, 2, 3, 8}) check_scaled(*executable, 0, 1.5, threads, n);
}

TEST_CASE("the pool does every iteration once, whoever is late", "[x86]") {
  backend_x86::Pool pool;
  struct Context {
    std::vector<std::atomic<int>> done = std::vector<std::atomic<int>>(5000);
    std::atomic<int> highest{0};
  } context;
  const auto work = [](void* c, int slot, std::int64_t begin, std::int64_t end) {
    auto& at = *static_cast<Context*>(c);
    for (std::int64_t i = begin; i < end; ++i) ++at.done[static_cast<std::size_t>(i)];
    int seen = at.highest;
    while (seen < slot && !at.highest.compare_exchange_weak(seen, slot)) {
    }
  };
  for (int round = 1; round <= 2000; ++round) {
    const int threads = 1 + round % 4;
    const std::int64_t count = round % 5 == 0 ? 5000 : round % 7;
    pool.run(threads, count, work, &context);
    for (std::int64_t i = 0; i < 5000; ++i) {
      if (context.done[static_cast<std::size_t>(i)] != (i < count ? 1 : 0))
        FAIL("round " << round << " iteration " << i);
      context.done[static_cast<std::size_t>(i)] = 0;
    }
    CHECK(context.highest < threads);
    context.highest = 0;
    if (round % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // helpers fall asleep
  }
}

TEST_CASE("an executable may be run from several threads", "[x86]") {
  const auto executable = compiled({scaled(2), scaled(3)});
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&, t] {
      Tensor x = numbers(DType::kF32, 1003, [](std::int64_t) { return 1; }), y = tensor(DType::kF32, 1003);
      for (int round = 0; round < 200; ++round) {
        const auto index = static_cast<std::size_t>((t + round) % 2);
        const Status status = executable->run(index, {x.mutable_data(), y.mutable_data()}, 2);
        if (!status || y.as<float>()[1002] != (index == 0 ? 2.f : 3.f)) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

}  // namespace fusewright
