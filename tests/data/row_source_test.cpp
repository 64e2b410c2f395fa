#include "hftrain/data/row_source.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>

#include "golden.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/image_folder.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace {

using hftrain::Error;
using hftrain::ExitCode;
using hftrain::Json;
using hftrain::data::DataFiles;
using hftrain::data::Records;
using hftrain::data::RowFormat;
using hftrain::data::Split;
using hftrain::testing::golden_rows;
using hftrain::testing::TemporaryDirectory;
using Rows = std::vector<std::string>;

// Bytes that the golden file holds as one character each.
std::string from_latin1(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    bytes += c < 0x80 ? static_cast<char>(c) : static_cast<char>((c & 3) << 6 | (text[++i] & 0x3F));
  }
  return bytes;
}

Rows read_rows(const std::string& path, bool keep_linebreaks = true) {
  const DataFiles files = hftrain::data::find_data_files({path}, Split::kTrain);
  const auto source = hftrain::data::open_rows(files.rows, {keep_linebreaks});
  Records records;
  Rows rows;
  while (source->next(records)) rows.emplace_back(records.value(rows.size(), 0).text());
  return rows;
}

Rows read_content(const TemporaryDirectory& folder, const std::string& name, const std::string& content) {
  hftrain::write_file_atomically(folder / name, content);
  return read_rows(folder / name);
}

// The rendered error of reading such a file; empty when it is read. Checks the exit code.
std::string complaint(const TemporaryDirectory& folder, const std::string& name, const std::string& content) {
  try {
    read_content(folder, name, content);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
  return "";
}

std::string gzip(const std::string& text) {
  std::string packed(::compressBound(text.size()) + 64, '\0');
  z_stream state{};
  ::deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  ::deflate(&state, Z_FINISH);
  packed.resize(state.total_out);
  ::deflateEnd(&state);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(::ZSTD_compressBound(text.size()), '\0');
  packed.resize(::ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

using Catch::Contains;

// What is said of the files of the golden rows that the datasets package refuses.
const std::map<std::string, std::string> kRefusals = {
    {"invalid.txt", "invalid.txt:2\n  why: the line is not valid UTF-8"},
    {"surrogate.txt", "surrogate.txt:1\n  why: the line is not valid UTF-8"},
    {"cut off.txt", "cut off.txt:2\n  why: the line is not valid UTF-8"},
    {"cut off.jsonl", "cut off.jsonl:2\n  why: the record does not end on its line"},
    {"invalid.jsonl", "invalid.jsonl:1\n  why: The input is not valid UTF-8"},
    {"surrogate.jsonl", "surrogate.jsonl:1\n  why: Problem while parsing a string"},
    {"open quote.csv", "open quote.csv:2\n  why: a quoted field is not closed"},
    {"invalid.csv", "invalid.csv:2\n  why: the column 'text' is not valid UTF-8"},
    {"empty.csv", "empty.csv:1\n  why: the file is empty"}};

}  // namespace

TEST_CASE("Rows equal those of the datasets package, and what it refuses is refused") {
  const TemporaryDirectory folder;
  for (const Json& entry : golden_rows().at("rows")) {
    const std::string path = folder / entry.at("file").get<std::string>();
    CAPTURE(path, entry.at("keep_linebreaks").get<bool>());
    hftrain::write_file_atomically(path, from_latin1(entry.at("content")));
    if (entry.at("rows").is_null()) {
      CHECK_REFUSED(read_rows(path, entry.at("keep_linebreaks")), kRefusals.at(entry.at("file")));
    } else {
      CHECK(read_rows(path, entry.at("keep_linebreaks")) == entry.at("rows").get<Rows>());
    }
  }
}

TEST_CASE("Compressed files hold the same rows, also across members, frames and buffer ends") {
  const TemporaryDirectory folder;
  const std::string text = numbered_lines(300000);  // several buffers
  const Rows plain = read_content(folder, "a.txt", text);
  REQUIRE(plain.size() == 300000);
  CHECK(plain.back() == "line 299999\n");
  const size_t cut = text.size() / 3;
  CHECK(read_content(folder, "a.txt.gz", gzip(text.substr(0, cut)) + gzip(text.substr(cut))) == plain);
  CHECK(read_content(folder, "a.txt.zst", zstd(text.substr(0, cut)) + zstd(text.substr(cut))) == plain);
}

TEST_CASE("Zeros behind a gzip member are padding, and the case of an extension says nothing") {
  const TemporaryDirectory folder;
  const std::string text = numbered_lines(10);
  const Rows plain = read_content(folder, "a.txt", text);
  const std::string zeros(1 << 19, '\0');  // more than a buffer
  CHECK(read_content(folder, "padded.txt.gz", gzip(text) + zeros) == plain);
  CHECK(read_content(folder, "between.txt.gz", gzip("line 0\n") + zeros + gzip(text.substr(7))) == plain);
  CHECK_THAT(complaint(folder, "tail.txt.gz", gzip(text) + zeros + "x"), Contains("decompress"));
  CHECK(read_content(folder, "LOUD.TXT.GZ", gzip(text)) == plain);
  CHECK(read_content(folder, "LOUD.TXT.ZST", zstd(text)) == plain);
}

TEST_CASE("Lines that end in a carriage return alone are read as fast as others") {
  const TemporaryDirectory folder;
  const std::string unix_lines = numbered_lines(400000);
  std::string mac_lines = unix_lines;
  std::replace(mac_lines.begin(), mac_lines.end(), '\n', '\r');
  const auto seconds = [&](const std::string& name, const std::string& text, Rows& rows) {
    const std::clock_t begin = std::clock();  // processor time: what others do beside it does not count
    rows = read_content(folder, name, text);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  Rows expected, found;
  const double plain = seconds("unix.txt", unix_lines, expected);
  CHECK(seconds("mac.txt", mac_lines, found) < 5 * plain + 0.5);  // was a search of a megabyte for every line
  CHECK(found == expected);
}

TEST_CASE("Compressed files that are cut off or damaged are refused") {
  const TemporaryDirectory folder;
  const std::string text = numbered_lines(5000);
  for (const auto& [name, packed] : {std::pair{"a.txt.gz", gzip(text)}, std::pair{"a.txt.zst", zstd(text)}}) {
    CAPTURE(name);
    CHECK_THAT(complaint(folder, name, packed.substr(0, packed.size() / 2)), Contains("ends in the middle"));
    CHECK_THAT(complaint(folder, name, text), Contains("cannot decompress"));
    CHECK_THAT(complaint(folder, name, ""), Contains("ends in the middle"));
  }
}

TEST_CASE("A carriage return at the end of a buffer and its newline in the next are one line end") {
  const TemporaryDirectory folder;
  const std::string filler((1 << 20) - 1, 'x');
  CHECK(read_content(folder, "a.txt", filler + "\r\nnext\r\r\nend") ==
        Rows{filler + "\n", "next\n", "\n", "end"});
  CHECK(read_content(folder, "b.txt", filler + "\rnext") == Rows{filler + "\n", "next"});
  CHECK(read_content(folder, "c.txt", filler + "\r\n") == Rows{filler + "\n"});
}

TEST_CASE("Mistakes in text and record files name file and line") {
  const TemporaryDirectory folder;
  CHECK_THAT(complaint(folder, "a.txt", "good\nbad \xff\n"), Contains("a.txt:2") && Contains("UTF-8"));
  CHECK_THAT(complaint(folder, "a.jsonl", "{\"text\":\"x\"}\n\n{\"text\":1}\n"),
             Contains("a.jsonl:3") && Contains("'text' is a number"));
  CHECK_THAT(complaint(folder, "a.jsonl", "{\"text\":\"x\"}\n{\"other\":\"y\"}\n"),
             Contains("a.jsonl:2") && Contains("no field 'text'"));
  CHECK_THAT(complaint(folder, "a.jsonl", "{\"text\":null}\n"), Contains("is null"));
  CHECK_THAT(complaint(folder, "a.jsonl", "{\"text\":\"x\"\n{\"text\":\"y\"}\n"), Contains("a.jsonl:1"));
  CHECK_THAT(complaint(folder, "a.jsonl", "17\n"), Contains("a record must be an object"));
  CHECK_THAT(complaint(folder, "a.jsonl", "{\"text\":\"x\"}\n[1]\n"), Contains("not an array"));
  CHECK_THAT(complaint(folder, "a.jsonl", "{}\n"), Contains("no field"));
  CHECK_THAT(complaint(folder, "a.json", "[{\"text\":\"x\"},\n {\"text\":[]}]"),
             Contains("a.json:2") && Contains("an array"));
  CHECK_THAT(complaint(folder, "a.json", "[{\"text\":\"x\"}\n {\"text\":\"y\"}]"), Contains("comma"));
  CHECK_THAT(complaint(folder, "a.json", "[{\"text\":\"x\"},"), Contains("not closed"));
  CHECK_THAT(complaint(folder, "a.json", "[\n{\"text\":\"x\""),
             Contains("a.json:2") && Contains("not closed"));
  CHECK_THAT(complaint(folder, "a.json", "[{\"text\":\"x\"}] more"), Contains("follows the end"));
  CHECK_THAT(complaint(folder, "a.csv", "text,b\nx,1\ny,2,3\n"), Contains("a.csv:3") && Contains("3 fields"));
  CHECK_THAT(complaint(folder, "a.csv", "b,text\n\"p\nq\",1\nalone\n"),
             Contains("a.csv:4") && Contains("'text'"));
}

TEST_CASE("A whole number that 64 bits do not hold is one, in a column that is read and in one that is not") {
  const TemporaryDirectory folder;
  const std::string row =
      R"({"text": "\" 98765432109876543210", "large": -123456789012345678901234567890, "held": 9007199254740993})";
  const hftrain::data::ColumnRule numbers = {.columns = 2,
                                             .choose =
                                                 [](const auto&) {
                                                   return Rows{"large", "held"};
                                                 },
                                             .text_only = false};
  for (const auto& [name, content] : std::map<std::string, std::string>{
           {"a.jsonl", row + "\n" + row}, {"a.json", '[' + row + ",\n" + row + ']'}}) {
    CHECK(read_content(folder, name, content) == Rows(2, "\" 98765432109876543210"));
    const DataFiles files = hftrain::data::find_data_files({folder / name}, Split::kTrain);
    const auto source = hftrain::data::open_rows(files.rows, {.columns = numbers});
    Records records(2);
    REQUIRE(source->next(records));
    CHECK(records.value(0, 0).number() == -123456789012345678901234567890.0);
    CHECK(records.value(0, 1).integer() == 9007199254740993);
  }
  CHECK_THAT(complaint(folder, "b.jsonl", R"({"text": "x", "id": 01234567890123456789012})"),
             Contains("b.jsonl:1"));
}

TEST_CASE("Records under data are the rows of a .json file, however the array is laid out") {
  const TemporaryDirectory folder;
  CHECK(read_content(folder, "a.json", R"({"version": 1, "data": [{"text": "x"}, {"text": "y"}]})") ==
        Rows{"x", "y"});
  CHECK(read_content(folder, "b.json", "{\"data\":[]}").empty());
  // Several objects in a row are records themselves, even when they have such a field.
  CHECK(read_content(folder, "c.json", "{\"text\":\"x\",\"data\":[1]}\n{\"text\":\"y\",\"data\":[]}") ==
        Rows{"x", "y"});
  CHECK(read_content(folder, "d.json", "[]").empty());
}

TEST_CASE("A .json array is read in pieces, so records may lie across buffer ends") {
  const TemporaryDirectory folder;
  std::string text = "[";
  Rows expected;
  for (int i = 0; i < 20000; ++i) {
    expected.push_back(std::string(static_cast<size_t>(i) % 97, 'y') + "\\]}" + std::to_string(i));
    text += (i > 0 ? ",\n" : "") + Json{{"n", {1, 2, "]"}}, {"text", expected.back()}}.dump();
  }
  CHECK(read_content(folder, "a.json", text + "]\n") == expected);
}

TEST_CASE("Tabs separate the fields of a .tsv file, and commas are text there") {
  const TemporaryDirectory folder;
  CHECK(read_content(folder, "a.tsv", "id\ttext\n1\ta, \"b\"\n2\t\"c\td\"\n") == Rows{"a, \"b\"", "c\td"});
}

TEST_CASE("Cells that look like numbers or missing values are text") {
  const TemporaryDirectory folder;
  CHECK(read_content(folder, "a.csv", "text,b\nNA,1\n,2\n3.0,\n") == Rows{"NA", "", "3.0"});
}

TEST_CASE("A window gives the rows inside it and no others") {
  const TemporaryDirectory folder;
  hftrain::write_file_atomically(folder / "a.txt", "0\n1\n2\n3\n4\n");
  const auto window = [&](int64_t begin, int64_t end) {
    const auto source = hftrain::data::row_window(
        hftrain::data::open_rows({{folder / "a.txt", RowFormat::kText}}, {false}), begin, end);
    std::string rows;
    for (Records row; source->next(row); row.clear()) rows += std::string(row.value(0, 0).text()) + '|';
    return rows;
  };
  CHECK(window(0, -1) == "0|1|2|3|4|");
  CHECK(window(1, 3) == "1|2|");
  CHECK(window(3, -1) == "3|4|");
  CHECK(window(0, 0).empty());
  CHECK(window(9, -1).empty());
}

TEST_CASE("Globs are sorted, several files follow one another and formats may differ by file") {
  const TemporaryDirectory folder;
  hftrain::write_file_atomically(folder / "b.txt", "second");
  hftrain::write_file_atomically(folder / "a.txt", "first");
  hftrain::write_file_atomically(folder / "c.JSONL", "{\"text\":\"third\"}");
  CHECK(read_rows(folder / "[abc].*") == Rows{"first", "second", "third"});
  hftrain::write_file_atomically(folder / "[x].txt", "literal");
  CHECK(read_rows(folder / "[x].txt") == Rows{"literal"});
}

TEST_CASE("two stars in a pattern stand for any number of folders") {
  const TemporaryDirectory folder;
  hftrain::write_file_atomically(folder / "x.txt", "first");
  hftrain::write_file_atomically(folder / "a/y.txt", "second");
  hftrain::write_file_atomically(folder / "a/b/z.txt", "third");
  hftrain::write_file_atomically(folder / "a/b/z.md", "another");
  CHECK(read_rows(folder / "**/*.txt") == Rows{"third", "second", "first"});
  CHECK(read_rows(folder / "a/**/z.txt") == Rows{"third"});
  CHECK(read_rows(folder / "a*/**/y.txt") == Rows{"second"});
  CHECK(hftrain::data::paths_of_pattern(folder / "none/**/*.txt").empty());
}

TEST_CASE("data files that the system refuses to look for are told as that, under a pattern, too") {
  const TemporaryDirectory folder;
  std::filesystem::create_symlink("circle", folder / "circle");
  for (const std::string& name : {folder / "circle/a.txt", folder / "circle/*.txt"}) {
    try {
      hftrain::data::find_data_files({name}, Split::kTrain);
      FAIL("nothing was thrown");
    } catch (const hftrain::Error& error) {
      CHECK(error.code() == hftrain::ExitCode::kData);
      CHECK_THAT(error.render(), Catch::Contains("a path cannot be looked at\n  where: " + name + '\n') &&
                                     Catch::Contains("symbolic links"));
    }
  }
}

TEST_CASE("Files that cannot be data are refused by name") {
  const TemporaryDirectory folder;
  const auto refuse = [&](const std::vector<std::string>& patterns, ExitCode code) {
    try {
      hftrain::data::find_data_files(patterns, Split::kTrain);
      FAIL("not refused: " << patterns.front());
    } catch (const Error& error) {
      CHECK(error.code() == code);
      CHECK_THAT(error.render(), Contains(patterns.front()));
    }
  };
  hftrain::write_file_atomically(folder / "a.arrow", "x");
  hftrain::write_file_atomically(folder / "a.txt", "x");
  hftrain::write_file_atomically(folder / "t.bin", "x");
  hftrain::write_file_atomically(folder / "t.idx", "x");
  refuse({folder / "a.arrow"}, ExitCode::kUsage);
  refuse({folder / "missing.txt"}, ExitCode::kData);
  refuse({folder / "*.jsonl"}, ExitCode::kData);
  refuse({folder.path()}, ExitCode::kData);
  refuse({folder / "a.txt", folder / "t.bin"}, ExitCode::kUsage);
}

TEST_CASE("Both files of a token pair, its prefix or a glob over it name it once") {
  const TemporaryDirectory folder;
  hftrain::write_file_atomically(folder / "t.bin", "x");
  hftrain::write_file_atomically(folder / "t.idx", "x");
  for (const char* name : {"t.bin", "t.idx", "t", "t.*"}) {
    CAPTURE(name);
    CHECK(hftrain::data::find_data_files({folder / name}, Split::kTrain).token_prefixes ==
          Rows{folder / "t"});
  }
}

TEST_CASE("a row beyond the limit is refused in words, however few bytes it has in the file") {
  const TemporaryDirectory folder;
  const auto refusal = [&](const std::string& name, const std::string& content) {
    hftrain::write_file_atomically(folder / name, content);
    const DataFiles files = hftrain::data::find_data_files({folder / name}, Split::kTrain);
    try {
      const auto source =
          hftrain::data::open_rows(files.rows, {.keep_linebreaks = true, .longest_row = 4096});
      for (Records row; source->next(row); row.clear()) {
      }
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      return error.render();
    }
    return std::string();
  };
  for (const size_t size : {size_t{3000}, size_t{5000}}) {
    const std::string text(size, 'x');
    const auto expected = size > 4096 ? Catch::Contains("longer than 4.0 KiB") : Catch::Contains("");
    for (const auto& [name, content] :
         std::vector<std::pair<std::string, std::string>>{{"a.txt", "first\n" + text},
                                                          {"a.jsonl", "{\"text\": \"" + text + "\"}"},
                                                          {"a.csv", "text\n" + text + "\n"},
                                                          {"b.csv", "text\n\"" + text + "\"\n"},
                                                          {"a.tsv", text + "\n"}}) {
      INFO(name);
      const std::string said = refusal(name, content);
      CHECK(said.empty() == (size < 4096));
      CHECK_THAT(said, expected);
    }
  }
  // JSON is read in large pieces, of which all may belong to the record.
  CHECK_THAT(refusal("a.json", "[{\"text\": \"" + std::string(1 << 20, 'x') + "\"}]"),
             Catch::Contains("longer than 4.0 KiB") && Catch::Contains(".jsonl"));
  CHECK_THAT(refusal("fields.csv", std::string(hftrain::data::kMostFields, ',')),
             Catch::Contains("100,000 fields"));
}

namespace {

// Of a file with a label and a text beside it: what is said, or the labels as text.
std::string typed_rows(const TemporaryDirectory& folder, const std::string& name,
                       const std::string& content) {
  hftrain::write_file_atomically(folder / name, content);
  const hftrain::data::ColumnRule rule = {.columns = 2,
                                          .choose =
                                              [](const auto&) {
                                                return Rows{"text", "label"};
                                              },
                                          .text_only = false,
                                          .typed_cells = {1},
                                          .never_null = {0}};
  const auto files = hftrain::data::find_data_files({folder / name}, Split::kTrain);
  try {
    const auto source = hftrain::data::open_rows(files.rows, {.columns = rule});
    Records records(2);
    while (source->next(records)) continue;
    return std::to_string(records.rows()) + " rows";
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_FALSE(error.diagnostics().front().hint.empty());
    return error.render();
  }
}

}  // namespace

TEST_CASE("a column that is named twice, null where a value belongs and values of two kinds are refused") {
  const TemporaryDirectory folder;
  CHECK_THAT(typed_rows(folder, "a.csv", "text,label,label\nx,1,2\n"),
             Contains("two columns are called 'label'"));
  CHECK_THAT(typed_rows(folder, "a.jsonl", R"({"text": "x", "label": 1, "label": 2})"),
             Contains("two fields 'label'"));
  CHECK_THAT(typed_rows(folder, "b.jsonl", R"({"text": null, "label": 1})"), Contains("'text' is null"));
  const std::string first = R"({"text": "x", "label": 1})";
  CHECK_THAT(typed_rows(folder, "c.jsonl", first + "\n" + R"({"text": "x", "label": "a"})"),
             Contains("is a string, and a number before") && Contains("c.jsonl:2"));
  CHECK_THAT(typed_rows(folder, "c.json", '[' + first + "," + R"({"text": "x", "label": true}])"),
             Contains("is a boolean, and a number before"));
  CHECK(typed_rows(folder, "d.jsonl", first + "\n" + R"({"text": "x", "label": 0.5})") == "2 rows");
  CHECK(typed_rows(folder, "e.jsonl", first + "\n" + R"({"text": "x", "label": null})") == "2 rows");
  CHECK(typed_rows(folder, "f.csv", "text,label,note,note\nx,1,,\ny,a,,\n") == "2 rows");
}

TEST_CASE("a link in a circle among images is named, and ends as a file that cannot be read") {
  const TemporaryDirectory folder;
  std::filesystem::create_directories(folder / "cats");
  const std::string link = folder / "cats/again";
  std::filesystem::create_symlink("again", link);
  try {
    hftrain::data::image_files(folder.path());
    FAIL("it was listed");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(error.diagnostics().front().where == link);
  }
  std::filesystem::remove(link);
  std::filesystem::create_symlink("..", link);
  CHECK_REFUSED(hftrain::data::image_files(folder.path()), "where: " + link + "/cats/again");
}

TEST_CASE("every refusal of a file says what to do") {
  const TemporaryDirectory folder;
  for (const auto& [name, content] :
       std::vector<std::pair<std::string, std::string>>{{"a.csv", ""},
                                                        {"b.csv", "text,note\nx,1,2\n"},
                                                        {"c.csv", "note,text\nx\n"},
                                                        {"d.csv", "text\n\"x\n"},
                                                        {"e.csv", "text\n\xff\n"},
                                                        {"f.json", "5"},
                                                        {"g.json", "[[1]]"},
                                                        {"h.json", "[{\"text\": \"x\"}"},
                                                        {"i.json", "{\"text\": tru}"},
                                                        {"j.jsonl", "5"},
                                                        {"k.jsonl", "{\"text\": tru}"},
                                                        {"l.txt.gz", "x"}}) {
    CAPTURE(name);
    const std::string said = complaint(folder, name, content);
    for (const char* part : {"\n  where: ", "\n  why: ", "\n  try: "}) CHECK_THAT(said, Contains(part));
  }
}

TEST_CASE("lines of two files are pairs, and one without its counterpart is refused") {
  const TemporaryDirectory folder;
  const auto pairs = [&](const std::string& sources, const std::string& targets) -> std::string {
    hftrain::write_file_atomically(folder / "train.source", sources);
    hftrain::write_file_atomically(folder / "train.target", targets);
    const hftrain::data::ColumnRule rule = {.columns = 2, .choose = [](const auto& names) { return names; }};
    try {
      const auto files = hftrain::data::find_data_files({folder / "train.source"}, Split::kTrain);
      CHECK(files.paths() == Rows{folder / "train.source", folder / "train.target"});
      const auto source = hftrain::data::open_rows(files.rows, {.columns = rule});
      Records records(2);
      std::string text;
      for (size_t row = 0; source->next(records); ++row)
        text +=
            std::string(records.value(row, 0).text()) + '=' + std::string(records.value(row, 1).text()) + ';';
      return text;
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      return error.render();
    }
  };
  CHECK(pairs("a fox\r\nan owl\n", "bim\ndap") == "a fox=bim;an owl=dap;");
  CHECK(pairs("", "") == "");
  CHECK_THAT(pairs("a\nb\n", "x\n"), Contains("train.source:2") && Contains("only 1 lines"));
  CHECK_THAT(pairs("a\n", "x\ny\n"), Contains("train.target:2") && Contains("only 1 lines"));
  CHECK_THAT(pairs("a\n\n", "x\ny\n"), Contains("train.source:2") && Contains("the line is empty"));
  CHECK_THAT(pairs("a\n", "\xff\n"), Contains("train.target:1") && Contains("UTF-8"));
}
