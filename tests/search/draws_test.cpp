#include <cmath>
#include <map>
#include <set>

#include "hftrain/search/sampler.h"
#include "hftrain/search/successive_halving.h"
#include "support/catch.h"

namespace hftrain::search {
namespace {

Specification three_flags(Method method, uint64_t seed = 42) {
  Specification specification;
  specification.method = method;
  specification.seed = seed;
  specification.space = {{.flag = "kind", .choices = {"a", "b", "c"}},
                         {.flag = "rate", .low = 1e-5, .high = 1e-1, .log = true},
                         {.flag = "size", .low = 1, .high = 16, .step = 1, .whole = true}};
  return specification;
}

// As losses are: one kind is better, the rate has an optimum on a logarithmic scale, the size a flat one.
double loss_of(const Json& parameters) {
  const double rate = std::log10(parameters["rate"].get<double>()) + 2.5;
  const double size = (parameters["size"].get<double>() - 11) / 16;
  return 1 + 0.5 * rate * rate + size * size + (parameters["kind"] == "b" ? 0 : 0.7);
}

double best_of(const Specification& specification, int count) {
  std::vector<Trial> trials;
  double best = INFINITY;
  for (int number = 0; number < count; ++number) {
    Trial trial{
        .number = number, .parameters = *draw(specification, number, trials), .state = TrialState::kComplete};
    trial.metric = loss_of(trial.parameters);
    best = std::min(best, *trial.metric);
    trials.push_back(std::move(trial));
  }
  return best;
}

TEST_CASE("a grid has every point once, the last flag changing fastest", "[search]") {
  Specification grid = three_flags(Method::kGrid);
  grid.space[1] = {.flag = "rate", .low = 0, .high = 1, .step = 0.5};
  std::set<std::string> points;
  int number = 0;
  for (; draw(grid, number, {}); ++number) points.insert(draw(grid, number, {})->dump());
  CHECK(number == 3 * 3 * 16);
  CHECK(points.size() == 3 * 3 * 16);
  CHECK(*draw(grid, 0, {}) == Json{{"kind", "a"}, {"rate", 0.0}, {"size", 1}});
  CHECK(*draw(grid, 1, {}) == Json{{"kind", "a"}, {"rate", 0.0}, {"size", 2}});
  CHECK(*draw(grid, 16, {}) == Json{{"kind", "a"}, {"rate", 0.5}, {"size", 1}});
}

TEST_CASE("random draws depend on the seed and the trial's number, and fill the space", "[search]") {
  const Specification random = three_flags(Method::kRandom);
  CHECK(*draw(random, 7, {}) == *draw(random, 7, {}));
  CHECK(*draw(random, 7, {}) != *draw(random, 8, {}));
  CHECK(*draw(random, 7, {}) != *draw(three_flags(Method::kRandom, 43), 7, {}));
  std::set<Json> kinds, sizes;
  int below = 0;
  for (int number = 0; number < 1000; ++number) {
    const Json drawn = *draw(random, number, {});
    kinds.insert(drawn["kind"]);
    sizes.insert(drawn["size"]);
    below += drawn["rate"].get<double>() < 1e-3 ? 1 : 0;
  }
  CHECK(kinds.size() == 3);
  CHECK(sizes.size() == 16);
  CHECK(below == Approx(500).margin(80));
}

TEST_CASE("steps of a range are drawn as often as each other", "[search]") {
  Specification random = three_flags(Method::kRandom);
  random.space = {{.flag = "seed", .low = 1, .high = 3, .step = 1, .whole = true},
                  {.flag = "decay", .low = 0, .high = 0.9, .step = 0.5}};
  std::map<Json, int> seeds, decays;
  for (int number = 0; number < 1200; ++number) {
    const Json drawn = *draw(random, number, {});
    ++seeds[drawn["seed"]], ++decays[drawn["decay"]];
  }
  CHECK(seeds.size() == 3);
  CHECK(decays.size() == 2);
  for (const auto& [value, times] : seeds) CHECK(times == Approx(400).margin(80));
  for (const auto& [value, times] : decays) CHECK(times == Approx(600).margin(80));
}

TEST_CASE("20 trials of tpe find better values than 20 random ones, in 80 of 100 seeds", "[search]") {
  int wins = 0;
  for (uint64_t seed = 0; seed < 100; ++seed)
    wins += best_of(three_flags(Method::kTpe, seed), 20) < best_of(three_flags(Method::kRandom, seed), 20)
                ? 1
                : 0;
  CHECK(wins >= 80);
}

TEST_CASE("tpe keeps away from where trials failed or still run", "[search]") {
  const Specification tpe = three_flags(Method::kTpe);
  std::vector<Trial> trials;
  for (int number = 0; number < 30; ++number) {
    Trial trial{.number = number, .parameters = *draw(three_flags(Method::kRandom), number, {})};
    const bool fails = trial.parameters["kind"] == "a";
    trial.metric = fails ? 0.1 : 1;  // it was good until it ran out of memory
    trial.state = fails ? TrialState::kFailed : TrialState::kComplete;
    trials.push_back(std::move(trial));
  }
  int a = 0;
  for (int number = 30; number < 130; ++number) a += (*draw(tpe, number, trials))["kind"] == "a" ? 1 : 0;
  CHECK(a < 20);
}

TEST_CASE("asha stops whoever is not among the best third of a rung", "[search]") {
  const auto behind = [](const std::vector<std::vector<double>>& metrics, size_t own) {
    return is_behind(metrics, own, metrics[own].size() - 1, false);
  };
  CHECK_FALSE(behind({{3}, {1}}, 0));  // too few to say
  CHECK(behind({{3}, {1}, {2}}, 0));
  CHECK_FALSE(behind({{3}, {1}, {2}}, 1));
  CHECK_FALSE(behind({{1, 9}, {1}, {2}}, 0));     // two evaluations are no rung
  CHECK_FALSE(behind({{1, 9, 9}, {1}, {2}}, 0));  // nobody else has come so far
  CHECK(behind({{1, 9, 9}, {1, 1, 1}, {2, 2, 2}}, 0));
  CHECK(behind({{NAN}, {1}, {2}}, 0));
  CHECK(is_behind({{1}, {2}, {3}}, 0, 0, true));
  CHECK_FALSE(is_behind({{1}, {2}, {3}}, 2, 0, true));
}

TEST_CASE("asha judges every rung that a trial has passed since the last look, by the metric there",
          "[search]") {
  const std::vector<std::vector<double>> quick = {{3, 0}, {1, 5}, {2, 5}};
  CHECK(is_behind(quick, 0, 0, false));  // by its first, though the newest is the best
  CHECK_FALSE(is_behind(quick, 0, 1, false));
  CHECK_FALSE(is_behind(quick, 1, 0, false));
  const std::vector<std::vector<double>> later = {{1, 9, 9, 0, 0}, {2, 1, 1}, {3, 2, 2}};
  CHECK(is_behind(later, 0, 0, false));
  CHECK(is_behind(later, 0, 2, false));
  CHECK_FALSE(is_behind(later, 0, 3, false));
  // What is gone on with is judged again at its newest rung alone.
  for (const auto& [evaluations, judged] : std::vector<std::pair<size_t, size_t>>{
           {0, 0}, {1, 0}, {2, 0}, {3, 2}, {8, 2}, {9, 8}, {26, 8}, {27, 26}}) {
    CAPTURE(evaluations);
    CHECK(judged_before(evaluations) == judged);
  }
}

}  // namespace
}  // namespace hftrain::search
