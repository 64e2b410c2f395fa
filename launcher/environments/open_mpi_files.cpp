#include "launcher/environments/open_mpi_files.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <vector>

#include "hftrain/base/whole_number.h"

namespace hftrain::launcher {
namespace {

namespace fs = std::filesystem;

// ".JOB.LOCAL_RANK", with which the name of the rank's file ends: vader_segment.HOST.USER.JOB.LOCAL_RANK
std::optional<std::string> end_of_name(const Environment& environment) {
  const std::string job = environment.get_or("PMIX_NAMESPACE", "");
  const std::string local_rank = environment.get_or("OMPI_COMM_WORLD_LOCAL_RANK", "");
  const auto number = whole_number<uint32_t>(job);
  if (!number || local_rank.empty()) return std::nullopt;
  char hexadecimal[8];
  const auto written = std::to_chars(hexadecimal, hexadecimal + sizeof(hexadecimal), *number, 16);
  return '.' + std::string(hexadecimal, written.ptr) + '.' + local_rank;
}

}  // namespace

void remove_shared_memory_of_rank(const Environment& environment, const std::string& shared_memory) {
  const std::optional<std::string> end = end_of_name(environment);
  if (!end) return;
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(shared_memory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("vader_segment.") && name.ends_with(*end)) found.push_back(entry.path());
  }
  for (const fs::path& path : found) fs::remove(path, ignored);
}

void remove_session_folder(const Environment& environment) {
  const std::string folder = environment.get_or("OMPI_MCA_orte_jobfam_session_dir", "");
  // Nothing but what looks like one: /tmp/ompi.HOST.USER/pid.NUMBER, or jf.NUMBER of a daemon.
  const fs::path path(folder);
  const std::string name = path.filename().string();
  if (!path.parent_path().filename().string().starts_with("ompi.")) return;
  if (!name.starts_with("pid.") && !name.starts_with("jf.")) return;
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace hftrain::launcher
