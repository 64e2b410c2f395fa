#include "tokenizer/golden_cases.h"

#include <fstream>

#include "hftrain/base/json.h"
#include "hftrain/tokenizer/tokenizer.h"

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

// The fast path must agree with the whole pipeline wherever that neither cuts nor pads.
std::string fast_difference(const Tokenizer& tokenizer, const std::string& text, const Json& theirs,
                            bool is_limited) {
  std::string problem;
  for (const bool add_special_tokens : {true, false}) {
    std::vector<TokenId> ids = {7};
    tokenizer.encode_into(text, add_special_tokens, ids);
    ids.erase(ids.begin());
    if (!is_limited && Json(ids) != theirs.at(add_special_tokens ? "ids" : "plain")) {
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
    std::string problem = difference(our_record(*tokenizer, text), theirs);
    problem += fast_difference(*tokenizer, text, theirs, is_limited);
    if (problem.empty()) continue;
    if (result.differences++ == 0) result.first_difference = dump_json(Json(text), -1) + problem;
  }
  return result;
}

}  // namespace hftrain::tokenizer
