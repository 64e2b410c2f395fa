// Damage to a checkpoint: every byte of its small files, samples of the large ones, lengths, absence.
#include <filesystem>
#include <fstream>
#include <random>

#include "checkpoint/small_run.h"
#include "hftrain/base/file.h"
#include "storage/fault_injecting_file_system.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::checkpoint {
namespace {

using testing::SmallRun;
using testing::TemporaryDirectory;

constexpr size_t kSmall = 4096;   // bytes; every place is tried
constexpr size_t kSamples = 400;  // of a larger file

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

void flip(const std::string& path, size_t place, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(place));
  file.put(byte);
}

// Two checkpoints; the newer one is damaged.
struct DamagedRun {
  explicit DamagedRun(const std::string& state_dict) {
    testing::FaultInjectingFileSystem files;
    SmallRun run(files, folder.path(), state_dict, /*rows=*/800);
    run.save(1, false);
    run.save(2, true);
    for (const auto& item : std::filesystem::recursive_directory_iterator(checkpoint())) {
      if (item.is_regular_file()) names.push_back(std::filesystem::relative(item.path(), checkpoint()));
    }
  }
  std::string checkpoint() const { return folder / "checkpoint-2"; }

  void check_named(const std::string& name) const {
    const storage::Verification result = storage::verify_checkpoint(checkpoint(), /*threads=*/1);
    CHECK_FALSE(result.ok);
    CHECK(result.file == name);
    CHECK_FALSE(result.reason.empty());
  }
  void check_fallback(const std::string& name) const {
    const storage::NewestCheckpoint newest = storage::newest_verified_checkpoint(folder.path());
    REQUIRE(newest.checkpoint);
    CHECK(newest.checkpoint->step == 1);
    REQUIRE(newest.skipped.size() == 1);
    CHECK_THAT(newest.skipped[0].reason, Catch::StartsWith(name));
  }

  TemporaryDirectory folder;
  std::vector<std::string> names;
};

std::vector<size_t> places_in(size_t size, std::mt19937& random) {
  std::vector<size_t> places;
  if (size <= kSmall) {
    for (size_t i = 0; i < size; ++i) places.push_back(i);
    return places;
  }
  for (size_t i = 0; i < 16; ++i) places.push_back(i);  // the header's length and beginning
  places.push_back(size - 1);
  for (size_t i = 0; i < kSamples; ++i) places.push_back(random() % size);
  return places;
}

}  // namespace

TEST_CASE("one changed byte anywhere in a checkpoint is found and its file is named") {
  const DamagedRun fixture(GENERATE(as<std::string>{}, "full", "sharded"));
  CHECK(fixture.names.size() == 8);
  std::mt19937 random(11);
  for (const std::string& name : fixture.names) {
    const std::string path = fixture.checkpoint() + '/' + name, whole = read_file(path);
    const std::vector<size_t> places = places_in(whole.size(), random);
    for (const size_t place : places) {
      INFO(name << " at " << place);
      const char bit = static_cast<char>(1U << (random() % 8));
      flip(path, place, static_cast<char>(whole[place] ^ bit));
      fixture.check_named(name);
      if (place == places.back()) fixture.check_fallback(name);
      flip(path, place, whole[place]);
    }
  }
  CHECK(storage::verify_checkpoint(fixture.checkpoint()).ok);
}

TEST_CASE(
    "a file that is cut short, too long, or gone is named; files beside those of the manifest are fine") {
  const DamagedRun fixture(GENERATE(as<std::string>{}, "full", "sharded"));
  write_text(fixture.checkpoint() + "/notes.txt", "mine");
  CHECK(storage::verify_checkpoint(fixture.checkpoint()).ok);
  for (const std::string& name : fixture.names) {
    INFO(name);
    const std::string path = fixture.checkpoint() + '/' + name, whole = read_file(path);
    for (const size_t size : {size_t{0}, size_t{1}, whole.size() / 2, whole.size() - 1}) {
      write_text(path, whole.substr(0, size));
      fixture.check_named(name);
      fixture.check_fallback(name);
    }
    write_text(path, whole + '\n');
    fixture.check_named(name);
    std::filesystem::remove(path);
    fixture.check_named(name);
    fixture.check_fallback(name);
    std::filesystem::create_directory(path);
    fixture.check_named(name);
    std::filesystem::remove(path);
    write_text(path, whole);
  }
  CHECK(storage::verify_checkpoint(fixture.checkpoint()).ok);
}

}  // namespace hftrain::checkpoint
