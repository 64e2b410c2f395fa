#include "launcher/front/trial_lines.h"

#include <sstream>

#include "hftrain/base/text.h"

namespace hftrain::front {
namespace {

std::string name_of_trial(const search::Trial& trial) {
  return "trial " + std::to_string(trial.number);
}

std::string shortly(double metric) {
  std::ostringstream text;
  text << metric;
  return text.str();
}

}  // namespace

std::vector<std::string> words_of(const search::Trial& trial) {
  std::vector<std::string> words;
  for (const auto& [flag, value] : trial.parameters.items())
    words.push_back("--" + flag + '=' + search::word_of(value));
  return words;
}

void TrialLines::begins(const search::Trial& trial, bool again, double now) {
  console_.line(name_of_trial(trial) + (again ? " goes on: " : " begins: ") + join(words_of(trial), " "));
  spoke(now);
}

void TrialLines::ends(const search::Study& study, const search::Trial& trial, bool well, double now) {
  const std::string& metric = study.specification().metric;
  const bool failed = trial.state == search::TrialState::kFailed;
  std::string text = name_of_trial(trial) + ": " + search::trial_state_name(trial.state);
  if (trial.metric) text += ", " + metric + ' ' + shortly(*trial.metric);
  if (!trial.metric && well) text += ": its log has no finite " + metric;
  if (failed && !well) text += ": see " + trial.folder + ".log";
  if (const search::Trial* best = study.best())
    text += " (best: trial " + std::to_string(best->number) + ", " + shortly(*best->metric) + ')';
  failed ? console_.result(text) : console_.line(text);
  spoke(now);
}

void TrialLines::says(const std::string& text, double now) {
  console_.result(text);
  spoke(now);
}

void TrialLines::waits_for(const std::vector<const search::Trial*>& running, double now) {
  if (running.empty() || now < since_ + wait_) return;
  std::vector<std::string> names, logs;
  for (const search::Trial* trial : running) {
    names.push_back(name_of_trial(*trial));
    logs.push_back(trial->folder + ".log");
  }
  console_.line("still waiting for " + join(names, ", ") + " (" + format_duration(now - since_) +
                "); what it says: " + join(logs, ", "));
  wait_ *= 2;
}

void TrialLines::spoke(double now) {
  since_ = now;
  wait_ = kFirstWait;
}

}  // namespace hftrain::front
