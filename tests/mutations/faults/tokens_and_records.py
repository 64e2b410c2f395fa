# What the tokenizers and datasets packages make of rare files.
WHITE = "tokenizer: white space that a token has taken is not another token"
SAID = "tokenizer: What transformers builds of tokenizer_config.json and the pipeline does not have is said"
UNHEEDED = "lib/hftrain/tokenizer/unheeded_settings.cpp"

fault("a whole number that 64 bits do not hold refuses its file", "lib/hftrain/data/json_record.cpp",
      'if (is_number && needs_fraction(part)) text += ".0";', "if (is_number && needs_fraction(part)) text += \"\";",
      tests=["data: A whole number that 64 bits do not hold is one, in a column that is read and in one that is not"], says=r"parsing a number|64 bits")

fault("white space that a token has taken is a token again", "lib/hftrain/tokenizer/added_tokens.cpp",
      "if (begin < end) parts.push_back", "if (begin <= end) parts.push_back", tests=[WHITE], says=r"FAILED")

fault("a text that cannot be cut at its added tokens is cut", "lib/hftrain/tokenizer/added_tokens.cpp",
      "if (begin > end) throw", "if (begin > end + text.size()) throw",
      tests=["tokenizer: a text whose added tokens take the same white space, where the package panics, is refused"], says=r"FAILED")

fault("bytes of a character with its prefix have places beyond the text", "lib/hftrain/tokenizer/fast_plan.cpp",
      "if (outgrows_text(parts)) return std::nullopt;", "if (outgrows_text(parts) && parts.pre_tokenizer == nullptr) return std::nullopt;",
      tests=["tokenizer: a character with its prefix has more bytes than the text, and its tokens come as in the package"], says=r"FAILED|SIG|rror")

fault("a pattern that can match nothing matches behind each match", "lib/hftrain/tokenizer/regex_pattern.cpp",
      "if (begin == end && end == previous && !stretches.empty()) continue;", "",
      tests=["tokenizer: a pattern that can match nothing matches nothing right behind a match no more"], says=r"matches\(")

fault("a Metaspace in the place of a ByteLevel is not told", UNHEEDED,
      "if (part.is_null() && of_bytes)", "if (!part.is_null() && of_bytes)", tests=[SAID], says=r"ByteLevel")

fault("flags of tokens that only tokenizer_config.json has are passed over", UNHEEDED,
      "if (token.at(flag) == in_file.at(flag)) continue;", "if (token.at(flag) != in_file.at(flag)) continue;",
      tests=["tokenizer: Special tokens that transformers looks for in another way are said, whatever the class"], says=r"rstrip")

fault("a token that its normalizer makes nothing of is not told", UNHEEDED,
      "if (text.empty()) return content;", "if (text.empty()) return std::nullopt;",
      tests=["tokenizer: An added token that the normalizer makes nothing of is said, with what it needs"], says=r"size\(\) == 1")

fault("the run's own trainer_state.json has the flags of its end",
      "lib/hftrain/trainer/saving.cpp", "control_at_save_ = control_;", "",
      tests=["trainer: the run's own trainer_state.json has the flags of the last save, and of none those of a beginning"],
      says=r"control_in")

fault("an answer's opening counts as the assistant's where a template has no marks",
      "lib/hftrain/chat/answers.cpp", "unicode::count(opened));", "unicode::count(first_messages(i, false)));",
      tests=["tasks: instruction data: a template without marks counts what it writes behind its opening of an answer"],
      says=r"labels_of\(turns\(answer\), rows, true\) == marked")

fault("an answer that is written otherwise once more follows is taken for another",
      "lib/hftrain/chat/answers.cpp", "if (!text.starts_with(answered))", "if (answered.empty())",
      tests=["tasks: instruction data: a template that does not tell where an answer stands is refused"],
      says=r"loop\.last")

fault("an answer whose end no token holds goes on to the end of the conversation",
      "lib/hftrain/chat/conversation.cpp", "if (rendered.found_by_opening) {", "if (rendered.found_by_opening && range.begin < 0) {",
      tests=["chat: white space around an answer that nobody marked is not looked for among tokens"],
      says=r"made\.assistant")
