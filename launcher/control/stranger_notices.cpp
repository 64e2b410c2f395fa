#include "launcher/control/stranger_notices.h"

#include "launcher/control/warning_notice.h"

namespace hftrain::launcher {

void StrangerNotices::refused(const std::string& address, const std::string& why, double now,
                              std::vector<std::string>& notices) {
  if (told_ >= kAtFirst && now < next_) {
    ++untold_;
    return;
  }
  std::string text = kWarningNotice + "refused a connection from " + address + ": " + why;
  if (untold_ > 0) text += " (and " + std::to_string(untold_) + " more since the last such notice)";
  notices.push_back(std::move(text));
  untold_ = 0;
  ++told_;
  next_ = now + kPauseSeconds;
}

}  // namespace hftrain::launcher
