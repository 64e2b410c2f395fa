#include "hftrain/tokenizer/tokenizer_classes.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace hftrain::tokenizer {
namespace {

constexpr std::string_view kPlainClass = "TokenizersBackend";

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

}  // namespace

std::string class_without_fast(std::string name) {
  constexpr std::string_view kFast = "Fast";
  if (name.ends_with(kFast)) name.resize(name.size() - kFast.size());
  return name;
}

std::string class_that_opens(std::string named, const std::string& model_type) {
  named = class_without_fast(std::move(named));
  const auto* const of_model = std::ranges::find(kOfModels, model_type, &ModelRow::first);
  if (of_model == std::end(kOfModels)) return named.empty() ? std::string(kPlainClass) : named;
  if (named.empty() || of_model->second == kPlainClass || model_type == kWithClassOfModel)
    return std::string(of_model->second);
  return named;
}

const OwnTokens* tokens_of_class(const std::string& tokenizer_class) {
  const auto* const found = std::ranges::find(kClasses, tokenizer_class, &ClassRow::first);
  return found == std::end(kClasses) ? nullptr : found->second;
}

bool class_gives_types(const std::string& tokenizer_class) {
  // model_input_names of transformers:models/*/tokenization_*.py, and the other names that BertTokenizer has.
  constexpr std::array<std::string_view, 16> kGiveTypes = {"BertTokenizer",
                                                           "CanineTokenizer",
                                                           "ConvBertTokenizer",
                                                           "DPRContextEncoderTokenizer",
                                                           "DPRQuestionEncoderTokenizer",
                                                           "DebertaTokenizer",
                                                           "DebertaV2Tokenizer",
                                                           "ElectraTokenizer",
                                                           "FNetTokenizer",
                                                           "LayoutLMTokenizer",
                                                           "LayoutLMv2Tokenizer",
                                                           "LxmertTokenizer",
                                                           "MarkupLMTokenizer",
                                                           "MobileBertTokenizer",
                                                           "SqueezeBertTokenizer",
                                                           "TapasTokenizer"};
  return std::ranges::count(kGiveTypes, std::string_view(class_without_fast(tokenizer_class))) > 0;
}

}  // namespace hftrain::tokenizer
