// A tokenizer.json, a text that it encodes and ids that it decodes: two parts of the input. The fast way of
// encoding gives the ids of the other one.
#include "hftrain/tokenizer/tokenizer.h"

#include "fuzz.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const auto parts = fuzz::parts_of(data, size, 2);
    const auto tokenizer = tokenizer::Tokenizer::load(fuzz::file_with("tokenizer.json", parts[0]));
    std::vector<tokenizer::TokenId> ids;
    tokenizer->encode_into(parts[1], true, ids);
    tokenizer->encode(parts[1], true);
    tokenizer->decode(ids, false);
    for (const char byte : parts[1]) ids.push_back(byte);
    tokenizer->decode(ids, true);
  });
}
