#include "hftrain/comm/shm_segment.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <random>
#include <sstream>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::comm {
namespace {

Error refused(const std::string& what, const std::string& where, int error) {
  if (error == ENOMEM)
    return Error(ExitCode::kHostMemory, what)
        .where(where)
        .why(std::strerror(error))
        .hint("fewer ranks on this machine, or a higher limit on their memory (ulimit -v, the job's)");
  if (error == EFBIG)
    return Error(ExitCode::kDisk, what)
        .where(where)
        .why(std::string(std::strerror(error)) + ": the limit on the size of files counts for it, too")
        .hint("raise that limit (ulimit -f), or --ddp_backend gloo");
  return Error(ExitCode::kEnvironment, what)
      .where(where)
      .why(std::strerror(error))
      .hint("--ddp_backend gloo works between all ranks that reach each other over TCP");
}

std::byte* map(const FileDescriptor& file, size_t bytes, const std::string& where) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  if (memory == MAP_FAILED) throw refused("shared memory cannot be mapped", where, errno);
  return static_cast<std::byte*>(memory);
}

uint64_t random_number() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

ShmSegment ShmSegment::create(const std::string& owner, size_t bytes) {
  const size_t mapped = sizeof(SegmentHeader) + bytes;
  const std::string where = owner + ", its segment of " + format_bytes(mapped);
  FileDescriptor file(::memfd_create("hftrain", MFD_CLOEXEC));
  if (file.get() < 0) throw refused("shared memory cannot be made", where, errno);
  const int status = ::posix_fallocate(file.get(), 0, static_cast<off_t>(mapped));
  if (status != 0) throw refused("there is not enough shared memory", where, status);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    throw refused("shared memory cannot be locked", where, errno);
  std::byte* memory = map(file, mapped, where);
  auto* header = new (memory) SegmentHeader{};
  header->nonce = random_number();
  std::ostringstream address;
  address << ::getpid() << ' ' << file.get() << ' ' << header->nonce;
  return {std::move(file), memory, mapped, address.str()};
}

ShmSegment ShmSegment::open(const std::string& owner, const std::string& address, size_t bytes) {
  std::istringstream fields(address);
  std::string pid, number;
  uint64_t nonce = 0;
  fields >> pid >> number >> nonce;
  const std::string path = "/proc/" + pid + "/fd/" + number;
  const std::string where = owner + ", " + path;
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) throw refused("the shared memory of another rank cannot be opened", where, errno);
  const size_t mapped = sizeof(SegmentHeader) + bytes;
  ShmSegment segment(std::move(file), nullptr, mapped, address);
  if (::lseek(segment.file_.get(), 0, SEEK_END) == static_cast<off_t>(mapped)) {
    segment.memory_ = map(segment.file_, mapped, where);
    if (segment.header().nonce == nonce) return segment;
  }
  throw refused("the shared memory of another rank was not found", where, ESTALE);
}

ShmSegment::ShmSegment(ShmSegment&& other) noexcept
    : file_(std::move(other.file_)),
      memory_(std::exchange(other.memory_, nullptr)),
      mapped_(other.mapped_),
      address_(std::move(other.address_)) {}

ShmSegment::~ShmSegment() {
  if (memory_ != nullptr) ::munmap(memory_, mapped_);
}

bool ShmSegment::owner_lives() const {
  if (::flock(file_.get(), LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK || errno == EINTR;
  ::flock(file_.get(), LOCK_UN);
  return false;
}

}  // namespace hftrain::comm
