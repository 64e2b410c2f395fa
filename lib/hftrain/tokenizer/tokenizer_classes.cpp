#include "hftrain/tokenizer/tokenizer_classes.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hftrain::tokenizer {

bool class_gives_types(std::string tokenizer_class) {
  constexpr std::string_view kFast = "Fast";
  // model_input_names of transformers:models/*/tokenization_*.py, and the other names that BertTokenizer has.
  constexpr std::array<std::string_view, 16> kClasses = {"BertTokenizer",
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
  if (tokenizer_class.ends_with(kFast)) tokenizer_class.resize(tokenizer_class.size() - kFast.size());
  return std::ranges::count(kClasses, std::string_view(tokenizer_class)) > 0;
}

}  // namespace hftrain::tokenizer
