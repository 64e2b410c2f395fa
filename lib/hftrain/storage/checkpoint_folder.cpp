#include "hftrain/storage/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kTemporary = "tmp";
constexpr std::string_view kReplaced = "replaced";
constexpr std::string_view kTrash = "trash";

// What a name in output_dir says about itself.
struct FolderName {
  int64_t step = 0;
  std::string role;  // empty: a checkpoint; else tmp, replaced or trash
};

// Only the spelling that checkpoint_path() writes: no sign, no leading zero.
std::optional<int64_t> parse_step(std::string_view text) {
  int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (value < 0 || std::to_string(value) != text) return std::nullopt;
  return value;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0 || c == '-'; });
}

// checkpoint-<N>, or .checkpoint-<N>.<role>-<id>; anything else is not ours.
std::optional<FolderName> parse_folder_name(std::string_view name) {
  const bool hidden = name.substr(0, 1) == ".";
  if (hidden) name.remove_prefix(1);
  if (name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const size_t dot = name.find('.');
  if (hidden != (dot != std::string_view::npos)) return std::nullopt;
  const auto step = parse_step(name.substr(0, dot));
  if (!step) return std::nullopt;
  if (!hidden) return FolderName{*step, ""};
  const std::string_view tail = name.substr(dot + 1);
  for (const std::string_view role : {kTemporary, kReplaced, kTrash}) {
    const bool matches = tail.substr(0, role.size()) == role && tail.substr(role.size(), 1) == "-";
    if (matches && is_identifier(tail.substr(role.size() + 1))) return FolderName{*step, std::string(role)};
  }
  return std::nullopt;
}

// Unique among the saves of this output_dir: one process holds the lock, and a process does not save twice in
// one microsecond.
std::string hidden_path(const std::string& output_dir, int64_t step, std::string_view role) {
  return output_dir + "/." + std::string(kPrefix) + std::to_string(step) + '.' + std::string(role) + '-' +
         std::to_string(::getpid()) + '-' + std::to_string(static_cast<int64_t>(unix_seconds() * 1e6));
}

struct FoundFolder {
  FolderName name;
  std::string path;
};

// Sorted by path, for a repeatable order of work.
std::vector<FoundFolder> own_folders(const std::string& output_dir) {
  std::vector<FoundFolder> found;
  std::error_code error;
  for (fs::directory_iterator item(output_dir, error), end; !error && item != end; item.increment(error)) {
    const auto name = parse_folder_name(item->path().filename().string());
    std::error_code ignored;
    if (name && item->is_directory(ignored)) found.push_back({*name, item->path().string()});
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw system_error(error.value(), "cannot list", output_dir);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return found;
}

// All folders named checkpoint-<number>, ascending.
std::vector<CheckpointInfo> named_checkpoints(const std::string& output_dir) {
  std::vector<CheckpointInfo> checkpoints;
  for (const FoundFolder& folder : own_folders(output_dir)) {
    if (folder.name.role.empty()) checkpoints.push_back({folder.name.step, folder.path});
  }
  std::stable_sort(checkpoints.begin(), checkpoints.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  return checkpoints;
}

bool has_manifest(const std::string& checkpoint) {
  return path_exists(checkpoint + '/' + kManifestName);
}

// A network file system may answer a repeated request: the first one did the work, and its answer was lost.
void rename_to_free_name(FileSystem& files, const std::string& from, const std::string& to) {
  try {
    files.rename(from, to);
  } catch (const Error&) {
    if (path_exists(from) || !path_exists(to)) throw;
  }
}

std::string left_behind(const std::string& path, const std::string& why) {
  return "could not remove " + path + " (" + why + "): it takes up room, and is tried again later";
}

// Opening is what makes a network file system ask its server; sizes alone may come from a cache.
std::optional<uint64_t> size_when_opened(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return std::nullopt;
  return static_cast<uint64_t>(status.st_size);
}

// What is no folder was not written by a run.
void require_folder(const std::string& target) {
  if (is_folder(target)) return;
  throw Error(ExitCode::kDisk, "a file has the name of a checkpoint")
      .where(target)
      .why("it came there while the run went on, and is not replaced")
      .hint("move it away, and start the run again");
}

std::string sanitized(const std::string& name) {
  const fs::path normal = fs::path(name).lexically_normal();
  if (name.empty() || normal.is_absolute() || *normal.begin() == ".." || normal.filename().empty()) {
    throw Error(ExitCode::kInternal, "'" + name + "' is not a file name inside a checkpoint");
  }
  return normal.string();
}

}  // namespace

std::string checkpoint_path(const std::string& output_dir, int64_t step) {
  return output_dir + '/' + std::string(kPrefix) + std::to_string(step);
}

std::vector<CheckpointInfo> list_checkpoints(const std::string& output_dir) {
  std::vector<CheckpointInfo> checkpoints = named_checkpoints(output_dir);
  std::erase_if(checkpoints, [](const CheckpointInfo& checkpoint) { return !has_manifest(checkpoint.path); });
  return checkpoints;
}

OlderCheckpoints try_to_list(const std::string& output_dir) {
  try {
    return {list_checkpoints(output_dir), ""};
  } catch (const Error& error) {
    const std::string& why = error.diagnostics().front().why;
    return {{},
            "could not list " + output_dir + " (" + why + "): older checkpoints stay until the next save"};
  }
}

std::vector<std::string> others_checkpoints(const std::string& output_dir) {
  std::vector<std::string> names;
  // Where a run of ours was they are its own, whatever was damaged since.
  if (path_exists(output_dir + "/hftrain/plan.json")) return names;
  for (const CheckpointInfo& checkpoint : named_checkpoints(output_dir)) {
    // A damaged one of ours still has its state.
    const bool ours = has_manifest(checkpoint.path) || path_exists(checkpoint.path + "/hftrain_state.json");
    std::error_code ignored;
    if (!ours && !fs::is_empty(checkpoint.path, ignored))
      names.push_back(fs::path(checkpoint.path).filename());
  }
  return names;
}

std::vector<std::string> files_in_the_way(const std::string& output_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator item(output_dir, error), end; !error && item != end; item.increment(error)) {
    const auto name = parse_folder_name(item->path().filename().string());
    std::error_code ignored;
    if (name && name->role.empty() && !item->is_directory(ignored))
      names.push_back(item->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

NewestCheckpoint newest_verified_checkpoint(const std::string& output_dir) {
  NewestCheckpoint newest;
  std::vector<CheckpointInfo> checkpoints = named_checkpoints(output_dir);
  for (auto checkpoint = checkpoints.rbegin(); checkpoint != checkpoints.rend(); ++checkpoint) {
    const Verification result = verify_checkpoint(checkpoint->path);
    if (result.ok) {
      newest.checkpoint = *checkpoint;
      break;
    }
    newest.skipped.push_back({checkpoint->path, result.file + ' ' + result.reason});
  }
  return newest;
}

std::vector<std::string> clean_leftovers(FileSystem& files, const std::string& output_dir) {
  std::vector<std::string> notes;
  for (const FoundFolder& folder : own_folders(output_dir)) {
    if (folder.name.role.empty()) continue;
    const std::string target = checkpoint_path(output_dir, folder.name.step);
    if (folder.name.role == kReplaced && !path_exists(target)) {
      files.rename(folder.path, target);
      files.sync_directory(output_dir);
      notes.push_back("restored " + target + ", whose replacement was not finished");
    } else if (const std::string why = try_to_remove(files, folder.path); !why.empty()) {
      notes.push_back(left_behind(folder.path, why));
    } else {
      notes.push_back("removed " + folder.path + ", left behind by an interrupted save or deletion");
    }
  }
  return notes;
}

std::string try_to_remove(FileSystem& files, const std::string& path) {
  try {
    files.remove(path);
    return "";
  } catch (const Error& error) {
    return error.diagnostics().front().why;
  }
}

std::vector<std::string> remove_trash(FileSystem& files, const std::string& output_dir) {
  std::vector<FoundFolder> folders;
  try {
    folders = own_folders(output_dir);
  } catch (const Error&) {
    return {};
  }
  std::vector<std::string> warnings;
  for (const FoundFolder& folder : folders) {
    const int64_t step = folder.name.step;
    if (folder.name.role == kTrash) {
      const std::string why = try_to_remove(files, folder.path);
      if (!why.empty()) warnings.push_back(left_behind(folder.path, why));
    } else if (folder.name.role == kReplaced && path_exists(checkpoint_path(output_dir, step))) {
      std::string warning = delete_checkpoint(files, {step, folder.path});
      if (!warning.empty()) warnings.push_back(std::move(warning));
    }
  }
  return warnings;
}

bool is_leftover_name(std::string_view name) {
  const auto parsed = parse_folder_name(name);
  return parsed && !parsed->role.empty();
}

std::string delete_checkpoint(FileSystem& files, const CheckpointInfo& checkpoint) {
  const std::string parent = fs::path(checkpoint.path).parent_path().string();
  const std::string trash = hidden_path(parent, checkpoint.step, kTrash);
  try {
    rename_to_free_name(files, checkpoint.path, trash);
    files.sync_directory(parent);
  } catch (const Error& error) {
    return left_behind(path_exists(trash) ? trash : checkpoint.path, error.diagnostics().front().why);
  }
  const std::string why = try_to_remove(files, trash);
  return why.empty() ? "" : left_behind(trash, why);
}

StagedFiles::StagedFiles(FileSystem& files, std::string directory)
    : files_(&files), directory_(std::move(directory)) {}

void StagedFiles::put(const std::string& name, std::string_view bytes) {
  const std::string path = place(name);
  const std::unique_ptr<WritableFile> file = files_->create(path);
  file->write(bytes);
  file->sync();
  record({path, bytes.size(), hash_bytes(bytes)});
}

void StagedFiles::copy_from(const std::string& source, const std::string& name) {
  const MappedFile file(source);
  put(name, file.bytes());
}

SafetensorsWriter StagedFiles::open_safetensors(const std::string& name, std::vector<TensorEntry> entries,
                                                SafetensorsMetadata metadata, TensorOrder order) {
  return SafetensorsWriter(*files_, place(name), std::move(entries), std::move(metadata), order);
}

void StagedFiles::close(SafetensorsWriter& writer) {
  record(writer.finish());
}

void StagedFiles::add(const std::string& name,
                      const std::function<FileRecord(FileSystem&, const std::string&)>& write) {
  record(write(*files_, place(name)));
}

void StagedFiles::sync_names() {
  for (const std::string& folder : folders_) files_->sync_directory(folder);
  files_->sync_directory(directory_);
}

std::string StagedFiles::place(const std::string& name) {
  const std::string path = directory_ + '/' + sanitized(name);
  const std::string folder = fs::path(path).parent_path().string();
  if (folder != directory_ && std::find(folders_.begin(), folders_.end(), folder) == folders_.end()) {
    files_->make_directory(folder);
    folders_.push_back(folder);
  }
  return path;
}

void StagedFiles::record(const FileRecord& written) {
  records_.push_back({written.path.substr(directory_.size() + 1), written.size, written.hash});
}

CheckpointTransaction::CheckpointTransaction(FileSystem& files, const std::string& output_dir, int64_t step)
    : files_(&files),
      output_dir_(output_dir),
      step_(step),
      directory_(hidden_path(output_dir, step, kTemporary)) {
  files_->make_directory(directory_);
}

CheckpointTransaction::~CheckpointTransaction() {
  abort();
}

std::string CheckpointTransaction::commit(Manifest manifest, int threads, const ByteProgress& progress) {
  seal(std::move(manifest), threads, progress);
  publish();
  return checkpoint_path(output_dir_, step_);
}

void CheckpointTransaction::seal(Manifest manifest, int threads, const ByteProgress& progress) {
  manifest.step = step_;
  std::sort(manifest.files.begin(), manifest.files.end(),
            [](const FileRecord& a, const FileRecord& b) { return a.path < b.path; });
  check_files(manifest);

  std::set<std::string> folders;
  for (const FileRecord& file : manifest.files) {
    folders.insert(fs::path(directory_ + '/' + file.path).parent_path().string());
  }
  for (const std::string& folder : folders) files_->sync_directory(folder);

  StagedFiles own(*files_, directory_);
  own.put(kManifestName, render_manifest(manifest));
  own.sync_names();
  read_back(threads, progress);
}

void CheckpointTransaction::abort() noexcept {
  if (!open_) return;
  open_ = false;
  try {
    files_->remove(directory_);
  } catch (...) {  // a full or failing disk: the next start cleans up
  }
}

void CheckpointTransaction::check_files(const Manifest& manifest) const {
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const FileRecord& file = manifest.files[i];
    const std::optional<uint64_t> size = size_when_opened(directory_ + '/' + file.path);
    if (size != file.size) {
      throw Error(ExitCode::kDisk, "a file of the checkpoint is not there as it was written")
          .where(directory_ + '/' + file.path)
          .why(size ? "it has another size" : "it cannot be opened")
          .hint("all ranks must see the same output_dir");
    }
    if (i > 0 && manifest.files[i - 1].path == file.path) {
      throw Error(ExitCode::kInternal, "two ranks wrote the same file of a checkpoint").where(file.path);
    }
  }
}

void CheckpointTransaction::read_back(int threads, const ByteProgress& progress) const {
  const Verification check = verify_checkpoint(directory_, threads, progress);
  if (check.ok) return;
  throw Error(ExitCode::kDisk, "a checkpoint read back differently than it was written")
      .where(checkpoint_path(output_dir_, step_) + '/' + check.file)
      .why(check.reason)
      .hint("look at the state of that disk: earlier checkpoints are as they were");
}

void CheckpointTransaction::publish() {
  const std::string target = checkpoint_path(output_dir_, step_);
  std::string replaced;
  if (path_exists(target)) {
    require_folder(target);
    replaced = hidden_path(output_dir_, step_, kReplaced);
    rename_to_free_name(*files_, target, replaced);
  }
  try {
    rename_to_free_name(*files_, directory_, target);
  } catch (...) {
    if (!replaced.empty()) files_->rename(replaced, target);
    throw;
  }
  open_ = false;
  files_->sync_directory(output_dir_);
  // As trash it cannot come back when retention has taken the new one, too. Where that fails remove_trash() finds it again.
  if (!replaced.empty()) delete_checkpoint(*files_, {step_, replaced});
}

}  // namespace hftrain::storage
