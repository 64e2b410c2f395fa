#include "hftrain/hub/fetch.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/new_file.h"
#include "hftrain/base/text.h"

namespace hftrain::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBackupTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file is a cache directory tag: see https://bford.info/cachedir/\n";

std::string blob_of(const FetchRequest& request, const RemoteFile& file) {
  return request.folder + "/blobs/" + file.hash;
}

uint64_t size_there(const std::string& path) {
  std::error_code missing;
  const uintmax_t size = fs::file_size(path, missing);
  return missing ? 0 : size;
}

// A disk that is too small is told before anything was fetched.
void require_room(const FetchRequest& request, const std::vector<RemoteFile>& files) {
  uint64_t needed = 0;
  std::set<std::string> seen;
  for (const RemoteFile& file : files) {
    const std::string blob = blob_of(request, file);
    if (!seen.insert(file.hash).second || size_there(blob) == file.size) continue;
    const uint64_t more = file.size - std::min(file.size, size_there(blob + ".incomplete"));
    needed += std::min(more, UINT64_MAX - needed);
  }
  const uint64_t there = free_bytes(request.folder);
  if (needed <= there) return;
  throw Error(ExitCode::kDisk, "there is no room for what is to be fetched")
      .where(request.folder)
      .why(format_bytes(needed) + " are to come, and " + format_bytes(there) + " are free")
      .hint("free space there, or name another folder by --cache_dir or HF_HUB_CACHE");
}

// In one step, whatever was there: another program may read it, or make the same one.
void replace_link(const FetchRequest& request, const std::string& target, const fs::path& path) {
  const std::string fresh = request.folder + "/.link-" + random_name();
  std::error_code failed, ignored;
  fs::create_symlink(target, fresh, failed);
  if (!failed) fs::rename(fresh, path, failed);
  if (!failed) return;
  fs::remove(fresh, ignored);
  throw system_error(failed.value(), "cannot make the link", path.string());
}

// Links of all files below `folder`, which stands beside other snapshots or will.
void link_files(const FetchRequest& request, const std::string& folder,
                const std::vector<RemoteFile>& files) {
  for (const RemoteFile& file : files) {
    const fs::path path = fs::path(folder) / file.path;
    create_directories(path.parent_path().string());
    std::string above = "../../";
    for (const char c : file.path) above += c == '/' ? "../" : "";
    const std::string target = above + "blobs/" + file.hash;
    std::error_code failed;
    if (fs::is_symlink(path) && fs::read_symlink(path, failed) == target) continue;
    replace_link(request, target, path);
  }
}

std::string make_snapshot(const FetchRequest& request, const std::string& commit,
                          const std::vector<RemoteFile>& files) {
  const std::string snapshots = request.folder + "/snapshots";
  std::string snapshot = snapshots + '/' + commit;
  if (path_exists(snapshot)) {  // of somebody who fetched single files
    link_files(request, snapshot, files);
    return snapshot;
  }
  // Not among the snapshots, which others list.
  const std::string draft = request.folder + "/.new-" + random_name();
  std::error_code failed, ignored;
  create_directories(snapshots);
  create_directories(draft);
  try {
    link_files(request, draft, files);
  } catch (...) {
    fs::remove_all(draft, ignored);
    throw;
  }
  fs::rename(draft, snapshot, failed);
  if (!failed) return snapshot;
  fs::remove_all(draft, ignored);
  if (!path_exists(snapshot)) throw system_error(failed.value(), "cannot make the folder", snapshot);
  link_files(request, snapshot, files);  // another program was quicker
  return snapshot;
}

void write_reference(const FetchRequest& request, const std::string& commit) {
  if (request.revision == commit) return;
  const std::string path = request.folder + "/refs/" + request.revision;
  if (path_exists(path) && trim(read_file(path)) == commit) return;
  write_file_atomically(path, commit);
}

}  // namespace

FetchResult fetch(Api& api, const FetchRequest& request, const Progress& progress) {
  FetchResult result;
  if (!is_safe_path(request.revision))
    throw Error(ExitCode::kUsage, "'" + request.revision + "' names no revision")
        .where("--revision")
        .why("it becomes the name of a file in the cache")
        .hint("the name of a branch, a tag or a commit");
  result.commit = commit_of(api, request.repository, request.revision);
  if (is_commit(request.revision) && result.commit != request.revision)
    throw Error(ExitCode::kEnvironment, "the Hub names another commit than was asked for")
        .where(request.repository.shown())
        .why(request.revision + " was asked for, and it says " + result.commit)
        .hint("is HF_ENDPOINT the address of a Hub?");
  ChosenFiles chosen = choose_files(request.repository, files_of(api, request.repository, result.commit));
  require_room(request, chosen.taken);
  const BlobPlace place = {request.folder + "/blobs",
                           request.cache + "/.locks/" + fs::path(request.folder).filename().string()};
  create_directories(place.blobs);
  if (const std::string tag = request.cache + "/CACHEDIR.TAG"; !path_exists(tag))
    write_file_atomically(tag, kBackupTag);
  for (const RemoteFile& file : chosen.taken) {
    result.received += download_blob(api, request.repository, result.commit, file, place, progress);
    result.bytes += file.size;
    ++result.files;
  }
  sync_directory(place.blobs);
  result.snapshot = make_snapshot(request, result.commit, chosen.taken);
  write_reference(request, result.commit);
  result.pickles = std::move(chosen.pickles);
  result.others = std::move(chosen.others);
  return result;
}

}  // namespace hftrain::hub
