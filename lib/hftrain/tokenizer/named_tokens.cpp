#include "hftrain/tokenizer/named_tokens.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::tokenizer {
namespace {

constexpr std::string_view kPlainClass = "TokenizersBackend";

// In the order of kTokenRoles; null: the class has none.
using OwnTokens = std::array<const char*, kTokenRoles.size()>;
constexpr const char* kEnd = "<|endoftext|>";
constexpr OwnTokens kAsBert = {nullptr, nullptr, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr OwnTokens kAsRoberta = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
constexpr OwnTokens kAsDeberta = {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr OwnTokens kAsAlbert = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"};
constexpr OwnTokens kAsT5 = {nullptr, "</s>", "<unk>", nullptr, "<pad>", nullptr, nullptr};
constexpr OwnTokens kAsLlama = {"<s>", "</s>", "<unk>", nullptr, nullptr, nullptr, nullptr};
constexpr OwnTokens kAsGpt2 = {kEnd, kEnd, kEnd, nullptr, nullptr, nullptr, nullptr};
constexpr OwnTokens kAsNeoX = {kEnd, kEnd, kEnd, nullptr, "<|padding|>", nullptr, nullptr};
constexpr OwnTokens kAsQwen2 = {nullptr, kEnd, kEnd, nullptr, kEnd, nullptr, nullptr};
constexpr OwnTokens kAsGemma = {"<bos>", "<eos>", "<unk>", nullptr, "<pad>", nullptr, "<mask>"};
constexpr OwnTokens kAsMpnet = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"};
constexpr OwnTokens kAsXlnet = {"<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"};
constexpr OwnTokens kAsPegasus = {nullptr, "</s>", "<unk>", nullptr, "<pad>", nullptr, "<mask_2>"};
constexpr OwnTokens kAsCohere = {"<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<UNK>", "<SEP>", "<PAD>",
                                 "<CLS>",       "<MASK_TOKEN>"};

// Of the classes whose tokenizer.json this program may meet beside a model of its families.
using ClassRow = std::pair<std::string_view, const OwnTokens*>;
constexpr ClassRow kClasses[] = {
    {"AlbertTokenizer", &kAsAlbert},      {"BarthezTokenizer", &kAsRoberta},
    {"BartTokenizer", &kAsRoberta},       {"BertJapaneseTokenizer", &kAsBert},
    {"BertTokenizer", &kAsBert},          {"BlenderbotTokenizer", &kAsRoberta},
    {"CamembertTokenizer", &kAsRoberta},  {"CodeGenTokenizer", &kAsGpt2},
    {"CodeLlamaTokenizer", &kAsLlama},    {"CohereTokenizer", &kAsCohere},
    {"ConvBertTokenizer", &kAsBert},      {"DebertaTokenizer", &kAsDeberta},
    {"DebertaV2Tokenizer", &kAsDeberta},  {"DistilBertTokenizer", &kAsBert},
    {"ElectraTokenizer", &kAsBert},       {"FNetTokenizer", &kAsAlbert},
    {"GemmaTokenizer", &kAsGemma},        {"GPT2Tokenizer", &kAsGpt2},
    {"GPTNeoXTokenizer", &kAsNeoX},       {"LayoutLMTokenizer", &kAsBert},
    {"LayoutLMv2Tokenizer", &kAsBert},    {"LayoutLMv3Tokenizer", &kAsRoberta},
    {"LEDTokenizer", &kAsRoberta},        {"LlamaTokenizer", &kAsLlama},
    {"LongformerTokenizer", &kAsRoberta}, {"LukeTokenizer", &kAsRoberta},
    {"LxmertTokenizer", &kAsBert},        {"MarkupLMTokenizer", &kAsRoberta},
    {"MBartTokenizer", &kAsRoberta},      {"MobileBertTokenizer", &kAsBert},
    {"MPNetTokenizer", &kAsMpnet},        {"MvpTokenizer", &kAsRoberta},
    {"NllbTokenizer", &kAsRoberta},       {"PegasusTokenizer", &kAsPegasus},
    {"PhobertTokenizer", &kAsRoberta},    {"Qwen2Tokenizer", &kAsQwen2},
    {"Qwen3_5Tokenizer", &kAsQwen2},      {"RemBertTokenizer", &kAsAlbert},
    {"RobertaTokenizer", &kAsRoberta},    {"RoCBertTokenizer", &kAsBert},
    {"RoFormerTokenizer", &kAsBert},      {"SplinterTokenizer", &kAsBert},
    {"SqueezeBertTokenizer", &kAsBert},   {"T5Tokenizer", &kAsT5},
    {"WhisperTokenizer", &kAsGpt2},       {"XLMRobertaTokenizer", &kAsRoberta},
    {"XLNetTokenizer", &kAsXlnet},
};

// TOKENIZER_MAPPING_NAMES, of this program's families. Llama's is not in it; Mistral's adds no token.
using ModelRow = std::pair<std::string_view, std::string_view>;
constexpr ModelRow kOfModels[] = {
    {"bart", "RobertaTokenizer"}, {"bert", "BertTokenizer"},   {"distilbert", "BertTokenizer"},
    {"gemma", "GemmaTokenizer"},  {"gpt2", "GPT2Tokenizer"},   {"mistral", kPlainClass},
    {"qwen2", "Qwen2Tokenizer"},  {"qwen3", "Qwen2Tokenizer"}, {"roberta", "RobertaTokenizer"},
    {"t5", "T5Tokenizer"},
};
// MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS, of those: what their files name is not taken.
constexpr std::string_view kWithClassOfModel = "qwen2";

std::string text_of(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string class_that_opens(std::string named, const std::string& model_type) {
  constexpr std::string_view kFast = "Fast";
  if (named.ends_with(kFast)) named.resize(named.size() - kFast.size());
  const auto* const of_model = std::ranges::find(kOfModels, model_type, &ModelRow::first);
  if (of_model == std::end(kOfModels)) return named.empty() ? std::string(kPlainClass) : named;
  if (named.empty() || of_model->second == kPlainClass || model_type == kWithClassOfModel)
    return std::string(of_model->second);
  return named;
}

Json settings_in(const std::string& path) {
  std::error_code failed;  // a link in a circle is there, and cannot be read
  if (std::filesystem::status(path, failed).type() == std::filesystem::file_type::not_found)
    return Json::object();
  Json json = read_json_file(path);
  if (json.is_object()) return json;
  throw Error(ExitCode::kData, "not a tokenizer's settings")
      .where(path)
      .why("the file holds no JSON object")
      .hint("copy the file from where the tokenizer came from");
}

Json named_in_files(const std::string& folder) {
  Json named = settings_in(folder + "/tokenizer_config.json");
  if (!named.contains("added_tokens_decoder")) named.update(settings_in(folder + "/special_tokens_map.json"));
  return named;
}

Json named_tokens(const std::string& folder) {
  Json named = named_in_files(folder);
  const std::string of_model = folder + "/config.json";
  const Json model = path_exists(of_model) ? read_json_file(of_model) : Json::object();
  std::string said = text_of(named, "tokenizer_class");
  if (said.empty()) said = text_of(model, "tokenizer_class");
  const std::string opens = class_that_opens(std::move(said), text_of(model, "model_type"));
  const auto* const found = std::ranges::find(kClasses, opens, &ClassRow::first);
  if (found == std::end(kClasses)) return named;
  for (size_t role = 0; role < kTokenRoles.size(); ++role) {
    const char* const token = found->second->at(role);
    if (token != nullptr && !named.contains(kTokenRoles[role])) named[kTokenRoles[role]] = token;
  }
  return named;
}

}  // namespace hftrain::tokenizer
