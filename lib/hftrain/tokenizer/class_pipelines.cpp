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

// Tokens that are put around one text.
struct Around {
  int before = 0, behind = 0;
  bool operator==(const Around&) const = default;
};

// PartKinds of parts; a "?" behind one: tokens are the same with it and without. No tokens around: those of the file.
struct ClassPipeline {
  std::string_view tokenizer_class;
  const char* normalizer;
  const char* pre_tokenizer;
  std::optional<Around> around;
};

constexpr const char* kNoPart = "";
constexpr const char* kBytes = "ByteLevel";
constexpr const char* kBertForm = "BertNormalizer";
constexpr const char* kBertWords = "BertPreTokenizer";
constexpr const char* kPieceForm = "Precompiled? Replace? Strip?";
constexpr const char* kPieces = "WhitespaceSplit? Metaspace";
constexpr Around kAroundBoth = {1, 1};

// Read off transformers 5.17 with a file of parts that no class has.
constexpr ClassPipeline kPipelines[] = {
    {"BartTokenizer", kNoPart, kBytes, kAroundBoth},
    {"BertTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"CamembertTokenizer", kPieceForm, kPieces, kAroundBoth},
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
    {"PegasusTokenizer", kPieceForm, kPieces, Around{0, 1}},
    {"Qwen2Tokenizer", "NFC", "Split ByteLevel-without-its-pattern", std::nullopt},
    {"RobertaTokenizer", kNoPart, kBytes, kAroundBoth},
    {"SplinterTokenizer", kBertForm, kBertWords, std::nullopt},
    {"SqueezeBertTokenizer", kBertForm, kBertWords, kAroundBoth},
    {"T5Tokenizer", kPieceForm, kPieces, Around{0, 1}},
    {"XLMRobertaTokenizer", kPieceForm, kPieces, kAroundBoth},
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

Around around_in(const Json& part) {
  Around around;
  if (!part.is_object()) return around;
  const std::string kind = part.value("type", "");
  if (kind == "BertProcessing" || kind == "RobertaProcessing") return kAroundBoth;
  bool behind = false;
  for (const Json& piece : part.value("single", Json::array())) {
    if (piece.contains("Sequence"))
      behind = true;
    else
      ++(behind ? around.behind : around.before);
  }
  for (const Json& each : part.value("processors", Json::array())) {
    const Around inner = around_in(each);
    around.before += inner.before;
    around.behind += inner.behind;
  }
  return around;
}

std::string in_words(const Around& around) {
  return std::to_string(around.before) + " before and " + std::to_string(around.behind) + " behind";
}

}  // namespace

std::vector<std::string> replaced_parts(const std::string& tokenizer_class, const FileParts& parts) {
  std::vector<std::string> said;
  const auto* const row =
      std::ranges::find(kPipelines, std::string_view(tokenizer_class), &ClassPipeline::tokenizer_class);
  if (row == std::end(kPipelines)) return said;
  compare(*row, "normalizer", row->normalizer, parts.normalizer, said);
  compare(*row, "pre-tokenizer", row->pre_tokenizer, parts.pre_tokenizer, said);
  if (row->around && *row->around != around_in(parts.post_processor))
    said.push_back(tokenizer_class + " of transformers 5 puts tokens around every text (" +
                   in_words(*row->around) + "), the file's post-processor " +
                   in_words(around_in(parts.post_processor)));
  return said;
}

}  // namespace hftrain::tokenizer
