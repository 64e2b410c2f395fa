// The adapter of a checkpoint beside that of the run that is told to go on from it.
#include "launcher/front/resumed_adapter.h"

#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

constexpr const char* kBert = R"({"model_type": "bert", "architectures": ["BertForSequenceClassification"],
  "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 40,
  "max_position_embeddings": 32, "type_vocab_size": 2, "pad_token_id": 0})";

std::string adapter(const std::string& targets, const std::string& saved) {
  return R"({"peft_type": "LORA", "r": 4, "lora_alpha": 8, "task_type": "SEQ_CLS", "target_modules": )" +
         targets + R"(, "modules_to_save": )" + saved + '}';
}

plan::RunPlan run_of(const std::string& config) {
  plan::RunPlan plan;
  plan.model.config = Json::parse(kBert);
  plan.model.model_type = "bert";
  plan.data.task = tasks::Task::kTextClassification;
  plan.model.adapter.emplace();
  plan.model.adapter->config = config;
  return plan;
}

// What is said of a checkpoint with that adapter; empty: it is the run's.
void check(const std::string& run, const std::string& checkpoint) {
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "adapter_config.json", checkpoint);
  check_resumed_adapter(run_of(run), folder.path());
}

}  // namespace

TEST_CASE("an adapter whose modules others name in other words is the run's") {
  const std::string own = adapter(R"(["query", "value"])", R"(["classifier"])");
  CHECK_NOTHROW(check(own, own));
  // peft writes both names that a head for classes may have.
  CHECK_NOTHROW(check(own, adapter(R"(["value", "query"])", R"(["score", "classifier"])")));
  CHECK_NOTHROW(
      check(own, adapter(R"(["attention.self.query", "attention.self.value"])", R"(["classifier"])")));
  CHECK_REFUSED(check(own, adapter(R"(["query"])", R"(["classifier"])")),
                R"(target_modules: ["query"] there, ["query","value"] here)");
  const auto other_head = [&] {
    check(own, adapter(R"(["value", "query"])", R"(["pooler", "classifier"])"));
  };
  CHECK_REFUSED(other_head(), R"(modules_to_save: ["classifier","pooler"] there, ["classifier"] here)");
  try {
    other_head();
  } catch (const Error& error) {  // what is the same in another order is no difference
    CHECK(error.diagnostics().front().why.find("target_modules") == std::string::npos);
  }
  CHECK_REFUSED(check(own, adapter(R"(["query", "c_attn"])", R"(["classifier"])")), "c_attn");
}

}  // namespace hftrain::front
