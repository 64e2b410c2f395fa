// `hftrain cache`, as a shell and as a program reads it.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "built_programs.h"
#include "hftrain/base/json.h"
#include "support/catch.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain {
namespace {

using testing::kHasWorker;
using testing::kNoWorker;
using testing::kProgram;
using testing::Program;

// Text, a tokenizer, and the cache under XDG_CACHE_HOME.
class CacheFixture {
 public:
  CacheFixture() {
    std::ofstream text(folder / "text.txt");
    for (int i = 0; i < 600; ++i) text << "line " << i << ": the quick brown fox " << i * 7919 % 1009 << '\n';
    text.close();
    environment.unset("HFTRAIN_CACHE");
    environment.set("XDG_CACHE_HOME", folder / "xdg");
    environment.set("OMP_NUM_THREADS", "1");
    Program tokenizer({kProgram, "tokenizer", "train", "--kind", "bpe", "--vocab_size", "384", "--files",
                       folder / "text.txt", "--output", folder / "tokenizer"},
                      environment);
    REQUIRE(tokenizer.finish() == 0);
  }

  Program start(const std::string& command, const std::vector<std::string>& more) const {
    std::vector<std::string> argv = {kProgram,
                                     command,
                                     "--model_type",
                                     "gpt2",
                                     "--config_overrides",
                                     "n_layer=1,n_head=2,n_embd=32,n_positions=32,vocab_size=384",
                                     "--tokenizer_name",
                                     folder / "tokenizer",
                                     "--train_file",
                                     folder / "text.txt",
                                     "--use_cpu",
                                     "--output_dir",
                                     folder / "out"};
    argv.insert(argv.end(), more.begin(), more.end());
    return Program(argv, environment);
  }
  void prepare(const std::string& block_size) const {
    Program run = start("prepare", {"--block_size", block_size});
    const int code = run.finish();
    INFO(run.err());
    REQUIRE(code == 0);
  }
  Json cache(std::vector<std::string> words) const {
    words.insert(words.begin(), {kProgram, "cache"});
    words.emplace_back("--json");
    Program run(words, environment);
    const int code = run.finish();
    INFO(run.err());
    REQUIRE(code == 0);
    return Json::parse(run.out());
  }

  testing::TemporaryDirectory folder;
  Environment environment = Environment::of_process();
};

}  // namespace

TEST_CASE("cache list has key, sources, tokenizer, bytes and last use of every entry") {
  const CacheFixture fixture;
  CHECK(fixture.cache({"list"})["entries"].empty());
  fixture.prepare("32");
  fixture.prepare("16");
  const Json cache = fixture.cache({"list"});
  CHECK(cache["schema"] == 1);
  REQUIRE(cache["entries"].size() == 2);
  const Json& entry = cache["entries"][0];
  CHECK(std::filesystem::exists(fixture.folder / "xdg/hftrain/tokens/" + entry["key"].get<std::string>()));
  CHECK(entry["sources"] == Json::array({fixture.folder / "text.txt"}));
  CHECK(entry["tokenizer"] == fixture.folder / "tokenizer");
  CHECK(entry["bytes"] > 1000);
  CHECK(entry["last_used"] > 1'600'000'000);
  CHECK(entry["in_use"] == false);
  Program list({kProgram, "cache", "list"}, fixture.environment);
  CHECK(list.finish() == 0);
  CHECK_THAT(list.out(), Catch::Contains(entry["key"].get<std::string>()) && Catch::Contains("2 entries"));
}

TEST_CASE("cache prune keeps what is young and small enough, and a dry run removes nothing") {
  const CacheFixture fixture;
  fixture.prepare("32");
  fixture.prepare("16");
  CHECK(fixture.cache({"prune", "--older_than", "30d", "--max_size=1TiB"})["removed"].empty());
  CHECK(fixture.cache({"prune"})["removed"].empty());
  CHECK(fixture.cache({"prune", "--max-size", "0B", "--dry-run"})["removed"].size() == 2);
  CHECK(fixture.cache({"list"})["entries"].size() == 2);
  CHECK(fixture.cache({"prune", "--max_size", "0"})["removed"].size() == 2);
  CHECK(fixture.cache({"list"})["entries"].empty());
}

TEST_CASE("wrong words of cache are usage errors that say what is taken") {
  for (const char* words :
       {"", "clear", "list --older_than 3d", "prune --older_than", "prune --older_than soon",
        "prune --older_than=", "prune --max_size=", "prune --max_size 20", "prune --all", "list extra"}) {
    INFO(words);
    std::vector<std::string> argv = {kProgram, "cache"};
    std::istringstream stream(words);
    for (std::string word; stream >> word;) argv.push_back(word);
    Program run(argv);
    CHECK(run.finish() == 2);
    CHECK_THAT(run.err(), Catch::Contains("error: "));
  }
  Program help({kProgram, "cache", "--help"});
  CHECK(help.finish() == 0);
  CHECK_THAT(help.out(), Catch::Contains("--older_than"));
}

TEST_CASE("the cache entry of a run is in use from its start to its end") {
  if (!kHasWorker) HFTRAIN_SKIP(kNoWorker);
  const CacheFixture fixture;
  Program run = fixture.start("train", {"--block_size", "32", "--max_steps", "100000", "--logging_steps", "1",
                                        "--nproc_per_node", "1", "--save_strategy", "no"});
  REQUIRE(run.wait_for("'loss'"));
  CHECK(fixture.cache({"list"})["entries"][0]["in_use"] == true);
  const Json pruned = fixture.cache({"prune", "--max_size", "0"});
  CHECK(pruned["removed"].empty());
  CHECK(pruned["kept_in_use"].size() == 1);
  ::kill(run.child().pid(), SIGTERM);
  run.finish();
  CHECK(fixture.cache({"prune", "--max_size", "0"})["removed"].size() == 1);
}

}  // namespace hftrain
