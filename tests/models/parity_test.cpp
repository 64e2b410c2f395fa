// Logits, loss and gradients against transformers (fixtures of scripts/golden/models.py).
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <set>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/models/model.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "hftrain/nn/module_observer.h"
#include "models/golden_model.h"
#include "support/catch.h"

namespace hftrain::models {
namespace {

using testing::check_every_head;
using testing::Dropout;
using testing::family_head;
using testing::FamilyHead;
using testing::golden_batch;
using testing::golden_head;
using testing::golden_model;
using testing::golden_names;
using testing::GoldenFile;

double largest(const at::Tensor& numbers) {
  return numbers.abs().max().item<double>();
}

// Relative to the largest number, or to `least` where all are smaller.
double difference(const at::Tensor& a, const at::Tensor& b, double least = 0) {
  return largest(a - b) / std::max(least, largest(b));
}

Batch rows_of(const Batch& whole, int64_t first, int64_t count) {
  Batch batch;
  for (const BatchColumn& column : kBatchColumns) {
    const at::Tensor& all = whole.*column.member;
    if (all.defined()) batch.*column.member = all.narrow(0, first, count);
  }
  return batch;
}

// 1e-5 of the model's largest gradient, and 5e-4 of the parameter's own: small ones are sums of large numbers that cancel, which
// float32 rounds to 2e-4 of them at most. Some are 0 but for rounding (biases of keys, which softmax takes away), so numbers count
// from a share of the largest of all on.
void check_gradients(const Model& model, const GoldenFile& golden) {
  constexpr double kShare = 1e-3;
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
  double of_all = 0;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const std::string& parameter = model.parameter_names()[i];
    if (model.architecture().parameters().parameters[i].buffer) continue;
    INFO(parameter);
    REQUIRE(model.parameters()[i].grad().defined());
    pairs.emplace_back(model.parameters()[i].grad(), golden.tensor("grad/" + parameter));
    of_all = std::max(of_all, largest(pairs.back().second));
  }
  for (const auto& [own, expected] : pairs) {
    CHECK(difference(own, expected, of_all) < 1e-5);
    CHECK(difference(own, expected, kShare * of_all) < 5e-4);
  }
}

void check_parity(const std::string& name, nn::Kernels kernels) {
  const GoldenFile golden("models/" + name);
  ModelOptions options;
  options.kernels = kernels;
  const auto model = golden_model(golden, options);
  nn::UnitRunner runner;
  Batch batch;
  batch.input_ids = golden.tensor("input_ids");
  CHECK(difference(model->forward(batch, runner, logits_only()).logits, golden.tensor("logits")) < 1e-5);
  batch.labels = golden.tensor("labels");
  const Output output = model->forward(batch, runner, loss_objective(model->architecture(), batch, {}));
  CHECK(difference(output.loss, golden.tensor("loss")) < 1e-5);
  output.loss.backward();
  check_gradients(*model, golden);
}

// Left padding is computed, too, and its logits are what transformers gives for queries that see nothing.
void check_head(const std::string& name, nn::Kernels kernels, bool recompute) {
  const GoldenFile golden("heads/" + name);
  const auto head = golden_head(golden);
  ModelOptions options;
  options.kernels = kernels;
  const auto model = golden_model(golden, options, head);
  model->train(false);
  nn::UnitRunner plain;
  nn::CheckpointingRunner checkpointing(plain, 1);
  nn::UnitRunner& runner = recompute ? checkpointing : plain;
  const Batch batch = golden_batch(golden);
  CHECK(difference(model->forward(batch, plain, logits_only()).logits, golden.tensor("logits")) < 1e-5);
  const Output output =
      model->forward(batch, runner, loss_objective(model->architecture(), batch, {.want_logits = true}));
  CHECK(difference(output.logits, golden.tensor("logits")) < 1e-5);
  CHECK(difference(output.loss, golden.tensor("loss")) < 1e-5);
  output.loss.backward();
  check_gradients(*model, golden);
}

// Of all linear layers of a forward pass, how many gave as many rows as the batch has, one for each of its examples.
class RowsGiven : public nn::ModuleObserver {
 public:
  explicit RowsGiven(int64_t examples) : examples_(examples) {}
  void computed(const char* kind, at::TensorList, at::TensorList, const at::Tensor& output) override {
    if (std::string(kind) == "Linear") count_ += output.numel() / output.size(-1) == examples_;
  }
  int count() const { return count_; }

 private:
  int64_t examples_;
  int count_ = 0;
};

int layers_of_single_rows(const std::string& name, bool trains, Dropout dropout) {
  const GoldenFile golden("heads/" + name);
  const auto model = golden_model(golden, {}, golden_head(golden), dropout);
  model->train(trains);
  const Batch batch = golden_batch(golden);
  RowsGiven rows((batch.pixel_values.defined() ? batch.pixel_values : batch.input_ids).size(0));
  const nn::ObservedModules observed(&rows);
  nn::UnitRunner runner;
  model->forward(batch, runner, loss_objective(model->architecture(), batch, {}));
  return rows.count();
}

}  // namespace

TEST_CASE("A last block computes no token that a head does not look at") {
  constexpr int kOfBlock = 4;  // the query, what attention gives, both layers behind it
  for (const char* name : {"bert_classes", "roberta_classes", "distilbert_classes", "vit_classes"}) {
    INFO(name);
    for (const bool trains : {false, true})
      CHECK(layers_of_single_rows(name, trains, Dropout::kNone) >= kOfBlock);
    CHECK(layers_of_single_rows(name, false, Dropout::kEverywhere) >= kOfBlock);
    CHECK(layers_of_single_rows(name, true, Dropout::kEverywhere) < kOfBlock);
  }
  for (const char* name : {"bert_tokens", "bert_answers", "distilbert_masked"}) {
    INFO(name);
    CHECK(layers_of_single_rows(name, true, Dropout::kNone) == 0);
  }
}

TEST_CASE("Logits, loss and gradients equal those of transformers", "[parity]") {
  REQUIRE(golden_names("models").size() >= 13);
  for (const std::string& name : golden_names("models")) {
    DYNAMIC_SECTION(name << " with fused kernels") {
      check_parity(name, nn::Kernels::kFused);
    }
    DYNAMIC_SECTION(name << " with reference operators") {
      check_parity(name, nn::Kernels::kReference);
    }
  }
}

// A head without a golden file would be one that nobody has compared, here and wherever tests walk these folders. Causal heads have
// both rows without padding and padded ones.
TEST_CASE("There are numbers of transformers for every head of every family") {
  std::set<FamilyHead> padded, whole;
  for (const std::string& name : golden_names("heads"))
    padded.insert(family_head(GoldenFile("heads/" + name)));
  for (const std::string& name : golden_names("models")) {
    const Json config = parse_json(GoldenFile("models/" + name).metadata("config"), name);
    whole.insert({config["model_type"].get<std::string>(), architectures::Head::kCausalLm});
  }
  check_every_head(padded);
  for (const auto& [family, head] : padded) {
    if (head != architectures::Head::kCausalLm) whole.insert({family, head});
  }
  check_every_head(whole);
  CHECK(testing::registered_heads().size() >= 43);
}

TEST_CASE("Every head on padded batches gives the logits, loss and gradients of transformers", "[parity]") {
  for (const std::string& name : golden_names("heads")) {
    DYNAMIC_SECTION(name << " with fused kernels") {
      check_head(name, nn::Kernels::kFused, /*recompute=*/false);
    }
    DYNAMIC_SECTION(name << " with reference operators, recomputed") {
      check_head(name, nn::Kernels::kReference, /*recompute=*/true);
    }
  }
}

TEST_CASE("Every head computes the same bits where blocks are computed again for the backward pass") {
  const bool drops = GENERATE(true, false);
  for (const std::string& name : golden_names("heads")) {
    INFO(name << (drops ? " with" : " without") << " dropout");
    const GoldenFile golden("heads/" + name);
    const auto head = golden_head(golden);
    const Batch batch = golden_batch(golden);
    const auto trained = [&](nn::UnitRunner& runner) {
      auto model = golden_model(golden, {}, head, drops ? Dropout::kEverywhere : Dropout::kNone);
      at::Generator random = at::globalContext().defaultGenerator(at::kCPU);
      random.set_current_seed(11);
      const Output output = model->forward(batch, runner, loss_objective(model->architecture(), batch, {}));
      output.loss.backward();
      return std::pair(output.loss.item<float>(), std::move(model));
    };
    nn::UnitRunner plain;
    nn::CheckpointingRunner checkpointing(plain, 1);
    const auto [loss, model] = trained(plain);
    const auto [again, recomputed] = trained(checkpointing);
    CHECK(again == loss);
    for (size_t i = 0; i < model->parameters().size(); ++i) {
      if (!model->parameters()[i].grad().defined()) continue;
      INFO(model->parameter_names()[i]);
      CHECK(recomputed->parameters()[i].grad().equal(model->parameters()[i].grad()));
    }
  }
}

TEST_CASE("The losses of parts of a batch, each over the count of all, add up to the loss of the whole") {
  for (const std::string& name : golden_names("heads")) {
    INFO(name);
    const GoldenFile golden("heads/" + name);
    const auto head = golden_head(golden);
    const auto model = golden_model(golden, {}, head);
    model->train(false);
    const at::NoGradGuard no_grad;
    nn::UnitRunner runner;
    const Batch whole = golden_batch(golden);
    const architectures::Architecture& architecture = model->architecture();
    if (!weighs_by_labels(architecture)) continue;
    const auto loss = [&](const Batch& batch, double items) {
      const LossRequest request{.num_items = at::scalar_tensor(items, at::kFloat)};
      return model->forward(batch, runner, loss_objective(architecture, batch, request)).loss.item<double>();
    };
    double sum = 0;
    int64_t items = 0;
    std::vector<Batch> rows(static_cast<size_t>(main_input(whole).size(0)));
    for (size_t row = 0; row < rows.size(); ++row) {
      rows[row] = rows_of(whole, static_cast<int64_t>(row), 1);
      items += label_count(architecture, rows[row]);
    }
    CHECK(items == label_count(architecture, whole));
    for (const Batch& row : rows) sum += loss(row, static_cast<double>(items));
    CHECK(sum == Approx(loss(whole, static_cast<double>(items))).epsilon(1e-5));
  }
}

// As the Trainer has it, which counts what stands under `labels`.
TEST_CASE("Micro-batches of answers count alike, whatever their rows; without a place of an answer as 0") {
  int answers = 0;
  for (const std::string& name : golden_names("heads")) {
    INFO(name);
    const GoldenFile golden("heads/" + name);
    const auto model = golden_model(golden, {}, golden_head(golden));
    if (weighs_by_labels(model->architecture())) continue;
    ++answers;
    model->train(false);
    const at::NoGradGuard no_grad;
    nn::UnitRunner runner;
    Batch whole = golden_batch(golden);
    whole.start_positions.fill_(1);
    whole.end_positions.fill_(2);
    const auto loss = [&](const Batch& batch, int64_t micro_batches) {
      const LossRequest request{.num_items = at::scalar_tensor(100, at::kFloat),
                                .micro_batches = micro_batches};
      return model->forward(batch, runner, loss_objective(model->architecture(), batch, request))
          .loss.item<double>();
    };
    const int64_t rows = whole.input_ids.size(0);
    Batch first = rows_of(whole, 0, 1), rest = rows_of(whole, 1, rows - 1);
    const double mean_of_first = loss(first, 1), mean_of_rest = loss(rest, 1);
    CHECK(loss(first, 2) + loss(rest, 2) == Approx((mean_of_first + mean_of_rest) / 2).epsilon(1e-5));
    CHECK(loss(whole, 1) ==
          Approx((mean_of_first + static_cast<double>(rows - 1) * mean_of_rest) / static_cast<double>(rows))
              .epsilon(1e-5));
    first.start_positions.fill_(whole.input_ids.size(1));  // behind the row
    first.end_positions.fill_(whole.input_ids.size(1));
    CHECK(loss(first, 1) == 0);
    CHECK(label_count(model->architecture(), first) == 0);
  }
  CHECK(answers >= 8);
}

TEST_CASE("Models drop out, and add noise, at the places and in the order of transformers", "[parity]") {
  int compared = 0;
  for (const std::string& name : golden_names("heads")) {
    INFO(name);
    const GoldenFile golden("heads/" + name);
    if (!golden.has("training_logits")) continue;
    ++compared;
    const std::string alpha = golden.metadata_if_any("neftune_alpha");
    const auto model =
        golden_model(golden, {.neftune_alpha = alpha.empty() ? 0 : std::stod(alpha)}, golden_head(golden));
    const at::NoGradGuard no_grad;
    nn::UnitRunner runner;
    at::Generator random = at::globalContext().defaultGenerator(at::kCPU);
    random.set_current_seed(11);
    const at::Tensor logits = model->forward(golden_batch(golden), runner, logits_only()).logits;
    CHECK(difference(logits, golden.tensor("training_logits")) < 1e-5);
    CHECK(difference(logits, golden.tensor("logits")) > 1e-3);
  }
  CHECK(compared >= 25);
}

TEST_CASE("A masked language model's head gives the same loss where it looks at labelled places alone") {
  const GoldenFile golden("heads/bert_masked");
  const auto model = golden_model(golden, {}, architectures::Head::kMaskedLm);
  model->train(false);
  nn::UnitRunner runner;
  Batch batch = golden_batch(golden);
  batch.labels.fill_(-100);
  const LossRequest one_item{.num_items = at::scalar_tensor(1, at::kFloat)};
  const Output none = model->forward(batch, runner, loss_objective(model->architecture(), batch, one_item));
  CHECK(none.loss.item<float>() == 0);
  none.loss.backward();
  for (const at::Tensor& parameter : model->parameters())
    CHECK(parameter.grad().count_nonzero().item<int64_t>() == 0);
  CHECK(label_count(model->architecture(), batch) == 0);
}

TEST_CASE("Padding starts at zero, and sinusoidal positions at sines and cosines") {
  using architectures::Head;
  const auto starts = [](const char* type, const std::string& overrides, Head head = Head::kMaskedLm) {
    auto model = build_model(architectures::Architecture::from_scratch(type, overrides, head), {});
    model->initialise(at::detail::createCPUGenerator(5));
    return model->parameters();
  };
  const std::vector<at::Tensor> learned =
      starts("roberta", "hidden_size=8,num_hidden_layers=1,num_attention_heads=2,vocab_size=9");
  CHECK(learned[0].select(0, 1).abs().max().item<float>() == 0);
  CHECK(learned[0].select(0, 0).abs().max().item<float>() > 0);
  CHECK(learned[4].select(0, 1).abs().max().item<float>() == 0);
  const std::string sizes =
      "hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_attention_heads=2,num_key_value_heads=2,"
      "vocab_"
      "size=9,head_dim=4";
  const auto zeros = [&](const char* type, const std::string& padding) {  // rows of the tokens' embeddings
    return (starts(type, sizes + padding, Head::kCausalLm)[0].abs().amax(1) == 0).nonzero().flatten();
  };
  CHECK(zeros("gemma", "").equal(at::tensor({0}, at::kLong)));  // the padding of its config's own
  CHECK(zeros("llama", "").numel() == 0);
  CHECK(zeros("llama", ",pad_token_id=-1").equal(at::tensor({8}, at::kLong)));
  CHECK(zeros("llama", ",pad_token_id=9").numel() == 0);  // no row of this model
  const std::vector<at::Tensor> computed =
      starts("distilbert",
             "dim=8,n_layers=1,n_heads=2,vocab_size=9,max_position_embeddings=3,sinusoidal_pos_embds=true");
  const at::Tensor& positions = computed[1];
  CHECK(positions.select(0, 0).equal(at::arange(8, at::kLong).remainder(2).to(at::kFloat)));
  CHECK(positions[2][0].item<float>() == Approx(0.90930));  // as transformers draws them for 8 columns
  CHECK(positions[2][1].item<float>() == Approx(-0.41615));
  CHECK(positions[2][4].item<float>() == Approx(0.019999).epsilon(1e-4));
}

TEST_CASE("Rows are not classified by their last token without a padding token, except one by one") {
  const auto architecture = architectures::Architecture::from_scratch(
      "gpt2", "n_layer=1,n_head=1,n_embd=4,n_positions=8,vocab_size=9",
      architectures::Head::kSequenceClassification);
  const auto model = build_model(architecture, {});
  nn::UnitRunner runner;
  Batch batch{.input_ids = at::ones({2, 3}, at::kLong)};
  try {
    model->forward(batch, runner, logits_only());
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_THAT(error.render(), Catch::Contains("no padding token"));
  }
  batch.input_ids = at::ones({1, 3}, at::kLong);
  CHECK(model->forward(batch, runner, logits_only()).logits.sizes() == at::IntArrayRef({1, 2}));
}

TEST_CASE("Parameters that are frozen are leaves without a gradient") {
  const auto architecture = architectures::Architecture::from_scratch(
      "gpt2", "n_layer=1,n_head=1,n_embd=4,n_positions=8,vocab_size=9");
  const auto model = build_model(architecture, {.frozen = {0, 3}});
  model->initialise(at::detail::createCPUGenerator(5));
  nn::UnitRunner runner;
  const Batch batch{.input_ids = at::ones({2, 3}, at::kLong), .labels = at::ones({2, 3}, at::kLong)};
  model->forward(batch, runner, loss_objective(*architecture, batch, {})).loss.backward();
  for (size_t i = 0; i < model->parameters().size(); ++i) {
    INFO(model->parameter_names()[i]);
    CHECK(model->parameters()[i].grad().defined() == (i != 0 && i != 3));
  }
}

TEST_CASE("A new head is drawn alone, from the beginning of the stream") {
  const auto architecture = architectures::Architecture::from_scratch(
      "gpt2", "n_layer=1,n_head=1,n_embd=4,n_positions=8,vocab_size=9",
      architectures::Head::kTokenClassification);
  const architectures::ParameterTable& table = architecture->parameters();
  const size_t matrix = table.parameters.size() - 2;
  InitialWeights weights(table, at::detail::createCPUGenerator(5),
                         InitialWeights::Positions{matrix, matrix + 1});
  const at::Tensor expected = at::empty({2, 4}).normal_(0, 0.02, at::detail::createCPUGenerator(5));
  CHECK(weights.at(matrix).equal(expected));
  CHECK(weights.at(matrix + 1).equal(at::zeros({2})));
}

TEST_CASE("A column that a decoder does not take is refused by name") {
  const auto architecture = architectures::Architecture::from_scratch(
      "gpt2", "n_layer=1,n_head=1,n_embd=4,n_positions=8,vocab_size=9");
  const auto model = build_model(architecture, {});
  nn::UnitRunner runner;
  Batch batch{.input_ids = at::ones({1, 3}, at::kLong), .token_type_ids = at::ones({1, 3}, at::kLong)};
  CHECK_THROWS_WITH(model->forward(batch, runner, logits_only()), Catch::Contains("token_type_ids"));
}

TEST_CASE("Images of another size than the model's, and columns of text, are refused") {
  const auto architecture = architectures::Architecture::from_scratch(
      "vit",
      "num_hidden_layers=1,num_attention_heads=1,hidden_size=4,intermediate_size=4,image_size=8,patch_size=4",
      architectures::Head::kImageClassification);
  const auto model = build_model(architecture, {});
  model->initialise(at::detail::createCPUGenerator(5));
  nn::UnitRunner runner;
  Batch batch{.pixel_values = at::zeros({2, 3, 8, 8})};
  CHECK(model->forward(batch, runner, logits_only()).logits.sizes() == at::IntArrayRef({2, 2}));
  batch.pixel_values = at::zeros({2, 3, 8, 12});
  try {
    model->forward(batch, runner, logits_only());
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_THAT(error.render(), Catch::Contains("8 by 12") && Catch::Contains("8 by 8"));
  }
  batch.input_ids = at::ones({2, 3}, at::kLong);
  CHECK_THROWS_WITH(model->forward(batch, runner, logits_only()), Catch::Contains("input_ids"));
}

TEST_CASE("Pixels that fill no patch are not looked at") {
  const auto architecture = architectures::Architecture::from_scratch(
      "vit",
      "num_hidden_layers=1,num_attention_heads=1,hidden_size=4,intermediate_size=4,image_size=9,patch_size=4",
      architectures::Head::kImageClassification);
  const auto model = build_model(architecture, {});
  model->initialise(at::detail::createCPUGenerator(5));
  nn::UnitRunner runner;
  Batch batch{.pixel_values = at::ones({1, 3, 9, 9})};
  const at::Tensor before = model->forward(batch, runner, logits_only()).logits;
  batch.pixel_values.select(3, 8).fill_(7);
  CHECK(model->forward(batch, runner, logits_only()).logits.equal(before));
  batch.pixel_values.select(3, 7).fill_(7);
  CHECK_FALSE(model->forward(batch, runner, logits_only()).logits.equal(before));
}

}  // namespace hftrain::models
