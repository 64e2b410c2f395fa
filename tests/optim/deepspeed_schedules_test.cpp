// DeepSpeed's schedules against deepspeed 0.19.8 (fixture of scripts/golden/deepspeed_schedules.py).
#include "hftrain/optim/deepspeed_schedules.h"

#include <set>

#include "optim/schedule_failure.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::optim {
namespace {

using testing::schedule_failure;

Json deepspeed_cases() {
  return read_json_file(testing::source_dir() + "/tests/golden/optim/deepspeed_schedules.json");
}

std::vector<double> rates(Schedule& schedule, size_t count) {
  std::vector<double> rates;
  for (size_t i = 0; i < count; ++i) {
    rates.push_back(schedule.rate());
    schedule.step();
  }
  return rates;
}

std::vector<double> rates_of(const char* name, const ScheduleSetting& setting, const Json& options,
                             size_t count) {
  return rates(*make_schedule(name, setting, options), count);
}

}  // namespace

TEST_CASE("Every DeepSpeed schedule gives the rates of deepspeed", "[parity]") {
  std::set<std::string> seen;
  for (const Json& golden : deepspeed_cases()) {
    const auto name = golden["name"].get<std::string>();
    seen.insert(name);
    INFO(name << ' ' << golden["options"]);
    const auto schedule = make_schedule(name, {golden["base"].get<double>(), 99, 99}, golden["options"]);
    const std::vector<double> found = rates(*schedule, golden["rates"].size());
    for (size_t i = 0; i < found.size(); ++i) {
      INFO("update " << i);
      CHECK(found[i] == Approx(golden["rates"][i].get<double>()).epsilon(1e-12).margin(1e-18));
    }
  }
  CHECK(seen ==
        std::set<std::string>{"WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "LRRangeTest", "OneCycle"});
}

TEST_CASE("OneCycle moves the betas as deepspeed does, and no other schedule does", "[parity]") {
  size_t moving = 0;
  for (const Json& golden : deepspeed_cases()) {
    INFO(golden["name"] << ' ' << golden["options"]);
    const auto schedule = make_schedule(golden["name"].get<std::string>(),
                                        {golden["base"].get<double>(), 99, 99}, golden["options"]);
    const bool moves = golden.contains("betas");
    moving += moves ? 1 : 0;
    for (size_t i = 0; i < golden["rates"].size(); ++i) {
      INFO("update " << i);
      const std::optional<Betas> betas = schedule->betas();
      REQUIRE(betas.has_value() == moves);
      if (moves) {
        CHECK(betas->first == Approx(golden["betas"][i][0].get<double>()).epsilon(1e-12));
        CHECK(betas->second == golden["betas"][i][1].get<double>());
      }
      schedule->step();
    }
  }
  CHECK(moving == 3);
}

TEST_CASE("A resumed OneCycle goes on with its momentum") {
  const Json options = {{"cycle_min_lr", 1e-5}, {"cycle_max_lr", 1e-3}, {"cycle_first_step_size", 5}};
  const auto straight = make_schedule("OneCycle", {}, options),
             resumed = make_schedule("OneCycle", {}, options);
  for (int i = 0; i < 4; ++i) straight->step();
  resumed->load_state(straight->state());
  CHECK(resumed->betas() == straight->betas());
  CHECK(resumed->betas()->first == Approx(0.82));  // 0.9 - 0.1 x 4/5
}

TEST_CASE("The first two updates of a logarithmic warm-up have the least rate") {
  const std::vector<double> found = rates_of("WarmupLR", {2e-4, 4, 10}, {{"warmup_min_lr", 1e-5}}, 6);
  CHECK(found[0] == 1e-5);
  CHECK(found[1] == 1e-5);
  CHECK(found[2] == Approx(1e-5 + 1.9e-4 * 0.5));  // ln 2 / ln 4
  CHECK(found[5] == Approx(2e-4));
}

TEST_CASE("Absent options of a DeepSpeed schedule are the run's own values") {
  const ScheduleSetting setting{3e-4, 5, 20};
  CHECK(rates_of("WarmupLR", setting, Json::object(), 12) ==
        rates_of("WarmupLR", {}, {{"warmup_max_lr", 3e-4}, {"warmup_num_steps", 5}}, 12));
  CHECK(rates_of("WarmupDecayLR", setting, Json::object(), 22) ==
        rates_of("WarmupDecayLR", {},
                 {{"warmup_max_lr", 3e-4}, {"warmup_num_steps", 5}, {"total_num_steps", 20}}, 22));
}

TEST_CASE("No warm-up at all starts with the full rate") {
  const Json none = {{"warmup_num_steps", 0}};
  CHECK(rates_of("WarmupLR", {1e-3, 7, 10}, none, 2) == std::vector<double>{1e-3, 1e-3});
  CHECK(rates_of("WarmupDecayLR", {1e-3, 7, 10}, none, 3)[0] == 1e-3);
  CHECK(rates_of("WarmupCosineLR", {1e-3, 7, 10}, none, 1)[0] == Approx(1e-3));
}

TEST_CASE("Wrong options of DeepSpeed schedules are usage errors") {
  CHECK_THAT(schedule_failure("OneCycle", {{"cycle_min_lr", 1e-5}}),
             Catch::Contains("cycle_max_lr is required"));
  CHECK_THAT(schedule_failure("WarmupLR", {{"warmup_type", "cubic"}}), Catch::Contains("log, linear"));
  CHECK_THAT(schedule_failure("WarmupLR", {{"total_num_steps", 5}}), Catch::Contains("no option"));
  CHECK_THAT(schedule_failure("LRRangeTest", {{"lr_range_test_step_size", 0}}),
             Catch::Contains("at least 1"));
}

}  // namespace hftrain::optim
