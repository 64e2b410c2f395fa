#include "hftrain/plan/units.h"

#include <numeric>

#include "support/catch.h"

namespace hftrain::plan {
namespace {

std::shared_ptr<const architectures::Architecture> model(const std::string& type,
                                                         const std::string& overrides) {
  return architectures::Architecture::from_scratch(type, overrides);
}

const char* const kGpt2 = "n_layer=2,n_embd=8,n_head=2,vocab_size=100,n_positions=64";
const char* const kLlama =
    "num_hidden_layers=2,hidden_size=8,num_attention_heads=2,num_key_value_heads=2,head_dim=4,"
    "intermediate_size=16,vocab_size=100";

std::vector<std::string> names(const std::vector<UnitPlan>& units) {
  std::vector<std::string> all;
  for (const UnitPlan& unit : units) all.push_back(unit.name);
  return all;
}

std::vector<bool> reshards(const std::vector<UnitPlan>& units) {
  std::vector<bool> all;
  for (const UnitPlan& unit : units) all.push_back(unit.reshard_after_forward);
  return all;
}

using Names = std::vector<std::string>;
using Flags = std::vector<bool>;

}  // namespace

TEST_CASE("every parameter is in exactly one unit, whatever the policy") {
  for (const auto& architecture : {model("gpt2", kGpt2), model("llama", kLlama)}) {
    const architectures::ParameterTable& table = architecture->parameters();
    for (const UnitRequest request :
         {UnitRequest{}, UnitRequest{WrapPolicy::kNone, 0, true}, UnitRequest{WrapPolicy::kSize, 500, true},
          UnitRequest{WrapPolicy::kSize, 1000, true}}) {
      std::vector<int> seen;
      for (const UnitPlan& unit : make_units(table, request)) {
        seen.insert(seen.end(), unit.parameters.begin(), unit.parameters.end());
      }
      std::sort(seen.begin(), seen.end());
      std::vector<int> all(table.parameters.size());
      std::iota(all.begin(), all.end(), 0);
      CHECK(seen == all);
    }
  }
}

TEST_CASE("the transformer policy frees every unit after forward") {
  const UnitRequest request{WrapPolicy::kTransformer, 0, true};
  const std::vector<UnitPlan> untied = make_units(model("llama", kLlama)->parameters(), request);
  CHECK(names(untied) == Names{"embeddings", "block.0", "block.1", "head"});
  CHECK(reshards(untied) == Flags(4, true));
  const std::vector<UnitPlan> tied = make_units(model("gpt2", kGpt2)->parameters(), request);
  CHECK(names(tied) == Names{"embeddings", "block.0", "block.1", "head"});
  CHECK(reshards(tied) == Flags(4, true));
}

TEST_CASE("without resharding nothing is freed") {
  const UnitRequest request{WrapPolicy::kTransformer, 0, false};
  CHECK(reshards(make_units(model("llama", kLlama)->parameters(), request)) == Flags(4, false));
}

TEST_CASE("without a policy the model is one unit") {
  const std::vector<UnitPlan> units =
      make_units(model("gpt2", kGpt2)->parameters(), {WrapPolicy::kNone, 0, true});
  CHECK(names(units) == Names{"model"});
  CHECK(reshards(units) == Flags{true});
}

TEST_CASE(
    "the size policy makes units of parts that are large enough and one of the rest, in forward order") {
  // GPT-2 of width 8: a layer has 872 numbers, the embeddings 1312, the final norm 16.
  const auto gpt2 = model("gpt2", kGpt2);
  const architectures::ParameterTable& table = gpt2->parameters();
  const auto of_size = [&](int64_t least) {
    return names(make_units(table, {WrapPolicy::kSize, least, true}));
  };
  CHECK(of_size(0) == Names{"model"});
  CHECK(of_size(16) == Names{"embeddings", "block.0", "block.1", "head"});
  CHECK(of_size(17) == Names{"embeddings", "block.0", "block.1", "model"});
  CHECK(of_size(872) == Names{"embeddings", "block.0", "block.1", "model"});
  CHECK(of_size(873) == Names{"embeddings", "model"});
  CHECK(of_size(1313) == Names{"model"});
}

}  // namespace hftrain::plan
