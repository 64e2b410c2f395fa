// Bytes per second of a scratch file, written and read from front to back.
// Usage: bench_async_file <folder> <MiB> <block KiB> <queue depth> <automatic|ring|threads>
// Prints "<write MB/s> <read MB/s> <engine> <direct|cached>". scripts/bench/nvme.py runs it against fio, in
// turn.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/storage/async_file.h"

namespace {

using namespace hftrain;
using storage::AsyncFile;
using storage::AsyncFileOptions;

// The operations of an optimizer step: a few staging buffers, each as large as many blocks.
constexpr size_t kBufferBytes = size_t{16} << 20;
constexpr size_t kBuffers = 3;

// Seconds for the whole file.
double pass_over(AsyncFile& file, const storage::PageBuffer& memory, bool write) {
  const double start = monotonic_seconds();
  AsyncFile::Token tokens[kBuffers] = {};
  size_t buffer = 0;
  for (uint64_t at = 0; at < file.bytes(); at += kBufferBytes, buffer = (buffer + 1) % kBuffers) {
    const auto span = memory.span().subspan(buffer * kBufferBytes, std::min(kBufferBytes, file.bytes() - at));
    file.wait(tokens[buffer]);
    tokens[buffer] = write ? file.write(at, span) : file.read(at, span);
  }
  file.wait_all();
  return monotonic_seconds() - start;
}

void measure(const AsyncFileOptions& options) {
  AsyncFile file(options);
  const storage::PageBuffer memory(kBuffers * kBufferBytes);
  std::memset(memory.data(), 0x5a, memory.size());
  pass_over(file, memory, /*write=*/true);  // the blocks of the file exist from here on
  const double megabytes = static_cast<double>(file.bytes()) / 1e6;
  const double write = megabytes / pass_over(file, memory, /*write=*/true);
  const double read = megabytes / pass_over(file, memory, /*write=*/false);
  std::printf("%.1f %.1f %s %s\n", write, read, file.engine(), file.direct() ? "direct" : "cached");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s folder MiB block_KiB queue_depth automatic|ring|threads\n", argv[0]);
    return 2;
  }
  using Engine = AsyncFileOptions::Engine;
  const std::map<std::string, Engine> engines = {
      {"automatic", Engine::kAutomatic}, {"ring", Engine::kRing}, {"threads", Engine::kThreads}};
  try {
    measure({.directory = argv[1],
             .bytes = std::strtoull(argv[2], nullptr, 10) << 20,
             .block_bytes = std::atoll(argv[3]) << 10,
             .queue_depth = std::atoll(argv[4]),
             .engine = engines.at(argv[5])});
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.render().c_str());
    return 1;
  }
}
