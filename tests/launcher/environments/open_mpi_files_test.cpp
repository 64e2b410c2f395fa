#include "launcher/environments/open_mpi_files.h"

#include <filesystem>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher {
namespace {

Environment under_open_mpi(const std::string& session = "") {
  return Environment(std::map<std::string, std::string>{{"PMIX_NAMESPACE", "1393557505"},  // 0x53100001
                                                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                                        {"OMPI_MCA_orte_jobfam_session_dir", session}});
}

}  // namespace

TEST_CASE("the shared memory of this rank goes, and no other") {
  const testing::TemporaryDirectory directory;
  const auto path = [&](const std::string& name) { return directory / ("vader_segment.host.0." + name); };
  for (const char* name : {"53100001.1", "53100001.0", "53100001.11", "53110001.1"})
    append_to_file(path(name), "");
  remove_shared_memory_of_rank(under_open_mpi(), directory.path());
  CHECK_FALSE(path_exists(path("53100001.1")));
  CHECK(path_exists(path("53100001.0")));
  CHECK(path_exists(path("53100001.11")));
  CHECK(path_exists(path("53110001.1")));
}

TEST_CASE("without Open MPI nothing is removed") {
  const testing::TemporaryDirectory directory;
  append_to_file(directory / "vader_segment.host.0.0.1", "");
  remove_shared_memory_of_rank(Environment(), directory.path());
  CHECK(path_exists(directory / "vader_segment.host.0.0.1"));
  remove_session_folder(Environment());
}

TEST_CASE("a session folder goes with what is in it, and only a folder that is one") {
  const testing::TemporaryDirectory directory;
  const std::string session = directory / "ompi.host.0/pid.4711", other = directory / "home/pid.4711";
  for (const std::string& folder : {session, other}) {
    create_directories(folder + "/0");
    append_to_file(folder + "/contact.txt", "x");
    remove_session_folder(under_open_mpi(folder));
  }
  CHECK_FALSE(path_exists(session));
  CHECK(path_exists(other + "/contact.txt"));
}

}  // namespace hftrain::launcher
