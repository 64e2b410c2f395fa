#include "launcher/control/meeting.h"

#include <algorithm>

#include "hftrain/base/text.h"
#include "hftrain/machine/identity.h"
#include "launcher/control/meeting_sides.h"
#include "launcher/supervision/verdict.h"

namespace hftrain::launcher {

Hello hello_of(const MeetingSpec& spec) {
  Hello hello;
  hello.job_id = spec.membership.job_id;
  hello.agent = spec.membership.agent;
  hello.agents = spec.membership.agents;
  hello.host = spec.introduction.facts.host;
  hello.version = spec.version;
  hello.build = spec.build;
  return hello;
}

double patience_of(const MeetingSpec& spec, double otherwise) {
  const double asked = spec.membership.meeting_seconds.value_or(otherwise);
  return spec.failure ? std::min(asked, kTellSeconds) : asked;
}

ExchangeWait exchange_wait(const MeetingSpec& spec, double seconds, StopSignals& signals,
                           const NoticeSink& notice) {
  ExchangeWait wait(seconds);
  wait.wake = signals.descriptor();
  wait.on_wake = [&signals] {
    if (const int signal = signals.next()) throw stopped_early(signal, "while meeting the other nodes");
  };
  wait.notice_seconds = spec.notice_seconds;
  wait.on_notice = notice;
  return wait;
}

std::string way_to_wait_longer(double seconds) {
  return "; --rdzv_conf join_timeout=SECONDS waits longer than " + format_duration(seconds);
}

Error stopped_early(int signal, const std::string& during) {
  return Error(ExitCode::kTerminatedUnsaved, "stopped by " + signal_name(signal) + " " + during)
      .where("before training, on " + machine::host_name())
      .why("no rank was running")
      .hint("start it again; an earlier run in the output folder is as it was");
}

}  // namespace hftrain::launcher
