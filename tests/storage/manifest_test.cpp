#include "hftrain/storage/manifest.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <new>
#include <thread>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/json.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "plain_files.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::TemporaryDirectory;
using testing::write_text;

Manifest sample() {
  Manifest manifest;
  manifest.step = 12;
  manifest.world_size = 2;
  manifest.plan_hash = "abc";
  manifest.hftrain_version = "0.1.0";
  manifest.time = 1700000000.25;
  manifest.identity = {{"seed", 42}};
  manifest.files = {{"a.json", 2, "99"}, {"optimizer/b", 3, "77"}};
  return manifest;
}

// A committed checkpoint with three files; returns its path.
std::string committed(const TemporaryDirectory& folder) {
  PosixFileSystem files;
  CheckpointTransaction transaction(files, folder.path(), 5);
  StagedFiles staged(files, transaction.directory());
  staged.put("config.json", "{\"a\": 1}");
  staged.put("optimizer/state", "0123456789");
  staged.put("empty", "");
  staged.sync_names();
  Manifest manifest = sample();
  manifest.files = staged.records();
  return transaction.commit(std::move(manifest));
}

TEST_CASE("a manifest comes back as it was written", "[storage]") {
  const Manifest back = parse_manifest(render_manifest(sample()), "here");
  CHECK(back.step == 12);
  CHECK(back.world_size == 2);
  CHECK(back.plan_hash == "abc");
  CHECK(back.time == 1700000000.25);
  CHECK(back.identity == Json{{"seed", 42}});
  CHECK(back.files == sample().files);
}

TEST_CASE("a manifest whose identity has a hash of that name is read again", "[storage]") {
  Manifest manifest = sample();
  manifest.identity = {{"manifest_hash", ""}, {"task", "clm"}};
  CHECK(parse_manifest(render_manifest(manifest), "here").identity == manifest.identity);
}

TEST_CASE("a manifest whose numbers are no whole ones is refused", "[storage]") {
  const std::string sound = render_manifest(sample());
  for (const char* step : {"1e300", "2.5", "-1e19"}) {
    INFO(step);
    Json value = parse_json(sound, "here");
    value["step"] = parse_json(step, "here");
    value["manifest_hash"] = "";
    std::string text = dump_json(value);
    const std::string blank = "\"manifest_hash\": \"\"";
    text.insert(text.rfind(blank) + blank.size() - 1, hash_bytes(text));
    CHECK_THROWS_MATCHES(parse_manifest(text, "here"), Error,
                         testing::says("not a valid checkpoint manifest") && !testing::says("its own hash"));
  }
}

TEST_CASE("one flipped bit anywhere in a manifest is found", "[storage]") {
  const std::string text = render_manifest(sample());
  REQUIRE_NOTHROW(parse_manifest(text, "here"));
  for (size_t byte = 0; byte < text.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      INFO("byte " << byte << " bit " << bit);
      CHECK_REFUSED(parse_manifest(damaged, "here"), "where: here");
    }
  }
}

TEST_CASE("a manifest of another version or with foreign paths is refused", "[storage]") {
  CHECK_REFUSED(parse_manifest("{}", "here"), "it is not a checkpoint manifest of hftrain");
  CHECK_REFUSED(parse_manifest("[1]", "here"), "it is not a checkpoint manifest of hftrain");
  for (const char* path : {"../model", "/etc/passwd", "a/../../b", ""}) {
    Manifest manifest = sample();
    manifest.files = {{path, 1, "00"}};
    CHECK_REFUSED(parse_manifest(render_manifest(manifest), "here"), "outside its folder");
  }
}

TEST_CASE("verification of a sound checkpoint counts what it read", "[storage]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = committed(folder);
  write_text(checkpoint + "/notes.txt", "an extra file is fine");
  for (const int threads : {1, 4, 64}) {
    const Verification result = verify_checkpoint(checkpoint, threads);
    CHECK(result.ok);
    CHECK(result.step == 5);
    CHECK(result.files == 3);
    CHECK(result.bytes == 18);
  }
}

TEST_CASE("a thread of a verification that has no memory ends it with that reason", "[storage]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = committed(folder);
  std::promise<void> reached;
  const std::shared_future<void> other = reached.get_future().share();
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> first = true;
  const ByteProgress progress = [&](uint64_t) {
    if (std::this_thread::get_id() == caller) return other.wait();  // or it might read all files itself
    if (first.exchange(false)) reached.set_value();
    throw std::bad_alloc();
  };
  CHECK_THROWS_AS(verify_checkpoint(checkpoint, 2, progress), std::bad_alloc);
}

TEST_CASE("whoever watches a verification hears of each piece, and ends it within a file", "[storage]") {
  const TemporaryDirectory folder;
  const std::string path = folder / "weights", content(5 << 20, 'w');
  write_text(path, content);
  const std::vector<FileRecord> records = {{"weights", content.size(), hash_file(path)}};
  uint64_t told = 0;
  CHECK(verify_files(folder.path(), records, 1, [&](uint64_t bytes) { told += bytes; }).ok);
  CHECK(told == content.size());
  told = 0;
  const auto stop = [&](uint64_t bytes) {
    if ((told += bytes) >= content.size() / 2) throw Error(ExitCode::kTerminatedUnsaved, "stopped");
  };
  CHECK_THROWS_AS(verify_files(folder.path(), records, 1, stop), Error);
  CHECK(told < content.size());
}

TEST_CASE("one flipped bit in any file of a checkpoint is found and named", "[storage]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = committed(folder);
  for (const std::string name : {"config.json", "optimizer/state", "manifest.json"}) {
    const std::string sound = read_file(checkpoint + '/' + name);
    for (size_t byte = 0; byte < sound.size(); ++byte) {
      std::string damaged = sound;
      damaged[byte] = static_cast<char>(damaged[byte] ^ 4);
      write_text(checkpoint + '/' + name, damaged);
      const Verification result = verify_checkpoint(checkpoint);
      CHECK_FALSE(result.ok);
      CHECK(result.file == name);
    }
    write_text(checkpoint + '/' + name, sound);
  }
  CHECK(verify_checkpoint(checkpoint).ok);
}

TEST_CASE("a model verifies without the state that a run goes on from", "[storage]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = committed(folder);
  std::filesystem::remove_all(checkpoint + "/optimizer");
  CHECK_FALSE(verify_checkpoint(checkpoint).ok);
  CHECK(verify_model(checkpoint).ok);
  write_text(checkpoint + "/config.json", "{\"a\": 2}");
  CHECK(verify_model(checkpoint).file == "config.json");
  std::filesystem::remove(checkpoint + "/manifest.json");
  CHECK(verify_model(checkpoint).file == "manifest.json");
}

TEST_CASE("missing, short and unreadable files are told apart", "[storage]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = committed(folder);
  write_text(checkpoint + "/optimizer/state", "01234");
  CHECK(verify_checkpoint(checkpoint).reason == "has 5 bytes, the manifest says 10");
  const std::string manifest = read_file(checkpoint + "/manifest.json");
  write_text(checkpoint + "/manifest.json", "{}");
  CHECK(verify_checkpoint(checkpoint).reason ==
        "cannot be used: not a valid checkpoint manifest: it is not a checkpoint manifest of hftrain");
  write_text(checkpoint + "/manifest.json", manifest);
  std::filesystem::remove(checkpoint + "/optimizer/state");
  CHECK(verify_checkpoint(checkpoint).reason == "is missing");
  std::filesystem::create_directory(checkpoint + "/optimizer/state");
  CHECK(verify_checkpoint(checkpoint).reason == "is missing");
  CHECK(verify_checkpoint(folder / "nowhere").file == "manifest.json");
}

}  // namespace
}  // namespace hftrain::storage
