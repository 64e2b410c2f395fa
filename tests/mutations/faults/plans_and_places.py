# What a plan left out that its run does, and places that were counted or named wrongly.

fault("whatever has colons passes for an address",
      "lib/hftrain/arguments/import/launch.cpp", "return !odd && (host.find(':') == std::string::npos || is_ipv6(host));", "return !odd;",
      tests=["arguments: rdzv_endpoint is master_addr and master_port"],
      says=r"\[a:b\]:5")

fault("an endpoint with two ports passes for an address",
      "lib/hftrain/arguments/import/launch.cpp", "const bool bare_v6 = is_ipv6(text);", "const bool bare_v6 = std::count(text.begin(), text.end(), ':') > 1;",
      also=[("lib/hftrain/arguments/import/launch.cpp", "endpoint.valid = endpoint.valid && is_host(endpoint.host);", "endpoint.valid = endpoint.valid && !endpoint.host.empty();")],
      tests=["arguments: rdzv_endpoint is master_addr and master_port"],
      says=r"a:b:c")

fault("what accelerate launch exports unasked counts as somebody's wish",
      "lib/hftrain/arguments/import/fsdp.cpp", "if (is_unasked(variable, text)) continue;", "static_cast<void>(is_unasked);",
      tests=["arguments: what accelerate launch exports unasked is nobody's word: it is told as no mistake and contradicts nothing"],
      says=r"has no effect|contradict")

fault("the form of checkpoints that an Accelerate file repeats counts as somebody's wish",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", "return !said || (", "return !said || (said.origin.empty() && ",
      tests=["arguments: FSDP_STATE_DICT_TYPE that says what version 2 does anyway counts as filled in"],
      says=r"repeated\.state_dict_filled_in")
