#include "launcher/control/leader.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "launcher/control/background_work.h"

namespace hftrain::launcher {
namespace {

constexpr double kNoticeSeconds = 10;

}  // namespace

Leader::Leader(ControlHub& hub, StopSignals& signals, NoticeSink notice)
    : hub_(hub), signals_(signals), notice_(std::move(notice)) {}

void Leader::wait(std::map<int, Message>& answers, IsAnswer is_answer, int also, double until) {
  std::vector<pollfd> watched = {{signals_.descriptor(), POLLIN, 0}, {also, POLLIN, 0}};
  hub_.append_descriptors(watched);
  const double left = std::max(0.0, std::min(until, hub_.next_deadline()) - monotonic_seconds());
  ::poll(watched.data(), watched.size(), std::isinf(left) ? -1 : static_cast<int>(std::ceil(left * 1000)));
  if (const int signal = signals_.next()) throw stopped_early(signal, "before the ranks were started");
  ControlHub::News news = hub_.work();
  for (const std::string& text : news.notices) notice_(text);
  for (ControlHub::News::Said& said : news.said) {
    if (const auto* failure = std::get_if<AgentFailed>(&said.message)) {
      throw error_of(*failure).context("on " + hub_.name_of(said.agent));
    }
    if (const auto* stop = std::get_if<StopReceived>(&said.message)) {
      throw stopped_early(stop->signal, "on " + hub_.name_of(said.agent) + ", before the ranks were started");
    }
    if (is_answer(said.message)) answers[said.agent] = std::move(said.message);
  }
  for (const ControlHub::News::Lost& lost : news.lost) {
    throw Error(ExitCode::kWorkerLost, hub_.name_of(lost.agent) + " was lost before the ranks were started")
        .where(hub_.address_of(lost.agent))
        .why(lost.why)
        .hint("look at what it said on its own terminal, and whether its machine is up");
  }
}

// One that was lost before answers nothing; nor can the job go on without it.
void Leader::check_all_are_here() const {
  for (int agent = 1; agent < hub_.agents(); ++agent) {
    if (hub_.is_here(agent)) continue;
    throw Error(ExitCode::kWorkerLost,
                hub_.name_of(agent) + " is lost, and the job does not go on without it")
        .where(hub_.address_of(agent))
        .why("its connection ended before, and its ranks with it")
        .hint(
            "start the job again on the machines that are left: it goes on from its newest checkpoint, if it "
            "has one");
  }
}

std::map<int, Message> Leader::ask(const Message& question, const std::string& what, IsAnswer is_answer) {
  check_all_are_here();
  hub_.send_to_all(question);
  std::map<int, Message> answers;
  const double begin = monotonic_seconds();
  double next_notice = begin + kNoticeSeconds;
  while (answers.size() + 1 < static_cast<size_t>(hub_.agents())) {
    wait(answers, is_answer, -1, next_notice);
    const double now = monotonic_seconds();
    if (now < next_notice) continue;
    next_notice = now + kNoticeSeconds;
    std::vector<std::string> awaited;
    for (int agent = 1; agent < hub_.agents(); ++agent) {
      if (!answers.contains(agent)) awaited.push_back(hub_.name_of(agent));
    }
    if (!awaited.empty()) {
      notice_("still waiting for " + join(awaited, ", ") + ' ' + what + " (" + format_duration(now - begin) +
              ")");
    }
  }
  return answers;
}

void Leader::run_in_background(const std::function<void(const std::atomic<bool>& stop)>& work) {
  BackgroundWork background(work);
  std::map<int, Message> ignored;
  // What ends the job here leaves by its exception, and `background` stops the work on the way.
  while (!background.over()) {
    wait(
        ignored, [](const Message&) { return false; }, background.descriptor(), kNever);
  }
  background.finish();
}

}  // namespace hftrain::launcher
