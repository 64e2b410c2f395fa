#include "hftrain/storage/async_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/storage/async_file_engine.h"

namespace hftrain::storage {
namespace {

// For file systems without O_TMPFILE: a name that is gone before anybody could need it.
FileDescriptor create_and_unlink(const std::string& directory) {
  std::string path = directory + "/.hftrain-scratch-XXXXXX";
  FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) throw system_error(errno, "cannot create a scratch file in", directory);
  ::unlink(path.c_str());
  return file;
}

FileDescriptor open_nameless(const std::string& directory) {
  create_directories(directory);
  FileDescriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT) return create_and_unlink(directory);
  throw system_error(errno, "cannot create a scratch file in", directory);
}

Error no_space(const std::string& directory, uint64_t bytes) {
  return Error(ExitCode::kDisk, "there is no room for " + format_bytes(bytes) + " of offloaded state")
      .where(directory)
      .why(format_bytes(free_bytes(directory)) + " are free there")
      .hint("free space, or another nvme_path");
}

// With the size set, places that were never written read as zeros.
void reserve(int file, const std::string& directory, uint64_t bytes) {
  if (bytes == 0 || ::fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0) return;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) throw no_space(directory, bytes);
  if (errno != EOPNOTSUPP) throw system_error(errno, "cannot reserve space in", directory, ExitCode::kDisk);
  if (free_bytes(directory) < bytes) throw no_space(directory, bytes);
  if (::ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    throw system_error(errno, "cannot size a scratch file in", directory, ExitCode::kDisk);
  }
}

// A second descriptor of the same file that passes by the page cache; none when a trial read or write of one
// block fails, for some file systems only say so then.
FileDescriptor open_direct(int file, uint64_t bytes) {
  if (bytes < AsyncFile::kAlignment) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  FileDescriptor direct(::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
  if (!direct) return {};
  const PageBuffer trial(AsyncFile::kAlignment);
  const auto wanted = static_cast<ssize_t>(trial.size());
  const bool works = ::pread(direct.get(), trial.data(), trial.size(), 0) == wanted &&
                     ::pwrite(direct.get(), trial.data(), trial.size(), 0) == wanted;
  return works ? std::move(direct) : FileDescriptor();
}

std::unique_ptr<BlockEngine> make_engine(const AsyncFileOptions& options, BlockQueue& queue,
                                         const ScratchFile& file) {
  using Engine = AsyncFileOptions::Engine;
  const auto depth = static_cast<unsigned>(options.queue_depth);
  if (options.engine != Engine::kThreads) {
    auto ring = make_ring_engine(queue, file, depth);
    if (ring) return ring;
    if (options.engine == Engine::kRing)
      throw system_error(errno, "io_uring is not available for", options.directory);
  }
  return make_thread_engine(queue, file, depth);
}

}  // namespace

FileDescriptor open_scratch_file(const std::string& directory, uint64_t bytes) {
  FileDescriptor file = open_nameless(directory);
  reserve(file.get(), directory, bytes);
  return file;
}

AsyncFile::AsyncFile(const AsyncFileOptions& options)
    : directory_(options.directory),
      bytes_(options.bytes),
      file_(std::make_unique<ScratchFile>()),
      queue_(std::make_unique<BlockQueue>(options.directory, static_cast<size_t>(options.block_bytes),
                                          kAlignment)) {
  file_->cached = open_scratch_file(directory_, bytes_);
  if (options.direct) file_->direct = open_direct(file_->cached.get(), bytes_);
  engine_ = make_engine(options, *queue_, *file_);
}

AsyncFile::~AsyncFile() {
  queue_->stop();
}

AsyncFile::Token AsyncFile::read(uint64_t offset, std::span<std::byte> into) {
  check_range(offset, into.size());
  return queue_->add(/*write=*/false, offset, into.data(), into.size());
}

AsyncFile::Token AsyncFile::write(uint64_t offset, std::span<const std::byte> from) {
  check_range(offset, from.size());
  return queue_->add(/*write=*/true, offset, const_cast<std::byte*>(from.data()), from.size());
}

void AsyncFile::wait(Token token) {
  queue_->wait(token);
}

void AsyncFile::wait_all() {
  queue_->wait_all();
}

bool AsyncFile::direct() const noexcept {
  return static_cast<bool>(file_->direct);
}

const char* AsyncFile::engine() const noexcept {
  return engine_->name();
}

void AsyncFile::check_range(uint64_t offset, size_t count) const {
  if (offset <= bytes_ && count <= bytes_ - offset) return;
  throw Error(ExitCode::kInternal, std::to_string(count) + " bytes at " + std::to_string(offset) +
                                       " are not in a scratch file of " + std::to_string(bytes_))
      .where(directory_);
}

PageBuffer::PageBuffer(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    throw Error(ExitCode::kHostMemory, "there is no memory for a buffer of " + format_bytes(bytes))
        .where("offload to NVMe")
        .why("the system gave none: its own, a control group's, or that of ulimit -v is used up")
        .hint("smaller buffers (buffer_size, buffer_count), or fewer ranks on this machine");
  data_ = static_cast<std::byte*>(pages);
}

PageBuffer::PageBuffer(PageBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

PageBuffer::~PageBuffer() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace hftrain::storage
