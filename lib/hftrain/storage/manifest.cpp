#include "hftrain/storage/manifest.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/json_words.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::storage {
namespace {

constexpr const char* kFormat = "hftrain-checkpoint";
constexpr int kFormatVersion = 1;
constexpr const char* kOwnHash = "manifest_hash";

Error bad_manifest(const std::string& origin, std::string why) {
  return Error(ExitCode::kData, "not a valid checkpoint manifest")
      .where(origin)
      .why(std::move(why))
      .hint("name another checkpoint; resuming takes the newest that verifies");
}

std::string hash_line(const std::string& hash) {
  return std::string(1, '"') + kOwnHash + "\": \"" + hash + '"';
}

// Over the text of the file with the hash's own place left blank, so that every byte of it counts. That is
// the last place that looks so: of all keys only the identity, which stands before, holds what others chose.
std::string own_hash(std::string text, const std::string& hash) {
  const std::string line = hash_line(hash);
  const size_t place = text.rfind(line);
  if (place == std::string::npos) return "";
  text.replace(place, line.size(), hash_line(""));
  return hash_bytes(text);
}

// A manifest may only speak of files inside its folder.
bool stays_inside(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return !path.empty() && normal.is_relative() && *normal.begin() != "..";
}

Manifest manifest_from_json(const Json& value) {
  Manifest manifest;
  manifest.step = value.at("step").get<int64_t>();
  manifest.world_size = value.at("world_size").get<int>();
  manifest.plan_hash = value.at("plan_hash").get<std::string>();
  manifest.hftrain_version = value.at("hftrain_version").get<std::string>();
  manifest.time = value.at("time").get<double>();
  manifest.identity = value.at("identity");
  for (const Json& file : value.at("files")) {
    manifest.files.push_back({file.at("path").get<std::string>(), file.at("size").get<uint64_t>(),
                              file.at("hash").get<std::string>()});
  }
  return manifest;
}

// Empty when the file is as recorded. What `progress` throws is thrown on.
std::string fault_of(const std::string& checkpoint, const FileRecord& record, const ByteProgress& progress) {
  const std::string path = checkpoint + '/' + record.path;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "is missing";
  if (static_cast<uint64_t>(status.st_size) != record.size) {
    return "has " + std::to_string(status.st_size) + " bytes, the manifest says " +
           std::to_string(record.size);
  }
  std::exception_ptr ended;
  const auto tell = [&](uint64_t bytes) {
    try {
      if (progress) progress(bytes);
    } catch (...) {
      ended = std::current_exception();
      throw;
    }
  };
  try {
    if (hash_file(path, tell) != record.hash)
      return "has another content than when it was saved (hash differs)";
  } catch (const Error& error) {
    if (ended) std::rethrow_exception(ended);
    return "cannot be read: " + error.diagnostics().front().why;
  }
  return "";
}

std::vector<std::string> faults_of(const std::string& checkpoint, const std::vector<FileRecord>& records,
                                   int threads, const ByteProgress& progress) {
  std::vector<std::string> faults(records.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < records.size(); i = next++) {
      faults[i] = fault_of(checkpoint, records[i], progress);
    }
  };
  // Memory may be short: that ends the verification, not the process.
  std::exception_ptr failure;
  std::mutex failing;
  const auto help = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failing);
      if (!failure) failure = std::current_exception();
      next = records.size();
    }
  };
  std::vector<std::jthread> helpers;
  const size_t wanted = std::min<size_t>(static_cast<size_t>(std::max(threads, 1)), records.size());
  try {
    for (size_t i = 1; i < wanted; ++i) helpers.emplace_back(help);
  } catch (const std::system_error&) {  // no more threads: those that there are do it
  }
  help();
  helpers.clear();  // joins
  if (failure) std::rethrow_exception(failure);
  return faults;
}

}  // namespace

std::string render_manifest(const Manifest& manifest) {
  Json files = Json::array();
  for (const FileRecord& file : manifest.files) {
    files.push_back({{"path", file.path}, {"size", file.size}, {"hash", file.hash}});
  }
  Json value = {{"format", kFormat},
                {"format_version", kFormatVersion},
                {"step", manifest.step},
                {"world_size", manifest.world_size},
                {"plan_hash", manifest.plan_hash},
                {"hftrain_version", manifest.hftrain_version},
                {"time", manifest.time},
                {"identity", manifest.identity},
                {"hash_algorithm", "xxh3-128"},
                {"files", std::move(files)}};
  value[kOwnHash] = "";
  std::string text = dump_json(value) + '\n';
  const std::string blank = hash_line("");
  const std::string hash = hash_bytes(text);
  return text.replace(text.rfind(blank), blank.size(), hash_line(hash));
}

Manifest parse_manifest(const std::string& text, const std::string& origin) {
  const Json value = parse_json(text, origin);
  if (!value.is_object() || value.value("format", Json()) != kFormat) {
    throw bad_manifest(origin, "it is not a checkpoint manifest of hftrain");
  }
  if (value.value("format_version", Json()) != kFormatVersion) {
    throw bad_manifest(origin, "its format version is " + value.value("format_version", Json()).dump() +
                                   ", this hftrain reads version " + std::to_string(kFormatVersion));
  }
  const std::string hash =
      value.value(kOwnHash, Json()).is_string() ? value[kOwnHash].get<std::string>() : "";
  if (hash.empty() || own_hash(text, hash) != hash) {
    throw bad_manifest(origin, "its content does not match its own hash");
  }
  try {
    Manifest manifest = manifest_from_json(value);
    for (const FileRecord& file : manifest.files) {
      if (!stays_inside(file.path))
        throw bad_manifest(origin, "it names '" + file.path + "', outside its folder");
    }
    return manifest;
  } catch (const Json::exception& error) {
    throw bad_manifest(origin, words_of(error));
  }
}

Manifest read_manifest(const std::string& checkpoint) {
  const std::string path = checkpoint + '/' + kManifestName;
  return parse_manifest(read_file(path), path);
}

Verification verify_files(const std::string& folder, const std::vector<FileRecord>& files, int threads,
                          const ByteProgress& progress) {
  Verification result;
  result.files = files.size();
  for (const FileRecord& file : files) result.bytes += file.size;
  const std::vector<std::string> faults = faults_of(folder, files, threads, progress);
  for (size_t i = 0; i < faults.size(); ++i) {
    if (faults[i].empty()) continue;
    result.file = files[i].path;
    result.reason = faults[i];
    return result;
  }
  result.ok = true;
  return result;
}

namespace {

bool holds_model(const FileRecord& file) {
  const size_t slash = file.path.find('/');
  if (slash != std::string::npos) return file.path.substr(0, slash) == kShardedModelFolder;
  return file.path.ends_with(".safetensors") || file.path.ends_with(".safetensors.index.json") ||
         file.path == "adapter_config.json" || file.path == "config.json";
}

Verification verify_those(const std::string& checkpoint, bool (*counts)(const FileRecord&), int threads,
                          const ByteProgress& progress) {
  Verification result;
  if (!path_exists(checkpoint + '/' + kManifestName)) {
    result.file = kManifestName;
    result.reason = "is missing: the checkpoint was never finished, or was not written by hftrain";
    return result;
  }
  Manifest manifest;
  try {
    manifest = read_manifest(checkpoint);
  } catch (const Error& error) {
    result.file = kManifestName;
    const Diagnostic& first = error.diagnostics().front();
    result.reason = "cannot be used: " + first.what + ": " + first.why;
    return result;
  }
  std::erase_if(manifest.files, [counts](const FileRecord& file) { return !counts(file); });
  result = verify_files(checkpoint, manifest.files, threads, progress);
  result.step = manifest.step;
  return result;
}

}  // namespace

Verification verify_checkpoint(const std::string& checkpoint, int threads, const ByteProgress& progress) {
  return verify_those(
      checkpoint, [](const FileRecord&) { return true; }, threads, progress);
}

Verification verify_model(const std::string& checkpoint, int threads, const ByteProgress& progress) {
  return verify_those(checkpoint, holds_model, threads, progress);
}

}  // namespace hftrain::storage
