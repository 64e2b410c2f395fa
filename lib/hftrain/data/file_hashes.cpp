#include "hftrain/data/file_hashes.h"

#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/named_tokens.h"
#include "hftrain/tokenizer/tokenizer_classes.h"

namespace hftrain::data {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int64_t kSettledAfter = 2 * kNanosecondsPerSecond;

int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec;
}

// Everything that tells one state of a file from another without reading it.
Json identity_of(const std::string& path, int64_t& last_change) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw system_error(errno, "cannot open", path, ExitCode::kData);
  last_change = std::max(nanoseconds(status.st_mtim), nanoseconds(status.st_ctim));
  return {{"path", path},
          {"size", status.st_size},
          {"mtime_ns", nanoseconds(status.st_mtim)},
          {"ctime_ns", nanoseconds(status.st_ctim)},
          {"inode", status.st_ino},
          {"device", status.st_dev}};
}

std::optional<std::string> remembered(const std::string& memory, const Json& identity) {
  try {
    const Json record = read_json_file(memory);
    if (record.at("file") == identity) return record.at("hash").get<std::string>();
  } catch (const std::exception&) {
    // Absent or damaged: the file is hashed again.
  }
  return std::nullopt;
}

// The special tokens of the folder that other files than the one hashed name, or that its class has by itself.
Json tokens_from_elsewhere(const std::string& folder, const Json& hashed) {
  const Json named = tokenizer::named_tokens(folder);
  Json tokens = Json::object();
  for (const char* role : tokenizer::kTokenRoles) {
    const Json token = named.value(role, Json());
    if (token != hashed.value(role, Json())) tokens[role] = token;
  }
  return tokens;
}

}  // namespace

std::string FileHashes::hash(const std::string& path) const {
  const std::string absolute = std::filesystem::absolute(path).lexically_normal().string();
  const std::string memory = folder_ + '/' + hash_bytes(absolute) + ".json";
  int64_t last_change = 0;
  const Json identity = identity_of(absolute, last_change);
  if (auto known = remembered(memory, identity)) return *known;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::string hash = hash_file(absolute);
  int64_t change_after = 0;
  const bool settled =
      nanoseconds(now) - last_change > kSettledAfter && identity_of(absolute, change_after) == identity;
  if (settled) {
    try {
      write_file_atomically(memory, dump_json({{"file", identity}, {"hash", hash}}) + '\n');
    } catch (const Error&) {
      // Only a memory: the next run reads the file again.
    }
  }
  return hash;
}

Json key_of_tokenizer(const std::string& place, const FileHashes& hashes) {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(place, ignored);
  const std::string folder = is_file ? (std::filesystem::path(place).parent_path() / ".").string() : place;
  Json key = Json::array({hashes.hash(is_file ? place : place + "/tokenizer.json")});
  const std::string companion = folder + "/tokenizer_config.json";
  const bool counts = !is_file && path_exists(companion);
  if (counts) key.push_back(hashes.hash(companion));
  const Json tokens =
      tokens_from_elsewhere(folder, counts ? tokenizer::settings_in(companion) : Json::object());
  if (!tokens.empty()) key.push_back(tokens);
  return key;
}

}  // namespace hftrain::data
