#include "hftrain/reporting/mlflow_sink.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/reporting/configuration.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

int64_t milliseconds(double seconds) {
  return static_cast<int64_t>(seconds * 1000);
}

// Names have these characters alone.
std::string allowed_name(const std::string& name) {
  std::string allowed;
  for (const char c : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) ||
                      std::string_view("_-. :/").find(c) != std::string_view::npos;
    allowed += fits ? c : '_';
  }
  return allowed;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : python_repr(value);
}

bool says_yes(const Environment& environment, const char* name) {
  const std::string word = to_lower(environment.get_or(name, ""));
  return word == "1" || word == "true" || word == "on" || word == "yes";
}

// {"a": {"b": 1}} as {"a.b": 1}
void flatten(const std::string& prefix, const Json& values, Json& flat) {
  for (const auto& [key, value] : values.items()) {
    if (value.is_object() && !value.empty()) {
      flatten(prefix + key + '.', value, flat);
    } else {
      flat[prefix + key] = value;
    }
  }
}

Json parameters_of(const ReportedRun& run) {
  Json all = configuration_of(run);
  if (!says_yes(run.environment, "MLFLOW_FLATTEN_PARAMS")) return all;
  Json flat = Json::object();
  flatten("", all, flat);
  return flat;
}

MlflowTexts tags_of(const Environment& environment) {
  MlflowTexts tags;
  const Json given = parse_json(environment.get_or("MLFLOW_TAGS", "{}"), "MLFLOW_TAGS of the environment");
  for (const auto& [key, value] : given.items()) tags.emplace_back(allowed_name(key), text_of(value));
  return tags;
}

template <typename Item, typename Send>
void in_pieces(const std::vector<Item>& items, size_t most, const Send& send) {
  for (size_t at = 0; at < items.size(); at += most) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(at);
    send({begin, begin + static_cast<std::ptrdiff_t>(std::min(most, items.size() - at))});
  }
}

}  // namespace

MlflowSink::MlflowSink(std::unique_ptr<MlflowStore> store, const ReportedRun& run, SinkHost host)
    : store_(std::move(store)), host_(std::move(host)), newest_(run.started) {
  const std::string experiment = run.environment.get_or("MLFLOW_EXPERIMENT_NAME", "");
  const bool goes_on = store_->begin({.experiment = experiment.empty() ? "Default" : experiment,
                                      .id = run.environment.get_or("MLFLOW_RUN_ID", ""),
                                      .name = run.name,
                                      .start_ms = milliseconds(run.started)});
  if (!goes_on) log_parameters(run);
  store_->set_tags(tags_of(run.environment));
}

void MlflowSink::log_parameters(const ReportedRun& run) {
  const std::optional<int> most = whole_number(run.environment.get_or("MLFLOW_MAX_LOG_PARAMS", ""));
  MlflowTexts parameters;
  std::vector<std::string> too_long;
  const Json all = parameters_of(run);
  for (const auto& [key, value] : all.items()) {
    std::string text = text_of(value);
    if (python_len(text) > MlflowStore::kLongestParameter) {
      too_long.push_back(key);
    } else if (!most || parameters.size() < static_cast<size_t>(*most)) {
      parameters.emplace_back(allowed_name(key), std::move(text));
    }
  }
  if (!too_long.empty())
    host_.warn("too long for parameters and left out: " + join(too_long, ", ") +
               "; MLFLOW_FLATTEN_PARAMS=1 takes them apart");
  in_pieces(parameters, MlflowStore::kMostTexts,
            [this](const MlflowTexts& piece) { store_->log_parameters(piece); });
}

void MlflowSink::record(const LogRecord& record) {
  const auto add = [&](const std::string& key, double value) {
    kept_.push_back({allowed_name(key), value, milliseconds(record.time), record.step});
  };
  for (const auto& [key, value] : record.metrics.items()) {
    if (value.is_boolean()) {
      add(key, value.get<bool>() ? 1 : 0);
    } else if (value.is_number()) {
      add(key, value.get<double>());
    } else if (warned_.insert(key).second) {
      host_.warn("the metric '" + key + "' is no number and is left out");
    }
  }
  add("epoch", record.epoch);
  newest_ = record.time;
  if (kept_.size() >= MlflowStore::kMostMetrics) flush();
}

void MlflowSink::flush() {
  in_pieces(kept_, MlflowStore::kMostMetrics,
            [this](const std::vector<MlflowMetric>& piece) { store_->log_metrics(piece); });
  kept_.clear();
}

void MlflowSink::end(RunEnd how) {
  store_->end(how, milliseconds(newest_));
}

std::string mlflow_folder_of(const std::string& tracking_uri, const std::string& otherwise) {
  if (tracking_uri.empty()) return otherwise;
  if (tracking_uri.starts_with("file://")) return tracking_uri.substr(7);
  if (tracking_uri.starts_with("file:")) return tracking_uri.substr(5);
  return tracking_uri.find("://") == std::string::npos ? tracking_uri : "";
}

}  // namespace hftrain::reporting
