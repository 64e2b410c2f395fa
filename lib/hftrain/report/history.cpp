// What happened, and everything in full: the parts of a page that grow with a run.
#include <algorithm>
#include <ctime>

#include "hftrain/base/text.h"
#include "hftrain/report/html.h"
#include "hftrain/report/members.h"
#include "hftrain/report/sections.h"

namespace hftrain::report {
namespace {

constexpr size_t kMostEvents = 300;   // of a run
constexpr size_t kMostRecords = 200;  // of a run

std::string local_time(double seconds) {
  if (time_or_none(seconds) == 0) return "–";
  const auto time = static_cast<std::time_t>(seconds);
  std::tm local{};
  ::localtime_r(&time, &local);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local)};
}

std::string words_of(const Json& event) {
  std::vector<std::string> words;
  for (const auto& [name, value] : event.items()) {
    if (name == "event" || name == "time" || value.is_null()) continue;
    words.push_back(name + ' ' +
                    (value.is_string()         ? value.get<std::string>()
                     : value.is_number_float() ? number_text(value.get<double>())
                                               : dump_json(value, -1)));
  }
  return join(words, ", ");
}

std::vector<const Json*> told(const Run& run) {
  std::vector<const Json*> told;
  for (const Json& event : run.events) {
    if (text_or(event, "event", "") != "sample") told.push_back(&event);
  }
  if (told.size() > kMostEvents) told.erase(told.begin(), told.end() - kMostEvents);
  return told;
}

// The newest points of all metrics by step, as they were logged.
std::string newest_records(const Run& run) {
  std::map<double, Json, std::greater<>> by_step;
  for (const auto& [name, series] : run.log.metrics) {
    const size_t begin = series.size() - std::min(series.size(), kMostRecords);
    for (size_t i = begin; i < series.size(); ++i) by_step[series[i].step][name] = series[i].value;
  }
  std::string lines;
  size_t count = 0;
  for (const auto& [step, record] : by_step) {
    if (++count > kMostRecords) break;
    lines += "step " + number_text(step) + ": " + dump_json(record, -1) + '\n';
  }
  return lines.empty() ? "" : "<pre>" + escaped(lines) + "</pre>\n";
}

std::string plan_text(Json plan) {
  if (plan.empty()) return "";
  if (!object_or_empty(plan, "logging").empty()) plan["logging"].erase("arguments_json");
  return "<pre>" + escaped(dump_json(plan)) + "</pre>\n";
}

}  // namespace

std::string events(const std::vector<Run>& runs) {
  Table content{{"time", "run", "event", "what"}, {}};
  for (const Run& run : runs) {
    for (const Json* event : told(run)) {
      content.rows.push_back({local_time(number_or(*event, "time", 0)), run.name,
                              text_or(*event, "event", ""), words_of(*event)});
    }
    if (run.log.unreadable > 0) {
      content.rows.push_back(
          {"–", run.name, "log",
           std::to_string(run.log.unreadable) + " lines of log.jsonl that are no records"});
    }
  }
  return section("events", "Events", table(content));
}

std::string details(const std::vector<Run>& runs) {
  std::string body;
  for (const Run& run : runs) {
    const std::string arguments =
        run.arguments_text.empty() ? "" : "<pre>" + escaped(run.arguments_text) + "</pre>\n";
    body += folded("newest records of " + run.name, newest_records(run));
    body += folded("arguments of " + run.name, arguments);
    body += folded("plan of " + run.name, plan_text(run.plan));
  }
  return section("details", "In full", body);
}

}  // namespace hftrain::report
