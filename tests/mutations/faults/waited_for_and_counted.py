# Ranks that look for each other, checks before a run, and what moves through a GPU's memory.
fault("a stop is not heard while the ranks look for each other",
      "lib/hftrain/comm/make_communicator.cpp", "options.timeout, options.stopped);", "options.timeout, nullptr);",
      tests=["runs: endings: stop while ranks wait for one that is frozen"], says=r"did not end|expected 10")

fault("an answer that nobody wants is waited for to the end",
      "lib/hftrain/comm/own_thread.h", "    if (!leave_at && unwanted()) leave_at", "    if (!leave_at && !unwanted) leave_at",
      tests=["comm: an answer that nobody wants any more is waited for no longer than a moment"], says=r"Timeout|not met|exception")

fault("ranks are started where nothing leads to the loopback address",
      "launcher/front/job.cpp", "  if (plan.ranks.world_size > 1 && plan.ranks.machines == 1) launcher::require_loopback();\n", "",
      tests=["runs: endings: ranks that have no way to each other"], says=r"did not end|cannot reach each other|expected 3")

fault("one rank needs a way to others",
      "launcher/front/job.cpp", "  if (plan.ranks.world_size > 1 && plan.ranks.machines == 1)", "  if (plan.ranks.machines == 1)",
      tests=["runs: endings: ranks that have no way to each other"], says=r"expected 0")

fault("a second job of one torchrun finds the first one's address",
      "launcher/control/gathering.cpp", "    if (spec_.exchange == nullptr) return;\n", "    if (spec_.exchange != nullptr) return;\n",
      tests=["runs: torchrun on one machine gives the losses of a local run"], says=r"two jobs of one torchrun")

fault("a rehearsal wants the last checkpoint where the best one alone is kept",
      "launcher/front/smoke.cpp", "      if (left.empty())", "      if (left.empty() || left.back().step != setting_.length.steps)",
      tests=["runs: smoke: restarts and silence"], says=r"FAILED  the checkpoint verifies")

fault("a rehearsal does not look at the checkpoints of the run that was killed",
      "launcher/front/smoke.cpp", "    for (const char* name : {kStraight, kKilled}) {\n      const std::vector<storage::CheckpointInfo> left", "    for (const char* name : {kStraight}) {\n      const std::vector<storage::CheckpointInfo> left",
      tests=["runs: smoke: a planted defect is found"], says=r"planted: the checkpoint verifies")

fault("a rehearsal makes conversations for a model that cannot chat",
      "launcher/front/smoke_rows.cpp", "  return can_chat(asked) ? conversations", "  return !conversations.empty() ? conversations",
      tests=["runs: smoke: conversations only for a model that can chat"], says=r"no chat template")

fault("a member of what is no object is asked for",
      "lib/hftrain/base/json_member.cpp", "  return object.is_object() ? object.value(name, Json()) : Json();\n", "  return object.value(name, Json());\n",
      tests=["base: a member of what is no object is none, and so is one that is not there"], says=r"unexpected exception|type_error")
