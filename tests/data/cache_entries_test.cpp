// What lies in the token cache, and what a prune removes.
#include "hftrain/data/cache_entries.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "byte_tokenizer.h"
#include "hftrain/base/file.h"
#include "hftrain/data/prepare.h"
#include "hftrain/data/token_cache.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNow = 2'000'000'000, kDay = 86400;

// A cache with an entry for every text that is prepared.
struct FilledCache {
  testing::TemporaryDirectory folder;
  std::string cache = folder / "cache";

  FilledCache() { write_file_atomically(folder / "tokenizer/tokenizer.json", "{}"); }

  PrepareRequest request(const std::string& name) const {
    PrepareRequest request;
    request.train_files = {folder / name};
    request.tokenizer_folder = folder / "tokenizer";
    request.block_size = 16;
    request.cache_folder = cache;
    request.workers = 1;
    return request;
  }
  PreparedData prepare(const std::string& name, size_t lines = 50) const {
    std::string text;
    for (size_t i = 0; i < lines; ++i) text += name + " line " + std::to_string(i) + '\n';
    write_file_atomically(folder / name, text);
    return data::prepare(request(name), [] { return std::make_shared<testing::ByteTokenizer>(); }, {})
        .value();
  }
  // As if it had been used last `days` ago.
  static void age(const std::string& entry, int64_t days) {
    const timespec times[2] = {{.tv_sec = kNow - days * kDay, .tv_nsec = 0},
                               {.tv_sec = kNow - days * kDay, .tv_nsec = 0}};
    REQUIRE(::utimensat(AT_FDCWD, (entry + "/meta.json").c_str(), times, 0) == 0);
  }
  std::vector<std::string> folders() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(cache + "/tokens"))
      names.push_back(entry.path().string());
    return names;
  }
};

PruneRequest older_than(int64_t days) {
  return {.unused_seconds = days * kDay, .most_bytes = std::nullopt, .now = kNow, .dry_run = false};
}
PruneRequest at_most(uint64_t bytes) {
  return {.unused_seconds = std::nullopt, .most_bytes = bytes, .now = kNow, .dry_run = false};
}

}  // namespace

TEST_CASE("an entry names its sources and tokenizer, counts its bytes and says when it was used last") {
  const FilledCache place;
  CHECK(list_cache(place.cache).entries.empty());
  const std::string folder = place.prepare("a.txt").folder;
  FilledCache::age(folder, 3);
  const CacheContents cache = list_cache(place.cache);
  REQUIRE(cache.entries.size() == 1);
  const CacheEntry& entry = cache.entries.front();
  CHECK(entry.folder == folder);
  CHECK(entry.key == fs::path(folder).filename().string());
  CHECK(entry.sources == std::vector<std::string>{place.folder / "a.txt"});
  CHECK(entry.tokenizer == place.folder / "tokenizer");
  CHECK(entry.bytes == fs::file_size(folder + "/train.bin") + fs::file_size(folder + "/train.idx") +
                           fs::file_size(folder + "/meta.json"));
  CHECK(entry.last_used == kNow - 3 * kDay);
  CHECK(entry.whole);
  CHECK_FALSE(entry.in_use);
}

TEST_CASE("finding an entry for a run counts as a use, looking at it does not") {
  const FilledCache place;
  const std::string folder = place.prepare("a.txt").folder;
  FilledCache::age(folder, 3);
  CHECK(find_prepared(place.request("a.txt")));
  CHECK(list_cache(place.cache).entries.front().last_used == kNow - 3 * kDay);
  CHECK(place.prepare("a.txt").from_cache);
  CHECK(list_cache(place.cache).entries.front().last_used != kNow - 3 * kDay);
}

TEST_CASE("prune removes what was not used for long, then the least recently used until the size fits") {
  const FilledCache place;
  std::vector<std::string> folders;
  for (const char* name : {"a.txt", "b.txt", "c.txt"}) folders.push_back(place.prepare(name).folder);
  for (size_t i = 0; i < 3; ++i)
    FilledCache::age(folders[i], 10 * static_cast<int64_t>(3 - i));  // 30, 20, 10
  PruneRequest request = older_than(25);
  request.dry_run = true;
  CHECK(prune_cache(place.cache, request).removed.size() == 1);
  CHECK(path_exists(folders[0]));
  request.dry_run = false;
  const PruneResult old = prune_cache(place.cache, request);
  REQUIRE(old.removed.size() == 1);
  CHECK(old.removed.front().folder == folders[0]);
  CHECK_FALSE(path_exists(folders[0]));
  const std::vector<CacheEntry> left = list_cache(place.cache).entries;
  REQUIRE(left.size() == 2);
  CHECK(left.front().folder == folders[2]);  // the latest used first
  CHECK(old.bytes_left == left[0].bytes + left[1].bytes);
  const PruneResult large = prune_cache(place.cache, at_most(left[0].bytes));
  REQUIRE(large.removed.size() == 1);
  CHECK(large.removed.front().folder == folders[1]);
  CHECK(large.bytes_left == left[0].bytes);
  CHECK(path_exists(folders[2]));
}

TEST_CASE("an entry in use is never removed, and goes when its user is gone") {
  const FilledCache place;
  std::string folder;
  {
    const PreparedData held = place.prepare("a.txt");
    folder = held.folder;
    FilledCache::age(folder, 100);
    CHECK(list_cache(place.cache).entries.front().in_use);
    const PreparedData copy = held;
    const PruneResult result = prune_cache(place.cache, at_most(0));
    CHECK(result.removed.empty());
    REQUIRE(result.kept_in_use.size() == 1);
    CHECK(result.kept_in_use.front().folder == folder);
    CHECK(path_exists(folder + "/train.bin"));
  }
  CHECK(prune_cache(place.cache, at_most(0)).removed.size() == 1);
  CHECK_FALSE(path_exists(folder));
}

TEST_CASE("blocks of another entry that was given as files keep that entry, too") {
  const FilledCache place;
  const std::string first = place.prepare("a.txt").folder;
  PrepareRequest request = place.request("a.txt");
  request.train_files = {first};
  const auto load = [] { return std::make_shared<testing::ByteTokenizer>(); };
  const PreparedData second = data::prepare(request, load, {}).value();
  REQUIRE(second.folder != first);
  REQUIRE(second.train->cache_path.starts_with(first));
  CHECK(prune_cache(place.cache, at_most(0)).kept_in_use.size() == 2);
  CHECK(path_exists(first + "/train.bin"));
}

TEST_CASE("prune removes damaged entries and what killed processes left, not what is being made") {
  const FilledCache place;
  const std::string damaged = place.prepare("a.txt").folder, good = place.prepare("b.txt").folder;
  fs::resize_file(damaged + "/train.bin", 8);
  write_file_atomically(place.cache + "/tokens/.staging-1-0/train.bin", "half");
  const TokenCache::Staging being_made(place.cache + "/tokens");
  const CacheContents cache = list_cache(place.cache);
  CHECK(cache.unfinished.size() == 2);
  CHECK(std::count_if(cache.unfinished.begin(), cache.unfinished.end(),
                      [](const UnfinishedEntry& entry) { return entry.in_use; }) == 1);
  const PruneResult result = prune_cache(place.cache, {.unused_seconds = {}, .most_bytes = {}, .now = kNow});
  REQUIRE(result.removed.size() == 1);
  CHECK_FALSE(result.removed.front().whole);
  REQUIRE(result.removed_unfinished.size() == 1);
  CHECK(result.removed_unfinished.front().bytes == 4);
  std::vector<std::string> left = place.folders();
  std::sort(left.begin(), left.end());
  CHECK(left == std::vector<std::string>{being_made.folder(), good});
}

TEST_CASE("what prepare has not written is left alone, whatever is pruned") {
  const FilledCache place;
  const std::string own = place.prepare("a.txt").folder;
  const std::vector<std::string> others = {"corpus",
                                           "abc",
                                           ".staging-mine",
                                           ".staging-1",
                                           "0123456789abcdef0123456789abcdeg",
                                           "0123456789abcdef0123456789abcdef0"};
  for (const std::string& name : others)
    write_file_atomically(place.cache + "/tokens/" + name + "/a.bin", "mine");
  write_file_atomically(place.cache + "/tokens/.staging-1-0-old/a.bin", "half");
  write_file_atomically(place.cache + "/tokens/.staging-removed-1-0123456789abcdef0123456789abcdef/a.bin",
                        "half");
  CHECK(list_cache(place.cache).entries.size() == 1);
  CHECK(list_cache(place.cache).unfinished.size() == 2);
  prune_cache(place.cache, at_most(0));
  CHECK_FALSE(path_exists(own));
  CHECK(place.folders().size() == others.size());
  for (const std::string& name : others) CHECK(path_exists(place.cache + "/tokens/" + name + "/a.bin"));
}

TEST_CASE("a file that changes while it is prepared makes no entry of what it was") {
  const FilledCache place;
  const std::string path = place.folder / "a.txt";
  std::string before;
  for (int i = 0; i < 99; ++i) before += "a line of text\n";
  write_file_atomically(path, before);
  bool changed = false;
  const auto load = [&] {
    if (!std::exchange(changed, true)) std::ofstream(path, std::ios::app) << "and another line\n";
    return std::make_shared<testing::ByteTokenizer>();
  };
  CHECK_REFUSED(data::prepare(place.request("a.txt"), load, {}), "has changed while it was prepared");
  write_file_atomically(path, before);
  CHECK_FALSE(data::prepare(place.request("a.txt"), load, {})->from_cache);
}

TEST_CASE("an entry whose blocks lie in a user's file is named for them") {
  const FilledCache place;
  const PreparedData first = place.prepare("a.txt");
  PrepareRequest request = place.request("a.txt");
  request.train_files = {first.train->cache_path};
  const auto load = [] { return std::make_shared<testing::ByteTokenizer>(); };
  const PreparedData second = data::prepare(request, load, {}).value();
  REQUIRE_FALSE(path_exists(second.folder + "/train.idx"));
  request.train_files = {second.folder};
  CHECK(data::prepare(request, load, {})->train->samples == first.train->samples);
}

TEST_CASE("prunes and preparations at once lose nothing that is held") {
  const FilledCache place;
  for (int i = 0; i < 4; ++i) place.prepare(std::to_string(i) + ".txt");
  std::vector<std::thread> threads;
  std::atomic<bool> stop = false;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!stop) prune_cache(place.cache, at_most(0));
    });
  }
  int lost = 0;
  for (int round = 0; round < 100; ++round) {
    const auto prepared = data::prepare(place.request(std::to_string(round % 4) + ".txt"),
                                        [] { return std::make_shared<testing::ByteTokenizer>(); }, {});
    for (int look = 0; look < 20; ++look) lost += path_exists(prepared->folder + "/train.bin") ? 0 : 1;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(lost == 0);
}

TEST_CASE("a cache that is not there is empty, and one that cannot be looked into is told") {
  const testing::TemporaryDirectory folder;
  CHECK(list_cache(folder / "none").entries.empty());
  CHECK(prune_cache(folder / "none", {}).removed.empty());
  write_file_atomically(folder / "file", "");
  const std::string below = folder / "file/cache";
  for (const std::string& words : {"cannot look into\n  where: " + below + "/tokens\n",
                                   std::string("HFTRAIN_CACHE, else XDG_CACHE_HOME")}) {
    CHECK_REFUSED(list_cache(below), words);
    CHECK_REFUSED(prune_cache(below, {}), words);
  }
}

}  // namespace hftrain::data
