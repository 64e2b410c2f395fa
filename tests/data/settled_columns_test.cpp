#include "hftrain/data/settled_columns.h"

#include "byte_tokenizer.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/first_rows.h"
#include "hftrain/data/prepare.h"
#include "hftrain/data/sample_stream.h"
#include "hftrain/data/stream_request.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::data {
namespace {

using Catch::Contains;

struct FilesOfColumns {
  testing::TemporaryDirectory folder;

  FilesOfColumns() {
    write_file_atomically(folder / "tokenizer/tokenizer.json", "{}");
    write("body.jsonl", R"({"body": "the fox", "id": 1})");
    write("both.csv", "id,text,body\n1,the owl,the fox\n");
    write("other.csv", "id,note\n1,the owl\n");
    write("lines.txt", "the fox");
    write("nothing.jsonl", "");
    write("broken.jsonl", "{");
  }
  std::string write(const std::string& name, const std::string& text) const {
    write_file_atomically(folder / name, text);
    return folder / name;
  }
  PrepareRequest request(const std::vector<std::string>& train, const std::string& validation = "") const {
    PrepareRequest request;
    for (const std::string& name : train) request.train_files.push_back(folder / name);
    if (!validation.empty()) request.validation_files = {folder / validation};
    request.tokenizer_folder = folder / "tokenizer";
    request.cache_folder = folder / "cache";
    request.block_size = 4;
    request.recipe.settings = Json::object();
    request.workers = 1;
    return request;
  }
};

TokenizerLoader bytes() {
  return [] { return std::make_shared<testing::ByteTokenizer>(); };
}

std::string refusal_of(const PrepareRequest& request) {
  try {
    prepare(request, bytes(), {});
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
  return "";
}

// What the stream of the request's training rows ends with.
std::string streamed(const PrepareRequest& request) {
  StreamSource source{.spec = spec_of_stream(request, bytes())};
  source.spec.files.erase(source.spec.files.begin());  // as a rank that reads files of its own
  source.recipe = with_settled_columns(packed_text("clm"), source.spec.read);
  source.encoder = source.recipe.encoder(bytes()(), Split::kTrain, nullptr);
  try {
    SampleStream(source, 1).wait_for(1);
  } catch (const Error& error) {
    return error.render();
  }
  return "";
}

// Null where the file lacks one, else its text.
std::vector<std::string> texts_of(const std::string& path, const ColumnRule& rule) {
  Records row(rule.columns);
  open_rows(find_data_files({path}, Split::kTrain).rows, {.keep_linebreaks = false, .columns = rule})
      ->next(row);
  std::vector<std::string> texts;
  for (size_t column = 0; column < rule.columns; ++column) {
    const Value value = row.value(0, column);
    texts.emplace_back(value.kind() == ValueKind::kNull ? "null" : value.text());
  }
  return texts;
}

ColumnRule rule_of_two(std::vector<std::string> names, std::vector<size_t> dispensable) {
  return {.columns = 3,
          .choose =
              [](const std::vector<std::string>& there) {
                return std::vector<std::string>{there.at(0), there.at(1), there.back()};
              },
          .settled = {0, 1},
          .dispensable = std::move(dispensable),
          .first = std::make_shared<const SettledColumns>(SettledColumns{"t.csv", std::move(names)})};
}

TEST_CASE("the first file that names columns says how the text is called in all files") {
  const FilesOfColumns files;
  CHECK(settled_columns(files.request({"body.jsonl", "both.csv"})).names == std::vector<std::string>{"body"});
  CHECK(settled_columns(files.request({"lines.txt", "nothing.jsonl", "both.csv"})).file ==
        files.folder / "both.csv");
  CHECK(settled_columns(files.request({}, "body.jsonl")).names == std::vector<std::string>{"body"});
  CHECK(settled_columns(files.request({"lines.txt"}, "other.csv")).names == std::vector<std::string>{"id"});
  CHECK(settled_columns(files.request({"broken.jsonl", "both.csv"})).names.empty());
  CHECK(settled_columns(files.request({"lines.txt"})).names.empty());
}

TEST_CASE("a file without the column of the first one is refused, whatever else it has") {
  const FilesOfColumns files;
  CHECK(refusal_of(files.request({"body.jsonl"}, "both.csv")).empty());
  CHECK(refusal_of(files.request({"body.jsonl", "lines.txt"}, "lines.txt")).empty());
  const std::string first = files.folder / "body.jsonl";
  for (const PrepareRequest& request :
       {files.request({"body.jsonl"}, "other.csv"), files.request({"body.jsonl", "other.csv"}),
        files.request({"lines.txt", "body.jsonl", "other.csv"})}) {
    CHECK_THAT(refusal_of(request), Contains("no column 'body'") && Contains("other.csv:1") &&
                                        Contains("the columns are id, note") &&
                                        Contains("columns are called as in " + first));
  }
}

TEST_CASE("a stream asks the files of every rank for the columns of the first one") {
  const FilesOfColumns files;
  PrepareRequest request = files.request({"body.jsonl", "both.csv"});
  request.streams_training = true;
  CHECK(streamed(request).empty());
  request.train_files.back() = files.folder / "other.csv";
  CHECK_THAT(streamed(request), Contains("no column 'body'"));
  CHECK_REFUSED(look_at_stream(request), "no column 'body'");
}

TEST_CASE("the validation data of a stream are prepared again when its first file calls the text otherwise") {
  const FilesOfColumns files;
  PrepareRequest request = files.request({"body.jsonl"}, "both.csv");
  request.streams_training = true;
  REQUIRE(prepare(request, bytes(), {}));
  CHECK(find_prepared(request));
  files.write("body.jsonl", R"({"text": "the fox"})");
  CHECK_FALSE(find_prepared(request));
}

TEST_CASE("settled columns come by name, others by the rule; what may be lacking is null") {
  const FilesOfColumns files;
  const std::string path = files.folder / "both.csv";  // id, text, body
  CHECK(texts_of(path, rule_of_two({"body", "text", "?"}, {})) ==
        std::vector<std::string>{"the fox", "the owl", "1"});
  CHECK(texts_of(path, rule_of_two({"body", "", "?"}, {})) ==
        std::vector<std::string>{"the fox", "null", "the owl"});
  CHECK(texts_of(path, rule_of_two({"body", "label", "?"}, {1})) ==
        std::vector<std::string>{"the fox", "null", "the owl"});
  CHECK_REFUSED(texts_of(path, rule_of_two({"body", "label", "?"}, {})), "there is no column 'label'");
}

TEST_CASE(
    "lines have no name: they are the only column that every file must have, if there is a single one") {
  const FilesOfColumns files;
  const std::string path = files.folder / "lines.txt";
  CHECK(texts_of(path, rule_of_two({"body", "label", "?"}, {1})) ==
        std::vector<std::string>{"the fox", "null", "null"});
  CHECK(texts_of(path, rule_of_two({"body", "", "?"}, {})) ==
        std::vector<std::string>{"the fox", "null", "null"});
  CHECK_REFUSED(texts_of(path, rule_of_two({"body", "pair", "?"}, {})), "there is no column 'body'");
}

}  // namespace
}  // namespace hftrain::data
