#include "hftrain/search/sampler.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "hftrain/search/parzen.h"

namespace hftrain::search {
namespace {

constexpr size_t kSpread = 4;  // trials that end before tpe has something to go by

// Trial `number` of those that fill the unit cube evenly, wherever they begin: a Kronecker sequence with the roots of
// x^(d+1) = x + 1 (Roberts, 2018).
std::vector<double> spread(size_t dimensions, uint64_t seed, int number) {
  double root = 2;
  for (int i = 0; i < 60; ++i) root = std::pow(1 + root, 1 / (static_cast<double>(dimensions) + 1));
  std::seed_seq seeds{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  std::mt19937_64 random(seeds);
  std::vector<double> places;
  for (size_t i = 0; i < dimensions; ++i) {
    const double begin = std::generate_canonical<double, 53>(random);
    const double place = begin + (number + 1) * std::pow(root, -static_cast<double>(i + 1));
    places.push_back(place - std::floor(place));
  }
  return places;
}

Json at_places(const Space& space, const std::vector<double>& places) {
  Json parameters = Json::object();
  for (size_t i = 0; i < space.size(); ++i) parameters[space[i].flag] = space[i].value_at(places[i]);
  return parameters;
}

std::optional<Json> point_of_grid(const Space& space, size_t number) {
  Json parameters = Json::object();
  for (auto parameter = space.rbegin(); parameter != space.rend(); ++parameter) {
    parameters[parameter->flag] = parameter->value_number(number % parameter->count());
    number /= parameter->count();
  }
  return number > 0 ? std::nullopt : std::optional(std::move(parameters));
}

std::vector<double> places_of(const Space& space, const Trial& trial) {
  std::vector<double> places;
  for (const Parameter& parameter : space)
    places.push_back(parameter.place_of(trial.parameters.value(parameter.flag, Json())));
  return places;
}

// One that failed says nothing good of its values, whatever it had reached by then.
bool counts(const Trial& trial) {
  return trial.metric.has_value() && trial.state != TrialState::kFailed;
}

// The trials from the best to the worst. Those without a metric, running or failed, are the worst: nobody should draw
// near them while nothing good is known of it.
std::vector<std::vector<double>> ranked(const Specification& specification,
                                        const std::vector<Trial>& trials) {
  std::vector<const Trial*> order;
  for (const Trial& trial : trials) order.push_back(&trial);
  std::stable_sort(order.begin(), order.end(), [&](const Trial* a, const Trial* b) {
    if (!counts(*a) || !counts(*b)) return counts(*a) && !counts(*b);
    return specification.greater_is_better ? *a->metric > *b->metric : *a->metric < *b->metric;
  });
  std::vector<std::vector<double>> places;
  for (const Trial* trial : order) places.push_back(places_of(specification.space, *trial));
  return places;
}

size_t with_metric(const std::vector<Trial>& trials) {
  return static_cast<size_t>(std::count_if(trials.begin(), trials.end(), counts));
}

}  // namespace

std::optional<Json> draw(const Specification& specification, int number, const std::vector<Trial>& trials) {
  const Space& space = specification.space;
  if (specification.method == Method::kGrid) return point_of_grid(space, static_cast<size_t>(number));
  std::seed_seq seeds{static_cast<uint32_t>(specification.seed),
                      static_cast<uint32_t>(specification.seed >> 32), static_cast<uint32_t>(number)};
  std::mt19937_64 random(seeds);
  if (specification.method == Method::kTpe) {
    return at_places(space, with_metric(trials) < kSpread
                                ? spread(space.size(), specification.seed, number)
                                : draw_by_parzen(space, ranked(specification, trials), random));
  }
  std::vector<double> places;
  for (size_t i = 0; i < space.size(); ++i) places.push_back(std::generate_canonical<double, 53>(random));
  return at_places(space, places);
}

}  // namespace hftrain::search
