// Texts while they are written: what may be shown, where they end, and what is said of them between two programs.
#include "hftrain/base/error.h"
#include "hftrain/generation/stop_strings.h"
#include "hftrain/generation/streamed_text.h"
#include "hftrain/generation/text_protocol.h"
#include "support/catch.h"

namespace hftrain::generation {
namespace {

constexpr const char* kUnknown = "\xEF\xBF\xBD";

// Tokens below 256 are bytes; what is no UTF-8 at the end or in between becomes U+FFFD, as byte-level decoders have it.
std::string bytes_text(std::span<const int64_t> ids) {
  std::string text;
  for (size_t i = 0; i < ids.size();) {
    const auto lead = static_cast<unsigned char>(ids[i]);
    const size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (i + size > ids.size()) return text + kUnknown;
    for (size_t k = 0; k < size; ++k) text += static_cast<char>(ids[i + k]);
    i += size;
  }
  return text;
}

// Tokens from 1000 on are words with a space before them; bytes that follow each other are read together, and are one
// U+FFFD each where they spell no character.
std::string fallback_text(std::span<const int64_t> ids) {
  std::string text;
  for (size_t i = 0; i < ids.size();) {
    if (ids[i] >= 1000) {
      text += " w" + std::to_string(ids[i++]);
      continue;
    }
    size_t end = i;
    while (end < ids.size() && ids[end] < 1000) ++end;
    const std::string run = bytes_text(ids.subspan(i, end - i));
    if (run.find(kUnknown) == std::string::npos) {
      text += run;
    } else {
      for (; i < end; ++i) text += kUnknown;
    }
    i = end;
  }
  return text;
}

// The last word before a full stop loses its space: a decoder that changes what came before.
std::string tidy_text(std::span<const int64_t> ids) {
  std::string text;
  for (const int64_t id : ids) {
    if (id == 46) {
      if (text.ends_with(' ')) text.pop_back();
      text += '.';
    } else {
      text += "word" + std::to_string(id) + ' ';
    }
  }
  return text;
}

struct Shown {
  std::vector<std::string> parts;
  std::string all;
};

// What was shown must stay: each part lies behind the others in the whole text.
Shown shown(const DecodeIds& decode, const std::function<bool(int64_t)>& spells, const Ids& ids) {
  StreamedText text(decode, spells);
  Shown result;
  for (const int64_t id : ids) result.parts.push_back(text.add(id));
  result.parts.push_back(text.finish());
  for (const std::string& part : result.parts) result.all += part;
  CHECK(result.all == decode(ids));
  return result;
}

Ids bytes_of(const std::string& text) {
  Ids ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

}  // namespace

TEST_CASE("copies draft unasked where weights are large and half as much again fits into memory") {
  constexpr int64_t kMiB = int64_t{1} << 20;
  CHECK(drafts_unasked(64 * kMiB, 96 * kMiB) == "auto");
  CHECK(drafts_unasked(64 * kMiB, 96 * kMiB - 1) == "none");
  CHECK(drafts_unasked(64 * kMiB - 2, 1024 * kMiB) == "none");
  CHECK(drafts_unasked(500 * kMiB, 0) == "none");
}

TEST_CASE("characters of several tokens are shown whole") {
  const Shown result = shown(bytes_text, {}, bytes_of("a\xE2\x82\xAC\xF0\x9F\x98\x80z"));
  for (const std::string& part : result.parts) CHECK(part.find(kUnknown) == std::string::npos);
  CHECK(result.parts[1] == "a");
  CHECK(result.parts[2].empty());
  CHECK(result.parts[4] == "\xE2\x82\xAC");
  CHECK(result.parts.back() == "z");
}

TEST_CASE("what ends within a character is shown at the end") {
  CHECK(shown(bytes_text, {}, {'a', 0xE2, 0x82}).parts.back() == kUnknown);
}

TEST_CASE("bytes that are read together wait for the word behind them") {
  const auto spells = [](int64_t id) { return id < 1000; };
  // "AB" alone would be text, and with the byte behind it is none.
  const Shown result = shown(fallback_text, spells, {1001, 'A', 'B', 0xE2, 1002, 1003});
  CHECK(result.parts[1].empty());
  CHECK(result.parts[3].empty());
  CHECK(shown(fallback_text, spells, {1001, 0xE2, 0x82, 0xAC, 1002}).all == " w1001\xE2\x82\xAC w1002");
}

TEST_CASE("a decoder that changes the end of what came before is waited for") {
  const Shown result = shown(tidy_text, {}, {1, 2, 46, 3, 46});
  CHECK(result.all == "word1 word2.word3.");
  CHECK(result.parts[1] == "word1 ");
}

TEST_CASE("texts end at a stop string, wherever tokens begin") {
  const StopStrings stops({"END", "\xE2\x82\xAC"}, bytes_text);
  CHECK_FALSE(stops.reached(bytes_of("the EN")));
  CHECK(stops.reached(bytes_of("the END")));
  CHECK(stops.reached(bytes_of(std::string(500, 'x') + "END")));
  CHECK(stops.reached(bytes_of("costs \xE2\x82\xAC")));
  CHECK_FALSE(stops.reached(bytes_of("costs \xE2\x82")));
  CHECK_FALSE(StopStrings({}, bytes_text).reached(bytes_of("END")));
}

TEST_CASE("what is said to a worker that writes arrives") {
  const TextSetup setup{"folder",   "adapter", "words", {{"n_layer", 2}}, "causal_lm",
                        "bfloat16", 3,         1,       "int8",           {"mine", "/lib/mine.so", "0a1b"},
                        "float16"};
  const TextSetup read = decode_setup(Json::parse(encode_setup(setup)));
  CHECK(read.folder == "folder");
  CHECK(read.adapter == "adapter");
  CHECK(read.tokenizer == "words");
  CHECK(read.config == setup.config);
  CHECK(read.head == "causal_lm");
  CHECK(read.dtype == "bfloat16");
  CHECK(read.threads == 3);
  CHECK(read.cuda_ordinal == 1);
  CHECK(read.drafts == "int8");
  CHECK(read.plugin.name == "mine");
  CHECK(read.plugin.path == "/lib/mine.so");
  CHECK(read.plugin.hash == "0a1b");
  CHECK(read.tied_dtype == "float16");
  const TextRequest request{{{{1, 2}, {3}, 7}}, {{"top_k", 4}}, 9, true};
  const TextRequest asked = decode_request(Json::parse(encode_request(request)));
  CHECK(asked.prompts.at(0).ids == Ids{1, 2});
  CHECK(asked.prompts.at(0).encoder_ids == Ids{3});
  CHECK(asked.prompts.at(0).number == 7);
  CHECK(asked.settings == request.settings);
  CHECK(asked.seed == 9);
  CHECK(asked.tells_tokens);
}

TEST_CASE("what a worker says arrives") {
  const Texts texts = {{{{1, 2}, -0.5}, {{3}, -1}}, {{{4}, 0}}};
  const Texts read = texts_from_json(Json::parse(texts_json(texts).dump()));
  CHECK(read.at(0).at(1).ids == Ids{3});
  CHECK(read.at(0).at(0).score == -0.5);
  CHECK(read.at(1).at(0).ids == Ids{4});
  const Error error =
      error_from_json(error_json(Error(ExitCode::kData, "what").where("where").why("why").hint("hint")));
  CHECK(error.code() == ExitCode::kData);
  CHECK(error.render() == Error(ExitCode::kData, "what").where("where").why("why").hint("hint").render());
}

}  // namespace hftrain::generation
