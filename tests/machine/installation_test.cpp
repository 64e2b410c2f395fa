#include "hftrain/machine/installation.h"

#include <filesystem>

#include "hftrain/base/file.h"
#include "hftrain/machine/elf_run_path.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::machine {
namespace {

using hftrain::testing::TemporaryDirectory;

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

TEST_CASE("the run path of a program is read from its file") {
  // tests/machine/CMakeLists.txt gives this program the run path $ORIGIN/fake-libraries.
  const std::string folder = std::filesystem::path(this_program()).parent_path().string();
  const std::vector<std::string> path = elf_run_path(this_program());
  REQUIRE_FALSE(path.empty());
  CHECK(path.front() == folder + "/fake-libraries");
}

TEST_CASE("files that are no programs, or cut short anywhere, have no run path") {
  TemporaryDirectory folder;
  write_file_atomically(folder / "text", "#!/bin/sh\n");
  write_file_atomically(folder / "empty", "");
  CHECK(elf_run_path(folder / "text").empty());
  CHECK(elf_run_path(folder / "empty").empty());
  const std::string whole = read_file(this_program());
  for (const size_t size : {size_t{5}, size_t{63}, size_t{64}, size_t{100}, size_t{1000}, whole.size() / 3}) {
    write_file_atomically(folder / "cut", whole.substr(0, size));
    INFO(size);
    CHECK_NOTHROW(elf_run_path(folder / "cut"));
  }
}

TEST_CASE("LD_LIBRARY_PATH is searched before the run path") {
  TemporaryDirectory folder;
  write_file_atomically(folder / "first/libx.so", "");
  write_file_atomically(folder / "second/libx.so", "");
  const Environment environment(std::map<std::string, std::string>{
      {"LD_LIBRARY_PATH", folder / "none::" + folder / "first:" + folder / "second"}});
  CHECK(find_library(this_program(), "libx.so", environment) == folder / "first/libx.so");
  CHECK_FALSE(find_library(this_program(), "liby.so", environment));
}

// A worker beside which the wheel's folders lie.
TEST_CASE("LibTorch, NCCL and plug-ins are found and their versions read without loading them") {
  TemporaryDirectory folder;
  const std::string worker = folder / "bin/hftrain-worker", site = folder / "site-packages";
  CHECK_FALSE(inspect_installation(worker, {}).worker_found);
  std::filesystem::create_directories(folder / "bin");
  std::filesystem::copy_file(this_program(), worker);
  const Environment environment(std::map<std::string, std::string>{{"LD_LIBRARY_PATH", site + "/torch/lib"}});
  CHECK(inspect_installation(worker, environment).torch_folder.empty());
  write_file_atomically(site + "/torch/lib/libtorch_cpu.so", "not a library");
  write_file_atomically(site + "/torch/version.py",
                        "__version__ = '2.11.0+cu130'\ncuda: Optional[str] = '13.0'\n");
  Installation found = inspect_installation(worker, environment);
  CHECK(found.worker_found);
  CHECK(found.torch_folder == site + "/torch");
  CHECK(found.torch_version == "2.11.0+cu130");
  CHECK(found.torch_cuda == "13.0");
  CHECK_FALSE(found.nccl);
  CHECK_FALSE(found.cuda_plugin);
  write_file_atomically(site + "/nvidia/nccl/lib/libnccl.so.2", "");
  write_file_atomically(site + "/nvidia_nccl_cu13-2.28.9.dist-info/METADATA", "");
  write_file_atomically(folder / "lib/libhftrain_cuda.so", "");
  write_file_atomically(site + "/torch/version.py",
                        "__version__ = '2.11.0+cpu'\ncuda: Optional[str] = None\n");
  found = inspect_installation(worker, environment);
  CHECK(found.nccl == "2.28.9");
  CHECK(found.cuda_plugin);
  CHECK(found.torch_cuda.empty());
  std::filesystem::create_directory_symlink(site + "/torch/lib", folder / "lib/torch");
  const Environment linked(std::map<std::string, std::string>{{"LD_LIBRARY_PATH", folder / "lib/torch"}});
  found = inspect_installation(worker, linked);
  CHECK(found.torch_folder == std::filesystem::canonical(site + "/torch").string());
  CHECK(found.torch_version == "2.11.0+cpu");
  CHECK(found.nccl == "2.28.9");
}

}  // namespace
}  // namespace hftrain::machine
