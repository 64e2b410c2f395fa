#include "hftrain/data/sample_stream.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>

#include "byte_tokenizer.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/prepare.h"
#include "hftrain/data/stream_request.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::data {
namespace {

using hftrain::testing::ByteTokenizer;
using hftrain::testing::TemporaryDirectory;
using SampleNumbers = std::vector<std::vector<std::vector<int64_t>>>;  // by sample and column

// Bytes of each row, and how many there are.
class BytesAndCount final : public Encoder {
 public:
  FeatureSchema schema() const override {
    return {{kInputIds, FeatureType::kTokenIds}, {"count", FeatureType::kInteger}};
  }
  void encode(const Records& records, Features& features) const override {
    for (size_t row = 0; row < records.rows(); ++row) {
      const std::string text(records.value(row, 0).text());
      if (text == "\n") continue;  // a row that gives no sample
      std::vector<int32_t> ids, counts;
      for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
      counts.assign(ids.size(), static_cast<int32_t>(ids.size()));
      features.columns[0].add_sequence(ids);
      features.columns[1].add_sequence(counts);
    }
  }
};

// Bytes of each row, and what share each of them is of the row's.
class BytesAndShares final : public Encoder {
 public:
  FeatureSchema schema() const override {
    return {{kInputIds, FeatureType::kTokenIds}, {"shares", FeatureType::kFloat}};
  }
  void encode(const Records& records, Features& features) const override {
    for (size_t row = 0; row < records.rows(); ++row) {
      const std::string text(records.value(row, 0).text());
      std::vector<int32_t> ids;
      for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
      features.columns[0].add_sequence(ids);
      const float sum = static_cast<float>(std::accumulate(ids.begin(), ids.end(), 0));
      for (const int32_t id : ids) features.columns[1].floats.push_back(static_cast<float>(id) / sum);
      features.columns[1].lengths.push_back(static_cast<int32_t>(ids.size()));
    }
  }
};

struct StreamFixture {
  TemporaryDirectory folder;

  StreamFixture() {
    write_file_atomically(folder / "tokenizer/tokenizer.json", "{}");
    std::string text;
    for (int i = 0; i < 2350; ++i)
      text += i % 9 == 4
                  ? "\n"
                  : "row " + std::to_string(i) + std::string(static_cast<size_t>(i * 7 % 23), '.') + "\n";
    write_file_atomically(folder / "a.txt", text.substr(0, 20'000));
    write_file_atomically(folder / "b.txt", text.substr(20'000));
  }

  PrepareRequest request() const {
    PrepareRequest request;
    request.train_files = {folder / "a.txt", folder / "b.txt"};
    request.tokenizer_folder = folder / "tokenizer";
    request.cache_folder = folder / "cache";
    request.block_size = 64;
    request.recipe.settings = Json::object();
    request.workers = 2;
    return request;
  }

  static TokenizerLoader loader() {
    return [] { return std::make_shared<ByteTokenizer>(); };
  }

  StreamSource source(const PrepareRequest& request) const {
    StreamSource source{.spec = spec_of_stream(request, loader()), .recipe = request.recipe};
    source.encoder = request.recipe.encoder(loader()(), Split::kTrain, nullptr);
    return source;
  }
};

Recipe rows_recipe(std::optional<PackingOptions> packing) {
  Recipe recipe = packed_text("rows");
  recipe.arrangement = Arrangement::kKeepRows;
  recipe.settings = Json::object();
  recipe.encoder = [](auto, Split, const Json&) { return std::make_unique<BytesAndCount>(); };
  if (packing) recipe.packing = [=](Split) { return packing; };
  return recipe;
}

std::vector<std::vector<int64_t>> numbers_of(const Dataset& dataset, const std::vector<std::string>& columns,
                                             int64_t sample) {
  std::vector<std::vector<int64_t>> numbers;
  for (const std::string& name : columns) {
    const ColumnFile& column = dataset.column(name);
    numbers.emplace_back(static_cast<size_t>(column.length(sample)));
    column.copy_to(sample, numbers.back().data());
  }
  return numbers;
}

SampleNumbers streamed(const StreamSource& source, int64_t at_once) {
  SampleNumbers all;
  SampleStream stream(source, 3);
  while (const int64_t count = stream.wait_for(at_once)) {
    const std::vector<MemorySample> samples = stream.take(count);
    const auto dataset = dataset_of(source.spec.columns, samples);
    for (const MemorySample& sample : samples) {
      CHECK(sample.number == static_cast<int64_t>(all.size()));
      all.push_back(numbers_of(*dataset, source.spec.columns, sample.number));
    }
  }
  return all;
}

int64_t read_to_the_end(const StreamSource& source) {
  SampleStream stream(source, 1000);
  while (const int64_t count = stream.wait_for(1000)) stream.take(count);
  return stream.position();
}

SampleNumbers prepared(PrepareRequest request) {
  const std::optional<PreparedData> data = prepare(request, StreamFixture::loader(), {});
  const auto dataset = Dataset::open(data->train->cache_path, data->train->columns);
  SampleNumbers all;
  for (int64_t i = 0; i < dataset->size(); ++i) all.push_back(numbers_of(*dataset, data->train->columns, i));
  return all;
}

template <typename Work>
Error error_in(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::kDone, "no error");
}

}  // namespace

TEST_CASE("a stream has the samples of the prepared data, in their order, whatever is taken at once") {
  StreamFixture fixture;
  PrepareRequest request = fixture.request();
  const int way = GENERATE(0, 1, 2, 3);
  if (way == 1) request.recipe = rows_recipe(std::nullopt);
  if (way == 2) request.recipe = rows_recipe(PackingOptions{PackingStrategy::kBestFit, 50});
  if (way == 3) request.recipe = rows_recipe(PackingOptions{PackingStrategy::kWrapped, 50});
  const auto limit = GENERATE(as<std::optional<int64_t>>{}, std::nullopt, 37);
  request.max_train_samples = limit;
  const SampleNumbers wanted = prepared(request);
  REQUIRE(static_cast<int64_t>(wanted.size()) == limit.value_or(static_cast<int64_t>(wanted.size())));
  REQUIRE(wanted.size() > 30);
  CHECK(streamed(fixture.source(request), GENERATE(1, 5, 100)) == wanted);
}

std::vector<float> shares_of(const Dataset& dataset, int64_t sample) {
  const ColumnFile& column = dataset.column("shares");
  CHECK(column.floats());
  std::vector<float> shares(static_cast<size_t>(column.length(sample)));
  column.copy_to(sample, shares.data());
  return shares;
}

TEST_CASE("a stream has the floats of the prepared data") {
  StreamFixture fixture;
  PrepareRequest request = fixture.request();
  request.recipe = rows_recipe(std::nullopt);
  request.recipe.encoder = [](auto, Split, const Json&) { return std::make_unique<BytesAndShares>(); };
  const std::optional<PreparedData> data = prepare(request, StreamFixture::loader(), {});
  const auto wanted = Dataset::open(data->train->cache_path, data->train->columns);
  const StreamSource source = fixture.source(request);
  SampleStream stream(source, 3);
  while (const int64_t count = stream.wait_for(9)) {
    const std::vector<MemorySample> samples = stream.take(count);
    const auto dataset = dataset_of(source.spec.columns, samples);
    CHECK_FALSE(dataset->column(kInputIds).floats());
    for (const MemorySample& sample : samples)
      REQUIRE(shares_of(*dataset, sample.number) == shares_of(*wanted, sample.number));
    int64_t whole = 0;
    CHECK_REFUSED(dataset->column("shares").copy_to(samples.front().number, &whole),
                  "numbers of another kind");
  }
  CHECK(stream.position() == wanted->size());
  CHECK(wanted->size() > 1000);
}

TEST_CASE("a stream that begins at a mark has the samples behind it, with their numbers") {
  StreamFixture fixture;
  PrepareRequest request = fixture.request();
  const int way = GENERATE(0, 1, 2);
  if (way == 1) request.recipe = rows_recipe(std::nullopt);
  if (way == 2) request.recipe = rows_recipe(PackingOptions{PackingStrategy::kBestFit, 50});
  request.max_train_samples = GENERATE(as<std::optional<int64_t>>{}, std::nullopt, 500);
  request.hold_out_percent = 5;
  const StreamSource source = fixture.source(request);
  const SampleNumbers whole = streamed(source, 50);
  SampleStream stream(source, 3);
  std::vector<StreamMark> marks;
  while (const int64_t count = stream.wait_for(7)) {
    stream.take(count);
    const StreamMark mark = stream.mark_before(stream.position());
    CHECK(mark.samples <= stream.position());
    if (marks.empty() || !(marks.back() == mark)) marks.push_back(mark);
  }
  // Rows that give no sample keep packed ones from ending with a group.
  CHECK((way == 2 || marks.size() >= 2));
  for (const StreamMark& mark : marks) {
    SampleStream rest(source, 3, mark);
    CHECK(rest.position() == mark.samples);
    int64_t number = mark.samples;
    while (const int64_t count = rest.wait_for(9)) {
      const std::vector<MemorySample> samples = rest.take(count);
      const auto dataset = dataset_of(source.spec.columns, samples);
      for (const MemorySample& sample : samples) {
        REQUIRE(sample.number == number++);
        CHECK(numbers_of(*dataset, source.spec.columns, sample.number) ==
              whole.at(static_cast<size_t>(sample.number)));
      }
    }
    CHECK(number == static_cast<int64_t>(whole.size()));
  }
}

TEST_CASE("the rows of every hundred that are held out of a stream are its validation data, and no others") {
  StreamFixture fixture;
  PrepareRequest request = fixture.request();
  request.recipe = rows_recipe(std::nullopt);
  SampleNumbers held_out, rest;
  {
    PrepareRequest all = request;
    all.recipe.encoder = [](auto, Split, const Json&) { return std::make_unique<BytesAndCount>(); };
    int row = 0;
    const auto rows = open_rows({{request.train_files[0]}, {request.train_files[1]}}, {});
    for (Records records; rows->next(records); records.clear(), ++row) {
      std::vector<int64_t> ids;
      for (const char c : records.value(0, 0).text()) ids.push_back(static_cast<unsigned char>(c));
      if (ids.size() == 1) continue;
      const std::vector<int64_t> counts(ids.size(), static_cast<int64_t>(ids.size()));
      (row % 100 < 7 ? held_out : rest).push_back({ids, counts});
    }
  }
  request.hold_out_percent = 7;
  request.streams_training = request.holds_out_of_hundreds = true;
  CHECK(streamed(fixture.source(request), 4) == rest);
  const std::optional<PreparedData> data = prepare(request, StreamFixture::loader(), {});
  CHECK_FALSE(data->train);
  REQUIRE(data->validation);
  const auto dataset = Dataset::open(data->validation->cache_path, data->validation->columns);
  REQUIRE(dataset->size() == static_cast<int64_t>(held_out.size()));
  for (int64_t i = 0; i < dataset->size(); ++i)
    CHECK(numbers_of(*dataset, data->validation->columns, i) == held_out[static_cast<size_t>(i)]);
}

TEST_CASE("a stream reads a bounded number of rows ahead, and ends when nobody wants more") {
  StreamFixture fixture;
  std::string many;
  for (int i = 0; i < 400'000; ++i) many += "a row of some words\n";
  write_file_atomically(fixture.folder / "many.txt", many);
  PrepareRequest request = fixture.request();
  request.train_files = {fixture.folder / "many.txt"};
  std::atomic<int64_t> rows = 0;
  request.recipe = rows_recipe(std::nullopt);
  request.recipe.watch = [&](Split) { return [&](const Records&, size_t) { ++rows; }; };
  const StreamSource source = fixture.source(request);
  SampleStream stream(source, 16);
  CHECK(stream.wait_for(10) == 10);
  CHECK(stream.take(10).size() == 10);
  CHECK(stream.wait_for(6000) == 6000);  // more than it reads by itself
  // While another one reads all of them, this one would, too, if nothing held it back.
  StreamSource other = source;
  other.recipe.watch = nullptr;
  CHECK(read_to_the_end(other) == 400'000);
  CHECK(rows < 20'000);
}

TEST_CASE("a stream that passes over very many rows ends at once when nobody wants them") {
  StreamFixture fixture;
  std::string many;
  for (int i = 0; i < 400'000; ++i) many += "a row of some words\n";
  write_file_atomically(fixture.folder / "many.txt", many);
  PrepareRequest request = fixture.request();
  request.train_files.assign(400, fixture.folder / "many.txt");  // which take seconds
  request.recipe = rows_recipe(std::nullopt);
  constexpr int64_t kRows = 400 * 400'000;
  StreamReading reading(fixture.source(request), 16, {.rows = kRows, .samples = 5});
  std::thread thread([&] { reading.run(); });
  while (reading.rows_read() == 0) CHECK_FALSE(reading.settles(1, std::chrono::milliseconds(10)));
  reading.stop();
  thread.join();
  CHECK(reading.rows_read() < kRows);
  CHECK(reading.settles(1, std::chrono::milliseconds(0)));
  CHECK(reading.wait_for(1) == 0);
}

TEST_CASE("a thread that a file does not let go is left behind") {
  StreamFixture fixture;
  const std::string path = fixture.folder / "pipe.txt";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  StreamSource source = fixture.source(fixture.request());
  source.spec.files = {{.path = path, .format = RowFormat::kText}};
  source.time = ChangedTime::kIsIgnored;
  {
    SampleStream stream(source, 16);  // opening a pipe takes until somebody writes
    CHECK_FALSE(stream.settles(1, std::chrono::milliseconds(50)));
    CHECK(stream.rows_read() == 0);
  }
  const FileDescriptor writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));  // lets it go
  CHECK(writer);
}

TEST_CASE("a broken row is told where the stream has come to it, with its file and line") {
  StreamFixture fixture;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "row " + std::to_string(i) + "\n";
  write_file_atomically(fixture.folder / "bad.txt", text + "\xFF\n" + text);
  PrepareRequest request = fixture.request();
  request.train_files = {fixture.folder / "bad.txt"};
  request.recipe = rows_recipe(std::nullopt);
  const StreamSource source = fixture.source(request);
  SampleStream stream(source, 4);
  CHECK(stream.wait_for(10'000) == 10'000);
  stream.take(10'000);
  const Error error = error_in([&] { stream.wait_for(20'000); });
  CHECK(error.code() == ExitCode::kData);
  CHECK(error.diagnostics().front().where == fixture.folder / "bad.txt" + ":20001");
  CHECK_FALSE(stream.has(20'000));
}

TEST_CASE("a file that is not as it was when the run was planned is refused") {
  StreamFixture fixture;
  const StreamSource source = fixture.source(fixture.request());
  const std::string path = fixture.folder / "b.txt";
  const auto told = [&](ChangedTime time) {
    StreamSource other = source;
    other.time = time;
    return error_in([&] { SampleStream(other, 4).wait_for(1); });
  };
  CHECK(told(ChangedTime::kMatters).code() == ExitCode::kDone);
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::hours(1));
  CHECK(told(ChangedTime::kMatters).code() == ExitCode::kData);
  CHECK(told(ChangedTime::kIsIgnored).code() == ExitCode::kDone);
  write_file_atomically(path, "another\n");
  CHECK(told(ChangedTime::kIsIgnored).diagnostics().front().where == path);
  std::filesystem::remove(path);
  CHECK(told(ChangedTime::kIsIgnored).code() == ExitCode::kData);
}

TEST_CASE("what cannot be streamed is refused before anything is read") {
  StreamFixture fixture;
  const auto told = [&](const PrepareRequest& request) {
    const Error error = error_in([&] { spec_of_stream(request, StreamFixture::loader()); });
    const Diagnostic& first = error.diagnostics().front();
    CHECK((first.where.empty() || first.why.empty() || first.hint.empty()) ==
          (error.code() == ExitCode::kDone));
    return error.code();
  };
  PrepareRequest request = fixture.request();
  CHECK(told(request) == ExitCode::kDone);
  PrepareRequest other = request;
  other.recipe.settings = nullptr;
  CHECK(told(other) == ExitCode::kUsage);
  other = request;
  other.recipe.shuffle_seed = 3;
  CHECK(told(other) == ExitCode::kUsage);
  other = request;
  other.max_train_samples = 0;
  CHECK(told(other) == ExitCode::kData);
  other = request;
  std::filesystem::create_directory(fixture.folder / "folder.txt");
  other.train_files = {fixture.folder / "folder.txt"};
  CHECK(told(other) == ExitCode::kData);
  other = request;
  write_file_atomically(fixture.folder / "ids.bin", "");
  other.train_files = {fixture.folder / "ids.bin"};
  CHECK_REFUSED(spec_of_stream(other, StreamFixture::loader()), "leave --streaming out");
  other.recipe.takes_token_files = false;  // where that would be of no use
  CHECK_REFUSED(spec_of_stream(other, StreamFixture::loader()), "token files are no data of the task clm");
}

TEST_CASE("the identity of a stream is that of its files, its tokenizer and its options") {
  StreamFixture fixture;
  const PrepareRequest request = fixture.request();
  const auto identity = [](const PrepareRequest& one) {
    return spec_of_stream(one, StreamFixture::loader()).identity;
  };
  const std::string first = identity(request);
  CHECK(identity(request) == first);
  PrepareRequest other = request;
  other.block_size = 32;
  CHECK(identity(other) != first);
  other = request;
  other.recipe.options = {{"a", 1}};
  CHECK(identity(other) != first);
  // Of which evaluation alone reads some.
  const auto learned = [](const PrepareRequest& one) {
    return training_key_of_stream(one, spec_of_stream(one, StreamFixture::loader()));
  };
  CHECK(learned(other) == identity(other));
  other.recipe.training_options = request.recipe.options;
  CHECK(learned(other) == first);
  other = request;
  std::swap(other.train_files[0], other.train_files[1]);
  CHECK(identity(other) != first);
  other = request;
  other.workers = 5;
  CHECK(identity(other) == first);
  write_file_atomically(fixture.folder / "tokenizer/tokenizer.json", "{ }");
  CHECK(identity(request) != first);
}

}  // namespace hftrain::data
