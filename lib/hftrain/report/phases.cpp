#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "hftrain/base/text.h"
#include "hftrain/report/html.h"
#include "hftrain/report/members.h"
#include "hftrain/report/sections.h"

namespace hftrain::report {
namespace {

struct Part {
  std::string name;
  double seconds = 0;
};

// In the order of a run.
constexpr std::array<const char*, 10> kOrder = {"parse",    "plan",  "prepare", "spawn", "load",
                                                "rehearse", "train", "eval",    "save",  "predict"};

// What training is made of, where the host's clock can say it; the rest of it is logging, callbacks and their like.
constexpr std::array<const char*, 5> kOfTraining = {"data", "forward", "backward", "communication",
                                                    "optimizer"};

// Seconds of attempts before the last one, of which the phases know nothing.
double of_earlier_attempts(const Json& summary) {
  if (!summary.contains("attempts") || !summary["attempts"].is_array()) return 0;
  double seconds = 0;
  const Json& attempts = summary["attempts"];
  for (size_t i = 0; i + 1 < attempts.size(); ++i) seconds += number_or(attempts[i], "seconds", 0);
  return seconds;
}

void add_training(const Json& phases, double train, std::vector<Part>& parts) {
  double known = 0;
  for (const char* name : kOfTraining) {
    const double seconds = number_or(phases, name, 0);
    if (seconds <= 0) continue;
    parts.push_back({name, seconds});
    known += seconds;
  }
  if (train > known) parts.push_back({known > 0 ? "rest of training" : "train", train - known});
}

std::vector<Part> parts_of(const Json& summary) {
  std::vector<Part> parts;
  const Json& phases = object_or_empty(summary, "phases");
  if (const double earlier = of_earlier_attempts(summary); earlier > 0)
    parts.push_back({"attempts that failed", earlier});
  for (const char* name : kOrder) {
    const double seconds = number_or(phases, name, 0);
    if (name == std::string("train")) {
      add_training(phases, seconds, parts);
    } else if (seconds > 0) {
      parts.push_back({name, seconds});
    }
  }
  const double known = std::accumulate(parts.begin(), parts.end(), 0.0,
                                       [](double sum, const Part& part) { return sum + part.seconds; });
  if (const double rest = number_or(summary, "seconds", 0) - known; rest > 0) parts.push_back({"rest", rest});
  return parts;
}

std::string percent(double share) {
  char text[32];
  return {text, static_cast<size_t>(std::snprintf(text, sizeof(text), "%.2f%%", 100 * share))};
}

std::string bar_of(const std::vector<Part>& parts, double total) {
  std::string text = "<div class=bar role=img aria-label=\"shares of the phases\">";
  for (size_t i = 0; i < parts.size(); ++i) {
    text += "<span class=p" + std::to_string(i % 12) + " style=\"width:" + percent(parts[i].seconds / total) +
            "\" title=\"" + escaped(parts[i].name) + ' ' + number_text(parts[i].seconds) + " s\"></span>";
  }
  return text + "</div>\n";
}

std::string list_of(const std::vector<Part>& parts, double total) {
  std::string text = "<ul class=parts>";
  for (size_t i = 0; i < parts.size(); ++i) {
    text += "<li><i class=p" + std::to_string(i % 12) + "></i>" + escaped(parts[i].name) + " <b>" +
            number_text(std::round(parts[i].seconds * 1000) / 1000) + " s</b> " +
            percent(parts[i].seconds / total) + "</li>";
  }
  return text + "</ul>\n";
}

}  // namespace

std::string phases(const std::vector<Run>& runs) {
  std::string body;
  for (const Run& run : runs) {
    const std::vector<Part> parts = parts_of(run.summary);
    const double total = std::accumulate(parts.begin(), parts.end(), 0.0,
                                         [](double sum, const Part& part) { return sum + part.seconds; });
    if (total <= 0) continue;
    if (runs.size() > 1) body += "<h3>" + escaped(run.name) + "</h3>\n";
    body += bar_of(parts, total) + list_of(parts, total);
  }
  return section("phases", "Where the time went", body);
}

}  // namespace hftrain::report
