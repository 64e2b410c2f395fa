#include "hftrain/machine/installation.h"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/machine/elf_run_path.h"

namespace hftrain::machine {
namespace {

namespace fs = std::filesystem;

// The quoted value of "name = '2.11.0'" or "name: Optional[str] = '13.0'" in torch/version.py.
std::string python_string(const std::string& text, const std::string& name) {
  for (const std::string& line : split(text, '\n')) {
    if (line.rfind(name, 0) != 0) continue;
    const size_t open = line.find('\'', line.find('=')), close = line.rfind('\'');
    if (open != std::string::npos && close > open) return line.substr(open + 1, close - open - 1);
  }
  return "";
}

// "2.28.9" of nvidia_nccl_cu13-2.28.9.dist-info beside the folder torch.
std::optional<std::string> nccl_version(const std::string& site_packages) {
  std::error_code ignored;
  if (!path_exists(site_packages + "/nvidia/nccl/lib/libnccl.so.2")) return std::nullopt;
  for (const auto& entry : fs::directory_iterator(site_packages, ignored)) {
    const std::string name = entry.path().filename().string();
    const size_t dash = name.find('-'), end = name.rfind(".dist-info");
    if (name.rfind("nvidia_nccl", 0) == 0 && dash != std::string::npos && end != std::string::npos) {
      return name.substr(dash + 1, end - dash - 1);
    }
  }
  return "unknown version";
}

// ", OpenPMIx 4.2.2" of "OpenPMIx 4.2.2 (PMIx Standard: …)"; empty without PMIx. It is what front programs
// meet through under mpirun.
std::string pmix_version() {
  void* library = ::dlopen("libpmix.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "";
  using Function = const char* (*)();
  const auto function = reinterpret_cast<Function>(::dlsym(library, "PMIx_Get_version"));
  if (function == nullptr) return "";
  const std::string version = function();
  return ", " + trim(version.substr(0, version.find_first_of(",(")));
}

}  // namespace

// MPI_Get_library_version may be called before MPI_Init. The library stays loaded: MPI does not survive being
// closed.
std::optional<std::string> mpi_version() {
  void* library = ::dlopen("libmpi.so.40", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  constexpr size_t kLongestVersion = 8192;  // MPICH's; Open MPI needs 256
  std::vector<char> text(kLongestVersion);
  using Function = int (*)(char*, int*);
  const auto function = reinterpret_cast<Function>(::dlsym(library, "MPI_Get_library_version"));
  int length = 0;
  if (function == nullptr || function(text.data(), &length) != 0) return "unknown version";
  const std::string version(text.data(), static_cast<size_t>(length));
  return trim(version.substr(0, version.find(','))) + pmix_version();
}

Installation inspect_installation(const std::string& worker, const Environment& environment) {
  Installation found;
  found.worker_found = path_exists(worker);
  if (!found.worker_found) return found;
  found.cuda_plugin = find_library(worker, "libhftrain_cuda.so", environment).has_value();
  found.mpi_plugin = find_library(worker, "libhftrain_mpi.so", environment).has_value();
  const fs::path plugins = fs::path(worker).parent_path().parent_path() / "lib";
  found.cuda_plugin = found.cuda_plugin || path_exists((plugins / "libhftrain_cuda.so").string());
  found.mpi_plugin = found.mpi_plugin || path_exists((plugins / "libhftrain_mpi.so").string());
  const std::optional<std::string> library = find_library(worker, "libtorch_cpu.so", environment);
  if (!library) return found;
  fs::path folder = fs::path(*library).parent_path().parent_path();
  // An installed tree has a link lib/torch to the folder of the wheel.
  if (!path_exists((folder / "version.py").string()))
    folder = fs::canonical(*library).parent_path().parent_path();
  found.torch_folder = folder.string();
  const std::string version_file = (folder / "version.py").string();
  if (path_exists(version_file)) {
    const std::string text = read_file(version_file);
    found.torch_version = python_string(text, "__version__");
    found.torch_cuda = python_string(text, "cuda");
  }
  found.nccl = nccl_version(folder.parent_path().string());
  return found;
}

}  // namespace hftrain::machine
