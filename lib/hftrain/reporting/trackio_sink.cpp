#include "hftrain/reporting/trackio_sink.h"

#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/expanded_path.h"
#include "hftrain/base/file.h"
#include "hftrain/base/new_file.h"
#include "hftrain/base/text.h"
#include "hftrain/reporting/configuration.h"
#include "hftrain/reporting/metric_tag.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

constexpr int kVersion = 1;
constexpr int kTries = 3;

// As datetime.isoformat() of Python writes it; texts are compared, so that all have microseconds.
std::string utc_text(double unix_seconds) {
  const auto microseconds = static_cast<int64_t>(std::llround(unix_seconds * 1e6));
  const auto whole = static_cast<time_t>(microseconds / 1'000'000);
  std::tm utc{};
  ::gmtime_r(&whole, &utc);
  char date[32], text[64];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text, sizeof text, "%s.%06d+00:00", date, static_cast<int>(microseconds % 1'000'000));
  return text;
}

// What JSON has no number for is a text there.
Json storable(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const auto number = value.get<double>();
    return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  }
  if (!value.is_structured()) return value;
  Json copy = value;
  for (Json& each : copy) each = storable(each);
  return copy;
}

std::string run_id_of(const std::string& output_dir) {
  const std::string path = output_dir + "/hftrain/trackio_run_id";
  if (path_exists(path)) {
    std::string id = trim(read_file(path));
    if (!id.empty()) return id;
  }
  const std::string id = random_name() + random_name();
  write_file_atomically(path, id + '\n');
  return id;
}

std::string name_of(const ReportedRun& run) {
  if (!run.name.empty()) return run.name;
  const std::filesystem::path folder(run.output_dir);
  return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

// What begins with _ is the package's own.
Json config_of(const ReportedRun& run) {
  Json all = configuration_of(run);
  all["model/num_parameters"] = run.parameters;
  Json config = {{"_Username", nullptr}, {"_Created", utc_text(run.started)}, {"_Group", nullptr}};
  for (const auto& [key, value] : all.items()) {
    if (!key.starts_with('_')) config[key] = storable(value);
  }
  return config;
}

}  // namespace

TrackioSink::TrackioSink(std::string store, const ReportedRun& run, double seconds_between)
    : folder_(std::move(store) + "/inbox/" + random_name()),
      head_({{"v", kVersion},
             {"kind", "metric"},
             {"project", run.project},
             {"run", name_of(run)},
             {"run_id", run_id_of(run.output_dir)}}),
      config_(config_of(run)),
      seconds_between_(seconds_between) {
  create_directories(folder_);  // a store that cannot be written is told now
}

void TrackioSink::record(const LogRecord& record) {
  Json metrics = Json::object();
  for (const auto& [key, value] : record.metrics.items()) metrics[metric_tag(key)] = storable(value);
  metrics["train/epoch"] = storable(record.epoch);
  metrics["train/global_step"] = record.step;
  Json line = head_;
  line["metrics"] = std::move(metrics);
  line["step"] = record.step;
  line["timestamp"] = utc_text(record.time);
  line["log_id"] = random_name() + random_name();
  line["config"] = std::exchange(config_, nullptr);
  lines_ += python_json(line, -1) + '\n';
}

void TrackioSink::flush() {
  const bool soon_after = files_ > 0 && monotonic_seconds() - written_ < seconds_between_;
  if (!lines_.empty() && !soon_after) write();
}

// The package removes a folder that it has emptied, perhaps just now.
void TrackioSink::write() {
  char name[32];
  std::snprintf(name, sizeof name, "/%08lld.jsonl", static_cast<long long>(files_));
  for (int left = kTries - 1;; --left) {
    try {
      write_file_atomically(folder_ + name, lines_);
      break;
    } catch (const Error&) {
      if (left == 0 || path_exists(folder_)) throw;
    }
  }
  ++files_;
  written_ = monotonic_seconds();
  lines_.clear();
}

void TrackioSink::end(RunEnd) {
  if (!lines_.empty()) write();
}

std::string trackio_store(const Environment& environment) {
  const std::string named = environment.get_or("TRACKIO_DIR", "");
  if (!named.empty()) return named;
  const std::string home = environment.get_or("HF_HOME", "");
  if (!home.empty()) return expanded_path(home, environment) + "/trackio";
  const std::string cache = environment.get_or("XDG_CACHE_HOME", "");
  if (!cache.empty()) return expanded_path(cache, environment) + "/huggingface/trackio";
  const std::string user = environment.get_or("HOME", "");
  if (user.empty()) {
    throw Error(ExitCode::kEnvironment, "no folder for the store of Trackio")
        .where("environment TRACKIO_DIR")
        .why("neither TRACKIO_DIR, HF_HOME, XDG_CACHE_HOME nor HOME is set")
        .hint("TRACKIO_DIR=FOLDER");
  }
  return user + "/.cache/huggingface/trackio";
}

}  // namespace hftrain::reporting
