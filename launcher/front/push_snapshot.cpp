#include "launcher/front/push_snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::front {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceOfACopy = size_t{1} << 20;
constexpr std::array<std::string_view, 6> kState = {
    "trainer_state.json", "hftrain_state.json", "manifest.json", "optimizer.pt", "scheduler.pt", "scaler.pt"};

bool is_state(const std::string& name) {
  return std::find(kState.begin(), kState.end(), name) != kState.end() || name.starts_with("rng_state");
}

bool is_weights(const std::string& name) {
  return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
}

// What the Trainer leaves out, and what is the run's own.
bool stays_here(const std::string& name) {
  return name.starts_with('_') || name.starts_with('.') || name.starts_with("checkpoint-") ||
         name == "hftrain";
}

// As huggingface_hub leaves them out (DEFAULT_IGNORE_PATTERNS): a repository's configuration may hold credentials.
bool is_never_pushed(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == ".git" || (name == "huggingface" && path.parent_path().filename() == ".cache");
}

// Paths relative to `folder`, in their order; of an output folder without what stays here, which is not looked into: a checkpoint
// may go meanwhile. A link that leads nowhere, or round in a circle, is no file, as for the Hub's own package.
std::vector<std::string> files_below(const std::string& folder, bool of_output) {
  std::vector<std::string> paths;
  std::error_code failed;
  fs::recursive_directory_iterator entry(folder, failed);
  for (const fs::recursive_directory_iterator end; !failed && entry != end; entry.increment(failed)) {
    std::error_code unreadable;
    const bool left = of_output && entry.depth() == 0 && stays_here(entry->path().filename().string());
    if (left || is_never_pushed(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(unreadable)) {
      paths.push_back(entry->path().lexically_relative(folder).string());
    }
  }
  if (failed) throw system_error(failed.value(), "cannot list", folder, ExitCode::kDisk);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

PushSnapshot::PushSnapshot(std::string folder, const std::atomic<bool>& stop)
    : folder_(std::move(folder)), stop_(stop) {
  fs::remove_all(folder_);
  create_directories(folder_);
}

PushSnapshot::~PushSnapshot() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void PushSnapshot::take_output(const std::string& output_dir) {
  for (const std::string& path : files_below(output_dir, true)) take(output_dir + '/' + path, path, false);
}

bool PushSnapshot::take_model(const std::string& output_dir, const std::string& checkpoint) {
  std::set<std::string> of_model;
  for (const std::string& path : files_below(checkpoint, false)) {
    if (path.find('/') == std::string::npos && !is_state(path)) of_model.insert(path);
  }
  if (std::none_of(of_model.begin(), of_model.end(), is_weights)) return false;
  for (const std::string& path : of_model) take(checkpoint + '/' + path, path, false);
  for (const std::string& path : files_below(output_dir, true)) {
    const bool older = of_model.count(path) > 0 || (path.find('/') == std::string::npos && is_weights(path));
    if (!older) take(output_dir + '/' + path, path, true);
  }
  return true;
}

void PushSnapshot::take_checkpoint(const std::string& checkpoint, const std::string& name) {
  for (const std::string& path : files_below(checkpoint, false))
    take(checkpoint + '/' + path, name + '/' + path, false);
}

void PushSnapshot::take(const std::string& from, const std::string& path, bool changes) {
  const std::string to = folder_ + '/' + path;
  create_directories(fs::path(to).parent_path().string());
  std::error_code failed;
  if (!changes) fs::create_hard_link(from, to, failed);
  if (changes || failed) copy(from, to);  // a file system without hard links
  files_.push_back({to, path});
}

// In pieces, for the end of a run does not wait for the rest of a large file.
void PushSnapshot::copy(const std::string& from, const std::string& to) const {
  const FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const FileDescriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  std::vector<char> buffer(kPieceOfACopy);
  ssize_t got = source && target ? 1 : -1;
  while (got > 0) {
    if (stop_)
      throw Error(ExitCode::kDisk, "cannot keep for the push")
          .where(from)
          .why("it was stopped")
          .hint("start again");
    got = ::read(source.get(), buffer.data(), buffer.size());
    if (got > 0) write_all(target.get(), {buffer.data(), static_cast<size_t>(got)}, to);
  }
  if (got < 0) throw system_error(errno, "cannot keep for the push", from, ExitCode::kDisk);
}

}  // namespace hftrain::front
