// Notices go from the launcher to whoever shows them as texts; what stands before them says that one is a warning, which
// --log_level warning and --quiet leave.
#pragma once

#include <string>

namespace hftrain::launcher {

inline const std::string kWarningNotice = "warning: ";

inline bool is_warning(const std::string& notice) {
  return notice.starts_with(kWarningNotice);
}
// The text of a notice, of whatever kind.
inline std::string without_warning(const std::string& notice) {
  return is_warning(notice) ? notice.substr(kWarningNotice.size()) : notice;
}

}  // namespace hftrain::launcher
