#include "hftrain/optim/gradient_scaler.h"

#include <ATen/ops/full.h>
#include <ATen/record_function.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/optim/clipping.h"
#include "support/catch.h"

namespace hftrain::optim {
namespace {

double scale_of(const GradientScaler& scaler) {
  return scaler.scale().item<double>();
}

// True when one of them was an overflow at the least scale.
bool run(GradientScaler& scaler, const std::vector<bool>& overflows) {
  bool stuck = false;
  for (const bool overflow : overflows)
    stuck |= scaler.update(at::full({}, overflow, at::kBool)).item<bool>();
  return stuck;
}

void run_good(GradientScaler& scaler, size_t updates) {
  run(scaler, std::vector<bool>(updates, false));
}

thread_local int read_so_far = 0;

std::unique_ptr<at::ObserverContext> count_reading(const at::RecordFunction& call) {
  if (std::string_view(call.name()) == "aten::_local_scalar_dense") ++read_so_far;
  return nullptr;
}

// By the host while `body` runs.
int numbers_read(const std::function<void()>& body) {
  read_so_far = 0;
  const at::CallbackHandle handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(count_reading).scopes({at::RecordScope::FUNCTION}));
  body();
  at::removeCallback(handle);
  return read_so_far;
}

}  // namespace

TEST_CASE("The scaler halves its scale after an overflow") {
  GradientScaler scaler;
  CHECK(scale_of(scaler) == 65536.0);
  CHECK(scaler.scale().scalar_type() == at::kFloat);
  CHECK_FALSE(run(scaler, {false}));
  CHECK(scale_of(scaler) == 65536.0);
  CHECK_FALSE(run(scaler, {true}));
  CHECK(scale_of(scaler) == 32768.0);
}

TEST_CASE("Nobody reads a number of the device that has yet to say whether gradients overflow") {
  GradientScaler scaler({.hysteresis = 2, .minimum = 1});
  const at::Tensor squares = at::full({}, 9.0, at::kDouble), stuck = at::full({}, false, at::kBool);
  CHECK(numbers_read([&] { (void)stuck.item<bool>(); }) == 1);
  CHECK(numbers_read([&] {
          const Clipping clipping = clipping_of(squares, 1, scaler.scale());
          (void)scaler.update(clipping.norm.isfinite().logical_not());
        }) == 0);
}

TEST_CASE("The scale doubles after 2000 good updates in a row, counted across a resume") {
  GradientScaler scaler({.initial = 8.0});
  run_good(scaler, 1500);
  GradientScaler resumed({.initial = 1.0});
  resumed.load_state(parse_json(dump_json(scaler.state()), "state"));
  run_good(resumed, 499);
  CHECK(scale_of(resumed) == 8.0);
  run(resumed, {false});
  CHECK(scale_of(resumed) == 16.0);
  run(resumed, {true});
  run_good(resumed, 1999);
  CHECK(scale_of(resumed) == 8.0);
}

TEST_CASE("Hysteresis tolerates overflows until the scale shrinks, and is whole again after growth") {
  GradientScaler scaler({.initial = 64, .growth_interval = 3, .hysteresis = 2});
  run(scaler, {true});
  CHECK(scale_of(scaler) == 64);
  run(scaler, {false, true});  // the tolerance was used up, and two good updates did not give it back
  CHECK(scale_of(scaler) == 32);
  run(scaler, {true});
  CHECK(scale_of(scaler) == 16);
  run(scaler, {false, false, false, true});
  CHECK(scale_of(scaler) == 32);
}

TEST_CASE("Consecutive hysteresis is whole again after every good update") {
  GradientScaler scaler({.initial = 64, .hysteresis = 2, .refill = true});
  run(scaler, {true, false, true, false});
  CHECK(scale_of(scaler) == 64);
  run(scaler, {true, true});
  CHECK(scale_of(scaler) == 32);
}

TEST_CASE("A scale that cannot shrink any more ends the run") {
  GradientScaler scaler({.initial = 4, .minimum = 3});
  run(scaler, {true});
  CHECK(scale_of(scaler) == 3);
  CHECK(run(scaler, {true}));
  try {
    scaler.refuse_scale();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDiverged);
    CHECK_THAT(error.render(), Catch::Contains("loss scale 3"));
  }
}

TEST_CASE("A fixed scale never moves, not even by resuming a run that had another one") {
  GradientScaler scaler({.initial = 128, .dynamic = false, .growth_interval = 1});
  run(scaler, {true, false, false, true});
  CHECK(scale_of(scaler) == 128);
  scaler.load_state({{"scale", 4.0}, {"good_updates", 1}});
  CHECK(scale_of(scaler) == 128);
}

TEST_CASE("The tolerance of a dynamic scale survives a resume") {
  GradientScaler first({.initial = 64, .hysteresis = 2}), second({.initial = 1, .hysteresis = 2});
  run(first, {true});
  second.load_state(parse_json(dump_json(first.state()), "state"));
  run(second, {true});
  CHECK(scale_of(second) == 32);
}

}  // namespace hftrain::optim
