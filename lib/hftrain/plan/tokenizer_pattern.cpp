#include "hftrain/plan/tokenizer_pattern.h"

namespace hftrain::plan {
namespace {

// A member of an object of any depth of them; null where there is none.
Json part_of(const Json& tokenizer, const char* pointer) {
  const Json::json_pointer place(pointer);
  return tokenizer.contains(place) ? tokenizer.at(place) : Json();
}

}  // namespace

std::string unlike_pattern(const Json& tokenizer, const std::string& pattern) {
  const Json model = part_of(tokenizer, "/model/type");
  if (model.is_string() && model != "BPE")
    return "the file's model is " + model.get<std::string>() + ", and not BPE";
  if (part_of(tokenizer, "/normalizer/type") != "NFC")
    return "the file does not bring texts into normal form NFC alone";
  const bool splits = part_of(tokenizer, "/pre_tokenizer/type") == "Sequence" &&
                      part_of(tokenizer, "/pre_tokenizer/pretokenizers/0/type") == "Split" &&
                      part_of(tokenizer, "/pre_tokenizer/pretokenizers/0/pattern/Regex") == pattern &&
                      part_of(tokenizer, "/pre_tokenizer/pretokenizers/1/type") == "ByteLevel" &&
                      part_of(tokenizer, "/pre_tokenizer/pretokenizers/1/use_regex") == false;
  return splits ? "" : "the file splits texts in another way";
}

}  // namespace hftrain::plan
