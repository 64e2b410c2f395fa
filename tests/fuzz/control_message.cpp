// One line as a peer sends it over the control connection. What is understood means the same when it is said
// again. What a plan leaves out is as in an empty one, so that mutations reach what it does say. The integers of a
// worker's event, which the line may be as well, are read as who hears of it reads them.
#include "fuzz.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/plan/worker_protocol.h"
#include "launcher/control/message.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

namespace {

void read_event(std::string_view line) {
  const auto event = plan::decode_event(line);
  if (!event) return;
  for (const char* name : {"level", "exit_code"}) event->data.value(name, 0);
  for (const char* name : {"step", "done", "total"}) event->data.value(name, int64_t{0});
  for (const char* name : {"text", "path", "reason", "what"}) event->data.value(name, std::string());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const std::string_view line(reinterpret_cast<const char*>(data), size);
    read_event(line);  // by itself: mutations leave alone what a text inside of JSON says
    const auto message = launcher::decode_message(line);
    if (!message) return;
    const std::string again = launcher::encode_message(*message);
    const auto second = launcher::decode_message(std::string_view(again).substr(0, again.size() - 1));
    if (!second || launcher::encode_message(*second) != again) __builtin_trap();
    if (const auto* plan = std::get_if<launcher::TakePlan>(&*message)) {
      Json whole = plan::to_json_value(plan::RunPlan());
      whole.merge_patch(plan->plan);
      plan::plan_hash(plan::run_plan_from_json(whole, "a peer"));
    }
    if (const auto* said = std::get_if<launcher::WorkerSaid>(&*message)) read_event(said->event);
    if (const auto* failure = std::get_if<launcher::AgentFailed>(&*message))
      throw launcher::error_of(*failure);
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return fuzz::mutate_json(data, size, max_size, seed);
}
