#include "hftrain/base/caught_error.h"

#include <filesystem>
#include <new>

namespace hftrain {

Error error_of(const std::exception_ptr& caught) {
  try {
    std::rethrow_exception(caught);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ExitCode::kHostMemory, "the host is out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return system_error(error.code().value(), "cannot use", error.path1().string());
  } catch (const std::exception& error) {
    return Error(ExitCode::kInternal, "internal: unexpected error").why(error.what());
  } catch (...) {
    return Error(ExitCode::kInternal, "internal: unexpected error of unknown type");
  }
}

}  // namespace hftrain
