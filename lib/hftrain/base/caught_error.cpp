#include "hftrain/base/caught_error.h"

#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

namespace hftrain {
namespace {

// What std::thread throws where the system gives none. Others, of a mutex for example, are mistakes of this program.
Error of_system_error(const std::system_error& error) {
  if (error.code() != std::errc::resource_unavailable_try_again)
    return Error(ExitCode::kInternal, "internal: unexpected error").why(error.what());
  return Error(ExitCode::kEnvironment, "no thread can be started")
      .where("this machine's limits")
      .why(error.what())
      .hint("raise the limit on processes (ulimit -u, or pids.max of the control group)");
}

// Relative paths start there, also some that the user has not named.
bool current_folder_is_gone() {
  std::error_code failed;
  [[maybe_unused]] const std::filesystem::path ignored = std::filesystem::current_path(failed);
  return failed == std::errc::no_such_file_or_directory;
}

Error of_file_system(const std::filesystem::filesystem_error& error) {
  if (!error.path1().is_absolute() && current_folder_is_gone())
    return Error(ExitCode::kEnvironment, "the current folder is gone")
        .where("the folder that hftrain was started in")
        .why("it was removed, or another one has its name now")
        .hint("cd to one that exists (`cd .` where one of that name was made anew), and start it again");
  return system_error(error.code().value(), "cannot use", error.path1().string());
}

}  // namespace

Error error_of(const std::exception_ptr& caught) {
  try {
    std::rethrow_exception(caught);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return out_of_host_memory("see what else uses it; less data at once, or fewer ranks on this machine");
  } catch (const std::filesystem::filesystem_error& error) {
    return of_file_system(error);
  } catch (const std::system_error& error) {
    return of_system_error(error);
  } catch (const std::exception& error) {
    return Error(ExitCode::kInternal, "internal: unexpected error").why(error.what());
  } catch (...) {
    return Error(ExitCode::kInternal, "internal: unexpected error of unknown type");
  }
}

Error out_of_host_memory(std::string hint) {
  return Error(ExitCode::kHostMemory, "the host is out of memory")
      .where("this machine")
      .why("the system gave no more memory (its own, a control group's, or ulimit -v)")
      .hint(std::move(hint));
}

}  // namespace hftrain
