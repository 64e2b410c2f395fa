#include "hftrain/report/sections.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "hftrain/base/text.h"
#include "hftrain/report/charts.h"
#include "hftrain/report/html.h"
#include "hftrain/report/members.h"

namespace hftrain::report {
namespace {

std::string text_of(const Json& value) {
  if (value.is_null()) return "–";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return number_text(value.get<double>());
  return dump_json(value, -1);
}

Json member(const Json& object, const char* outer, const char* inner) {
  if (!object.is_object() || !object.contains(outer) || !object[outer].is_object()) return nullptr;
  return object[outer].value(inner, Json());
}

std::string steps_of(const Run& run) {
  const Json most = member(run.plan, "steps", "max_steps");
  return number_text(run.log.last_step) + (most.is_number() ? " of " + text_of(most) : "");
}

std::string duration_of(const Run& run) {
  const double logged = run.log.last_time - run.log.first_time;
  const double seconds = run.running ? logged : number_or(run.summary, "seconds", logged);
  return format_duration(std::clamp(seconds, 0.0, kLargestCount));
}

std::string strategy_of(const Run& run) {
  if (!run.plan.contains("strategy")) return "–";
  return text_of(member(run.plan, "strategy", "name")) + " on " +
         text_of(member(run.plan, "ranks", "world_size")) + " x " +
         text_of(member(run.plan, "ranks", "backend")) + ", " +
         text_of(member(run.plan, "precision", "compute"));
}

std::string model_of(const Run& run) {
  const double numbers = number_or(object_or_empty(run.plan, "model"), "parameters", -1);
  if (numbers < 0 || numbers > kLargestCount) return "–";
  return text_of(member(run.plan, "model", "model_type")) + ", " +
         with_thousands(static_cast<int64_t>(numbers)) + " parameters";
}

std::string summed_up(const Run& run, const char* name) {
  return run.summary.contains(name) ? text_of(run.summary[name]) : "–";
}

std::vector<std::string> names_of(const std::vector<Run>& runs, std::vector<std::string> head) {
  for (const Run& run : runs) head.push_back(run.name);
  return head;
}

const Series* series_of(const Run& run, const std::string& name) {
  const auto found = run.log.metrics.find(name);
  return found == run.log.metrics.end() || found->second.empty() ? nullptr : &found->second;
}

std::vector<std::string> extremes(const Series& series) {
  // What is no number is neither lowest nor highest.
  const auto below = [](const Point& a, const Point& b) {
    return std::isnan(a.value) || std::isnan(b.value) ? std::isnan(b.value) && !std::isnan(a.value)
                                                      : a.value < b.value;
  };
  const auto above = [](const Point& a, const Point& b) {
    return std::isnan(a.value) || std::isnan(b.value) ? std::isnan(a.value) && !std::isnan(b.value)
                                                      : a.value < b.value;
  };
  const auto lowest = std::min_element(series.begin(), series.end(), below);
  const auto highest = std::max_element(series.begin(), series.end(), above);
  return {number_text(series.back().value), number_text(lowest->value) + " at " + number_text(lowest->step),
          number_text(highest->value) + " at " + number_text(highest->step), std::to_string(series.size())};
}

// A trial that ended before it had a plan has no arguments but those that its search gave it: nobody knows the others.
bool differs(const std::vector<Run>& runs, const std::string& flag) {
  std::set<std::string> cells;
  for (const Run& run : runs) {
    const bool unknown = run.plan.empty() && !run.arguments.empty() && !run.arguments.contains(flag);
    if (!unknown) cells.insert(text_of(run.arguments.value(flag, Json())));
  }
  return cells.size() > 1;
}

// The lines of arguments.yaml that stand there because somebody said so; a block of several lines goes with its first.
std::string given_arguments(const Run& run) {
  std::string given;
  bool belongs = false;
  for (const std::string& line : split(run.arguments_text, '\n')) {
    const bool begins = !line.empty() && line.front() != ' ' && line.front() != '-';
    if (begins) belongs = line.front() != '#' && !line.ends_with("# default");
    if (belongs && !line.empty()) given += line + '\n';
  }
  return section("arguments", "Arguments that were given",
                 given.empty() ? "" : "<pre>" + escaped(given) + "</pre>\n");
}

}  // namespace

std::string overview(const std::vector<Run>& runs) {
  Table content{
      {"run", "state", "step", "epoch", "time", "tokens/s", "goodput", "model", "strategy", "folder"}, {}};
  for (const Run& run : runs) {
    content.rows.push_back({run.name, run.state, steps_of(run), number_text(run.log.last_epoch),
                            duration_of(run), summed_up(run, "tokens_per_second"), summed_up(run, "goodput"),
                            model_of(run), strategy_of(run), run.folder});
  }
  return table(content);
}

std::string metrics_table(const std::vector<Run>& runs) {
  const bool alone = runs.size() == 1;
  Table content{alone ? std::vector<std::string>{"metric", "newest", "lowest", "highest", "records"}
                      : names_of(runs, {"metric (newest)"}),
                {},
                true};
  for (const std::string& name : metric_names(runs)) {
    std::vector<std::string> row = {name};
    for (const Run& run : runs) {
      const Series* series = series_of(run, name);
      if (series == nullptr) {
        row.emplace_back("–");
      } else if (alone) {
        for (std::string& cell : extremes(*series)) row.push_back(std::move(cell));
      } else {
        row.push_back(number_text(series->back().value));
      }
    }
    content.rows.push_back(std::move(row));
  }
  return section("metrics", "Metrics", table(content));
}

std::string memory_table(const std::vector<Run>& runs) {
  Table content{
      {"rank", "planned", "host, most", "device, most", "parameters", "gradients", "optimizer", "sent"},
      {},
      true};
  const auto bytes = [](const Json& value) {
    const double count = value.is_number() ? value.get<double>() : -1;
    return count >= 0 && count < 0x1p63 ? format_bytes(static_cast<uint64_t>(count)) : std::string("–");
  };
  for (const Run& run : runs) {
    if (!run.summary.contains("ranks") || !run.summary["ranks"].is_array()) continue;
    for (const Json& rank : run.summary["ranks"]) {
      if (!rank.is_object()) continue;
      const std::string name = (runs.size() == 1 ? "" : run.name + ' ') + text_of(rank.value("rank", Json()));
      content.rows.push_back(
          {name, bytes(member(run.plan, "memory_per_rank", "total")),
           bytes(rank.value("peak_host_bytes", Json())), bytes(rank.value("peak_device_bytes", Json())),
           bytes(member(rank, "state_bytes", "parameters")), bytes(member(rank, "state_bytes", "gradients")),
           bytes(member(rank, "state_bytes", "optimizer")), bytes(rank.value("bytes_sent", Json()))});
    }
  }
  return section("memory", "Memory and traffic of the ranks", table(content));
}

std::string differing_arguments(const std::vector<Run>& runs) {
  if (runs.size() == 1) return given_arguments(runs.front());
  std::set<std::string> flags;
  for (const Run& run : runs) {
    for (const auto& [flag, value] : run.arguments.items()) flags.insert(flag);
  }
  Table content{names_of(runs, {"flag"}), {}};
  for (const std::string& flag : flags) {
    std::vector<std::string> row = {flag};
    for (const Run& run : runs) row.push_back(text_of(run.arguments.value(flag, Json())));
    if (differs(runs, flag)) content.rows.push_back(std::move(row));
  }
  return section("arguments", "Arguments that differ", table(content));
}

std::string checkpoints(const std::vector<Run>& runs) {
  Table content{{"run", "checkpoints in its folder"}, {}};
  for (const Run& run : runs) {
    if (!run.checkpoints.empty()) content.rows.push_back({run.name, join(run.checkpoints, ", ")});
  }
  return section("checkpoints", "Checkpoints", table(content));
}

}  // namespace hftrain::report
