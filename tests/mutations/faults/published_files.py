# Files that others published, which were refused or read otherwise than by their own tools.

fault("stage3_gather_16bit_weights_on_model_save may not be auto",
      "lib/hftrain/arguments/import/deepspeed_zero_keys.cpp",
      '     .type = Type::kBool,\n     .automatic = true,\n     .aliases = {"stage3_gather_fp16_weights_on_model_save"',
      '     .type = Type::kBool,\n     .aliases = {"stage3_gather_fp16_weights_on_model_save"',
      tests=["arguments: accelerate fills an auto of stage3_gather_16bit_weights_on_model_save with its own flag"],
      says=r"stage3_gather_16bit_weights_on_model_save|unexpected exception")

fault("an auto of the stage is stage 0 in silence",
      "lib/hftrain/arguments/import/deepspeed_zero.cpp",
      "    if (!keys_.is_auto(pointer)) return keys_.value_or<int64_t>(pointer, 0);\n", "    if (!keys_.is_auto(pointer) || kDefaultStage == 2) return keys_.value_or<int64_t>(pointer, 0);\n",
      tests=["arguments: accelerate fills an auto of the stage and of offload with its own flags, or with 2 and none",
             "plan: published files become what their own tools make of them, or are refused by the key"],
      says=r'strategy == "shard_grad_op"|filled_by_launch')

fault("an auto of an offload device is none, whatever the flag of the launch says",
      "lib/hftrain/arguments/import/deepspeed_zero.cpp",
      "return flag.is_null() ? \"none\" : flag.get<std::string>();", "return flag.is_null() || flag != \"none\" ? \"none\" : flag.get<std::string>();",
      tests=["arguments: accelerate fills an auto of the stage and of offload with its own flags, or with 2 and none"],
      says=r"given twice and differently|needs")

fault("auto of accumulation and clipping in deepspeed_config is no number",
      "lib/hftrain/arguments/import/accelerate_sections.cpp", "if (automatic || (path &&", "if ((automatic && kAutomatic.empty()) || (path &&",
      tests=["arguments: auto in deepspeed_config leaves accumulation and clipping to the Trainer's arguments"],
      says=r"mistakes\(\)\.empty|unexpected exception")

fault("an unknown key of an Accelerate file is refused without a reason",
      "lib/hftrain/arguments/import/accelerate_document.cpp", 'gone == std::end(kGone) ? "accelerate has no such key there" : gone->why,', 'gone == std::end(kGone) ? "" : "",',
      tests=["arguments: an unknown key is refused with a reason and with what to do, also one of older releases"],
      says=r"why: accelerate")

fault("distributed_type NO takes num_processes for its ranks",
      "lib/hftrain/arguments/import/accelerate.cpp", 'return file_.add("num_processes", "num_processes", "1", file_.place("/num_processes"));',
      'return file_.add("num_processes", "num_processes", std::to_string(std::max<int64_t>(total, 1)), file_.place("/num_processes"));',
      tests=["arguments: distributed_type NO is one process, whatever num_processes says, and that is told"],
      says=r'nproc_per_node == "1"')

fault("the mismatched set of mnli is not evaluated",
      "launcher/front/data_stage.cpp", "request.validation_mismatched_files = inputs.files.validation_mismatched;", "request.validation_mismatched_files = {};",
      tests=["runs: text classification: both sets of mnli are evaluated and predicted"],
      says=r"FAILED: each key twice")

fault("a value that DeepSpeed does not take is refused without a reason",
      "lib/hftrain/arguments/import/section_check.cpp", '"nothing else is read there"', '""',
      tests=["arguments: mistakes in a DeepSpeed file are told with a reason and a way out"],
      says=r"each\.why\.empty")

fault("ways of sharding that exclude each other are taken when DeepSpeed is asked for by its stage",
      "lib/hftrain/arguments/import/import.cpp", "add(asks_for_deepspeed(environment, outcome), ", "add(given(outcome, \"deepspeed\"), ",
      tests=["arguments: rules 39 and S5: one run has one way of sharding"],
      says=r"zero_stage")

fault("the version of FSDP in its file does not count for a mesh",
      "lib/hftrain/arguments/import/parallelism_config.cpp", "fsdp_version.value_or(kDefaultVersion) != 2", "fsdp_version.value_or(kDefaultVersion) < 9 && outcome.unread.count(\"fsdp_version\") == 0",
      tests=["arguments: rule F12: accelerate launch has these sizes in version 2 only"],
      says=r'version\("2"\)')

fault("a mesh makes DeepSpeed's stages hybrid in silence",
      "lib/hftrain/arguments/import/parallelism_config.cpp", "sharding.strategy.value_or(\"none\") != \"none\")", "sharding.strategy.value_or(\"none\") == \"never\")",
      tests=["arguments: a strategy that is not FSDP's stays what was asked for beside a mesh"],
      says=r"zero_optimization")

fault("dp_shard_size does nothing beside no_shard",
      "lib/hftrain/plan/resolve_strategy.cpp", "if (!shards && asked_.shard_ranks.value_or(1) > 1) return refuse_shards();", "",
      tests=["plan: sizes that do not cover the ranks are refused with their places"],
      says=r"no_shard")

fault("a DeepSpeed file with sub_group_size 0 is refused",
      "lib/hftrain/arguments/import/deepspeed_zero_keys.cpp", '     .support = accepted("the optimizer steps shard by shard"),\n     .neutral = "1000000000",\n     .range = at_least(0),',
      '     .support = accepted("the optimizer steps shard by shard"),\n     .neutral = "1000000000",\n     .range = above(0),',
      tests=["arguments: sizes of ZeRO that do nothing here are those that deepspeed takes"], says=r"sub_group_size")
