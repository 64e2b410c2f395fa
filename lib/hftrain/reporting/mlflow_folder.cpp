#include "hftrain/reporting/mlflow_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/text.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

namespace fs = std::filesystem;

// RunStatus of mlflow/protos/service.proto
constexpr int kRunning = 1, kFinished = 3, kFailed = 4, kKilled = 5;

int status_of(RunEnd how) {
  if (how == RunEnd::kFinished) return kFinished;
  return how == RunEnd::kStopped ? kKilled : kFailed;
}

// Keys come from files of others as well, and are names of files here.
std::string file_name(std::string key) {
  std::ranges::replace(key, '/', '_');
  return key.empty() || key.front() == '.' ? '_' + key : key;
}

// A text of JSON is one of YAML.
std::string quoted(const std::string& text) {
  return python_json(Json(text), -1);
}

std::string drawn_run_id() {
  std::random_device device;
  std::string id;
  while (id.size() < 32) id += "0123456789abcdef"[device() % 16];
  return id;
}

// The value of a key of meta.yaml: plain, or in quotes as YAML's writer and this one set them.
std::string value_in(const std::string& meta, const std::string& key) {
  for (const std::string& line : split(meta, '\n')) {
    if (!line.starts_with(key + ": ")) continue;
    const std::string text = trim(line.substr(key.size() + 2));
    if (text.size() < 2 || text.front() != text.back()) return text;
    if (text.front() == '\'') return text.substr(1, text.size() - 2);
    if (text.front() != '"') return text;
    const std::optional<Json> parsed = try_parse_json(text);
    return parsed && parsed->is_string() ? parsed->get<std::string>() : text;
  }
  return "";
}

// There are hundreds of them, too many to wait for the disk with each.
void write_text(const std::string& path, const std::string& text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) throw system_error(errno, "cannot create", path, ExitCode::kDisk);
  write_all(file.get(), text, path);
}

std::string uri_of(const std::string& folder) {
  return "file://" + fs::absolute(folder).lexically_normal().string();
}

}  // namespace

MlflowFolder::MlflowFolder(std::string root) : root_(std::move(root)) {
  create_directories(root_ + "/.trash");
}

bool MlflowFolder::begin(const MlflowRun& run) {
  run_ = run;
  for (const fs::directory_entry& each : fs::directory_iterator(root_)) {
    if (run.id.empty() || !path_exists(each.path().string() + '/' + file_name(run.id) + "/meta.yaml"))
      continue;
    experiment_ = each.path().filename().string();
    run_id_ = file_name(run.id);
    run_folder_ = root_ + '/' + experiment_ + '/' + run_id_;
    const std::string meta = read_file(run_folder_ + "/meta.yaml", ExitCode::kDisk);
    run_.name = value_in(meta, "run_name");
    run_.start_ms = std::stoll("0" + value_in(meta, "start_time"));
    write_run(kRunning, "null");
    return true;
  }
  experiment_ = experiment_id(run.experiment, run.start_ms);
  run_id_ = run.id.empty() ? drawn_run_id() : file_name(run.id);
  run_folder_ = root_ + '/' + experiment_ + '/' + run_id_;
  if (run_.name.empty()) run_.name = "hftrain-" + run_id_.substr(0, 8);
  for (const char* kind : {"artifacts", "metrics", "params", "tags"})
    create_directories(run_folder_ + '/' + kind);
  write_run(kRunning, "null");
  set_tags(
      {{"mlflow.runName", run_.name}, {"mlflow.source.name", "hftrain"}, {"mlflow.source.type", "LOCAL"}});
  return false;
}

// That of the experiment with the name; one that is new gets an id that follows from its name, so that two runs which
// make it at a time make the same.
std::string MlflowFolder::experiment_id(const std::string& name, int64_t now_ms) const {
  if (!path_exists(root_ + "/0/meta.yaml")) write_experiment("0", "Default", now_ms);
  for (const fs::directory_entry& each : fs::directory_iterator(root_)) {
    const std::string meta = each.path().string() + "/meta.yaml";
    if (path_exists(meta) && value_in(read_file(meta, ExitCode::kDisk), "name") == name)
      return each.path().filename().string();
  }
  constexpr uint64_t kDigits = 900'000'000'000'000'000;
  const uint64_t drawn = std::stoull(hash_bytes(name).substr(0, 15), nullptr, 16);
  const std::string id = std::to_string(kDigits / 9 + drawn % kDigits);
  write_experiment(id, name, now_ms);
  return id;
}

void MlflowFolder::write_experiment(const std::string& id, const std::string& name, int64_t now_ms) const {
  const std::string now = std::to_string(now_ms);
  write_file_atomically(root_ + '/' + id + "/meta.yaml",
                        "artifact_location: " + quoted(uri_of(root_ + '/' + id)) + "\ncreation_time: " + now +
                            "\nexperiment_id: '" + id + "'\nlast_update_time: " + now +
                            "\nlifecycle_stage: active\nname: " + quoted(name) + '\n');
}

void MlflowFolder::write_run(int status, const std::string& end_time) const {
  const std::vector<std::string> lines = {"artifact_uri: " + quoted(uri_of(run_folder_ + "/artifacts")),
                                          "end_time: " + end_time,
                                          "entry_point_name: ''",
                                          "experiment_id: '" + experiment_ + "'",
                                          "lifecycle_stage: active",
                                          "run_id: " + quoted(run_id_),
                                          "run_name: " + quoted(run_.name),
                                          "run_uuid: " + quoted(run_id_),
                                          "source_name: ''",
                                          "source_type: 4",
                                          "source_version: ''",
                                          "start_time: " + std::to_string(run_.start_ms),
                                          "status: " + std::to_string(status),
                                          "tags: []",
                                          "user_id: hftrain"};
  write_file_atomically(run_folder_ + "/meta.yaml", join(lines, "\n") + '\n');
}

void MlflowFolder::log_metrics(const std::vector<MlflowMetric>& metrics) {
  std::map<std::string, std::string> lines;
  for (const MlflowMetric& each : metrics)
    lines[file_name(each.key)] +=
        std::to_string(each.time_ms) + ' ' + python_repr(each.value) + ' ' + std::to_string(each.step) + '\n';
  for (const auto& [name, text] : lines) append_to_file(run_folder_ + "/metrics/" + name, text);
}

void MlflowFolder::write_texts(const char* kind, const MlflowTexts& texts) const {
  for (const auto& [key, value] : texts) write_text(run_folder_ + '/' + kind + '/' + file_name(key), value);
}

void MlflowFolder::log_parameters(const MlflowTexts& parameters) {
  write_texts("params", parameters);
}

void MlflowFolder::set_tags(const MlflowTexts& tags) {
  write_texts("tags", tags);
}

void MlflowFolder::end(RunEnd how, int64_t time_ms) {
  write_run(status_of(how), std::to_string(time_ms));
}

}  // namespace hftrain::reporting
