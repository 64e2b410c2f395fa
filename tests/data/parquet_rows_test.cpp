// The files are made by scripts/golden/parquet.py.
#include <random>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/parquet_plugin.h"
#include "hftrain/data/row_source.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace {

using Catch::Contains;
using hftrain::Error;
using hftrain::ExitCode;
using hftrain::data::ColumnRule;
using hftrain::data::Records;
using hftrain::data::RowOptions;
using hftrain::data::Split;
using hftrain::data::Value;
using hftrain::data::ValueKind;
using hftrain::testing::TemporaryDirectory;

std::string parquet_golden(const std::string& name) {
  return hftrain::testing::source_dir() + "/tests/golden/data/parquet/" + name;
}

bool has_parquet() {
  return hftrain::path_exists(hftrain::data::parquet_plugin_path());
}

constexpr const char* kNoParquet = "a build without pyarrow";

RowOptions of_columns(const std::vector<std::string>& names) {
  return {.columns = {.columns = names.size(),
                      .choose = [names](const std::vector<std::string>&) { return names; },
                      .text_only = false}};
}

Records read_all(const std::string& path, const RowOptions& options) {
  const auto files = hftrain::data::find_data_files({path}, Split::kTrain);
  const auto source = hftrain::data::open_rows(files.rows, options);
  Records records(options.columns.columns);
  while (source->next(records)) continue;
  return records;
}

std::vector<std::string> columns_of(const std::string& path) {
  std::vector<std::string> seen;
  RowOptions options;
  options.columns = {.columns = 0,
                     .choose =
                         [&](const std::vector<std::string>& names) {
                           seen = names;
                           return std::vector<std::string>();
                         },
                     .text_only = false};
  read_all(path, options);
  return seen;
}

// As JSON would have it: kinds told apart, objects by their keys.
std::string written(const Value& value) {
  std::string text = std::string(hftrain::data::kind_name(value.kind())) + ' ';
  switch (value.kind()) {
    case ValueKind::kNull:
      return "null";
    case ValueKind::kBoolean:
      return value.boolean() ? "true" : "false";
    case ValueKind::kInteger:
      return std::to_string(value.integer());
    case ValueKind::kNumber: {
      char digits[40];
      std::snprintf(digits, sizeof(digits), "%.17g.", value.number());
      return digits;
    }
    case ValueKind::kText:
      return '"' + std::string(value.text()) + '"';
    case ValueKind::kList:
      for (size_t i = 0; i < value.size(); ++i) text += written(value[i]) + ',';
      return text + ']';
    case ValueKind::kObject:
      for (size_t i = 0; i < value.size(); ++i)
        text += std::string(value.key(i)) + '=' + written(*value.find(value.key(i))) + ',';
      return text + '}';
  }
  return text;
}

std::string refusal(const std::string& path, const RowOptions& options, ExitCode code = ExitCode::kData) {
  try {
    read_all(path, options);
  } catch (const Error& error) {
    CHECK(error.code() == code);
    CHECK_FALSE(error.diagnostics().front().why.empty());
    CHECK_FALSE(error.diagnostics().front().hint.empty());
    CHECK_THAT(error.diagnostics().front().where, Contains(path));
    return error.render();
  }
  return "";
}

}  // namespace

TEST_CASE("Rows of a Parquet file are those of the same records as JSON lines, whatever the type") {
  if (!has_parquet()) HFTRAIN_SKIP(kNoParquet);
  const std::vector<std::string> names = columns_of(parquet_golden("types.jsonl"));
  REQUIRE(names.size() > 20);
  REQUIRE(columns_of(parquet_golden("types.parquet")) == names);
  const Records ours = read_all(parquet_golden("types.parquet"), of_columns(names));
  const Records expected = read_all(parquet_golden("types.jsonl"), of_columns(names));
  REQUIRE(expected.rows() == 5);
  REQUIRE(ours.rows() == expected.rows());
  for (size_t row = 0; row < expected.rows(); ++row) {
    for (size_t column = 0; column < names.size(); ++column) {
      CAPTURE(names[column], row);
      CHECK(written(ours.value(row, column)) == written(expected.value(row, column)));
    }
  }
  CHECK(ours.where(3) == parquet_golden("types.parquet") + ":4");
}

TEST_CASE(
    "Columns of a Parquet file that no task takes are refused by name, and others beside them are read") {
  if (!has_parquet()) HFTRAIN_SKIP(kNoParquet);
  const std::string path = parquet_golden("refused.parquet");
  CHECK(read_all(path, {}).value(0, 0).text() == "a");
  int refused = 0;
  for (const std::string& name : columns_of(path)) {
    if (name == "text") continue;
    ++refused;
    CHECK_THAT(refusal(path, of_columns({name})),
               Contains("the column '" + name + "' holds values of the type"));
  }
  CHECK(refused == 10);
  CHECK_THAT(refusal(path, of_columns({"times"})), Contains("timestamp[ms]"));
  CHECK_THAT(refusal(path, of_columns({"price"})), Contains("decimal128(10, 2)"));
  CHECK_THAT(refusal(path, of_columns({"absent"})), Contains("there is no column 'absent'"));
}

TEST_CASE(
    "Numbers of classes have the names of a Parquet file in columns of classes, and are numbers in others") {
  if (!has_parquet()) HFTRAIN_SKIP(kNoParquet);
  const std::string path = parquet_golden("classes.parquet");
  const auto written_rows = [&](const RowOptions& options) {
    const Records rows = read_all(path, options);
    std::string text;
    for (size_t row = 0; row < rows.rows(); ++row)
      text += written(rows.value(row, 0)) + ' ' + written(rows.value(row, 1)) + ';';
    return text;
  };
  RowOptions options = of_columns({"label", "coarse"});
  CHECK(written_rows(options) == "1 0;0 1;-1 0;");
  options.columns.of_classes = {0};
  CHECK(written_rows(options) == R"("alpha" 0;"zeta" 1;null 0;)");
  RowOptions text = of_columns({"coarse"});
  text.columns.text_only = true;
  CHECK_THAT(refusal(path, text), Contains("'coarse' is a number, not a string"));
}

TEST_CASE("Files that declare different classes are refused, and so are some that declare none") {
  if (!has_parquet()) HFTRAIN_SKIP(kNoParquet);
  RowOptions options = of_columns({"label"});
  options.columns.of_classes = {0};
  const auto said = [&](const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(parquet_golden(name));
    try {
      const auto source =
          hftrain::data::open_rows(hftrain::data::find_data_files(paths, Split::kTrain).rows, options);
      Records records(1);
      while (source->next(records)) continue;
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      return error.render();
    }
    return std::string();
  };
  CHECK(said({"classes.parquet", "classes.parquet"}).empty());
  CHECK_THAT(said({"classes.parquet", "other_classes.parquet"}),
             Contains("are not those of the files before it"));
  CHECK_THAT(
      said({"classes.parquet", "no_classes.parquet"}),
      Contains("no_classes.parquet:1") && Contains("it has no ClassLabel, and the files before it have one"));
  CHECK_THAT(said({"no_classes.parquet", "classes.parquet"}),
             Contains("it has a ClassLabel, and the files before it have none"));
}

TEST_CASE("A number of a Parquet file is finite, as it is in JSON") {
  if (!has_parquet()) HFTRAIN_SKIP(kNoParquet);
  const std::string path = parquet_golden("not_finite.parquet");
  CHECK_THAT(refusal(path, of_columns({"score"})),
             Contains(path + ":2") && Contains("the column 'score': a value is not a finite number"));
}

TEST_CASE("A text column of a Parquet file holds strings and no nulls") {
  if (!has_parquet()) HFTRAIN_SKIP(kNoParquet);
  const std::string path = parquet_golden("types.parquet");
  const auto text_of = [](const std::string& name) {
    RowOptions options = of_columns({name});
    options.columns.text_only = true;
    return options;
  };
  CHECK(read_all(path, text_of("text")).rows() == 5);
  CHECK_THAT(refusal(path, text_of("text_with_nulls")),
             Contains(path + ":2") && Contains("is null, not a string"));
  CHECK_THAT(refusal(path, text_of("int64")), Contains("'int64' is a number, not a string"));
  RowOptions optional = of_columns({"text", "absent"});
  optional.columns.of_some_records = {{1, "absent"}};
  CHECK(read_all(path, optional).value(4, 1).kind() == ValueKind::kNull);
  RowOptions never = of_columns({"words"});
  never.columns.never_null = {0};
  CHECK_THAT(refusal(path, never), Contains("the field 'words' is null"));
  RowOptions shortest = text_of("text");
  shortest.longest_row = 4;
  CHECK_THAT(refusal(path, shortest), Contains(path + ":1") && Contains("the row is longer than"));
}

TEST_CASE("A file that is no Parquet file, a part of one, or a damaged one is refused in words") {
  if (!has_parquet()) HFTRAIN_SKIP(kNoParquet);
  const TemporaryDirectory folder;
  const std::string whole = hftrain::read_file(parquet_golden("types.parquet"));
  const auto as_file = [&](const std::string& bytes) {
    hftrain::write_file_atomically(folder / "x.parquet", bytes);
    return folder / "x.parquet";
  };
  for (const std::string& text : {std::string(), std::string("PAR1"), std::string("{\"text\": \"a\"}\n"),
                                  std::string("PAR1PAR1"), std::string(1000, 'x')})
    CHECK_THAT(refusal(as_file(text), {}), Contains("cannot read a data file"));
  std::string encrypted = whole;
  encrypted.replace(encrypted.size() - 4, 4, "PARE");
  CHECK_THAT(refusal(as_file(encrypted), {}), Contains("the file is encrypted"));
  for (size_t size = 0; size < whole.size(); size += whole.size() / 40)
    CHECK_FALSE(refusal(as_file(whole.substr(0, size)), {}).empty());
}

TEST_CASE("Damaged bits anywhere in a Parquet file give rows or an error, never a crash") {
  if (!has_parquet()) HFTRAIN_SKIP(kNoParquet);
  const TemporaryDirectory folder;
  const std::string path = parquet_golden("types.parquet");
  const std::string whole = hftrain::read_file(path);
  const RowOptions options = of_columns(columns_of(path));
  std::mt19937_64 random(1);
  int refused = 0;
  for (int turn = 0; turn < 600; ++turn) {
    std::string bytes = whole;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    hftrain::write_file_atomically(folder / "x.parquet", bytes);
    CAPTURE(turn);
    refused += !refusal(folder / "x.parquet", options).empty();
  }
  CHECK(refused > 100);
}

TEST_CASE("A program without the plug-in says how to read Parquet files") {
  try {
    hftrain::data::load_parquet_plugin("/nowhere/libhftrain_parquet.so", "a.parquet");
    FAIL("it was loaded");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK_THAT(error.render(), Contains("a.parquet") && Contains("/nowhere") && Contains("scripts/setup"));
  }
}
