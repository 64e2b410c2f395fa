#include "hftrain/checkpoint/model_exporter.h"

#include <filesystem>
#include <regex>
#include <set>

#include "hftrain/checkpoint/collective_status.h"
#include "hftrain/checkpoint/model_files.h"
#include "hftrain/storage/interrupted_writes.h"

namespace hftrain::checkpoint {
namespace {

// Weights of an earlier export with another number of shards would be opened in place of the new ones.
std::vector<std::string> weight_files(const std::string& folder) {
  static const std::regex kWeights(
      "model(-[0-9]+-of-[0-9]+)?[.]safetensors([.]index[.]json)?|"
      "adapter_model[.]safetensors|adapter_config[.]json");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (std::regex_match(name, kWeights)) names.push_back(name);
  }
  return names;
}

}  // namespace

void ModelExporter::export_model(const std::string& folder) {
  const std::string staging = folder + '/' + std::string(storage::kModelStaging);
  const auto records = stage(folder, staging);
  std::optional<Error> failure;
  if (commits()) failure = attempt([&] { publish(records.front(), staging, folder); });
  check_collective_status(run_.communicator, failure, "write the model");
}

void ModelExporter::rehearse(const std::string& folder) {
  const std::string staging = folder + '/' + std::string(storage::kModelStaging);
  const auto remove = [&] {
    if (commits()) storage::try_to_remove(files_, staging);  // what stays goes when the model is written
  };
  try {
    stage(folder, staging);
  } catch (...) {
    remove();
    throw;
  }
  remove();
}

std::vector<std::vector<storage::FileRecord>> ModelExporter::stage(const std::string& folder,
                                                                   const std::string& staging) {
  std::optional<storage::StagedFiles> staged;
  std::optional<Error> failure;
  if (commits()) {
    failure = attempt([&] {
      place_.check();
      files_.make_directory(folder);
      storage::try_to_remove(files_, staging);  // what cannot be removed is written over
      files_.make_directory(staging);
      if (run_.writes_model()) staged.emplace(files_, staging);
    });
  }
  std::optional<DirectTarget> target;
  if (staged) target.emplace(*staged);
  const std::optional<Error> unwritten = attempt([&] { write_model(run_, target ? &*target : nullptr); });
  if (!failure) failure = unwritten;
  if (staged && !failure) {
    failure = attempt([&] {
      save_model_files(run_.plan.model, *target);
      staged->sync_names();
    });
  }
  check_collective_status(run_.communicator, failure, "write the model");
  auto records =
      join_records(run_.communicator, staged ? staged->records() : std::vector<storage::FileRecord>());
  if (nodes_.several()) {
    failure = attempt([&] { spread_files(run_.communicator, nodes_, records, staging, files_); });
    check_collective_status(run_.communicator, failure, "write the model");
  }
  return records;
}

void ModelExporter::publish(const std::vector<storage::FileRecord>& records, const std::string& staging,
                            const std::string& folder) {
  std::set<std::string> written;
  for (const storage::FileRecord& record : records) {
    files_.rename(staging + '/' + record.path, folder + '/' + record.path);
    written.insert(record.path);
  }
  for (const std::string& name : weight_files(folder)) {
    // The weights beside an adapter may be those that it stands on.
    if (written.count(name) == 0 && !run_.plan.model.adapter) files_.remove(folder + '/' + name);
  }
  files_.sync_directory(folder);
  storage::try_to_remove(files_, staging);  // nothing of worth is in it; the next export tries again
}

}  // namespace hftrain::checkpoint
