# What conversations and their lengths are told, and how a chat is left.

CHAT = "apps/hftrain/commands/generate_chat.cpp"
ENCODER = "lib/hftrain/tasks/instruction_encoder.cpp"

fault("prompts are counted from 0 where they leave no room",
      "lib/hftrain/generation/generate.cpp", "std::to_string(prompt.number + 1)", "std::to_string(prompt.number)",
      tests=["generation: a prompt without room and scores that are no numbers are refused"],
      says=r"prompt 2 of 3 tokens")

fault("a chat goes on beyond the positions that are computed without a word",
      CHAT, "if (left > 0) return std::min", "if (!model.architecture->bounded_positions()) return kAnswerTokens;\n  if (left > 0) return std::min",
      tests=["runs: generation: a chat longer than the model is told"],
      says=r"and not with 4")

fault("whoever leaves a chat by a key has made a mistake",
      "apps/hftrain/commands/generate.cpp", "if (!asks || error.code() != ExitCode::kInterrupted) throw;", "if (!asks || error.code() != ExitCode::kDone) throw;",
      tests=["runs: generation: a chat is left by a key without an error"],
      says=r"quietly")

fault("a model that never learns to stop is trained without a word",
      ENCODER, "if (unended_ > 0 && ended_ == 0)", "if (unended_ > 0 && ended_ > 0)",
      tests=["tasks: instruction data: answers of which the end is not learnt are told of"],
      says=r"may not learn to stop")

fault("ends of a generation config stand in it twice",
      "lib/hftrain/plan/special_tokens.cpp", "!end.is_null() && std::find(all.begin(), all.end(), end) == all.end()", "!end.is_null()",
      tests=["plan: ends of a generation config stand in it once, and alone behind another's template"],
      says=r"\[7, 7, 6\]")

fault("the end of a template's folder stands beside the model's old ones",
      "launcher/front/chat_facts.cpp", "if (other_end && ids.eos) plan::replace_end_tokens", "if (other_end && !ids.eos) plan::replace_end_tokens",
      tests=["runs: instruction tuning: a templates folder brings the one end"],
      says=r"beside a template's folder")
