# Ranks that look for each other, checks before a run, and what moves through a GPU's memory.
fault("a stop is not heard while the ranks look for each other",
      "lib/hftrain/comm/make_communicator.cpp", "options.timeout, options.stopped);", "options.timeout, nullptr);",
      tests=["runs: endings: stop while ranks wait for one that is frozen"], says=r"did not end|expected 10")

fault("an answer that nobody wants is waited for to the end",
      "lib/hftrain/comm/own_thread.h", "    if (!leave_at && unwanted()) leave_at", "    if (!leave_at && !unwanted) leave_at",
      tests=["comm: an answer that nobody wants any more is waited for no longer than a moment"], says=r"no answer within")

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

fault("half types' logits of a device are rounded before their softmax",
      "lib/hftrain/nn/head_loss.cpp", "    const bool wide = !own_kernel_ && !hidden.is_cpu()", "    const bool wide = !own_kernel_ && hidden.is_cpu()",
      tests=["nn: A device adds the products of further chunks where their sum is"], says=r"logits")

fault("a target without a chance has an endless loss",
      "lib/hftrain/nn/row_loss.cpp", "  at::Tensor losses = (of_row - of_target).squeeze(1)", "  at::Tensor losses = probabilities.gather(1, targets.clamp_min(0).unsqueeze(1)).log().neg().squeeze(1)",
      tests=["nn: A target without a chance has the loss that its logit gives, and the gradient of all"], says=r"1000|inf")

fault("columns behind a vocabulary have a share of the probabilities",
      "lib/hftrain/nn/row_loss.cpp", "  if (behind > 0) logits.narrow", "  if (behind > 99999) logits.narrow",
      tests=["nn: A target without a chance has the loss that its logit gives, and the gradient of all"], says=r"allclose")

fault("the gradient of a head's float32 matrix is rounded to its rows' type",
      "lib/hftrain/nn/head_loss.cpp", " || head.stored == at::kFloat || chunks > 1;", " || chunks > 1;",
      tests=["nn: On a device the gradient of a float32 matrix under bfloat16 rows is made in float32, of one chunk too"], says=r"first")

fault("labels of other ranks weigh beside generated texts",
      "lib/hftrain/trainer/evaluator.cpp", "  return generates || tasks::row_of", "  return (generates && false) || tasks::row_of",
      tests=["runs: summaries and translations: batches of ranks that generate count by their own means"], says=r"not beside texts")

fault("a search is begun by each of several programs",
      "apps/hftrain/commands/search.cpp", "  if (membership.agents < 2) return;\n", "  if (membership.agents < 99) return;\n",
      tests=["runs: search: mistakes of file and flags are told at once"], says=r"several programs|ends with")

fault("shared memory that the system has no room for is the environment's",
      "lib/hftrain/comm/shm_segment.cpp", "  if (error == ENOMEM)\n", "  if (error == EDOM)\n",
      tests=["comm: shared memory that the system refuses is told with its rank and its size"], says=r"kHostMemory")

fault("an output within a module that is saved whole keeps peft's adapter from being opened",
      "lib/hftrain/architectures/adapter.cpp", "    if (!spec.origin.empty() && is_saved(spec, parameter) && !parameter.embedding) continue;\n", "",
      tests=["architectures: A target of an adapter's file within a module that is saved whole is passed over, as peft adapts nothing there"],
      says=r"can have no adapter")

fault("a copy of a head's matrix is planned beside the one that is it",
      "lib/hftrain/plan/head_memory.cpp", "  if (columns == architecture.outputs() || cast) return 0;\n", "  if (columns == architecture.outputs() || (cast && columns == 0)) return 0;\n",
      tests=["plan: a vocabulary that products of a GPU are slow with counts as the next they are quick with, and its copy"], says=r"cast\.activations")

fault("who stops a rank that looks for the others is not named",
      "apps/hftrain-worker/run_rank.cpp", "  if (stranger.signal == 0) return comm::StopWish", "  if (stranger.signal != 0) return comm::StopWish",
      tests=["runs: endings: stop while ranks wait for one that is frozen"], says=r"from process")
