#include "hftrain/tokenizer/class_pipelines.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "hftrain/base/text.h"

namespace hftrain::tokenizer {
namespace {

// The roles of the tokens that are put around one text; null: there is none.
struct Around {
  const char *before = nullptr, *behind = nullptr;
};

// PartKinds of parts; a "?" behind one: tokens are the same with it and without. No tokens around: those of the file.
struct ClassPipeline {
  std::string_view tokenizer_class;
  const char* normalizer;
  const char* pre_tokenizer;
  std::optional<Around> around;
  std::optional<bool> cuts_at_spaces =
      std::nullopt;  // of classes with a Metaspace, whether it is behind a WhitespaceSplit
};

constexpr const char* kNoPart = "";
constexpr const char* kBytes = "ByteLevel";
constexpr const char* kBertForm = "BertNormalizer";
constexpr const char* kBertWords = "BertPreTokenizer";
constexpr const char* kPieceForm = "Precompiled? Replace? Strip?";
constexpr const char* kPieces = "WhitespaceSplit? Metaspace";
constexpr Around kAroundBoth = {"cls_token", "sep_token"};
constexpr Around kAroundEnds = {"bos_token", "eos_token"}, kBehind = {nullptr, "eos_token"};

// Read off transformers 5.17 with a file of parts that no class has.
constexpr ClassPipeline kPipelines[] = {
    {"BartTokenizer", kNoPart, kBytes, kAroundBoth},
    {"BertTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"CamembertTokenizer", kPieceForm, kPieces, kAroundEnds, true},
    {"CodeGenTokenizer", kNoPart, kBytes, std::nullopt},
    {"DebertaTokenizer", kNoPart, kBytes, kAroundBoth},
    {"DebertaV2Tokenizer", "Precompiled? Replace? NFC? Strip?", kPieces, kAroundBoth},
    {"DistilBertTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"ElectraTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"FunnelTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"GPT2Tokenizer", kNoPart, kBytes, std::nullopt},
    {"GPTNeoXTokenizer", "NFC", kBytes, std::nullopt},
    {"GemmaTokenizer", "Replace", "Split?", std::nullopt},
    {"LEDTokenizer", kNoPart, kBytes, kAroundBoth},
    {"LayoutLMTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"LayoutLMv3Tokenizer", kNoPart, kBytes, kAroundBoth},
    {"LongformerTokenizer", kNoPart, kBytes, kAroundBoth},
    {"LukeTokenizer", kNoPart, kBytes, std::nullopt},
    {"LxmertTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"MPNetTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"MobileBertTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"MvpTokenizer", kNoPart, kBytes, kAroundBoth},
    {"PegasusTokenizer", kPieceForm, kPieces, kBehind, false},
    {"Qwen2Tokenizer", "NFC", "Split ByteLevel-without-its-pattern", std::nullopt},
    {"RobertaTokenizer", kNoPart, kBytes, kAroundBoth},
    {"SplinterTokenizer", kBertForm, kBertWords, std::nullopt},
    {"SqueezeBertTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"T5Tokenizer", kPieceForm, kPieces, kBehind, true},
    {"XLMRobertaTokenizer", kPieceForm, kPieces, kAroundEnds, true},
};

// Of a part and what it is a sequence of.
void add_kinds(const Json& part, std::vector<std::string>& kinds) {
  if (!part.is_object()) return;
  const std::string kind = part.value("type", "");
  for (const char* list : {"normalizers", "pretokenizers"}) {
    for (const Json& each : part.value(list, Json::array())) add_kinds(each, kinds);
  }
  if (kind == "Sequence") return;
  const bool cut_elsewhere = kind == kBytes && !part.value("use_regex", true);
  kinds.push_back(cut_elsewhere ? kind + "-without-its-pattern" : kind);
}

struct PartKinds {
  std::vector<std::string> needed, free;
};

PartKinds kinds_in(const char* words) {
  PartKinds kinds;
  std::istringstream text(words);
  for (std::string word; text >> word;) {
    const bool free = word.ends_with('?');
    if (free) word.pop_back();
    (free ? kinds.free : kinds.needed).push_back(word);
  }
  return kinds;
}

bool has_kind(const std::vector<std::string>& list, const std::string& what) {
  return std::ranges::find(list, what) != list.end();
}

void compare(const ClassPipeline& row, const std::string& what, const char* words, const Json& part,
             std::vector<std::string>& said) {
  const PartKinds own = kinds_in(words);
  std::vector<std::string> found;
  add_kinds(part, found);
  const bool lacks =
      std::ranges::any_of(own.needed, [&](const std::string& kind) { return !has_kind(found, kind); });
  const bool has_more = std::ranges::any_of(found, [&](const std::string& kind) {
    return !has_kind(own.needed, kind) && !has_kind(own.free, kind);
  });
  if (!lacks && !has_more) return;
  said.push_back(std::string(row.tokenizer_class) + " of transformers 5 has " +
                 (own.needed.empty() ? "no " + what : "the " + what + ' ' + join(own.needed, ", ")) +
                 ", the file " + (found.empty() ? "none" : join(found, ", ")));
}

// Of classes that mark spaces. A space that ends a text is a token of its own unless something takes it away before.
void compare_spaces(const ClassPipeline& row, const FileParts& parts, std::vector<std::string>& said) {
  const Json marks = part_of_type(parts.pre_tokenizer, "Metaspace");
  if (!row.cuts_at_spaces || marks.is_null()) return;
  const std::string class_has = std::string(row.tokenizer_class) + " of transformers 5 has ";
  const std::string scheme =
      marks.value("prepend_scheme", marks.value("add_prefix_space", true) ? "always" : "never");
  if (scheme != "always")
    said.push_back(class_has + "a Metaspace with the prepend_scheme always, the file " + scheme);
  const bool cuts = !part_of_type(parts.pre_tokenizer, "WhitespaceSplit").is_null();
  const Json strip = part_of_type(parts.normalizer, "Strip");
  const bool strips = strip.is_object() && strip.value("strip_right", true);
  if (*row.cuts_at_spaces && !cuts && !strips)
    said.push_back(class_has + "a WhitespaceSplit, and the file makes tokens of spaces that end a text");
  if (!*row.cuts_at_spaces && cuts)
    said.push_back(class_has + "no WhitespaceSplit, and makes tokens of spaces that end a text");
}

// The tokens of a post-processor around one text, by what they are called and their ids.
struct TokensAround {
  std::vector<FileToken> before, behind;
};

// "[CLS]" of ["[CLS]", 101].
FileToken token_of_pair(const Json& pair) {
  return pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_number_integer()
             ? FileToken{pair[0].get<std::string>(), pair[1].get<int64_t>()}
             : FileToken();
}

// What `name` stands for in a template.
FileToken token_of_template(const Json& part, const std::string& name) {
  const Json token = part.value("special_tokens", Json::object()).value(name, Json::object());
  const Json ids = token.value("ids", Json::array());
  const bool is_one = ids.size() == 1 && ids[0].is_number_integer();
  return {name, is_one ? std::optional(ids[0].get<int64_t>()) : std::nullopt};
}

TokensAround around_in(const Json& part) {
  TokensAround around;
  if (!part.is_object()) return around;
  const std::string kind = part.value("type", "");
  if (kind == "BertProcessing" || kind == "RobertaProcessing")
    return {{token_of_pair(part.value("cls", Json()))}, {token_of_pair(part.value("sep", Json()))}};
  bool behind = false;
  for (const Json& piece : part.value("single", Json::array())) {
    if (!piece.contains("SpecialToken")) {
      behind = true;
      continue;
    }
    (behind ? around.behind : around.before)
        .push_back(token_of_template(part, piece["SpecialToken"].value("id", "")));
  }
  for (const Json& each : part.value("processors", Json::array())) {
    const TokensAround inner = around_in(each);
    around.before.insert(around.before.end(), inner.before.begin(), inner.before.end());
    around.behind.insert(around.behind.end(), inner.behind.begin(), inner.behind.end());
  }
  return around;
}

std::string in_words(size_t before, size_t behind) {
  return std::to_string(before) + " before and " + std::to_string(behind) + " behind";
}

// A role's token that is not the one which the file puts there; what is not known is not told. Ids alone decide: transformers
// itself writes another name beside the id that it means.
void compare_token(const ClassPipeline& row, const char* role, const FileToken& in_file, const char* side,
                   const FileParts& parts, std::vector<std::string>& said) {
  const auto named = parts.roles.find(role);
  if (named == parts.roles.end() || !in_file.id || named->second.id == in_file.id) return;
  said.push_back(std::string(row.tokenizer_class) + " of transformers 5 puts " +
                 Json(named->second.content).dump() + ' ' + side + " every text, the " + role +
                 ", and the file's post-processor " + Json(in_file.content).dump());
}

void compare_around(const ClassPipeline& row, const FileParts& parts, std::vector<std::string>& said) {
  const TokensAround around = around_in(parts.post_processor);
  const size_t before = row.around->before == nullptr ? 0 : 1, behind = row.around->behind == nullptr ? 0 : 1;
  if (around.before.size() != before || around.behind.size() != behind) {
    said.push_back(std::string(row.tokenizer_class) + " of transformers 5 puts tokens around every text (" +
                   in_words(before, behind) + "), the file's post-processor " +
                   in_words(around.before.size(), around.behind.size()));
    return;
  }
  if (before > 0) compare_token(row, row.around->before, around.before.front(), "before", parts, said);
  if (behind > 0) compare_token(row, row.around->behind, around.behind.front(), "behind", parts, said);
}

// Of the classes that build a WordPiece.
void compare_unknown(const ClassPipeline& row, const FileParts& parts, std::vector<std::string>& said) {
  const auto named = parts.roles.find("unk_token");
  if (row.normalizer != kBertForm || named == parts.roles.end() || !parts.unk_token.is_string()) return;
  if (parts.unk_token == named->second.content) return;
  said.push_back(std::string(row.tokenizer_class) + " of transformers 5 makes " +
                 Json(named->second.content).dump() +
                 " of unknown words, the unk_token, and the file's model " + parts.unk_token.dump());
}

}  // namespace

Json part_of_type(const Json& part, const std::string& type) {
  if (!part.is_object()) return nullptr;
  if (part.value("type", "") == type) return part;
  for (const char* list : {"normalizers", "pretokenizers"}) {
    for (const Json& each : part.value(list, Json::array())) {
      if (Json found = part_of_type(each, type); !found.is_null()) return found;
    }
  }
  return nullptr;
}

std::vector<std::string> replaced_parts(const std::string& tokenizer_class, const FileParts& parts) {
  std::vector<std::string> said;
  const auto* const row =
      std::ranges::find(kPipelines, std::string_view(tokenizer_class), &ClassPipeline::tokenizer_class);
  if (row == std::end(kPipelines)) return said;
  compare(*row, "normalizer", row->normalizer, parts.normalizer, said);
  compare(*row, "pre-tokenizer", row->pre_tokenizer, parts.pre_tokenizer, said);
  compare_spaces(*row, parts, said);
  if (row->around) compare_around(*row, parts, said);
  compare_unknown(*row, parts, said);
  return said;
}

}  // namespace hftrain::tokenizer
