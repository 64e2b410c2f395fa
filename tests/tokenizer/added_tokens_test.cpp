#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::tokenizer {
namespace {

// One of words, of which this test knows three.
std::shared_ptr<const Tokenizer> with_added(const Json& added, const Json& pre_tokenizer) {
  const Json model = {{"type", "WordLevel"}, {"unk_token", "?"}, {"vocab", {{"?", 0}, {"a", 1}, {"b", 2}}}};
  const testing::TemporaryDirectory folder;
  write_file_atomically(
      folder / "tokenizer.json",
      dump_json(Json{
          {"version", "1.0"}, {"model", model}, {"added_tokens", added}, {"pre_tokenizer", pre_tokenizer}}));
  return Tokenizer::load(folder.path());
}

Json taking(TokenId id, const char* content, bool left, bool right) {
  return {{"id", id}, {"content", content}, {"lstrip", left}, {"rstrip", right}, {"special", true}};
}

const Json kAtSpaces = {{"type", "WhitespaceSplit"}};             // on the fast way
const Json kByLength = {{"type", "FixedLength"}, {"length", 6}};  // through the whole pipeline

}  // namespace

// Ids of the package.
TEST_CASE("white space that a token has taken is not another token") {
  for (const Json& cut : {kAtSpaces, kByLength}) {
    const auto left = with_added({taking(3, "<x>", false, true), taking(4, "\n", true, false)}, cut);
    CHECK(left->encode("a<x> \nb", false).ids == std::vector<TokenId>{1, 3, 2});
    CHECK(left->encode("a\n<x>b", false).ids == std::vector<TokenId>{1, 4, 3, 2});
    const auto both = with_added(Json::array({taking(3, "\n", true, true)}), cut);
    CHECK(both->encode("a\n\nb", false).ids == std::vector<TokenId>{1, 3, 2});
  }
}

TEST_CASE("a text whose added tokens take the same white space, where the package panics, is refused") {
  for (const Json& cut : {kAtSpaces, kByLength}) {
    const auto tokenizer = with_added({taking(3, "<x>", false, true), taking(4, "\n", true, false)}, cut);
    CHECK_REFUSED(tokenizer->encode("a<x>\n\nb", false),
                  R"("<x>" takes the white space behind it (rstrip), and "\n")");
    std::vector<TokenId> ids;
    CHECK_REFUSED(tokenizer->encode_into("a<x>\n\nb", false, ids), "cannot be cut at two added tokens");
  }
}

}  // namespace hftrain::tokenizer
