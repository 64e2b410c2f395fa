#include "hftrain/tokenizer/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/json_part.h"
#include "hftrain/tokenizer/model_part.h"
#include "hftrain/tokenizer/named_tokens.h"
#include "hftrain/tokenizer/pipeline.h"
#include "hftrain/tokenizer/tokenizer_file.h"

namespace hftrain::tokenizer {
namespace {

namespace fs = std::filesystem;

// transformers writes 1e30 for "no limit".
constexpr double kNoLimit = 1e9;
// Tokens that a file may have every text padded to, and the bytes of their text together.
constexpr int64_t kMostPadded = int64_t{1} << 20, kMostPaddedBytes = int64_t{1} << 26;

simdjson::dom::element parse(simdjson::dom::parser& parser, const std::string& file) {
  simdjson::padded_string text;
  if (simdjson::padded_string::load(file).get(text) != simdjson::SUCCESS) {
    throw Error(ExitCode::kData, "cannot read the tokenizer")
        .where(file)
        .why("it cannot be opened, or not be read to its end")
        .hint("see whether it is a file, and may be read");
  }
  simdjson::dom::element root;
  const simdjson::error_code error = parser.parse(text).get(root);
  if (error == simdjson::SUCCESS) return root;
  // The other parser is slower and says where; this one is fussier about nothing that the other would take.
  parse_json(std::string_view(text), file);
  throw Error(ExitCode::kData, "not valid JSON")
      .where(file)
      .why(simdjson::error_message(error))
      .hint("copy tokenizer.json again from where the tokenizer came from");
}

Truncation read_truncation(const JsonPart& part) {
  Truncation truncation;
  truncation.max_length = part.at("max_length").integer(0);
  truncation.from_left = part.has("direction") && part.text("direction") == "Left";
  const std::string strategy = part.has("strategy") ? part.text("strategy") : "LongestFirst";
  if (strategy != "LongestFirst" && strategy != "OnlyFirst" && strategy != "OnlySecond") {
    throw part.unsupported("the strategy '" + strategy + "' is not known here");
  }
  if (strategy == "OnlyFirst") truncation.strategy = TruncationStrategy::kOnlyFirst;
  if (strategy == "OnlySecond") truncation.strategy = TruncationStrategy::kOnlySecond;
  if (const auto stride = part.find("stride")) truncation.stride = stride->integer(0);
  return truncation;
}

Padding read_padding(const JsonPart& part) {
  Padding padding;
  const JsonPart strategy = part.at("strategy");
  if (strategy.is_object()) {
    padding.fixed_length = strategy.at("Fixed").integer(0, kMostPadded);
  } else if (strategy.text() != "BatchLongest") {
    throw strategy.unsupported("the strategy '" + std::string(strategy.text()) + "' is not known here");
  }
  if (const auto multiple = part.find("pad_to_multiple_of"))
    padding.multiple_of = multiple->integer(0, kMostPadded);
  padding.on_left = part.text("direction") == "Left";
  padding.id = part.at("pad_id").small_integer();
  padding.type_id = part.at("pad_type_id").small_integer();
  padding.token = part.text("pad_token");
  const int64_t tokens = padding.fixed_length.value_or(0) + padding.multiple_of;
  if (static_cast<int64_t>(padding.token.size()) > kMostPaddedBytes / std::max<int64_t>(tokens, 1))
    throw part.at("pad_token").error("a text as long, so many times, would fill the memory");
  return padding;
}

PipelineParts read_parts(const JsonPart& root) {
  PipelineParts parts;
  if (!root.is_object()) throw root.error("an object is needed here");
  if (const auto version = root.find("version"); version && version->text() != "1.0")
    throw version->unsupported("the version '" + std::string(version->text()) +
                               "' is not known here; 1.0 is");
  parts.model = read_model(root.at("model"));
  if (const auto part = root.find("normalizer")) parts.normalizer = read_normalizer(*part);
  if (const auto part = root.find("pre_tokenizer")) parts.pre_tokenizer = read_pre_tokenizer(*part);
  if (const auto part = root.find("post_processor")) parts.post_processor = read_post_processor(*part);
  if (const auto part = root.find("decoder")) parts.decoder = read_decoder(*part);
  if (const auto part = root.find("truncation")) parts.truncation = read_truncation(*part);
  if (const auto part = root.find("padding")) parts.padding = read_padding(*part);
  std::vector<JsonPart> added;
  if (const auto part = root.find("added_tokens")) added = part->items();
  parts.added_tokens =
      std::make_shared<AddedTokens>(added, parts.model->vocabulary(), parts.normalizer.get());
  return parts;
}

// Special tokens without a role: additional_special_tokens, or extra_special_tokens in newer files.
void read_further_tokens(const Json& config, std::vector<std::string>& tokens) {
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    if (!config.contains(key)) continue;
    const Json& list = config.at(key);
    if (!list.is_array() && !list.is_object()) continue;
    for (const Json& item : list) {
      if (auto token = token_text(item)) tokens.push_back(*std::move(token));
    }
  }
}

// Classes of transformers that build their pre-tokenizer themselves, and so can be told of spaces. A folder
// that names no class gets that of its model; the caller knows it to be one of these.
bool takes_prefix_space(const std::string& folder) {
  const std::string file = folder + "/tokenizer_config.json";
  if (!path_exists(file)) return true;
  const Json config = read_json_file(file);
  if (!config.is_object() || !config.contains("tokenizer_class")) return true;
  const Json& name = config.at("tokenizer_class");
  const auto is = [&](const char* known) { return name == known; };
  return name.is_null() || is("GPT2Tokenizer") || is("GPT2TokenizerFast") || is("RobertaTokenizer") ||
         is("RobertaTokenizerFast");
}

PipelineParts parts_of(const std::string& file) {
  simdjson::dom::parser parser;
  return read_parts(JsonPart(parse(parser, file), file));
}

std::shared_ptr<const PreTokenizer> spacing_pre_tokenizer(const std::string& file) {
  simdjson::dom::parser parser;
  const simdjson::padded_string text(
      std::string_view(R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": true})"));
  return read_pre_tokenizer(JsonPart(parser.parse(text).value(), file));
}

bool says_left(const Json& config, const char* key) {
  return config.contains(key) && config.at(key) == "left";
}

void read_settings(TokenizerSettings& settings) {
  const Json config = named_tokens(settings.folder);
  const auto of = [&](const char* role) { return token_text(config.value(role, Json())); };
  settings.bos_token = of("bos_token");
  settings.eos_token = of("eos_token");
  settings.pad_token = of("pad_token");
  settings.unk_token = of("unk_token");
  settings.cls_token = of("cls_token");
  settings.sep_token = of("sep_token");
  settings.mask_token = of("mask_token");
  read_further_tokens(config, settings.further_tokens);
  settings.pads_on_left = says_left(config, "padding_side");
  settings.truncates_from_left = says_left(config, "truncation_side");
  const char* key = config.contains("model_max_length") ? "model_max_length" : "max_len";  // its name of old
  if (!config.contains(key)) return;
  const Json& length = config.at(key);
  if (!length.is_number() || length.get<double>() >= kNoLimit) return;
  const double number = length.get<double>();
  if (!(number >= 1) || number != std::floor(number)) {
    throw Error(ExitCode::kData, std::string(key) + " must be a whole number, 1 or more")
        .where(settings.folder + "/tokenizer_config.json")
        .why("it is " + length.dump())
        .hint("write the number of tokens that the model takes, or leave it out");
  }
  settings.model_max_length = static_cast<int64_t>(number);
}

}  // namespace

void Tokenizer::encode_row(const EncodeInput& input, const EncodeOptions& options, TokenRow& row) const {
  const Encoding encoding = encode(input, options);
  row.clear();
  row.ids = encoding.ids;
  row.type_ids = encoding.type_ids;
  row.special_tokens_mask.assign(encoding.special_tokens_mask.begin(), encoding.special_tokens_mask.end());
  const auto is_words = [](const Sequence& sequence) {
    return !std::holds_alternative<std::string_view>(sequence);
  };
  if (is_words(input.first) || (input.second && is_words(*input.second))) row.word_ids = encoding.word_ids;
}

std::shared_ptr<const Tokenizer> Tokenizer::load(const std::string& place, const LoadOptions& options) {
  const std::string file = tokenizer_file(place);
  TokenizerSettings settings;
  const fs::path folder = fs::path(file).parent_path();
  settings.folder = (folder.empty() ? fs::path(".") : folder).string();
  PipelineParts parts = parts_of(file);
  if (options.add_prefix_space && takes_prefix_space(settings.folder))
    parts.pre_tokenizer = spacing_pre_tokenizer(file);
  read_settings(settings);
  return std::make_shared<Pipeline>(std::move(parts), std::move(settings));
}

}  // namespace hftrain::tokenizer
