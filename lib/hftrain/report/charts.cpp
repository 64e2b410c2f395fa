#include "hftrain/report/charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "hftrain/report/samples.h"
#include "hftrain/report/thinning.h"

namespace hftrain::report {
namespace {

constexpr size_t kMostPoints = 100'000;  // of a page
constexpr size_t kMostColumns = 400;     // of a chart: more than a screen shows
constexpr std::array<std::string_view, 3> kFirst = {"loss", "learning_rate", "grad_norm"};

// Training's own, then evaluations', then what a run says of itself.
std::pair<size_t, std::string> place_of(const std::string& name) {
  const auto* const first = std::find(kFirst.begin(), kFirst.end(), name);
  if (first != kFirst.end()) return {static_cast<size_t>(first - kFirst.begin()), name};
  if (name == "eval_loss") return {kFirst.size(), name};
  const bool speed = name.ends_with("_per_second") || name.ends_with("_runtime");
  if (speed) return {kFirst.size() + 3, name};
  return {kFirst.size() + (name.starts_with("eval_") ? 1 : 2), name};
}

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 6 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

Json line_of(const Series& series, size_t run, double since) {
  Json x = Json::array(), y = Json::array(), t = Json::array();
  for (const Point& point : series) {
    x.push_back(rounded(point.step));
    y.push_back(std::isfinite(point.value) ? Json(rounded(point.value)) : Json());
    t.push_back(point.time > 0 ? Json(std::round((point.time - since) * 10) / 10) : Json());
  }
  return {{"run", run}, {"x", std::move(x)}, {"y", std::move(y)}, {"t", std::move(t)}};
}

struct Chart {
  std::string title;
  std::vector<std::pair<size_t, const Series*>> lines;  // by run
};

Chart chart_of(const std::string& title, const std::vector<std::map<std::string, Series>>& metrics) {
  Chart chart{title, {}};
  for (size_t run = 0; run < metrics.size(); ++run) {
    const auto found = metrics[run].find(title);
    if (found != metrics[run].end()) chart.lines.emplace_back(run, &found->second);
  }
  return chart;
}

bool draws_a_line(const Chart& chart) {
  return std::any_of(chart.lines.begin(), chart.lines.end(),
                     [](const auto& line) { return line.second->size() > 1; });
}

}  // namespace

std::vector<std::string> metric_names(const std::vector<Run>& runs) {
  std::set<std::pair<size_t, std::string>> placed;
  for (const Run& run : runs) {
    for (const auto& [name, series] : run.log.metrics) {
      placed.insert({place_of(name).first, name});
    }
  }
  std::vector<std::string> names;
  for (const auto& [place, name] : placed) names.push_back(name);
  return names;
}

Json charts_of(const std::vector<Run>& runs) {
  std::vector<std::map<std::string, Series>> metrics, samples;
  for (const Run& run : runs) {
    metrics.push_back(run.log.metrics);
    samples.push_back(samples_of(run));
  }
  std::vector<Chart> charts;
  size_t lines = 0;
  const auto add = [&](Chart chart) {
    if (!draws_a_line(chart)) return;
    lines += chart.lines.size();
    charts.push_back(std::move(chart));
  };
  for (const std::string& name : metric_names(runs)) add(chart_of(name, metrics));
  for (const char* name : {kTokensPerSecond, kMemory}) add(chart_of(name, samples));
  const size_t columns = std::clamp<size_t>(kMostPoints / 4 / std::max<size_t>(lines, 1), 10, kMostColumns);
  Json all = Json::array();
  for (const Chart& chart : charts) {
    Json drawn = Json::array();
    for (const auto& [run, series] : chart.lines)
      drawn.push_back(line_of(thinned(*series, columns), run, runs[run].log.first_time));
    all.push_back({{"title", chart.title}, {"lines", std::move(drawn)}});
  }
  return all;
}

}  // namespace hftrain::report
