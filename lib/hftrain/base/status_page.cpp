#include "hftrain/base/status_page.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain {
namespace {

constexpr size_t kNameBytes = 16, kPathBytes = 1024;
constexpr size_t kStackOffset = 4096, kStackBytes = 60 * 1024;
constexpr size_t kPageBytes = kStackOffset + kStackBytes;
constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

// Lives in shared memory; all zero at first.
struct StatusPage::Fields {
  std::atomic<uint32_t> phase;
  std::atomic<uint32_t> answers;
  std::atomic<int64_t> steps;  // last finished update + 1
  std::atomic<uint64_t> operations;
  std::atomic<int64_t> operation_bytes;
  std::atomic<int32_t> waits;
  std::array<std::atomic<uint64_t>, kNameBytes / 8> operation;
  std::atomic<int32_t> crash_signal;
  std::atomic<int32_t> crash_code;
  std::atomic<uint64_t> crash_address;
  std::atomic<uint32_t> path_bytes;
  std::array<char, kPathBytes> path;
  std::atomic<uint32_t> stack_bytes;

  const char* stack() const { return reinterpret_cast<const char*>(this) + kStackOffset; }
};

const char* work_phase_name(WorkPhase phase) {
  constexpr std::array kNames = {"starting",   "loading", "training", "waiting for data",
                                 "evaluating", "saving",  "leaving"};
  const auto index = static_cast<size_t>(phase);
  return index < kNames.size() ? kNames[index] : "unknown";
}

StatusPage StatusPage::make() {
  FileDescriptor file(::memfd_create("hftrain-status", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), kPageBytes) != 0) {
    throw system_error(errno, "cannot make shared memory for a worker's status", "memfd");
  }
  return open(std::move(file));
}

StatusPage StatusPage::open(FileDescriptor file) {
  static_assert(sizeof(Fields) <= kStackOffset && std::atomic<uint64_t>::is_always_lock_free);
  void* memory = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) throw system_error(errno, "cannot map a worker's status", "memfd");
  return {std::move(file), static_cast<Fields*>(memory)};
}

StatusPage::StatusPage(StatusPage&& other) noexcept
    : file_(std::move(other.file_)), fields_(std::exchange(other.fields_, nullptr)) {}

StatusPage& StatusPage::operator=(StatusPage&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(fields_, other.fields_);
  return *this;
}

StatusPage::~StatusPage() {
  if (fields_ != nullptr) ::munmap(fields_, kPageBytes);
}

void StatusPage::set_phase(WorkPhase phase) noexcept {
  if (fields_ != nullptr) fields_->phase.store(static_cast<uint32_t>(phase), kRelaxed);
}

WorkPhase StatusPage::phase() const noexcept {
  return fields_ == nullptr ? WorkPhase::kStarting : static_cast<WorkPhase>(fields_->phase.load(kRelaxed));
}

void StatusPage::set_step(int64_t step) noexcept {
  if (fields_ != nullptr) fields_->steps.store(step + 1, kRelaxed);
}

void StatusPage::begin_operation(const char* name, int64_t bytes) noexcept {
  if (fields_ == nullptr) return;
  std::array<uint64_t, kNameBytes / 8> words{};
  std::memcpy(words.data(), name, std::min(std::strlen(name), kNameBytes - 1));
  for (size_t i = 0; i < words.size(); ++i) fields_->operation[i].store(words[i], kRelaxed);
  fields_->operation_bytes.store(bytes, kRelaxed);
  fields_->operations.fetch_add(1, kRelaxed);
}

void StatusPage::begin_wait() noexcept {
  if (fields_ != nullptr) fields_->waits.fetch_add(1, kRelaxed);
}

void StatusPage::end_wait() noexcept {
  if (fields_ != nullptr) fields_->waits.fetch_sub(1, kRelaxed);
}

void StatusPage::set_answers() noexcept {
  if (fields_ != nullptr) fields_->answers.store(1, kRelaxed);
}

bool StatusPage::answers() const noexcept {
  return fields_ != nullptr && fields_->answers.load(kRelaxed) != 0;
}

void StatusPage::set_crash(int signal, int code, uint64_t address) noexcept {
  if (fields_ == nullptr) return;
  fields_->crash_code.store(code, kRelaxed);
  fields_->crash_address.store(address, kRelaxed);
  fields_->crash_signal.store(signal, std::memory_order_release);
}

void StatusPage::set_mapped_file(const char* path, size_t size) noexcept {
  if (fields_ == nullptr) return;
  size = std::min(size, kPathBytes);
  std::memcpy(fields_->path.data(), path, size);
  fields_->path_bytes.store(static_cast<uint32_t>(size), std::memory_order_release);
}

void StatusPage::begin_stack() noexcept {
  if (fields_ == nullptr) return;
  fields_->stack_bytes.store(0, kRelaxed);
  ::lseek(file_.get(), kStackOffset, SEEK_SET);
}

void StatusPage::end_stack() noexcept {
  if (fields_ == nullptr) return;
  const off_t end = ::lseek(file_.get(), 0, SEEK_CUR) - static_cast<off_t>(kStackOffset);
  fields_->stack_bytes.store(static_cast<uint32_t>(std::clamp<off_t>(end, 0, kStackBytes)),
                             std::memory_order_release);
}

WorkStatus StatusPage::read() const {
  WorkStatus status;
  if (fields_ == nullptr) return status;
  status.phase = phase();
  status.step = fields_->steps.load(kRelaxed) - 1;
  status.operations = fields_->operations.load(kRelaxed);
  status.waits = fields_->waits.load(kRelaxed);
  std::array<uint64_t, kNameBytes / 8> words{};
  for (size_t i = 0; i < words.size(); ++i) words[i] = fields_->operation[i].load(kRelaxed);
  std::array<char, kNameBytes> name{};
  std::memcpy(name.data(), words.data(), kNameBytes - 1);
  status.operation = name.data();
  status.operation_bytes = fields_->operation_bytes.load(kRelaxed);
  const size_t stack = std::min<size_t>(fields_->stack_bytes.load(std::memory_order_acquire), kStackBytes);
  status.stack.assign(fields_->stack(), stack);
  if (const int signal = fields_->crash_signal.load(std::memory_order_acquire); signal != 0) {
    const size_t path = std::min<size_t>(fields_->path_bytes.load(std::memory_order_acquire), kPathBytes);
    status.crash = CrashNote{signal, fields_->crash_code.load(kRelaxed),
                             fields_->crash_address.load(kRelaxed), std::string(fields_->path.data(), path)};
  }
  return status;
}

}  // namespace hftrain
