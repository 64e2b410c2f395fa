// What really reaches the kernel: the fault-injecting file system spares the disk and would not notice if a
// sync did nothing.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace {

struct Call {
  std::string name;
  std::string path;  // of a rename: where to
};

std::vector<Call>* g_calls = nullptr;  // set: calls are written down
std::string g_failing;                 // fsync() of a path that ends so fails

std::string path_of(int fd) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored).string();
}

template <typename Function>
Function* next_in_line(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// In place of the library's, for this whole program.
extern "C" {

int fsync(int fd) {
  static auto* const real = next_in_line<int(int)>("fsync");
  if (g_calls == nullptr) return real(fd);
  const std::string path = path_of(fd);
  g_calls->push_back({"fsync", path});
  if (!g_failing.empty() && path.ends_with(g_failing)) {
    errno = EIO;
    return -1;
  }
  return real(fd);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = next_in_line<int(const char*, const char*)>("rename");
  if (g_calls != nullptr) g_calls->push_back({"rename", to});
  return real(from, to);
}
}

namespace hftrain::storage {
namespace {

using testing::TemporaryDirectory;

// While it lives, calls are written down.
struct Witness {
  std::vector<Call> calls;
  Witness() { g_calls = &calls; }
  ~Witness() {
    g_calls = nullptr;
    g_failing.clear();
  }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // Position of the last such call whose path ends so; -1: there was none.
  int last(const std::string& name, const std::string& end) const {
    for (size_t i = calls.size(); i-- > 0;) {
      if (calls[i].name == name && calls[i].path.ends_with(end)) return static_cast<int>(i);
    }
    return -1;
  }
};

void save_step_five(FileSystem& files, const std::string& output_dir) {
  CheckpointTransaction transaction(files, output_dir, 5);
  StagedFiles staged(files, transaction.directory());
  SafetensorsWriter model = staged.open_safetensors("model.safetensors", {{"w", DType::kU8, {4}}});
  model.write("w", "abcd");
  staged.close(model);
  staged.put("optimizer/state.json", "{}");
  staged.sync_names();
  Manifest manifest;
  manifest.files = staged.records();
  transaction.commit(std::move(manifest));
}

TEST_CASE("every file and folder of a checkpoint is given to fsync before the rename, the parent after",
          "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  const Witness witness;
  save_step_five(files, folder.path());
  const int renamed = witness.last("rename", "/checkpoint-5");
  REQUIRE(renamed >= 0);
  const int manifest = witness.last("fsync", "/manifest.json");
  for (const char* name : {"/model.safetensors", "/optimizer/state.json", "/optimizer"}) {
    INFO(name);
    const int synced = witness.last("fsync", name);
    CHECK(synced >= 0);
    CHECK(synced < manifest);
  }
  CHECK(manifest < renamed);
  // The folder's own names, the manifest among them.
  const auto begin = witness.calls.begin();
  const bool names = std::any_of(begin + manifest, begin + renamed, [](const Call& call) {
    return call.name == "fsync" && call.path.find("/.checkpoint-5.tmp-") != std::string::npos &&
           !call.path.ends_with("/manifest.json");
  });
  CHECK(names);
  CHECK(witness.last("fsync", folder.path()) > renamed);
}

TEST_CASE("an fsync that fails fails the save and leaves the earlier checkpoint", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  save_step_five(files, folder.path());
  for (const char* name : {"/model.safetensors", "/state.json", "/manifest.json"}) {
    INFO(name);
    const Witness witness;
    g_failing = name;
    try {
      save_step_five(files, folder.path());
      FAIL("nothing failed");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kDisk);
    }
    CHECK(verify_checkpoint(folder / "checkpoint-5").ok);
  }
}

TEST_CASE("a file that is written atomically is given to fsync before its name, and the folder after",
          "[storage]") {
  const TemporaryDirectory folder;
  const Witness witness;
  write_file_atomically(folder / "a.json", "{}");
  const int renamed = witness.last("rename", "/a.json");
  REQUIRE(renamed > 0);
  CHECK(witness.calls[static_cast<size_t>(renamed) - 1].name == "fsync");
  CHECK(witness.last("fsync", folder.path()) > renamed);
}

}  // namespace
}  // namespace hftrain::storage
