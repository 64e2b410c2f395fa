// What a pass over a model calls of LibTorch: how much of it, where its numbers cannot show that it was more.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>

#include "models/golden_model.h"
#include "support/called_operators.h"
#include "support/catch.h"

namespace hftrain::models {
namespace {

using testing::CalledOperators;
using testing::GoldenFile;

struct Pass {
  std::unique_ptr<Model> model;
  nn::UnitRunner runner;

  explicit Pass(const std::string& name)
      : model(testing::golden_model(GoldenFile("models/" + name), {}, architectures::Head::kCausalLm,
                                    testing::Dropout::kNone)) {}
  Output forward(const Batch& batch) {
    return model->forward(batch, runner, loss_objective(model->architecture(), batch, {}));
  }
  Batch batch(int64_t rows, int64_t length) const {
    Batch made;
    made.input_ids = made.labels =
        at::randint(model->architecture().vocab_size(), {rows, length}, at::detail::createCPUGenerator(5),
                    at::TensorOptions(at::kLong));
    return made;
  }
};

}  // namespace

TEST_CASE("the gradients of queries, keys and values that are one matrix are put together once") {
  Pass pass("gpt2");
  const Output output = pass.forward(pass.batch(2, 8));
  const CalledOperators called;
  output.loss.backward();
  CHECK(CalledOperators::count("aten::stack") == pass.model->architecture().layers());
  CHECK(CalledOperators::count("aten::select_backward") == 0);
}

TEST_CASE("the angles of documents in a row are looked up once, for all layers of a pass") {
  for (const std::string name : {"llama_untied", "qwen3", "gemma"}) {
    INFO(name);
    Pass pass(name);
    REQUIRE(pass.model->architecture().layers() > 1);
    Batch batch = pass.batch(2, 8);
    const auto looked_up = [&] {
      const CalledOperators called;
      pass.forward(batch);
      return CalledOperators::count("aten::index_select");
    };
    const int of_tokens = looked_up();
    batch.position_ids = at::arange(8).remainder(5).repeat({2, 1});
    CHECK(looked_up() == of_tokens + 2);  // cosines and sines
  }
}

}  // namespace hftrain::models
