# What conversations and their lengths are told, and how a chat is left.

fault("prompts are counted from 0 where they leave no room",
      "lib/hftrain/generation/generate.cpp", "std::to_string(prompt.number + 1)", "std::to_string(prompt.number)",
      tests=["generation: a prompt without room and scores that are no numbers are refused"],
      says=r"prompt 2 of 3 tokens")
