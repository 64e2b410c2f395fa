#include "hftrain/checkpoint/collective_status.h"

#include "hftrain/base/json.h"
#include "hftrain/runtime/translate.h"

namespace hftrain::checkpoint {

std::optional<Error> attempt(const std::function<void()>& work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    if (error.code() == ExitCode::kWorkerLost) throw;
    return error;
  } catch (const std::exception&) {
    return runtime::translate(std::current_exception());
  }
}

void check_collective_status(comm::Communicator& communicator, const std::optional<Error>& local,
                             const std::string& task) {
  const Json mine =
      local ? Json{{"code", static_cast<int>(local->code())}, {"what", local->what()}} : Json(nullptr);
  const std::vector<std::string> all = communicator.all_gather_text(mine.dump());
  if (local) throw *local;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const Json other = Json::parse(all[rank]);
    if (other.is_null()) continue;
    PeerFailure failure(static_cast<ExitCode>(other["code"].get<int>()), static_cast<int>(rank), task);
    failure.why(other["what"].get<std::string>());
    throw failure;
  }
}

}  // namespace hftrain::checkpoint
