// A tokenizer.json, a text that it encodes, ids that it decodes, and a tokenizer_config.json: three parts of
// the input. The fast way of encoding gives the ids of the other one.
#include "hftrain/tokenizer/tokenizer.h"

#include <filesystem>

#include "fuzz.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

namespace {

// encode_into, which alone has a fast way, knows neither.
bool has_truncation_or_padding(std::string_view file) {
  return file.find("max_length") != file.npos || file.find("pad_id") != file.npos;
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
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return fuzz::mutate_json(data, size, max_size, seed);
}
