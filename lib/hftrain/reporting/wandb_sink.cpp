#include "hftrain/reporting/wandb_sink.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/reporting/configuration.h"
#include "hftrain/reporting/metric_tag.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

// Field numbers of wandb_internal.proto; of a Record, those that say what kind it is.
constexpr int kRecordNumber = 1;
constexpr int kHistory = 2, kSummary = 3, kConfig = 5, kMetric = 12, kRun = 17, kExit = 18, kHeader = 21;
constexpr int kItems = 1, kHistoryStep = 2, kStepNumber = 1;
constexpr int kItemKey = 1, kItemPath = 2, kItemValue = 16;
constexpr int kRunId = 1, kRunEntity = 2, kRunProject = 3, kRunConfig = 4, kRunGroup = 6, kRunJobType = 7,
              kRunName = 8, kRunNotes = 9, kRunTags = 10, kRunHost = 13, kRunStartTime = 17;
constexpr int kMetricName = 1, kMetricGlob = 2, kMetricAxis = 4, kMetricOptions = 6;
constexpr int kOptionStepSync = 1, kOptionDefined = 3;
constexpr int kHeaderVersions = 1, kVersionProducer = 1, kVersionOldestReader = 2;
constexpr int kExitCode = 1, kExitRuntime = 2;
constexpr int kSeconds = 1, kNanoseconds = 2;

constexpr const char* kAxis = "train/global_step";
// What the wandb package itself asks of a reader.
constexpr const char* kOldestReader = "0.70.0";
constexpr int kExitInterrupted = 255, kExitFailed = 1;

std::string drawn_id() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device device;
  std::uniform_int_distribution<size_t> letter(0, kLetters.size() - 1);
  std::string id;
  while (id.size() < 8) id += kLetters[letter(device)];
  return id;
}

std::string id_of(const Environment& environment) {
  const std::string given = environment.get_or("WANDB_RUN_ID", "");
  return given.empty() ? drawn_id() : given;
}

std::string folder_of(const ReportedRun& run, const std::string& id) {
  const std::string root = run.environment.get_or("WANDB_DIR", "");
  const auto seconds = static_cast<time_t>(run.started);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char date[32];
  std::strftime(date, sizeof date, "%Y%m%d_%H%M%S", &local);
  return (root.empty() ? run.output_dir : root) + "/wandb/offline-run-" + date + '-' + id;
}

std::string made(const std::string& folder) {
  create_directories(folder + "/files");
  return folder;
}

ProtobufMessage item(int key_field, const std::string& key, const Json& value) {
  return ProtobufMessage().bytes(key_field, key).bytes(kItemValue, python_json(value, -1));
}

ProtobufMessage config_record(const ReportedRun& run) {
  Json config = configuration_of(run);
  config["model/num_parameters"] = run.parameters;
  ProtobufMessage record;
  for (const auto& [key, value] : config.items()) record.message(kItems, item(kItemKey, key, value));
  return record;
}

ProtobufMessage timestamp(double unix_seconds) {
  const double whole = std::floor(unix_seconds);
  return ProtobufMessage()
      .count(kSeconds, static_cast<uint64_t>(whole))
      .count(kNanoseconds, static_cast<uint64_t>((unix_seconds - whole) * 1e9));
}

std::string host_name() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

ProtobufMessage run_record(const ReportedRun& run, const std::string& id) {
  const Environment& set = run.environment;
  ProtobufMessage record;
  record.bytes(kRunId, id)
      .text(kRunEntity, set.get_or("WANDB_ENTITY", ""))
      .text(kRunProject, set.get_or("WANDB_PROJECT", "huggingface"))
      .message(kRunConfig, ProtobufMessage().message(kItems, item(kItemKey, "_wandb", Json::object())))
      .text(kRunGroup, set.get_or("WANDB_RUN_GROUP", ""))
      .text(kRunJobType, set.get_or("WANDB_JOB_TYPE", ""))
      .text(kRunName, run.name.empty() ? set.get_or("WANDB_NAME", "") : run.name)
      .text(kRunNotes, set.get_or("WANDB_NOTES", ""));
  for (const std::string& tag : split(set.get_or("WANDB_TAGS", ""), ',')) record.text(kRunTags, trim(tag));
  return record.text(kRunHost, host_name()).message(kRunStartTime, timestamp(run.started));
}

int exit_code_of(RunEnd how) {
  if (how == RunEnd::kFinished) return 0;
  return how == RunEnd::kStopped ? kExitInterrupted : kExitFailed;
}

}  // namespace

WandbSink::WandbSink(const ReportedRun& run)
    : id_(id_of(run.environment)),
      folder_(made(folder_of(run, id_))),
      log_(folder_ + "/run-" + id_ + ".wandb"),
      started_(run.started),
      newest_(run.started) {
  begin(run);
  define_axis();
}

void WandbSink::write(int kind, const ProtobufMessage& content) {
  ++records_;
  log_.append(ProtobufMessage()
                  .varint(kRecordNumber, static_cast<uint64_t>(records_))
                  .message(kind, content)
                  .encoded());
}

void WandbSink::begin(const ReportedRun& run) {
  write(kHeader, ProtobufMessage().message(kHeaderVersions,
                                           ProtobufMessage()
                                               .bytes(kVersionProducer, "hftrain " + run.hftrain_version)
                                               .bytes(kVersionOldestReader, kOldestReader)));
  write(kRun, run_record(run, id_));
  write(kConfig, config_record(run));
}

// Every curve is drawn over the number of updates.
void WandbSink::define_axis() {
  const ProtobufMessage defined = ProtobufMessage().varint(kOptionDefined, 1);
  write(kMetric, ProtobufMessage().bytes(kMetricName, kAxis).message(kMetricOptions, defined));
  const ProtobufMessage follows = ProtobufMessage().varint(kOptionStepSync, 1).varint(kOptionDefined, 1);
  write(kMetric,
        ProtobufMessage().bytes(kMetricGlob, "*").bytes(kMetricAxis, kAxis).message(kMetricOptions, follows));
}

// As the package does: the summary gets what the point says, and goes before it.
void WandbSink::record(const LogRecord& record) {
  ProtobufMessage summary, point;
  const auto add = [&](const std::string& key, const Json& value) {
    summary.message(kItems, item(kItemPath, key, value));
    point.message(kItems, item(kItemPath, key, value));
  };
  for (const auto& [key, value] : record.metrics.items()) {
    if (is_of_whole_run(key)) {
      summary.message(kItems, item(kItemKey, key, value));
    } else {
      add(metric_tag(key), value);
    }
  }
  newest_ = record.time;
  add("train/epoch", record.epoch);
  add(kAxis, record.step);
  add("_timestamp", record.time);
  add("_runtime", record.time - started_);
  add("_step", points_);
  write(kSummary, summary);
  write(kHistory,
        point.message(kHistoryStep, ProtobufMessage().count(kStepNumber, static_cast<uint64_t>(points_))));
  ++points_;
}

void WandbSink::end(RunEnd how) {
  write(kExit, ProtobufMessage()
                   .count(kExitCode, static_cast<uint64_t>(exit_code_of(how)))
                   .count(kExitRuntime, static_cast<uint64_t>(std::max(0.0, newest_ - started_))));
}

}  // namespace hftrain::reporting
