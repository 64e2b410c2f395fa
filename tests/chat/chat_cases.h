// Cases that scripts/golden/chat.py and live_parity.py write: templates with what transformers makes of them.
#pragma once

#include <ctime>
#include <string>

#include "hftrain/chat/chat_template.h"

namespace hftrain::chat {

// 7 March 2026, 14:05:09: the time at which the cases were rendered.
std::tm time_of_cases();

struct CaseCounts {
  int cases = 0, errors = 0;  // errors: of them, those that the package refuses
  int differences = 0;
  std::string first_differences;
};

// Renders every case of a file. What the package raises must be refused with an Error.
CaseCounts compare_with_cases(const std::string& path);

// What a template makes of variables that are a JSON object; what it refuses, as its message.
std::string render(const std::string& source, const std::string& variables = "{}", const Limits& limits = {});
std::string refusal(const std::string& source, const std::string& variables = "{}",
                    const Limits& limits = {});

}  // namespace hftrain::chat
