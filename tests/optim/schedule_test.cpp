// Schedules against transformers' get_scheduler (fixture of scripts/golden/optim.py).
#include "hftrain/optim/schedule.h"

#include <set>

#include "hftrain/base/error.h"
#include "optim/schedule_failure.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::optim {
namespace {

using testing::schedule_failure;

Json transformers_cases() {
  return read_json_file(testing::source_dir() + "/tests/golden/optim/schedules.json");
}

// Those of DeepSpeed have a fixture and a test of their own.
bool of_deepspeed(const std::string& name) {
  return name.starts_with("Warmup") || name == "LRRangeTest" || name == "OneCycle";
}

std::unique_ptr<Schedule> make(const Json& golden) {
  ScheduleSetting setting;
  setting.base_rate = golden["base"].get<double>();
  setting.warmup_steps = golden.value("warmup", int64_t{0});
  setting.total_steps = golden.value("total", int64_t{0});
  return make_schedule(golden["name"].get<std::string>(), setting, golden["options"]);
}

// Rates in the order of the fixture: before each step, or after each metric.
double next_rate(Schedule& schedule, const Json& golden, size_t i) {
  if (schedule.watches_metric()) {
    schedule.observe(golden["metrics"][i].get<double>());
    return schedule.rate();
  }
  const double rate = schedule.rate();
  schedule.step();
  return rate;
}

}  // namespace

TEST_CASE("Every schedule gives the rates of transformers", "[parity]") {
  std::set<std::string> seen;
  for (const Json& golden : transformers_cases()) {
    const auto schedule = make(golden);
    seen.insert(golden["name"].get<std::string>());
    INFO(golden["name"] << ' ' << golden["options"] << " warmup " << golden.value("warmup", -1));
    for (size_t i = 0; i < golden["rates"].size(); ++i) {
      const double expected = golden["rates"][i].get<double>();
      INFO("step " << i);
      CHECK(next_rate(*schedule, golden, i) == Approx(expected).epsilon(1e-12).margin(1e-18));
    }
  }
  for (const std::string& name : schedule_names()) {
    INFO(name);
    CHECK(seen.contains(name) != of_deepspeed(name));
  }
}

TEST_CASE("A schedule resumed from its state as text continues bit for bit") {
  for (const Json& golden : transformers_cases()) {
    const auto straight = make(golden), resumed = make(golden);
    const size_t half = golden["rates"].size() / 2;
    for (size_t i = 0; i < half; ++i) next_rate(*straight, golden, i);
    resumed->load_state(parse_json(dump_json(straight->state()), "state"));
    INFO(golden["name"] << ' ' << golden["options"]);
    for (size_t i = half; i < golden["rates"].size(); ++i) {
      CHECK(next_rate(*resumed, golden, i) == next_rate(*straight, golden, i));
    }
  }
}

TEST_CASE("A schedule that goes on keeps the base rate that it began with") {
  for (const char* name : {"linear", "constant", "reduce_lr_on_plateau", "greedy"}) {
    INFO(name);
    const auto saved = make_schedule(name, {1e-3, 0, 10}), resumed = make_schedule(name, {1e-2, 0, 10});
    saved->step();
    resumed->load_state(saved->state());
    CHECK(saved->state().at("base_rate") == 1e-3);
    CHECK(resumed->rate() == saved->rate());
    // A state of an earlier version does not say: then it is this run's.
    const auto older = make_schedule(name, {1e-2, 0, 10});
    Json state = saved->state();
    state.erase("base_rate");
    older->load_state(state);
    CHECK(older->state().at("base_rate") == 1e-2);
  }
  // DeepSpeed's rates are absolute.
  CHECK_FALSE(make_schedule("WarmupLR", {1e-3, 2, 10})->state().contains("base_rate"));
}

TEST_CASE("A schedule goes on from another one where both are a base rate times a function of the step") {
  for (const char* name : {"cosine", "own"}) {
    INFO(name);
    const auto half = [](int64_t) { return 0.5; };
    const auto saved =
        std::string(name) == "own" ? own_schedule(1e-3, half) : make_schedule(name, {1e-3, 0, 10});
    for (int i = 0; i < 4; ++i) saved->step();
    const auto linear = make_schedule("linear", {1e-2, 0, 10});
    linear->load_state(saved->state());
    CHECK(linear->rate() == Approx(1e-3 * 0.6));
    CHECK(linear->state().at("name") == "linear");
  }
}

TEST_CASE("A schedule refuses the state of one that remembers other things") {
  const std::vector<std::pair<const char*, const char*>> pairs = {{"linear", "reduce_lr_on_plateau"},
                                                                  {"linear", "greedy"},
                                                                  {"linear", "WarmupLR"},
                                                                  {"WarmupLR", "linear"},
                                                                  {"WarmupLR", "WarmupDecayLR"},
                                                                  {"greedy", "cosine"},
                                                                  {"reduce_lr_on_plateau", "cosine"}};
  for (const auto& [now, before] : pairs) {
    INFO(now << " from " << before);
    const auto saved = make_schedule(before, {1e-4, 2, 10}), schedule = make_schedule(now, {1e-4, 2, 10});
    try {
      schedule->load_state(saved->state());
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
    }
  }
}

TEST_CASE("Wrong schedule names and options are usage errors that name what is known") {
  CHECK_THAT(schedule_failure("cosinus", {}), Catch::Contains("cosine_with_restarts"));
  CHECK_THAT(schedule_failure("cosine", {{"num_cycle", 1}}), Catch::Contains("num_cycles"));
  CHECK_THAT(schedule_failure("constant", {{"num_cycles", 1}}), Catch::Contains("no options"));
  CHECK_THAT(schedule_failure("cosine", {{"num_cycles", "two"}}), Catch::Contains("not a number"));
  CHECK_THAT(schedule_failure("cosine_with_min_lr", Json::object()), Catch::Contains("exactly one"));
  CHECK_THAT(schedule_failure("cosine_with_min_lr", {{"min_lr", 1e-5}, {"min_lr_rate", 0.1}}),
             Catch::Contains("exactly one"));
  for (const char* name : {"cosine_with_min_lr", "cosine_warmup_with_min_lr"}) {
    CHECK_THROWS_AS(make_schedule(name, {0, 0, 10}, {{"min_lr", 1e-5}}), Error);
    CHECK_NOTHROW(make_schedule(name, {0, 0, 10}, {{"min_lr_rate", 0.1}}));
  }
  CHECK_THAT(schedule_failure("warmup_stable_decay", Json::object()),
             Catch::Contains("num_decay_steps is required"));
  CHECK_THAT(schedule_failure("warmup_stable_decay", {{"num_decay_steps", 2}, {"decay_type", "cubic"}}),
             Catch::Contains("1-sqrt"));
  CHECK_THAT(schedule_failure("polynomial", {{"lr_end", 1e-4}}),
             Catch::Contains("smaller than the learning rate"));
  CHECK_THAT(schedule_failure("inverse_sqrt", {{"timescale", 0}}), Catch::Contains("timescale"));
  CHECK_THAT(schedule_failure("reduce_lr_on_plateau", {{"factor", 1.5}}), Catch::Contains("factor"));
  CHECK_THAT(schedule_failure("linear", Json::array({1})), Catch::Contains("key and value pairs"));
}

TEST_CASE("Polynomial decay without any decay step stays at its end instead of dividing by zero") {
  const auto schedule = make_schedule("polynomial", {1e-4, 5, 5});
  for (int i = 0; i < 5; ++i) schedule->step();
  CHECK(schedule->rate() == Approx(1e-7));
}

}  // namespace hftrain::optim
