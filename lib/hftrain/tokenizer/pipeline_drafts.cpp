#include <algorithm>

#include "hftrain/tokenizer/metaspace.h"
#include "hftrain/tokenizer/tokenizer_writer.h"

namespace hftrain::tokenizer {
namespace {

using Tokens = std::vector<std::string>;

Json byte_level_part(bool add_prefix_space, bool trim_offsets) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", trim_offsets},
          {"use_regex", true}};
}

Json metaspace_part() {
  return {{"type", "Metaspace"}, {"replacement", kSpaceMark}, {"prepend_scheme", "always"}, {"split", true}};
}

// Builds a TemplateProcessing part.
class Template {
 public:
  explicit Template(const Tokens& special_tokens) : special_tokens_(special_tokens) {}

  static Json text(const char* id, int type_id) { return {{"Sequence", {{"id", id}, {"type_id", type_id}}}}; }
  Json special(const std::string& token, int type_id) {
    const auto id =
        std::find(special_tokens_.begin(), special_tokens_.end(), token) - special_tokens_.begin();
    used_[token] = {{"id", token}, {"ids", {id}}, {"tokens", {token}}};
    return {{"SpecialToken", {{"id", token}, {"type_id", type_id}}}};
  }
  Json part(const Json& single, const Json& pair) const {
    return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", used_}};
  }

 private:
  const Tokens& special_tokens_;
  Json used_ = Json::object();
};

bool has(const Tokens& tokens, const char* token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

}  // namespace

PipelineDraft byte_level_draft() {
  return {.normalizer = nullptr,
          .pre_tokenizer = byte_level_part(false, true),
          .post_processor = byte_level_part(true, false),
          .decoder = byte_level_part(true, true)};
}

PipelineDraft bert_draft(bool lowercase, const Tokens& special_tokens) {
  PipelineDraft draft;
  draft.normalizer = {{"type", "BertNormalizer"},
                      {"clean_text", true},
                      {"handle_chinese_chars", true},
                      {"strip_accents", nullptr},
                      {"lowercase", lowercase}};
  draft.pre_tokenizer = {{"type", "BertPreTokenizer"}};
  draft.decoder = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  if (!has(special_tokens, "[CLS]") || !has(special_tokens, "[SEP]")) return draft;
  Template around(special_tokens);
  const Json first =
      Json::array({around.special("[CLS]", 0), Template::text("A", 0), around.special("[SEP]", 0)});
  Json pair = first;
  pair.push_back(Template::text("B", 1));
  pair.push_back(around.special("[SEP]", 1));
  draft.post_processor = around.part(first, pair);
  return draft;
}

PipelineDraft t5_draft(const Tokens& special_tokens) {
  PipelineDraft draft;
  draft.normalizer = {{"type", "Sequence"},
                      {"normalizers", Json::array({{{"type", "Nmt"}}, {{"type", "NFKC"}}})}};
  draft.pre_tokenizer = {{"type", "Sequence"},
                         {"pretokenizers", Json::array({{{"type", "WhitespaceSplit"}}, metaspace_part()})}};
  draft.decoder = metaspace_part();
  if (!has(special_tokens, "</s>")) return draft;
  Template around(special_tokens);
  const Json end = around.special("</s>", 0);
  draft.post_processor = around.part(Json::array({Template::text("A", 0), end}),
                                     Json::array({Template::text("A", 0), end, Template::text("B", 0), end}));
  return draft;
}

PipelineDraft plain_words_draft() {
  PipelineDraft draft;
  draft.normalizer = {{"type", "NFC"}};
  draft.pre_tokenizer = {{"type", "Whitespace"}};
  return draft;
}

std::string unknown_among(const Tokens& special_tokens) {
  for (const char* name : {"[UNK]", "<unk>", "<|unk|>"}) {
    if (has(special_tokens, name)) return name;
  }
  return "";
}

}  // namespace hftrain::tokenizer
