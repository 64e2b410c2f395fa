#include "hftrain/data/length_column.h"

#include "byte_tokenizer.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/prepare.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::data {
namespace {

// Keeps a row as it is, an empty one not at all.
class RowEncoder final : public Encoder {
 public:
  explicit RowEncoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  FeatureSchema schema() const override { return {{kInputIds, FeatureType::kTokenIds}}; }
  void encode(const Records& records, Features& features) const override {
    FeatureValues& ids = features.columns.front();
    for (size_t row = 0; row < records.rows(); ++row) {
      const size_t before = ids.integers.size();
      if (records.value(row, 0).text().empty()) continue;
      tokenizer_->encode_into(records.value(row, 0).text(), true, ids.integers);
      ids.lengths.push_back(static_cast<int32_t>(ids.integers.size() - before));
    }
  }

 private:
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
};

Recipe kept_rows() {
  Recipe recipe = packed_text("rows");
  recipe.arrangement = Arrangement::kKeepRows;
  recipe.encoder = [](std::shared_ptr<const tokenizer::Tokenizer> tokenizer, Split, const Json&) {
    return std::make_unique<RowEncoder>(std::move(tokenizer));
  };
  return recipe;
}

struct LengthFixture {
  testing::TemporaryDirectory folder;

  PreparedData prepare(const std::string& name, const std::string& content, Recipe recipe) const {
    write_file_atomically(folder / name, content);
    write_file_atomically(folder / "tokenizer.json", "{}");
    PrepareRequest request;
    request.train_files = {folder / name};
    request.recipe = std::move(recipe);
    request.tokenizer_folder = folder.path();
    request.cache_folder = folder / "cache";
    request.workers = 2;
    return data::prepare(request, [] { return std::make_shared<const testing::ByteTokenizer>(); }, {})
        .value();
  }
  std::vector<int32_t> lengths(const std::string& name, const std::string& content, Recipe recipe,
                               int64_t padded = 0) const {
    const PreparedData prepared = prepare(name, content, std::move(recipe));
    return *lengths_of_samples(*Dataset::open(prepared.train->cache_path, prepared.train->columns), padded);
  }
  std::string refusal(const std::string& name, const std::string& content) const {
    try {
      prepare(name, content, with_lengths(kept_rows(), "length"));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      return error.render();
    }
    return "";
  }
};

// One from whose rows nothing can be learnt.
class HopelessEncoder final : public Encoder {
 public:
  FeatureSchema schema() const override { return {{kInputIds, FeatureType::kTokenIds}}; }
  void encode(const Records&, Features&) const override {}
  std::vector<Remark> remarks() const override { return {{"rows", "nothing counts"}}; }
  void check_all() const override { throw Error(ExitCode::kData, "nothing can be learnt"); }
};

using LengthList = std::vector<int32_t>;
constexpr const char* kCountedRows =
    "{\"text\": \"abc\", \"length\": 9, \"words\": 1}\n{\"text\": \"a\", \"length\": 7, \"words\": 0}\n";

TEST_CASE("lengths come from the column that is named, else from the tokens") {
  const LengthFixture fixture;
  CHECK(fixture.lengths("a.jsonl", kCountedRows, with_lengths(kept_rows(), "length")) == LengthList{9, 7});
  CHECK(fixture.lengths("a.jsonl", kCountedRows, with_lengths(kept_rows(), "words")) == LengthList{1, 0});
  CHECK(fixture.lengths("a.jsonl", kCountedRows, with_lengths(kept_rows(), "tokens")) == LengthList{4, 2});
  CHECK(fixture.lengths("a.jsonl", kCountedRows, kept_rows()) == LengthList{4, 2});
  CHECK(fixture.lengths("b.csv", "length,text\n12,x\n3,yz\n", with_lengths(kept_rows(), "length")) ==
        LengthList{12, 3});
  CHECK(fixture.lengths("c.txt", "x\nyz\n\n", with_lengths(kept_rows(), "length")) == LengthList{3, 4, 2});
}

// The example scripts pad such rows when they tokenise them, and the Trainer then counts what is there.
TEST_CASE("rows that are padded to one length are of that length, but where a column counts them") {
  const LengthFixture fixture;
  CHECK(fixture.lengths("a.jsonl", kCountedRows, kept_rows(), 20) == LengthList{20, 20});
  CHECK(fixture.lengths("a.jsonl", kCountedRows, with_lengths(kept_rows(), "tokens"), 20) ==
        LengthList{20, 20});
  CHECK(fixture.lengths("a.jsonl", kCountedRows, with_lengths(kept_rows(), "length"), 20) ==
        LengthList{9, 7});
}

TEST_CASE("the task does not take the column of lengths for one of its own") {
  const LengthFixture fixture;
  const PreparedData prepared =
      fixture.prepare("a.csv", "length,body\n5,xy\n", with_lengths(kept_rows(), "length"));
  CHECK(prepared.train->columns == std::vector<std::string>{"input_ids", "length"});
  CHECK(prepared.train->tokens == 3);  // of body
}

TEST_CASE("what an encoder says of all rows it says beside lengths, too") {
  Recipe recipe = kept_rows();
  recipe.encoder = [](const std::shared_ptr<const tokenizer::Tokenizer>&, Split, const Json&) {
    return std::make_unique<HopelessEncoder>();
  };
  const auto encoder = with_lengths(std::move(recipe), "length").encoder(nullptr, Split::kTrain, nullptr);
  CHECK(encoder->remarks().size() == 1);
  CHECK_REFUSED(encoder->check_all(), "nothing can be learnt");
}

TEST_CASE("lengths that are none are refused with their place") {
  using Catch::Contains;
  const LengthFixture fixture;
  CHECK_THAT(fixture.refusal("a.jsonl", "{\"text\": \"a\", \"length\": -1}\n"),
             Contains("a.jsonl:1, column length") && Contains("it is -1"));
  CHECK_THAT(fixture.refusal("b.csv", "text,length\na,3\nb,long\n"),
             Contains("b.csv:3") && Contains("a string"));
  CHECK_THAT(fixture.refusal("c.jsonl", "{\"text\": \"a\", \"length\": 1.5}\n"), Contains("a number"));
  CHECK_THAT(fixture.refusal("d.jsonl", "{\"text\": \"\", \"length\": 1}\n"),
             Contains("not one sample each") && Contains("--length_column_name"));
}

}  // namespace
}  // namespace hftrain::data
