#include "hftrain/storage/checkpoint_folder.h"

#include <cerrno>
#include <filesystem>

#include "fault_injecting_file_system.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "plain_files.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::Crash;
using testing::FaultInjectingFileSystem;
using testing::names_in;
using testing::TemporaryDirectory;
using testing::write_text;
using Trouble = FaultInjectingFileSystem::Trouble;

// A checkpoint as a run writes it: weights, sharded optimizer in a folder of its own, JSON beside them.
std::string save_checkpoint(FileSystem& files, const std::string& output_dir, int64_t step,
                            const std::string& content) {
  CheckpointTransaction transaction(files, output_dir, step);
  StagedFiles staged(files, transaction.directory());
  SafetensorsWriter model = staged.open_safetensors("model.safetensors", {{"w", DType::kU8, {8}}});
  model.write("w", (content + "........").substr(0, 8));
  staged.close(model);
  SafetensorsWriter optimizer = staged.open_safetensors(
      "optimizer/shard-00001-model-00001-of-00001.safetensors", {{"w.exp_avg", DType::kU8, {4}}});
  optimizer.write("w.exp_avg", "abcd");
  staged.close(optimizer);
  staged.put("trainer_state.json", content);
  staged.sync_names();
  Manifest manifest;
  manifest.files = staged.records();
  return transaction.commit(std::move(manifest));
}

TEST_CASE("a committed checkpoint is listed, verifies, and nothing else is left", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  const std::string path = save_checkpoint(files, folder.path(), 30, "thirty");
  save_checkpoint(files, folder.path(), 4, "four");
  CHECK(path == folder / "checkpoint-30");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"checkpoint-30", "checkpoint-4"});

  const auto checkpoints = list_checkpoints(folder.path());
  REQUIRE(checkpoints.size() == 2);
  CHECK(checkpoints[0].step == 4);
  CHECK(checkpoints[1].step == 30);

  const NewestCheckpoint newest = newest_verified_checkpoint(folder.path());
  REQUIRE(newest.checkpoint);
  CHECK(newest.checkpoint->step == 30);
  CHECK(newest.skipped.empty());
  const Manifest manifest = read_manifest(path);
  CHECK(manifest.step == 30);
  CHECK(manifest.files.size() == 3);
}

TEST_CASE("an aborted or forgotten save leaves nothing behind", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  {
    CheckpointTransaction transaction(files, folder.path(), 1);
    StagedFiles(files, transaction.directory()).put("a.json", "{}");
    CHECK(names_in(folder.path()).size() == 1);
    CHECK(list_checkpoints(folder.path()).empty());
  }
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("commit refuses when a reported file is not there", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  CheckpointTransaction transaction(files, folder.path(), 1);
  Manifest manifest;
  manifest.files = {{"model.safetensors", 10, "00"}};
  CHECK_REFUSED(transaction.commit(manifest), "a file of the checkpoint is not there as it was written");
  transaction.abort();
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("names that leave the checkpoint are refused", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  StagedFiles staged(files, folder.path());
  for (const char* name : {"", "../x", "/etc/x", "a/../../x", "a/"})
    CHECK_REFUSED(staged.put(name, "x"), "is not a file name inside a checkpoint");
}

TEST_CASE("newest_verified_checkpoint says why it skipped newer ones", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  for (const int step : {1, 2, 3, 4}) save_checkpoint(files, folder.path(), step, "content");
  std::filesystem::remove(folder / "checkpoint-4/trainer_state.json");
  write_text(folder / "checkpoint-3/trainer_state.json", "CONTENT");
  std::filesystem::create_directory(folder / "checkpoint-5");

  const NewestCheckpoint newest = newest_verified_checkpoint(folder.path());
  REQUIRE(newest.checkpoint);
  CHECK(newest.checkpoint->step == 2);
  REQUIRE(newest.skipped.size() == 3);
  CHECK_THAT(newest.skipped[0].reason, Catch::Contains("manifest.json is missing"));
  CHECK_THAT(newest.skipped[1].reason, Catch::Contains("trainer_state.json is missing"));
  CHECK_THAT(newest.skipped[2].reason, Catch::Contains("hash differs"));
}

TEST_CASE("a folder without any checkpoint is an ordinary answer", "[storage]") {
  const TemporaryDirectory folder;
  CHECK_FALSE(newest_verified_checkpoint(folder.path()).checkpoint);
  CHECK_FALSE(newest_verified_checkpoint(folder / "missing").checkpoint);
  CHECK(list_checkpoints(folder / "missing").empty());
}

TEST_CASE("cleaning removes only names of our own making", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  const std::vector<std::string> foreign = {
      "checkpoint-7",         "checkpoint-007",     ".checkpoint-7",       ".checkpoint-7.tmp",
      ".checkpoint-7.tmp-x1", "checkpoint-7.tmp-1", ".checkpoint-x.tmp-1", "tmp-1",
      ".checkpoint-7.keep-1"};
  for (const std::string& name : foreign) std::filesystem::create_directories(folder / name);
  write_text(folder / ".checkpoint-8.tmp-1", "a file, not a folder");
  for (const char* name : {".checkpoint-7.tmp-12-34", ".checkpoint-8.trash-1", ".checkpoint-7.replaced-5"}) {
    std::filesystem::create_directories(folder / (std::string(name) + "/inside"));
  }
  CHECK(clean_leftovers(files, folder.path()).size() == 3);
  std::vector<std::string> left = foreign;
  left.push_back(".checkpoint-8.tmp-1");
  std::sort(left.begin(), left.end());
  CHECK(names_in(folder.path()) == left);
}

TEST_CASE("deleting a checkpoint removes it whole", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  save_checkpoint(files, folder.path(), 1, "one");
  CHECK(delete_checkpoint(files, list_checkpoints(folder.path()).front()).empty());
  CHECK(names_in(folder.path()).empty());
}

// As a network file system with files that are open elsewhere, or files that are immutable.
class StickyFileSystem final : public FileSystem {
 public:
  bool sticky = true;
  std::string kept;  // what no rename moves: part of a name

  std::unique_ptr<WritableFile> create(const std::string& path) override { return real_.create(path); }
  void make_directory(const std::string& path) override { real_.make_directory(path); }
  void sync_directory(const std::string& path) override { real_.sync_directory(path); }
  void rename(const std::string& from, const std::string& to) override {
    if (!kept.empty() && from.find(kept) != std::string::npos)
      throw system_error(EACCES, "cannot rename", from, ExitCode::kDisk);
    real_.rename(from, to);
  }
  void remove(const std::string& path) override {
    if (sticky) throw system_error(ENOTEMPTY, "cannot remove", path, ExitCode::kDisk);
    real_.remove(path);
  }

 private:
  PosixFileSystem real_;
};

TEST_CASE("trash that cannot be removed is told, ends nothing and is tried again", "[storage]") {
  const TemporaryDirectory folder;
  StickyFileSystem files;
  save_checkpoint(files, folder.path(), 10, "ten");
  CHECK_THAT(delete_checkpoint(files, {10, folder / "checkpoint-10"}),
             Catch::Contains("Directory not empty"));
  CHECK(list_checkpoints(folder.path()).empty());
  REQUIRE(names_in(folder.path()).size() == 1);
  CHECK(is_leftover_name(names_in(folder.path()).front()));

  const std::vector<std::string> notes = clean_leftovers(files, folder.path());  // the next start
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes.front(), Catch::Contains("could not remove") && Catch::Contains("tried again"));
  remove_trash(files, folder.path());  // the next save
  CHECK(names_in(folder.path()).size() == 1);
  files.sticky = false;
  remove_trash(files, folder.path());
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("behind a save a folder that cannot be listed is a warning", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  save_checkpoint(files, folder.path(), 10, "first");
  const OlderCheckpoints found = try_to_list(folder.path());
  CHECK(found.checkpoints.size() == 1);
  CHECK(found.warning.empty());
  CHECK(try_to_list(folder / "gone").warning.empty());

  const std::string no_folder = folder / "file";
  write_text(no_folder, "");
  CHECK_REFUSED(list_checkpoints(no_folder), "cannot list");
  const OlderCheckpoints unseen = try_to_list(no_folder);
  CHECK(unseen.checkpoints.empty());
  CHECK_THAT(unseen.warning, Catch::Contains("could not list " + no_folder + " (Not a directory)") &&
                                 Catch::Contains("stay until the next save"));
  CHECK(remove_trash(files, no_folder).empty());
}

TEST_CASE("a replaced checkpoint that cannot be removed does not come back", "[storage]") {
  const TemporaryDirectory folder;
  StickyFileSystem files;
  save_checkpoint(files, folder.path(), 10, "first");
  const std::string path = save_checkpoint(files, folder.path(), 10, "second");
  CHECK(read_file(path + "/trainer_state.json") == "second");
  const std::vector<std::string> warnings = remove_trash(files, folder.path());
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings.front(), Catch::Contains("could not remove"));

  delete_checkpoint(files, {10, path});
  files.sticky = false;
  clean_leftovers(files, folder.path());
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("a replaced checkpoint that cannot be moved to the trash is told of, and goes there later",
          "[storage]") {
  const TemporaryDirectory folder;
  StickyFileSystem files;
  files.kept = ".replaced-";
  save_checkpoint(files, folder.path(), 10, "first");
  const std::string path = save_checkpoint(files, folder.path(), 10, "second");
  const std::vector<std::string> warnings = remove_trash(files, folder.path());
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings.front(), Catch::Contains("could not remove") && Catch::Contains(".replaced-"));
  CHECK(read_file(path + "/trainer_state.json") == "second");

  files.kept.clear();
  CHECK(remove_trash(files, folder.path()).size() == 1);  // trash by now, which cannot be removed
  delete_checkpoint(files, {10, path});
  files.sticky = false;
  clean_leftovers(files, folder.path());
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("a replaced checkpoint whose successor is not there is no trash", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  std::filesystem::create_directories(folder / ".checkpoint-7.replaced-5");
  CHECK(remove_trash(files, folder.path()).empty());
  CHECK(names_in(folder.path()) == std::vector<std::string>{".checkpoint-7.replaced-5"});
}

TEST_CASE("a checkpoint is replaced only by one that reads back as it was written", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  save_checkpoint(files, folder.path(), 10, "first");
  {
    CheckpointTransaction transaction(files, folder.path(), 10);
    StagedFiles staged(files, transaction.directory());
    staged.put("trainer_state.json", "second");
    staged.sync_names();
    write_text(transaction.directory() + "/trainer_state.json", "SECOND");  // the disk turned bits
    Manifest manifest;
    manifest.files = staged.records();
    try {
      transaction.commit(std::move(manifest));
      FAIL("it was committed");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kDisk);
      CHECK_THAT(error.render(), Catch::Contains("checkpoint-10/trainer_state.json"));
    }
  }
  CHECK(names_in(folder.path()) == std::vector<std::string>{"checkpoint-10"});
  CHECK(verify_checkpoint(folder / "checkpoint-10").ok);
  CHECK(read_file(folder / "checkpoint-10/trainer_state.json") == "first");
}

// Steps 10 and 20 are committed; 20 is then saved again with other content, and 30 anew. Whatever happens in
// between, the newest committed checkpoint must be there and good.
struct DeletionFixture {
  TemporaryDirectory folder;

  DeletionFixture() {
    FaultInjectingFileSystem files;  // without trouble; it spares the disk thousands of syncs
    save_checkpoint(files, folder.path(), 10, "first ten");
    save_checkpoint(files, folder.path(), 20, "first twenty");
  }

  void save_twice_and_delete(FileSystem& files, int& done) const {
    save_checkpoint(files, folder.path(), 20, "second twenty");
    ++done;
    save_checkpoint(files, folder.path(), 30, "thirty");
    ++done;
    delete_checkpoint(files, {10, folder / "checkpoint-10"});
    ++done;
  }

  std::string state_of(int64_t step) const {
    return read_file(checkpoint_path(folder.path(), step) + "/trainer_state.json");
  }

  void check_after(int done) const {
    FaultInjectingFileSystem files;
    clean_leftovers(files, folder.path());
    for (const std::string& name : names_in(folder.path())) CHECK(name.front() != '.');
    for (const CheckpointInfo& checkpoint : list_checkpoints(folder.path())) {
      INFO(checkpoint.path);
      CHECK(verify_checkpoint(checkpoint.path).ok);
    }
    const NewestCheckpoint newest = newest_verified_checkpoint(folder.path());
    REQUIRE(newest.checkpoint);
    CHECK(newest.skipped.empty());
    CHECK(newest.checkpoint->step >= (done >= 2 ? 30 : 20));
    const std::string twenty = state_of(20);
    if (done == 0) CHECK((twenty == "first twenty" || twenty == "second twenty"));
    if (done >= 1) CHECK(twenty == "second twenty");
  }
};

int count_operations() {
  const DeletionFixture fixture;
  FaultInjectingFileSystem files;
  int done = 0;
  fixture.save_twice_and_delete(files, done);
  REQUIRE(done == 3);
  return files.operations();
}

TEST_CASE("a crash after any operation of a save loses no committed checkpoint", "[storage]") {
  const bool lose = GENERATE(false, true);
  const int operations = count_operations();
  REQUIRE(operations > 30);
  for (int k = 0; k < operations; ++k) {
    INFO("operation " << k << (lose ? ", unsynced data lost" : ", unsynced data kept"));
    const DeletionFixture fixture;
    FaultInjectingFileSystem files(Trouble::kCrash, k);
    int done = 0;
    CHECK_THROWS_AS(fixture.save_twice_and_delete(files, done), Crash);
    if (lose) files.lose_unsynced();
    fixture.check_after(done);
  }
}

TEST_CASE("a full or broken disk at any operation of a save keeps the earlier checkpoints", "[storage]") {
  const Trouble trouble = GENERATE(Trouble::kDiskFull, Trouble::kWriteError);
  const int operations = count_operations();
  for (int k = 0; k < operations; ++k) {
    INFO("operation " << k);
    const DeletionFixture fixture;
    FaultInjectingFileSystem files(trouble, k);
    int done = 0;
    try {
      fixture.save_twice_and_delete(files, done);
      CHECK_FALSE(files.failed_in_save());  // what is not deleted costs room alone
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kDisk);
    }
    fixture.check_after(done);
  }
}

}  // namespace
}  // namespace hftrain::storage
