#include "hftrain/data/prepare.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "byte_tokenizer.h"
#include "golden.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/data/column_file.h"
#include "hftrain/data/column_writer.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/estimate.h"
#include "hftrain/data/split_request.h"
#include "support/catch.h"
#include "support/fork.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using hftrain::Error;
using hftrain::ExitCode;
using hftrain::Json;
using hftrain::data::cache_folder;
using hftrain::data::ColumnFile;
using hftrain::data::ColumnWriter;
using hftrain::data::estimate_prepared;
using hftrain::data::find_prepared;
using hftrain::data::percent_of_rows;
using hftrain::data::prepare;
using hftrain::data::PreparedData;
using hftrain::data::PreparedSplit;
using hftrain::data::PrepareObserver;
using hftrain::data::PrepareRequest;
using hftrain::testing::ByteTokenizer;
using hftrain::testing::digest;
using hftrain::testing::fork_child;
using hftrain::testing::golden_rows;
using hftrain::testing::TemporaryDirectory;

std::string golden_line(int i) {
  std::string line = "row " + std::to_string(i) + " ";
  for (int k = 0; k < i * 7 % 23; ++k) line += "\xC3\xA9";
  return line + "\n";
}

// A folder with text, a tokenizer.json to be hashed, and a cache.
struct PrepareFixture {
  TemporaryDirectory folder;
  std::shared_ptr<ByteTokenizer> tokenizer = std::make_shared<ByteTokenizer>();
  int loads = 0;
  PrepareObserver observer;

  PrepareFixture() {
    hftrain::write_file_atomically(folder / "tokenizer/tokenizer.json", "{}");
    std::string text;
    for (int i = 0; i < 2350; ++i) text += golden_line(i);
    write("lines.txt", text);
  }
  void write(const std::string& name, const std::string& text) {
    hftrain::write_file_atomically(folder / name, text);
  }
  PrepareRequest request(int64_t block_size = 64) const {
    PrepareRequest request;
    request.train_files = {folder / "lines.txt"};
    request.tokenizer_folder = folder / "tokenizer";
    request.block_size = block_size;
    request.cache_folder = folder / "cache";
    request.workers = 2;
    return request;
  }
  std::optional<PreparedData> try_prepare(const PrepareRequest& request) {
    const auto load = [this] {
      ++loads;
      return tokenizer;
    };
    return hftrain::data::prepare(request, load, observer);
  }
  PreparedData prepare(const PrepareRequest& request) { return try_prepare(request).value(); }
  // Entries and staging folders under tokens/.
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder / "cache/tokens", missing)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

std::vector<int64_t> all_ids(const PreparedSplit& split) {
  const auto dataset = ColumnFile::open(split.cache_path);
  REQUIRE(dataset->size() == split.samples);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < dataset->size(); ++i) {
    ids.resize(ids.size() + static_cast<size_t>(dataset->length(i)));
    dataset->copy_to(i, ids.data() + ids.size() - dataset->length(i));
  }
  REQUIRE(static_cast<int64_t>(ids.size()) == split.tokens);
  return ids;
}

Error failure_of(PrepareFixture& fixture, const PrepareRequest& request) {
  try {
    fixture.try_prepare(request);
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::kDone, "no error");
}

}  // namespace

TEST_CASE("Blocks equal those of datasets.map and the run_clm rules, whole, held out and the rest") {
  PrepareFixture fixture;
  for (const Json& entry : golden_rows().at("grouped")) {
    const std::string slice = entry.at("split");
    CAPTURE(entry.dump());
    PrepareRequest request = fixture.request(entry.at("block_size"));
    if (slice == "train[:5%]" || slice == "train[5%:]") request.hold_out_percent = 5;
    if (slice == "train[:50%]" || slice == "train[50%:]") request.hold_out_percent = 50;
    if (request.hold_out_percent == 5 && request.block_size == 4099)
      continue;  // no full block in the held-out part
    const PreparedData data = fixture.prepare(request);
    const PreparedSplit& split =
        slice.find("[:") != std::string::npos ? data.validation.value() : data.train.value();
    CHECK(split.samples == entry.at("blocks"));
    CHECK(digest(all_ids(split)) == entry.at("digest"));
    CHECK(split.largest_token_id == 256);
    CHECK(split.longest == entry.at("block_size"));
  }
}

TEST_CASE("Percentages of rows are rounded as datasets rounds its slices") {
  for (const Json& entry : golden_rows().at("percent")) {
    CAPTURE(entry.dump());
    CHECK(percent_of_rows(entry[0], entry[1]) == entry[2]);
  }
}

TEST_CASE("The held-out share can be had without the rest") {
  PrepareFixture fixture;
  PrepareRequest request = fixture.request();
  request.hold_out_percent = 50;
  const auto both = fixture.prepare(request);
  request.training_split = false;
  const PreparedData alone = fixture.prepare(request);
  CHECK_FALSE(alone.train);
  CHECK(all_ids(*alone.validation) == all_ids(*both.validation));
}

TEST_CASE("The number of threads changes nothing") {
  PrepareFixture fixture;
  PrepareRequest request = fixture.request();
  request.workers = 1;
  const auto one = all_ids(*fixture.prepare(request).train);
  request.workers = 7;
  request.overwrite_cache = true;
  CHECK(all_ids(*fixture.prepare(request).train) == one);
}

TEST_CASE("A row larger than a chunk and a group of many chunks are cut like any other") {
  PrepareFixture fixture;
  std::string text;
  for (int i = 0; i < 1500; ++i)
    text += std::string(i == 700 ? 3'000'000 : 1500, static_cast<char>('a' + i % 26)) + "\n";
  fixture.write("big.txt", text);
  PrepareRequest request = fixture.request(1000);
  request.train_files = {fixture.folder / "big.txt"};
  const auto ids = all_ids(*fixture.prepare(request).train);
  std::vector<int64_t> expected;
  size_t at = 0;
  for (const int rows : {1000, 500}) {
    const size_t group_begin = expected.size();
    for (int i = 0; i < rows; ++i) {
      const size_t end = text.find('\n', at) + 1;
      expected.push_back(256);
      for (; at < end; ++at) expected.push_back(static_cast<unsigned char>(text[at]));
    }
    expected.resize(group_begin + (expected.size() - group_begin) / 1000 * 1000);
  }
  CHECK(ids == expected);
}

TEST_CASE("Sample limits take the first blocks and stop reading early") {
  PrepareFixture fixture;
  const auto all = all_ids(*fixture.prepare(fixture.request()).train);
  PrepareRequest request = fixture.request();
  request.hold_out_percent = 50;
  request.max_train_samples = 3;
  request.max_eval_samples = 1000000;
  const PreparedData data = fixture.prepare(request);
  CHECK(data.train->samples == 3);
  CHECK(data.validation->samples == 587);
  request.hold_out_percent.reset();
  request.max_train_samples = 4;
  const auto first = all_ids(*fixture.prepare(request).train);
  CHECK(first == std::vector<int64_t>(all.begin(), all.begin() + 4 * 64));
}

TEST_CASE(
    "A second run finds the entry without a tokenizer; any change of what it was made from makes another") {
  PrepareFixture fixture;
  CHECK_FALSE(find_prepared(fixture.request()));
  const PreparedData made = fixture.prepare(fixture.request());
  CHECK_FALSE(made.from_cache);
  const auto found = find_prepared(fixture.request());
  REQUIRE(found);
  CHECK(found->from_cache);
  CHECK(found->train->samples == made.train->samples);
  CHECK(found->train->tokens == made.train->tokens);
  CHECK(found->train->cache_path == made.train->cache_path);
  CHECK(fixture.prepare(fixture.request()).from_cache);
  CHECK(fixture.loads == 1);

  PrepareRequest request = fixture.request();
  request.workers = 5;
  CHECK(find_prepared(request));
  request.overwrite_cache = true;
  CHECK_FALSE(find_prepared(request));
  CHECK_FALSE(find_prepared(fixture.request(65)));
  request = fixture.request();
  request.keep_linebreaks = false;
  CHECK_FALSE(find_prepared(request));
  request = fixture.request();
  request.hold_out_percent = 5;
  CHECK_FALSE(find_prepared(request));
  request = fixture.request();
  request.max_train_samples = 5;
  CHECK_FALSE(find_prepared(request));
  request = fixture.request();
  request.validation_files = request.train_files;
  CHECK_FALSE(find_prepared(request));
  fixture.write("tokenizer/tokenizer_config.json", "{}");
  CHECK_FALSE(find_prepared(fixture.request()));
  fs::remove(fixture.folder / "tokenizer/tokenizer_config.json");
  CHECK(find_prepared(fixture.request()));
  // Tokens that another file names, or the class of the model there has.
  for (const auto& [name, text] : {std::pair("special_tokens_map.json", R"({"eos_token": "."})"),
                                   {"config.json", R"({"model_type": "t5"})"}}) {
    INFO(name);
    fixture.write(std::string("tokenizer/") + name, text);
    CHECK_FALSE(find_prepared(fixture.request()));
    fs::remove(fixture.folder / (std::string("tokenizer/") + name));
    CHECK(find_prepared(fixture.request()));
  }
  fixture.write("tokenizer/tokenizer.json", "{ }");
  CHECK_FALSE(find_prepared(fixture.request()));
  fixture.write("tokenizer/tokenizer.json", "{}");
  // The same size, another byte.
  std::string text = hftrain::read_file(fixture.folder / "lines.txt");
  text[4] = '9';
  fixture.write("lines.txt", text);
  CHECK_FALSE(find_prepared(fixture.request()));
}

TEST_CASE("The same content under another name is found again") {
  PrepareFixture fixture;
  fixture.prepare(fixture.request());
  fs::rename(fixture.folder / "lines.txt", fixture.folder / "renamed.txt");
  PrepareRequest request = fixture.request();
  request.train_files = {fixture.folder / "renamed.txt"};
  CHECK(find_prepared(request));
}

TEST_CASE("What a run learns from has a key of its own, whatever it is evaluated on") {
  PrepareFixture fixture;
  const std::string alone = fixture.prepare(fixture.request()).training_key;
  CHECK_FALSE(alone.empty());
  PrepareRequest judged = fixture.request();
  judged.validation_files = fixture.request().train_files;
  CHECK(fixture.prepare(judged).training_key == alone);
  CHECK(find_prepared(judged)->training_key == alone);
  PrepareRequest held_out = fixture.request();
  held_out.hold_out_percent = 50;
  CHECK(fixture.prepare(held_out).training_key != alone);
  PrepareRequest fewer = fixture.request();
  fewer.max_train_samples = 2;
  CHECK(fixture.prepare(fewer).training_key != alone);
  PrepareRequest judged_otherwise = fixture.request();
  judged_otherwise.recipe.training_options = judged_otherwise.recipe.options;
  judged_otherwise.recipe.options["of_evaluation"] = 3;
  CHECK(fixture.prepare(judged_otherwise).training_key == alone);
  judged_otherwise.recipe.training_options["of_training"] = 3;
  CHECK(fixture.prepare(judged_otherwise).training_key != alone);
  PrepareRequest none = judged;
  none.train_files.clear();
  CHECK(fixture.prepare(none).training_key.empty());
}

TEST_CASE("A damaged entry is not found, and is made again with a notice") {
  PrepareFixture fixture;
  std::string notice;
  fixture.observer.logger = hftrain::Logger(
      hftrain::LogLevel::kInfo, [&](hftrain::LogLevel, std::string_view text) { notice += text; });
  const PreparedData made = fixture.prepare(fixture.request());
  const auto expected = all_ids(*made.train);
  const std::string bin = made.train->cache_path + ".bin";
  const std::string meta = made.folder + "/meta.json";
  const std::string index = made.train->cache_path + ".idx";
  const std::vector<std::pair<std::function<void()>, std::string>> damages = {
      {[&] { fs::resize_file(bin, fs::file_size(bin) - 2); }, "is damaged"},
      {[&] { fs::remove(index); }, "has lost " + index},
      {[&] { hftrain::write_file_atomically(meta, "{"); }, "is damaged"},
      {[&] { hftrain::write_file_atomically(meta, "{\"format\": 1, \"splits\": 5}"); }, "is damaged"},
      {[&] { fs::remove(meta); }, "has lost " + meta},
  };
  for (const auto& [damage, told] : damages) {
    notice.clear();
    damage();
    CHECK_FALSE(find_prepared(fixture.request()));
    const PreparedData again = fixture.prepare(fixture.request());
    CHECK(again.folder == made.folder);
    CHECK(all_ids(*again.train) == expected);
    CHECK_THAT(notice, Contains(told + " and is made again"));
  }
  CHECK(fixture.entries().size() == 1);
}

TEST_CASE("A prepared folder is data of its own task alone") {
  PrepareFixture fixture;
  const PreparedData made = fixture.prepare(fixture.request());
  CHECK(find_data_files({made.folder}, Split::kTrain, false).token_prefixes.size() == 1);
  const std::string meta = made.folder + "/meta.json";
  hftrain::Json record = hftrain::read_json_file(meta);
  record["splits"]["train"]["columns"].push_back({{"name", "labels"}});
  hftrain::write_file_atomically(meta, hftrain::dump_json(record));
  CHECK_THROWS_WITH(find_data_files({made.folder}, Split::kTrain, false),
                    Contains("samples of another task"));
  hftrain::write_file_atomically(meta, "{\"format\": 1, \"splits\": 5}");
  CHECK(find_data_files({made.folder}, Split::kTrain, false).token_prefixes.size() == 1);
}

TEST_CASE("An entry that does not say its longest sample is read for it, as those of before are") {
  PrepareFixture fixture;
  const PreparedData made = fixture.prepare(fixture.request());
  REQUIRE(made.train->longest > 0);
  const std::string meta = made.folder + "/meta.json";
  hftrain::Json record = hftrain::read_json_file(meta);
  for (hftrain::Json& split : record.at("splits")) REQUIRE(split.erase("longest") == 1);
  hftrain::write_file_atomically(meta, hftrain::dump_json(record));
  CHECK(find_prepared(fixture.request())->train->longest == made.train->longest);
}

TEST_CASE("Two preparations of the same request at once both succeed and leave one entry") {
  PrepareFixture fixture;
  std::vector<std::optional<PreparedData>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      result = prepare(
          fixture.request(), [&] { return fixture.tokenizer; }, PrepareObserver());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) {
    REQUIRE(result);
    CHECK(all_ids(*result->train).size() == static_cast<size_t>(results[0]->train->tokens));
  }
  CHECK(fixture.entries().size() == 1);
}

TEST_CASE("A preparation that is stopped leaves nothing") {
  PrepareFixture fixture;
  std::atomic<bool> stop = false;
  fixture.observer.stop = &stop;
  fixture.tokenizer->before_row = [&](std::string_view) { stop = true; };
  CHECK_FALSE(fixture.try_prepare(fixture.request()));
  CHECK(fixture.entries().empty());
  CHECK_FALSE(find_prepared(fixture.request()));
}

TEST_CASE("A preparation that is killed leaves nothing that looks finished, and the next one cleans up",
          "[process]") {
  PrepareFixture fixture;
  const pid_t child = fork_child();
  REQUIRE(child >= 0);
  if (child == 0) {
    fixture.tokenizer->before_row = [](std::string_view) { ::kill(::getpid(), SIGKILL); };
    fixture.try_prepare(fixture.request());
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(fixture.entries().size() == 1);  // what it was making
  CHECK_FALSE(find_prepared(fixture.request()));
  const PreparedData data = fixture.prepare(fixture.request());
  CHECK(fixture.entries() == std::vector<std::string>{fs::path(data.folder).filename().string()});
}

TEST_CASE("An exception of the tokenizer reaches the caller and leaves nothing") {
  PrepareFixture fixture;
  fixture.tokenizer->before_row = [](std::string_view row) {
    if (row.starts_with("row 1700 ")) throw Error(ExitCode::kData, "cannot encode");
  };
  CHECK(failure_of(fixture, fixture.request()).code() == ExitCode::kData);
  CHECK(fixture.entries().empty());
}

TEST_CASE("Data without a full block says how many tokens there are") {
  PrepareFixture fixture;
  fixture.write("small.txt", "hello\n");
  PrepareRequest request = fixture.request();
  request.train_files = {fixture.folder / "small.txt"};
  Error error = failure_of(fixture, request);
  CHECK(error.code() == ExitCode::kData);
  CHECK_THAT(error.render(),
             Contains("training data does not fill") && Contains("7 tokens") && Contains("64"));

  fixture.write("empty.txt", "");
  request = fixture.request();
  request.validation_files = {fixture.folder / "empty.txt"};
  error = failure_of(fixture, request);
  CHECK(error.code() == ExitCode::kData);
  CHECK_THAT(error.render(), Contains("validation data is empty"));

  request = fixture.request();
  request.train_files = {fixture.folder / "small.txt"};
  request.hold_out_percent = 5;
  CHECK_THAT(failure_of(fixture, request).render(), Contains("5 % of 1 rows is none"));
  CHECK(fixture.entries().empty());
}

TEST_CASE("A missing tokenizer is a data error before anything is written") {
  PrepareFixture fixture;
  PrepareRequest request = fixture.request();
  request.tokenizer_folder = fixture.folder / "nowhere";
  const Error error = failure_of(fixture, request);
  CHECK(error.code() == ExitCode::kData);
  CHECK_THAT(error.render(), Contains("tokenizer.json"));
  CHECK(fixture.entries().empty());
}

TEST_CASE("A prepared folder is data for a later run, where it lies when the block size is the same") {
  PrepareFixture fixture;
  PrepareRequest request = fixture.request();
  request.hold_out_percent = 5;
  const PreparedData first = fixture.prepare(request);
  PrepareRequest later = fixture.request();
  later.train_files = later.validation_files = {first.folder};
  later.tokenizer_folder = "";
  const PreparedData second = fixture.prepare(later);
  CHECK(fixture.loads == 1);
  CHECK(second.train->cache_path == first.train->cache_path);
  CHECK(second.validation->cache_path == first.validation->cache_path);
  CHECK(second.train->largest_token_id == 256);
  CHECK(find_prepared(later)->train->samples == first.train->samples);
  CHECK(find_prepared(request)->train->longest == first.train->longest);

  later.block_size = 100;
  const PreparedData other = fixture.prepare(later);
  // 1000 blocks of 64 a group make 640 of 100.
  const int64_t samples = first.train->samples;
  CHECK(other.train->samples == samples / 1000 * 640 + samples % 1000 * 64 / 100);
}

TEST_CASE("A Megatron pair is grouped by sequences as text is by rows") {
  PrepareFixture fixture;
  const std::string prefix = fixture.folder / "pair";
  ColumnWriter writer(prefix, 70000);
  std::vector<int64_t> expected;
  std::vector<int64_t> group;
  for (int i = 0; i < 2100; ++i) {
    const std::vector<int32_t> sequence(static_cast<size_t>(i % 5), 65000 + i);
    writer.add(sequence);
    group.insert(group.end(), sequence.begin(), sequence.end());
    if (i % 1000 == 999 || i == 2099) {
      expected.insert(expected.end(), group.begin(),
                      group.begin() + static_cast<std::ptrdiff_t>(group.size() / 7 * 7));
      group.clear();
    }
  }
  writer.finish();
  PrepareRequest request = fixture.request(7);
  request.train_files = {prefix + ".bin"};
  const PreparedData data = fixture.prepare(request);
  CHECK(all_ids(*data.train) == expected);
  CHECK(fixture.loads == 0);
  CHECK(data.train->largest_token_id == *std::max_element(expected.begin(), expected.end()));

  request.hold_out_percent = 10;
  request.max_eval_samples = 2;
  CHECK(fixture.prepare(request).validation->samples == 2);
}

TEST_CASE("Token files of one content at two places are read where the run named them") {
  PrepareFixture fixture;
  for (const char* name : {"here", "there"}) {
    ColumnWriter writer(fixture.folder / name, 100);
    for (int i = 0; i < 6; ++i) writer.add(std::vector<int32_t>(8, i));
    writer.finish();
  }
  PrepareRequest request = fixture.request(8);
  request.train_files = {fixture.folder / "here.bin"};
  CHECK(fixture.prepare(request).train->cache_path == fixture.folder / "here");
  request.train_files = {fixture.folder / "there.bin"};
  const PreparedData again = fixture.prepare(request);
  CHECK(again.from_cache);
  CHECK(again.train->cache_path == fixture.folder / "there");
  CHECK(find_prepared(request)->train->cache_path == fixture.folder / "there");
}

TEST_CASE("Several files are one stream of rows, and groups cross their ends") {
  PrepareFixture fixture;
  const std::string text = hftrain::read_file(fixture.folder / "lines.txt");
  const size_t cut = text.find("row 700 ");
  fixture.write("part-1.txt", text.substr(0, cut));
  fixture.write("part-2.txt", text.substr(cut));
  PrepareRequest request = fixture.request();
  request.train_files = {fixture.folder / "part-*.txt"};
  CHECK(all_ids(*fixture.prepare(request).train) == all_ids(*fixture.prepare(fixture.request()).train));
}

TEST_CASE("An estimate refuses what the first rows show, with the code of the run") {
  PrepareFixture fixture;
  fixture.write("empty.txt", "");
  fixture.write("binary.txt", std::string("\x80\xFF\x00\xFE\n", 5) + std::string(100'000, '\xFF'));
  fixture.write("numbers.jsonl", "{\"text\": 5}\n");
  fixture.write("short.txt", "too short\n");
  fixture.write("long.txt", std::string(3'000'000, 'x'));
  const auto code = [&](const PrepareRequest& request) {
    const auto load = [&] { return fixture.tokenizer; };
    try {
      estimate_prepared(request, load);
      return ExitCode::kDone;
    } catch (const Error& error) {
      return error.code();
    }
  };
  const std::vector<std::pair<std::string, std::string>> said_by_the_run = {
      {"empty.txt", "the training data is empty"},
      {"binary.txt", "the line is not valid UTF-8"},
      {"numbers.jsonl", "'text' is a number"},
      {"short.txt", "the training data does not fill a single block"}};
  for (const auto& [name, words] : said_by_the_run) {
    INFO(name);
    PrepareRequest training = fixture.request();
    training.train_files = {fixture.folder / name};
    CHECK(code(training) == ExitCode::kData);
    CHECK_REFUSED(fixture.prepare(training), words);
    PrepareRequest validation = fixture.request();
    validation.validation_files = {fixture.folder / name};
    CHECK(code(validation) == ExitCode::kData);
  }
  PrepareRequest none = fixture.request();
  none.max_train_samples = 0;
  CHECK(code(none) == ExitCode::kData);
  PrepareRequest one_line = fixture.request();
  one_line.train_files = {fixture.folder / "long.txt"};
  CHECK(code(one_line) == ExitCode::kDone);
  PrepareRequest mixed = fixture.request();
  mixed.train_files = {fixture.folder / "empty.txt", fixture.folder / "lines.txt"};
  CHECK(code(mixed) == ExitCode::kDone);
  CHECK(fixture.entries().empty());
}

TEST_CASE("Files of ids are refused where a task wants rows, by an estimate as by the preparation") {
  PrepareFixture fixture;
  ColumnWriter writer(fixture.folder / "ids", 100);
  writer.add(std::vector<int32_t>(64, 7));
  writer.finish();
  PrepareRequest request = fixture.request();
  request.recipe.task = "mlm";
  request.recipe.takes_token_files = false;
  const auto refused = [&] {
    CHECK_REFUSED(estimate_prepared(request), "token files are no data of the task mlm");
    CHECK_REFUSED(fixture.prepare(request), "token files are no data of the task mlm");
    CHECK(failure_of(fixture, request).code() == ExitCode::kUsage);
  };
  request.train_files = {fixture.folder / "ids.bin"};
  refused();
  request.train_files = {fixture.folder / "lines.txt"};
  request.validation_files = {fixture.folder / "ids.bin"};
  refused();
  // An evaluation alone looks for the labels of the training files.
  request.train_files.clear();
  request.validation_files = {fixture.folder / "lines.txt"};
  request.survey_files = {fixture.folder / "ids.bin"};
  request.recipe.survey = [](hftrain::data::RowSource&, const std::function<bool()>&) {
    return std::optional<Json>(Json::object());
  };
  refused();
  CHECK(fixture.entries().empty());
}

TEST_CASE("An estimate counts the blocks of little text") {
  PrepareFixture fixture;
  std::string text;
  for (int i = 0; i < 20; ++i) text += golden_line(i);
  fixture.write("few.txt", text);
  PrepareRequest request = fixture.request();
  request.train_files = {fixture.folder / "few.txt"};
  const auto load = [&] { return fixture.tokenizer; };
  CHECK(estimate_prepared(request, load).train->samples == fixture.prepare(request).train->samples);
  const char* const usual = std::getenv("TMPDIR");
  const std::string before = usual == nullptr ? "/tmp" : usual;
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  const PreparedData guess = estimate_prepared(request, load);  // no place to count in
  ::setenv("TMPDIR", before.c_str(), 1);
  CHECK(guess.train->samples >= 1);
}

TEST_CASE("An estimate reads the ids of token files as the preparation does") {
  PrepareFixture fixture;
  ColumnWriter writer(fixture.folder / "ids", 1000);
  for (int i = 0; i < 9; ++i) writer.add(std::vector<int32_t>(50, i < 8 ? 7 * i : 900));
  writer.finish();
  PrepareRequest request = fixture.request();
  request.train_files = {fixture.folder / "ids"};
  const auto same = [&] {
    const auto guess = estimate_prepared(request).train.value(),
               made = fixture.prepare(request).train.value();
    CHECK(guess.samples == made.samples);
    CHECK(guess.tokens == made.tokens);
    CHECK(guess.largest_token_id == made.largest_token_id);
    CHECK(guess.cache_path.empty());
    CHECK_FALSE(guess.exact);
    return guess.largest_token_id;
  };
  CHECK(same() == 900);
  request.max_train_samples = 2;  // of which no block has that one
  CHECK(same() < 100);
  request.max_train_samples.reset();
  request.block_size = 50;  // where it lies
  CHECK(same() == 900);
  request.block_size = 1024;
  CHECK_REFUSED(estimate_prepared(request), "does not fill a single block");
}

TEST_CASE("An estimate is marked as such and leaves nothing behind") {
  PrepareFixture fixture;
  PrepareRequest request = fixture.request();
  request.hold_out_percent = 50;
  request.max_train_samples = 2;
  const PreparedData guess = estimate_prepared(request);
  CHECK_FALSE(guess.train->exact);
  CHECK(guess.train->samples == 2);
  CHECK(guess.validation->samples ==
        static_cast<int64_t>(fs::file_size(fixture.folder / "lines.txt")) / 4 / 2 / 64);
  CHECK(fixture.entries().empty());
  request.train_files = {fixture.folder / "missing.txt"};
  CHECK_REFUSED(estimate_prepared(request), "missing.txt");
}

TEST_CASE("A cache that cannot be written to is told with the variables that name another one") {
  PrepareFixture fixture;
  PrepareRequest request = fixture.request();
  request.cache_folder = fixture.folder / "lines.txt/cache";  // below a file
  CHECK_REFUSED(fixture.prepare(request),
                "error: cannot create folder\n  where: " + request.cache_folder + "/tokens\n");
  CHECK_REFUSED(fixture.prepare(request),
                "; HFTRAIN_CACHE, else XDG_CACHE_HOME, else HOME says where the cache lies");
}

TEST_CASE("The cache lies where the environment says") {
  using Variables = std::map<std::string, std::string>;
  const auto folder = [](const Variables& variables) {
    return cache_folder(hftrain::Environment(variables));
  };
  CHECK(folder({{"HFTRAIN_CACHE", "/a"}, {"XDG_CACHE_HOME", "/b"}, {"HOME", "/c"}}) == "/a");
  CHECK(folder({{"HFTRAIN_CACHE", ""}, {"XDG_CACHE_HOME", "/b"}, {"HOME", "/c"}}) == "/b/hftrain");
  CHECK(folder({{"HOME", "/c"}}) == "/c/.cache/hftrain");
  CHECK_REFUSED(folder({}), "there is no place for the token cache");
}
