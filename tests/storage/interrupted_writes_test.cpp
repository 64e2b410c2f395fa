#include "hftrain/storage/interrupted_writes.h"

#include <filesystem>

#include "hftrain/storage/run_directory.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::TemporaryDirectory;

int64_t entries_in(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST_CASE("files that were being written are told by their names", "[storage]") {
  CHECK(is_interrupted_write("eval_nbest_predictions.json.tmp-0123456789abcdef"));
  CHECK(is_interrupted_write("a.tmp-x.tmp-0000000000000000"));
  CHECK(is_interrupted_write(".model.tmp"));
  for (const char* name :
       {"", "eval_predictions.json", "a.tmp-", "a.tmp-0123456789abcde", "a.tmp-0123456789abcdef0",
        "a.tmp-0123456789ABCDEF", ".tmp-0123456789abcdef", "a.tmp-0123456789abcdeg"})
    CHECK_FALSE(is_interrupted_write(name));
}

TEST_CASE("what a killed write left is removed from an output folder, and nothing else", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  const std::string left = "answers.json.tmp-0123456789abcdef";
  const std::vector<std::string> kept = {"answers.json", "answers.json.tmp-1", "notes/" + left,
                                         "hftrain/log.jsonl"};
  for (const std::string& name : kept) write_file_atomically(folder / name, "kept");
  std::filesystem::create_directories(folder / ("a-folder.tmp-0123456789abcdef"));
  std::filesystem::create_symlink(folder / "answers.json", folder / "a-link.tmp-0123456789abcdef");
  write_file_atomically(folder / left, "left");
  write_file_atomically(folder / ("hftrain/" + left), "left");
  CHECK(clean_output_dir(files, folder.path()).empty());  // no run was here
  CHECK(read_file(folder / left) == "left");
  write_file_atomically(folder / "hftrain/plan.json", "{}");
  const std::vector<std::string> lines = clean_output_dir(files, folder.path());
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines.front(), Catch::Contains("removed " + (folder / left)) && Catch::Contains("interrupted"));
  for (const std::string& name : kept) CHECK(read_file(folder / name) == "kept");
  CHECK(entries_in(folder.path()) == 6);
  CHECK(entries_in(folder / "hftrain") == 2);
  CHECK(clean_output_dir(files, folder / "missing").empty());
}

TEST_CASE("a model that was being written when its run was killed takes up room until the next start",
          "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  write_file_atomically(folder / ".model.tmp/model.safetensors", "half");
  CHECK(clean_output_dir(files, folder.path()).empty());  // no run was here
  write_file_atomically(folder / "hftrain/plan.json", "{}");
  const std::vector<std::string> lines = clean_output_dir(files, folder.path());
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines.front(), Catch::Contains("removed " + (folder / ".model.tmp")));
  CHECK(entries_in(folder.path()) == 1);
  write_file_atomically(folder / ".model.tmp", "a file of that name is somebody's");
  CHECK(clean_output_dir(files, folder.path()).empty());
}

TEST_CASE("a folder with nothing but a killed write is as good as new", "[storage]") {
  const TemporaryDirectory folder;
  write_file_atomically(folder / ".model.tmp/model.safetensors", "half");
  write_file_atomically(folder / "answers.json.tmp-0123456789abcdef", "left");
  CHECK(inspect_output_dir(folder.path()).kind == OutputKind::kFresh);
}

}  // namespace
}  // namespace hftrain::storage
