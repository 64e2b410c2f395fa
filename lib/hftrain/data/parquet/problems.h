// What Arrow says is wrong, as a ParquetProblem.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "hftrain/data/parquet/interface.h"

namespace hftrain::data {

inline constexpr const char* kNoKeys = "write it without encryption; no keys are taken";
inline constexpr const char* kDamaged = "write the file again, or fetch it again if it was copied";

[[noreturn]] inline void fail(const arrow::Status& status, const std::string& column = "") {
  throw ParquetProblem{column, 0, status.message(), status.IsOutOfMemory() ? "" : kDamaged};
}

inline void check(const arrow::Status& status) {
  if (!status.ok()) fail(status);
}

template <typename T>
T checked(arrow::Result<T> result) {
  if (!result.ok()) fail(result.status());
  return std::move(result).ValueUnsafe();
}

// What Arrow throws becomes a problem, too: it returns most of them, but not all.
template <typename Call>
auto guarded(const Call& call) {
  try {
    return call();
  } catch (const ParquetProblem&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw ParquetProblem{"", 0, "it asks for more memory than there is", ""};
  } catch (const std::exception& error) {
    throw ParquetProblem{"", 0, error.what(), kDamaged};
  }
}

}  // namespace hftrain::data
