// The tables of tokenizer_classes.cpp against transformers itself.
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/tokenizer_classes.h"
#include "support/catch.h"
#include "support/python.h"
#include "support/skip.h"

namespace hftrain::tokenizer {
namespace {

// {"classes": {class: tokens in the order of kTokenRoles}, "models": {model_type: class}}. A class whose constructor hands all to that
// of another has the other's tokens.
constexpr const char* kAsk = R"(
import inspect, json, sys, transformers
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES
roles = sys.argv[1:]
def own(kind):
    for each in inspect.getmro(kind):
        found = inspect.signature(each.__init__).parameters
        if "unk_token" in found or "eos_token" in found:
            defaults = [found[role].default if role in found else None for role in roles]
            return [None if default in (None, inspect._empty) else str(default) for default in defaults]
    return [None] * len(roles)
classes = {}
for name in dir(transformers):
    if name.endswith("Tokenizer"):
        try:
            classes[name] = own(getattr(transformers, name))
        except (ImportError, AttributeError):
            pass
print(json.dumps({"classes": classes, "models": TOKENIZER_MAPPING_NAMES}))
)";

}  // namespace

TEST_CASE("classes have the tokens that transformers gives them, and models their classes", "[parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with transformers: set HFTRAIN_TEST_PYTHON");
  const testing::PythonResult asked = testing::run_python(kAsk, {kTokenRoles.begin(), kTokenRoles.end()});
  INFO(asked.output);
  REQUIRE(asked.exit_code == 0);
  const Json said = parse_json(asked.output.substr(asked.output.find("{\"classes\"")), "transformers");
  int known = 0;
  for (const auto& [name, tokens] : said.at("classes").items()) {
    const OwnTokens* own = tokens_of_class(name);
    if (own == nullptr) continue;
    ++known;
    INFO(name);
    for (size_t role = 0; role < kTokenRoles.size(); ++role)
      CHECK(tokens[role] == (own->at(role) == nullptr ? Json() : Json(own->at(role))));
  }
  CHECK(known > 35);
  for (const char* type :
       {"bart", "bert", "distilbert", "gemma", "gpt2", "qwen2", "qwen3", "roberta", "t5"}) {
    INFO(type);
    CHECK(class_that_opens("", type) == class_without_fast(said.at("models").at(type).get<std::string>()));
  }
  CHECK_FALSE(said.at("models").contains("llama"));
}

}  // namespace hftrain::tokenizer
