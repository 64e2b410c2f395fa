#include "hftrain/report/run_log.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/report/members.h"

namespace hftrain::report {
namespace {

struct Head {
  double step = 0, epoch = 0, time = 0;
};

void set_head(Head& head, std::string_view name, double value) {
  if (name == "step") head.step = value;
  if (name == "epoch" && std::isfinite(value)) head.epoch = value;
  if (name == "time") head.time = time_or_none(value);
}

bool is_head(std::string_view name) {
  return name == "step" || name == "epoch" || name == "time";
}

// A step before the last one: the run went on from there, or was begun anew.
void forget_beyond(RunLog& log, double step) {
  for (auto& [name, series] : log.metrics) {
    while (!series.empty() && series.back().step > step) series.pop_back();
  }
}

// False: it has no place among the others.
bool begin_record(RunLog& log, const Head& head) {
  if (!(std::abs(head.step) <= kLargestCount)) {  // not a number among it
    ++log.unreadable;
    return false;
  }
  ++log.records;
  if (head.step < log.last_step) forget_beyond(log, head.step);
  if (head.time > 0 && log.first_time == 0) log.first_time = head.time;
  if (head.time > 0) log.last_time = head.time;
  log.last_step = head.step;
  log.last_epoch = head.epoch;
  return true;
}

void add_point(RunLog& log, const Head& head, const std::string& name, double value) {
  Series& series = log.metrics[name];
  while (!series.empty() && series.back().step >= head.step) series.pop_back();
  series.push_back({head.step, value, head.time});
}

std::optional<double> number_of(simdjson::dom::element value) {
  if (!value.is_number()) return std::nullopt;
  return value.get<double>().value();
}

// False where the line is no object that the fast reader takes: not finite numbers, say.
bool add_quickly(RunLog& log, simdjson::dom::parser& parser, const std::string& padded, size_t length) {
  simdjson::dom::element record;
  if (parser.parse(padded.data(), length, false).get(record) != simdjson::SUCCESS) return false;
  simdjson::dom::object members;
  if (record.get(members) != simdjson::SUCCESS) return false;
  Head head;
  for (const auto member : members) {
    if (const auto value = number_of(member.value)) set_head(head, member.key, *value);
  }
  if (!begin_record(log, head)) return true;
  for (const auto member : members) {
    const auto value = number_of(member.value);
    if (value && !is_head(member.key)) add_point(log, head, std::string(member.key), *value);
  }
  return true;
}

// NaN and Infinity as Python writes them among it.
std::optional<Json> read_slowly(std::string_view line) {
  try {
    Json record = parse_json(line, "log.jsonl");
    if (record.is_object()) return record;
  } catch (const Error&) {
    // Torn by a process that was killed.
  }
  return std::nullopt;
}

}  // namespace

void RunLog::add(const Json& record) {
  Head head;
  for (const auto& [name, value] : record.items()) {
    if (value.is_number()) set_head(head, name, value.get<double>());
  }
  if (!begin_record(*this, head)) return;
  for (const auto& [name, value] : record.items()) {
    if (value.is_number() && !is_head(name)) add_point(*this, head, name, value.get<double>());
  }
}

void add_log_lines(RunLog& log, std::string_view lines) {
  simdjson::dom::parser parser;
  std::string padded;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    padded.assign(line).append(simdjson::SIMDJSON_PADDING, ' ');
    if (add_quickly(log, parser, padded, line.size())) continue;
    if (const std::optional<Json> record = read_slowly(line)) {
      log.add(*record);
    } else {
      ++log.unreadable;
    }
  }
}

RunLog read_log_lines(std::string_view lines) {
  RunLog log;
  add_log_lines(log, lines);
  return log;
}

RunLog read_log_history(const Json& state) {
  RunLog log;
  if (!state.is_object() || !state.contains("log_history") || !state["log_history"].is_array()) return log;
  for (const Json& record : state["log_history"]) {
    if (record.is_object()) log.add(record);
  }
  return log;
}

}  // namespace hftrain::report
