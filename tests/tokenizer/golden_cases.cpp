#include "tokenizer/golden_cases.h"

#include <fstream>

#include "hftrain/base/json.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "tokenizer/package_json.h"

namespace hftrain::tokenizer {
namespace {

// What we say about a text, spelled like a line of cases.jsonl.
Json our_record(const Tokenizer& tokenizer, const std::string& text) {
  const Encoding full = tokenizer.encode(text, true);
  Json offsets = Json::array();
  for (const auto& [begin, end] : full.offsets) offsets.push_back({begin, end});
  return {{"text", text},
          {"ids", full.ids},
          {"tokens", full.tokens},
          {"offsets", offsets},
          {"type_ids", full.type_ids},
          {"attention_mask", full.attention_mask},
          {"plain", tokenizer.encode(text, false).ids},
          {"decoded", tokenizer.decode(full.ids, true)},
          {"decoded_all", tokenizer.decode(full.ids, false)}};
}

// The same as the package's line of cases.jsonl has it.
std::string our_line(const Tokenizer& tokenizer, const std::string& text, bool whole) {
  const Encoding full = tokenizer.encode(text, true);
  std::string line;
  write_member(line, "text", text);
  write_member(line, "ids", full.ids);
  write_member(line, "tokens", full.tokens);
  write_member(line, "offsets", full.offsets);
  if (whole) {
    write_member(line, "type_ids", full.type_ids);
    write_member(line, "attention_mask", full.attention_mask);
    write_member(line, "plain", tokenizer.encode(text, false).ids);
  }
  write_member(line, "decoded", tokenizer.decode(full.ids, true));
  if (whole) write_member(line, "decoded_all", tokenizer.decode(full.ids, false));
  return line + "}";
}

// Keys whose values differ.
std::string difference(const Json& ours, const Json& theirs) {
  std::string text;
  for (const auto& [key, value] : theirs.items()) {
    if (!ours.contains(key) || ours.at(key) != value) {
      text += "\n  " + key + "\n    package " + dump_json(value, -1) + "\n    ours    " +
              (ours.contains(key) ? dump_json(ours.at(key), -1) : "-");
    }
  }
  return text;
}

// A text comes out the same when its pieces are known from the first time.
std::string second_difference(const Tokenizer& tokenizer, const std::string& text) {
  const Encoding first = tokenizer.encode(text, true), second = tokenizer.encode(text, true);
  const bool same = first.ids == second.ids && first.tokens == second.tokens &&
                    first.offsets == second.offsets && first.word_ids == second.word_ids;
  return same ? "" : "\n  the second encoding differs from the first";
}

// The fast path must agree with the whole pipeline wherever that neither cuts nor pads.
std::string fast_difference(const Tokenizer& tokenizer, const std::string& text, const Json& theirs,
                            bool is_limited) {
  std::string problem;
  for (const bool add_special_tokens : {true, false}) {
    std::vector<TokenId> ids = {7};
    tokenizer.encode_into(text, add_special_tokens, ids);
    ids.erase(ids.begin());
    const char* key = add_special_tokens ? "ids" : "plain";
    if (!is_limited && theirs.contains(key) && Json(ids) != theirs.at(key)) {
      problem += "\n  encode_into gives " + dump_json(Json(ids), -1);
    }
  }
  return problem;
}

}  // namespace

Comparison compare_with_cases(const std::string& folder) {
  const auto tokenizer = Tokenizer::load(folder);
  const Json file = read_json_file(folder + "/tokenizer.json");
  const bool is_limited = !file.at("truncation").is_null() || !file.at("padding").is_null();
  Comparison result;
  std::ifstream cases(folder + "/cases.jsonl");
  for (std::string line; std::getline(cases, line);) {
    const Json theirs = parse_json(line, "the package's answers");
    if (theirs.contains("fails"))
      continue;  // the package gives up with an exception; there is nothing to equal
    ++result.cases;
    const auto text = theirs.at("text").get<std::string>();
    std::string problem;
    if (our_line(*tokenizer, text, theirs.contains("plain")) != line)
      problem = difference(our_record(*tokenizer, text), theirs);
    problem += second_difference(*tokenizer, text) + fast_difference(*tokenizer, text, theirs, is_limited);
    if (problem.empty()) continue;
    if (result.differences++ == 0) result.first_difference = dump_json(Json(text), -1) + problem;
  }
  return result;
}

}  // namespace hftrain::tokenizer
