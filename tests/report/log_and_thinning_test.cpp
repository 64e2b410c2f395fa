#include <cmath>
#include <limits>

#include "hftrain/report/run_log.h"
#include "hftrain/report/samples.h"
#include "hftrain/report/thinning.h"
#include "support/catch.h"

namespace hftrain::report {
namespace {

std::vector<double> steps_of(const Series& series) {
  std::vector<double> steps;
  for (const Point& point : series) steps.push_back(point.step);
  return steps;
}

using Steps = std::vector<double>;

TEST_CASE("every number of a record becomes a point of its metric", "[report]") {
  const RunLog log = read_log_lines(
      "{\"step\": 1, \"epoch\": 0.5, \"time\": 100.5, \"loss\": 2.5, \"learning_rate\": 5e-05, \"note\": "
      "\"x\"}\n"
      "{\"step\": 2, \"epoch\": 1, \"time\": 101.5, \"loss\": 2, \"eval_loss\": 3.25}\n");
  CHECK(log.records == 2);
  CHECK(log.unreadable == 0);
  REQUIRE(log.metrics.size() == 3);
  CHECK(steps_of(log.metrics.at("loss")) == Steps{1, 2});
  CHECK(log.metrics.at("loss")[1].value == 2);
  CHECK(log.metrics.at("loss")[1].time == 101.5);
  CHECK(log.metrics.at("learning_rate")[0].value == 5e-05);
  CHECK(log.first_time == 100.5);
  CHECK(log.last_time == 101.5);
  CHECK(log.last_epoch == 1);
}

TEST_CASE("numbers that are not finite are read, lines of killed processes are counted", "[report]") {
  const RunLog log = read_log_lines(
      "{\"step\": 1, \"loss\": NaN, \"grad_norm\": -Infinity}\n{\"step\": 2, \"lo\n\n[1]\n{\"step\": 3, "
      "\"loss\": 1}");
  CHECK(log.records == 2);
  CHECK(log.unreadable == 2);
  CHECK(std::isnan(log.metrics.at("loss")[0].value));
  CHECK(log.metrics.at("grad_norm")[0].value == -std::numeric_limits<double>::infinity());
  CHECK(log.metrics.at("loss")[1].step == 3);
}

TEST_CASE("a record at a step that is none has no place in a line", "[report]") {
  const RunLog log = read_log_lines(
      "{\"step\": 1, \"time\": 1e300, \"epoch\": Infinity, \"loss\": 1}\n{\"step\": NaN, \"loss\": 2}\n"
      "{\"step\": 1e300, \"loss\": 3}\n{\"step\": -Infinity, \"loss\": 4}\n{\"step\": 2, \"loss\": 5}\n");
  CHECK(log.records == 2);
  CHECK(log.unreadable == 3);
  CHECK(steps_of(log.metrics.at("loss")) == Steps{1, 2});
  CHECK(log.metrics.at("loss")[0].time == 0);
  CHECK(log.last_epoch == 0);
}

TEST_CASE("what a resumed run does again takes the place of what was lost", "[report]") {
  std::string lines;
  for (const int step : {10, 20, 30, 40}) {
    lines += "{\"step\": " + std::to_string(step) + ", \"loss\": 1}\n";
    if (step == 35 || step == 40) lines += "{\"step\": 40, \"eval_loss\": 7}\n";
  }
  lines += "{\"step\": 30, \"loss\": 2}\n";
  const RunLog log = read_log_lines(lines);
  CHECK(steps_of(log.metrics.at("loss")) == Steps{10, 20, 30});
  CHECK(log.metrics.at("loss").back().value == 2);
  CHECK(log.metrics.at("eval_loss").empty());
  CHECK(log.last_step == 30);
}

TEST_CASE("the history of the Python Trainer is a log, too", "[report]") {
  const Json state = {
      {"log_history", {{{"step", 5}, {"loss", 0.5}}, {{"step", 5}, {"eval_loss", 0.75}}, "odd"}}};
  const RunLog log = read_log_history(state);
  CHECK(log.metrics.at("loss")[0].value == 0.5);
  CHECK(log.metrics.at("eval_loss")[0].value == 0.75);
  CHECK(read_log_history(Json::array()).records == 0);
}

TEST_CASE("a thinned line keeps its ends and every peak", "[report]") {
  Series series;
  for (int i = 0; i < 100'000; ++i) series.push_back({static_cast<double>(i), std::sin(i * 0.01), 0});
  series[54'321].value = 50;
  series[77'777].value = -50;
  series[10].value = std::nan("");
  const Series kept = thinned(series, 100);
  CHECK(kept.size() <= 400);
  CHECK(kept.size() > 100);
  CHECK(kept.front().step == 0);
  CHECK(kept.back().step == 99'999);
  const auto holds = [&](double step) {
    return std::any_of(kept.begin(), kept.end(), [&](const Point& point) { return point.step == step; });
  };
  CHECK(holds(54'321));
  CHECK(holds(77'777));
  CHECK(std::is_sorted(kept.begin(), kept.end(),
                       [](const Point& a, const Point& b) { return a.step < b.step; }));
  CHECK(thinned({series.begin(), series.begin() + 400}, 100).size() == 400);
}

TEST_CASE("speed comes from the run's samples, or else from the times of its records", "[report]") {
  Run run;
  run.plan = {{"batch", {{"global_train", 8}}}, {"data", {{"block_size", 16}}}};
  run.log = read_log_lines(
      "{\"step\": 10, \"time\": 100, \"loss\": 1}\n{\"step\": 20, \"time\": 105, \"loss\": 1}\n");
  const Series derived = samples_of(run).at(kTokensPerSecond);
  REQUIRE(derived.size() == 1);
  CHECK(derived[0].value == 8 * 16 * 10 / 5.0);
  for (const int step : {1, 2, 3}) {
    run.events.push_back({{"event", "sample"},
                          {"step", step},
                          {"time", 100 + step},
                          {"tokens_per_second", 50 + step},
                          {"memory_bytes", int64_t{2} << 30}});
  }
  CHECK(samples_of(run).at(kTokensPerSecond).back().value == 53);
  CHECK(samples_of(run).at(kMemory).back().value == 2);
}

}  // namespace
}  // namespace hftrain::report
