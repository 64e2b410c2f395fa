# What a plan left out that its run does, and places that were counted or named wrongly.

fault("what accelerate launch exports unasked counts as somebody's wish",
      "lib/hftrain/arguments/import/fsdp.cpp", "if (is_unasked(variable, text)) continue;", "static_cast<void>(is_unasked);",
      tests=["arguments: what accelerate launch exports unasked is nobody's word: it is told as no mistake and contradicts nothing"],
      says=r"has no effect|contradict")

fault("the form of checkpoints that an Accelerate file repeats counts as somebody's wish",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", "return !said || (", "return !said || (said.origin.empty() && ",
      tests=["arguments: FSDP_STATE_DICT_TYPE that says what version 2 does anyway counts as filled in"],
      says=r"repeated\.state_dict_filled_in")
