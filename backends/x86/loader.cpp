#include "backends/x86/loader.hpp"

#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>

#include <cstring>

namespace fusewright::backend_x86 {

namespace orc = llvm::orc;

namespace {

std::unexpected<Error> loader_error(llvm::Error error) {
  return fail(ErrorKind::kUnsupported, "loading compiled code: " + llvm::toString(std::move(error)));
}

}  // namespace

struct Loader::Jit {
  std::unique_ptr<orc::LLJIT> orc;
};

Loader::Loader(std::unique_ptr<Jit> jit) : jit_(std::move(jit)) {}
Loader::~Loader() = default;

Result<std::unique_ptr<Loader>> Loader::make(const std::vector<std::pair<std::string, void*>>& outside) {
  // Objects only: no platform, whose initialisers would have to be compiled, and no symbols of this process but these.
  auto jit =
      orc::LLJITBuilder().setPlatformSetUp(orc::setUpInactivePlatform).setLinkProcessSymbolsByDefault(false).create();
  if (!jit) return loader_error(jit.takeError());
  orc::SymbolMap symbols;
  const auto define = [&](const char* name, auto* function) {
    symbols[(*jit)->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                              llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  define("memcpy", static_cast<void* (*)(void*, const void*, std::size_t)>(&std::memcpy));
  define("memmove", static_cast<void* (*)(void*, const void*, std::size_t)>(&std::memmove));
  define("memset", static_cast<void* (*)(void*, int, std::size_t)>(&std::memset));
  for (const auto& [name, function] : outside)
    symbols[(*jit)->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                              llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (auto error = (*jit)->getMainJITDylib().define(orc::absoluteSymbols(std::move(symbols))))
    return loader_error(std::move(error));
  return std::unique_ptr<Loader>(new Loader(std::make_unique<Jit>(Jit{std::move(*jit)})));
}

Status Loader::add(std::string object) {
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object, "kernel");
  if (auto error = jit_->orc->addObjectFile(std::move(buffer))) return loader_error(std::move(error));
  return {};
}

Result<void*> Loader::find_address(const std::string& symbol) {
  auto address = jit_->orc->lookup(symbol);
  if (!address) return loader_error(address.takeError());
  return address->toPtr<void*>();
}

Result<LaunchFunction> Loader::find(const std::string& symbol) {
  FW_TRY(void* const address, find_address(symbol));
  return reinterpret_cast<LaunchFunction>(address);
}

}  // namespace fusewright::backend_x86
