#include "hftrain/data/records.h"

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/data/column_cells.h"
#include "hftrain/data/data_files.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::data {
namespace {

using testing::TemporaryDirectory;

// A value as JSON, to compare it with what was written.
Json json_of(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return nullptr;
    case ValueKind::kBoolean:
      return value.boolean();
    case ValueKind::kInteger:
      return value.integer();
    case ValueKind::kNumber:
      return value.number();
    case ValueKind::kText:
      return std::string(value.text());
    case ValueKind::kList: {
      Json list = Json::array();
      for (size_t i = 0; i < value.size(); ++i) list.push_back(json_of(value[i]));
      return list;
    }
    case ValueKind::kObject:
      break;
  }
  Json object = Json::object();
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string key(value.key(i));
    object[key] = json_of(*value.find(key));
  }
  return object;
}

// These columns, in this order, of whatever file.
ColumnRule columns_named(const std::vector<std::string>& wanted) {
  return {.columns = wanted.size(),
          .choose = [wanted](const std::vector<std::string>&) { return wanted; },
          .text_only = false};
}

Records read_columns(const std::string& path, const ColumnRule& rule) {
  Records records(rule.columns);
  const auto rows = open_rows(find_data_files({path}, Split::kTrain).rows, {.columns = rule});
  while (rows->next(records)) {
  }
  return records;
}

std::string refusal_of(const std::string& path, const ColumnRule& rule) {
  try {
    read_columns(path, rule);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
  return "";
}

// Squad's answers, a translation, tags, a score: all that example scripts read.
const Json kRows = Json::parse(R"([
  {"id": 7, "answers": {"text": ["Saint Bernadette", "é"], "answer_start": [515, 0]}, "score": -1.5, "ok": true},
  {"id": -9, "answers": {"text": [], "answer_start": []}, "score": 2.0, "ok": false},
  {"id": 12345678901, "answers": null, "score": 1e300, "ok": null}])");

TEST_CASE("lists and structures of a record arrive as they were written, from every format of records") {
  const TemporaryDirectory folder;
  std::string lines;
  for (const Json& row : kRows) lines += row.dump() + "\n";
  write_file_atomically(folder / "a.jsonl", lines);
  write_file_atomically(folder / "a.json", kRows.dump(2));
  write_file_atomically(folder / "b.json", Json{{"data", kRows}}.dump());
  for (const char* name : {"a.jsonl", "a.json", "b.json"}) {
    CAPTURE(name);
    const Records records = read_columns(folder / name, columns_named({"answers", "id", "score", "ok"}));
    REQUIRE(records.rows() == kRows.size());
    for (size_t row = 0; row < records.rows(); ++row) {
      CHECK(json_of(records.value(row, 0)) == kRows[row]["answers"]);
      CHECK(json_of(records.value(row, 1)) == kRows[row]["id"]);
      CHECK(json_of(records.value(row, 2)) == kRows[row]["score"]);
      CHECK(json_of(records.value(row, 3)) == kRows[row]["ok"]);
    }
  }
}

TEST_CASE("cells of a .csv file are text in the columns that were asked for, whatever their order") {
  const TemporaryDirectory folder;
  write_file_atomically(folder / "a.csv", "label,sentence,other\n1,\"a, b\",x\n0,c,y\n");
  const Records records = read_columns(folder / "a.csv", columns_named({"sentence", "", "label"}));
  REQUIRE(records.rows() == 2);
  CHECK(records.value(0, 0).text() == "a, b");
  CHECK(records.value(0, 1).kind() == ValueKind::kNull);
  CHECK(records.value(1, 2).text() == "0");
  CHECK(records.where(1) == (folder / "a.csv") + ":3");
}

TEST_CASE("what cells of a .csv file are is decided by their column, as pandas does it") {
  const TemporaryDirectory folder;
  ColumnRule rule = columns_named({"label"});
  rule.typed_cells = {0};
  const auto labels = [&](const std::vector<std::string>& cells) {
    std::string content = "text,label\n";
    for (const std::string& cell : cells) content += "x," + cell + "\n";
    write_file_atomically(folder / "a.csv", content);
    const Records records = read_columns(folder / "a.csv", rule);
    Json read = Json::array();
    for (size_t row = 0; row < records.rows(); ++row) read.push_back(json_of(records.value(row, 0)));
    return read;
  };
  CHECK(labels({"1", "-2"}) == Json::array({1, -2}));
  CHECK(labels({" 1", "+0", "2\t"}) == Json::array({1, 0, 2}));
  CHECK(labels({" 1.5", "+.5", "2"}) == Json::array({1.5, 0.5, 2}));
  CHECK(labels({" 1", "x"}) == Json::array({" 1", "x"}));
  CHECK(labels({"+-1", "1"}) == Json::array({"+-1", 1}));
  CHECK(labels({"+ 1", "1"}) == Json::array({"+ 1", 1}));
  CHECK(labels({"true", "False", "TRUE"}) == Json::array({true, false, true}));
  CHECK(labels({"true", "1"}) == Json::array({"true", 1}));
  CHECK(labels({" true", "false"}) == Json::array({" true", "false"}));
  CHECK(labels({"1", "99999999999999999999999"}) == Json::array({1, "99999999999999999999999"}));
  std::vector<std::string> many(hftrain::data::kRowsThatDecide, " 1");
  many.push_back("x");
  CHECK(labels(many).front() == 1);
  CHECK(labels(many).back() == "x");
  many.insert(many.begin(), "x");
  CHECK(labels(many)[1] == " 1");
}

TEST_CASE(
    "every file is asked for its own columns, and a record without one of them is refused by its line") {
  const TemporaryDirectory folder;
  write_file_atomically(folder / "a.jsonl", "{\"q\": \"1\"}\n\n{\"r\": \"2\"}\n");
  CHECK_THAT(refusal_of(folder / "a.jsonl", columns_named({"q"})),
             Catch::Contains("a.jsonl:3") && Catch::Contains("no field 'q'"));
  write_file_atomically(folder / "b.jsonl", "\"alone\"\n");
  CHECK_THAT(refusal_of(folder / "b.jsonl", columns_named({"q"})),
             Catch::Contains("must be an object, not a string"));
  std::vector<std::vector<std::string>> asked;
  ColumnRule first = columns_named({"?"});
  first.choose = [&](const std::vector<std::string>& names) {
    asked.push_back(names);
    return std::vector<std::string>{names.front()};
  };
  write_file_atomically(folder / "x.csv", "one,two\n1,2\n");
  write_file_atomically(folder / "y.json", "[{\"three\": 3, \"four\": 4}]");
  write_file_atomically(folder / "z.txt", "line\n");
  const Records records = read_columns(folder / "[xyz].*", first);
  CHECK(asked == std::vector<std::vector<std::string>>{{"one", "two"}, {"three", "four"}, {"text"}});
  REQUIRE(records.rows() == 3);
  CHECK(records.value(0, 0).text() == "1");
  CHECK(records.value(1, 0).integer() == 3);
  CHECK(records.value(2, 0).text() == "line\n");
  CHECK(records.where(2) == (folder / "z.txt") + ":1");
}

TEST_CASE("a rule that misses a column is told where, and which columns are there") {
  const TemporaryDirectory folder;
  ColumnRule rule = columns_named({"?"});
  rule.choose = [](const std::vector<std::string>&) -> std::vector<std::string> {
    throw Error(ExitCode::kData, "there is no column 'label'").hint("rename it");
  };
  write_file_atomically(folder / "a.csv", "text,tag\na,b\n");
  CHECK_THAT(refusal_of(folder / "a.csv", rule), Catch::Contains("a.csv:1") &&
                                                     Catch::Contains("the columns are text, tag") &&
                                                     Catch::Contains("rename it"));
  write_file_atomically(folder / "a.jsonl", "{\"text\": 1}\n");
  CHECK_THAT(refusal_of(folder / "a.jsonl", rule),
             Catch::Contains("a.jsonl:1") && Catch::Contains("the columns are text"));
}

TEST_CASE("a row that was dropped leaves nothing behind") {
  Records records(2);
  records.begin_row("a", 1);
  records.set_text(records.slot(0), "kept");
  records.begin_row("b", 5);
  const size_t list = records.set_list(records.slot(1), 2);
  records.set_text(list, "gone");
  records.set_integer(list + 1, 3);
  records.drop_last_row();
  CHECK(records.rows() == 1);
  CHECK(records.text_bytes() == 4);
  records.begin_row("b", 6);
  records.set_text(records.slot(0), "next");
  CHECK(records.value(0, 0).text() == "kept");
  CHECK(records.value(1, 0).text() == "next");
  CHECK(records.value(1, 1).kind() == ValueKind::kNull);
  CHECK(records.where(1) == "b:6");
}

TEST_CASE("a value is never taken for one of another kind") {
  Records records;
  records.begin_row("a", 1);
  records.set_integer(records.slot(0), 1);
  const Value value = records.value(0, 0);
  CHECK_REFUSED(value.text(), "a value of a record is");
  CHECK_REFUSED(value.boolean(), "a value of a record is");
  CHECK_REFUSED(value.size(), "a value of a record is");
  CHECK_REFUSED(value[0], "a value of a record is");
  CHECK_REFUSED(value.find("x"), "a value of a record is");
  CHECK(value.number() == 1.0);
}

}  // namespace
}  // namespace hftrain::data
