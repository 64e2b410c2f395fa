#include "hftrain/storage/scratch_map.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "hftrain/base/error.h"
#include "hftrain/storage/async_file_engine.h"

namespace hftrain::storage {
namespace {

// `part` from the page in which it begins; for `whole`, only pages that it covers.
void advise(std::span<const std::byte> part, bool whole, int advice) noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t end = whole ? (address + part.size()) / page * page : address + part.size();
  const uintptr_t begin = (whole ? address + page - 1 : address) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

ScratchMap::ScratchMap(const std::string& directory, uint64_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  const FileDescriptor file = open_scratch_file(directory, bytes);
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (pages == MAP_FAILED) throw system_error(errno, "cannot map a scratch file in", directory);
  data_ = static_cast<std::byte*>(pages);
}

ScratchMap::~ScratchMap() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void ScratchMap::ask_for(std::span<const std::byte> part) const noexcept {
  advise(part, /*whole=*/false, MADV_WILLNEED);
}

// Of a shared mapping: the pages stay in the file.
void ScratchMap::let_go(std::span<const std::byte> part) const noexcept {
  advise(part, /*whole=*/true, MADV_DONTNEED);
}

}  // namespace hftrain::storage
