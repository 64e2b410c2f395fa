// A tokenizer.json, a text that it encodes, ids that it decodes, and a tokenizer_config.json: three parts of
// the input. The fast ways of encoding give the ids of the others, for one text, for two and for words.
#include "hftrain/tokenizer/tokenizer.h"

#include <filesystem>

#include "fuzz.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

namespace {

// encode_into, which alone has a fast way, knows neither.
bool has_truncation_or_padding(std::string_view file) {
  return file.find("max_length") != file.npos || file.find("pad_id") != file.npos;
}

// Two texts in windows, or the words of one, each cut to what the size of the text says.
void encode_inputs(const tokenizer::Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  tokenizer::EncodeOptions options{.windows = true};
  options.truncation = {.max_length = static_cast<int64_t>(3 + text.size() % 13),
                        .strategy = static_cast<tokenizer::TruncationStrategy>(text.size() % 3),
                        .stride = static_cast<int64_t>(text.size() % 2),
                        .from_left = text.size() % 5 == 0};
  const tokenizer::EncodeInput inputs[] = {{words}, {text, text.substr(text.size() / 2)}};
  for (const auto& input : inputs) {
    tokenizer::TokenRow row;
    const tokenizer::Encoding encoding = tokenizer.encode(input, options);
    tokenizer.encode_row(input, options, row);
    if (row.ids != encoding.ids || row.type_ids != encoding.type_ids) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const auto parts = fuzz::parts_of(data, size, 3);
    const std::string settings = fuzz::file_with("tokenizer_config.json", parts[2]);
    if (parts[2].empty()) std::filesystem::remove(settings);
    const auto tokenizer = tokenizer::Tokenizer::load(fuzz::file_with("tokenizer.json", parts[0]));
    std::vector<tokenizer::TokenId> ids;
    tokenizer->encode_into(parts[1], true, ids);
    const tokenizer::Encoding encoding = tokenizer->encode(parts[1], true);
    if (encoding.ids != ids && !has_truncation_or_padding(parts[0])) __builtin_trap();
    tokenizer->decode(ids, false);
    for (const char byte : parts[1]) ids.push_back(byte);
    tokenizer->decode(ids, true);
    encode_inputs(*tokenizer, parts[1]);
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return fuzz::mutate_json(data, size, max_size, seed);
}
