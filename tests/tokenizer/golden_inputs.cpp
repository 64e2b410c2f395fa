#include "tokenizer/golden_inputs.h"

#include <fstream>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::tokenizer {
namespace {

// A line of inputs.jsonl, with the words that its EncodeInput views.
struct InputCase {
  std::vector<std::string> first_words, second_words;
  std::string first_text, second_text;
  EncodeInput input;
  EncodeOptions options;
};

Sequence read_sequence(const Json& value, std::string& text, std::vector<std::string>& words) {
  if (value.is_string()) return text = value.get<std::string>();
  words = value.get<std::vector<std::string>>();
  return std::span<const std::string>(words);
}

Truncation read_case_truncation(const Json& value) {
  Truncation truncation;
  truncation.max_length = value.at("max_length").get<int64_t>();
  truncation.stride = value.at("stride").get<int64_t>();
  truncation.from_left = value.at("direction") == "left";
  const auto strategy = value.at("strategy").get<std::string>();
  if (strategy == "only_first") truncation.strategy = TruncationStrategy::kOnlyFirst;
  if (strategy == "only_second") truncation.strategy = TruncationStrategy::kOnlySecond;
  return truncation;
}

Padding read_case_padding(const Json& value) {
  Padding padding;
  if (!value.at("length").is_null()) padding.fixed_length = value.at("length").get<int64_t>();
  if (!value.at("pad_to_multiple_of").is_null())
    padding.multiple_of = value.at("pad_to_multiple_of").get<int64_t>();
  padding.on_left = value.at("direction") == "left";
  padding.id = value.at("pad_id").get<TokenId>();
  padding.type_id = value.at("pad_type_id").get<int32_t>();
  padding.token = value.at("pad_token").get<std::string>();
  return padding;
}

void read_case(const Json& line, InputCase& read) {
  read.input.first = read_sequence(line.at("first"), read.first_text, read.first_words);
  if (!line.at("second").is_null())
    read.input.second = read_sequence(line.at("second"), read.second_text, read.second_words);
  read.options.add_special_tokens = line.at("add_special_tokens").get<bool>();
  read.options.windows = true;
  if (!line.at("truncation").is_null()) read.options.truncation = read_case_truncation(line.at("truncation"));
  if (!line.at("padding").is_null()) read.options.padding = read_case_padding(line.at("padding"));
}

Json or_null(const std::vector<int32_t>& values) {
  Json list = Json::array();
  for (const int32_t value : values) list.push_back(value == kUnassigned ? Json() : Json(value));
  return list;
}

Json our_window(const Encoding& encoding, size_t sequences) {
  Json offsets = Json::array(), tokens = Json::array();
  for (const auto& [begin, end] : encoding.offsets) offsets.push_back({begin, end});
  for (size_t sequence = 0; sequence < sequences; ++sequence) {
    Json found = Json::array();
    for (int64_t character = 0; character < 12; ++character) {
      const auto token = encoding.char_to_token(character, static_cast<int32_t>(sequence));
      found.push_back(token ? Json(*token) : Json());
    }
    tokens.push_back(found);
  }
  return {{"ids", encoding.ids},
          {"type_ids", encoding.type_ids},
          {"tokens", encoding.tokens},
          {"offsets", offsets},
          {"attention_mask", encoding.attention_mask},
          {"special_tokens_mask", encoding.special_tokens_mask},
          {"word_ids", or_null(encoding.word_ids)},
          {"sequence_ids", or_null(encoding.sequence_ids())},
          {"char_to_token", tokens}};
}

Json our_windows(const Encoding& encoding, const Json& theirs) {
  Json windows = Json::array();
  const auto add = [&](const Encoding& window) {
    const size_t i = windows.size();
    windows.push_back(our_window(window, i < theirs.size() ? theirs[i].at("char_to_token").size() : 1));
  };
  add(encoding);
  for (const Encoding& window : encoding.overflowing) {
    if (windows.size() < 40) add(window);
  }
  return windows;
}

// What encode_row gives is the first window.
std::string row_difference(const Tokenizer& tokenizer, const InputCase& read, const Json& first) {
  TokenRow row;
  row.ids.push_back(7);
  tokenizer.encode_row(read.input, read.options, row);
  const Json mask(std::vector<int32_t>(row.special_tokens_mask.begin(), row.special_tokens_mask.end()));
  const bool is_words = !std::holds_alternative<std::string_view>(read.input.first);
  if (Json(row.ids) == first.at("ids") && Json(row.type_ids) == first.at("type_ids") &&
      mask == first.at("special_tokens_mask") && (!is_words || or_null(row.word_ids) == first.at("word_ids")))
    return "";
  return "\n  encode_row gives " + dump_json(Json(row.ids), -1) + dump_json(Json(row.type_ids), -1) +
         dump_json(mask, -1) + dump_json(or_null(row.word_ids), -1);
}

std::string compare(const Tokenizer& tokenizer, const Json& line) {
  InputCase read;
  read_case(line, read);
  try {
    const Json& theirs = line.at("windows");
    const Json ours = our_windows(tokenizer.encode(read.input, read.options), theirs);
    if (ours == theirs) return row_difference(tokenizer, read, theirs[0]);
    return "\n  package " + dump_json(theirs, -1) + "\n  ours    " + dump_json(ours, -1);
  } catch (const Error& error) {
    return "\n  ours fails: " + error.render();
  }
}

// What the package refuses is refused here, too, and not something worse.
std::string compare_refusal(const Tokenizer& tokenizer, const Json& line) {
  InputCase read;
  read_case(line, read);
  try {
    tokenizer.encode(read.input, read.options);
  } catch (const Error&) {
  }
  return "";
}

}  // namespace

Comparison compare_with_inputs(const std::string& folder) {
  const auto tokenizer = Tokenizer::load(folder);
  Comparison result;
  std::ifstream cases(folder + "/inputs.jsonl");
  for (std::string text; std::getline(cases, text);) {
    const Json line = parse_json(text, "the package's answers");
    const bool fails = line.contains("fails");
    if (!fails) ++result.cases;
    const std::string problem = fails ? compare_refusal(*tokenizer, line) : compare(*tokenizer, line);
    if (problem.empty()) continue;
    if (result.differences++ == 0) {
      Json input = line;
      input.erase("windows");
      result.first_difference = dump_json(input, -1) + problem;
    }
  }
  return result;
}

}  // namespace hftrain::tokenizer
