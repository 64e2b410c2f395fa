#include "hftrain/data/parquet_plugin.h"

#include <dlfcn.h>

#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::data {
namespace {

Error no_parquet(const std::string& file, const std::string& why) {
  return Error(ExitCode::kEnvironment, "Parquet files cannot be read here")
      .where(file)
      .why(why)
      .hint(
          "an installed hftrain takes `hftrain-libtorch fetch --parquet`; in a checkout scripts/setup "
          "installs the "
          "package pyarrow, then build again. Or write the rows as .jsonl");
}

std::string reason_of_loader() {
  const char* reason = ::dlerror();
  return reason ? reason : "unknown reason";
}

}  // namespace

std::string parquet_plugin_path() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path().parent_path() / "lib" / "libhftrain_parquet.so").string();
}

const ParquetPlugin& load_parquet_plugin(const std::string& path, const std::string& file) {
  if (!path_exists(path))
    throw no_parquet(file, "there is no " + path + ": hftrain was built without the package pyarrow");
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw no_parquet(file, reason_of_loader());
  const auto function = reinterpret_cast<ParquetPluginFunction>(::dlsym(library, kParquetPluginSymbol));
  if (!function) throw no_parquet(file, reason_of_loader());
  return function();
}

}  // namespace hftrain::data
