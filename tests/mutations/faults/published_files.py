# Files that others published, which were refused or read otherwise than by their own tools.

fault("stage3_gather_16bit_weights_on_model_save may not be auto",
      "lib/hftrain/arguments/import/deepspeed_keys.cpp",
      '     .type = Type::kBool,\n     .automatic = true,\n     .aliases = {"stage3_gather_fp16_weights_on_model_save"',
      '     .type = Type::kBool,\n     .aliases = {"stage3_gather_fp16_weights_on_model_save"',
      tests=["arguments: accelerate fills an auto of stage3_gather_16bit_weights_on_model_save with its own flag"],
      says=r"stage3_gather_16bit_weights_on_model_save|unexpected exception")

fault("an FSDP file without num_processes is refused",
      "lib/hftrain/arguments/import/accelerate.cpp", "if (!left_open.written.is_null()) {", "if (left_open.written.is_null() || !left_open.written.is_null()) {",
      tests=["arguments: a file without num_processes takes it from the command line, else means every GPU"],
      says=r"type must be string|leaves the number of ranks")

fault("distributed_type NO takes num_processes for its ranks",
      "lib/hftrain/arguments/import/accelerate.cpp", 'return add("num_processes", "num_processes", "1", place("num_processes"));',
      'return add("num_processes", "num_processes", std::to_string(std::max<int64_t>(total, 1)), place("num_processes"));',
      tests=["arguments: distributed_type NO is one process, whatever num_processes says, and that is told"],
      says=r'nproc_per_node == "1"')

fault("the mismatched set of mnli is not evaluated",
      "launcher/front/data_stage.cpp", "request.validation_mismatched_files = inputs.files.validation_mismatched;", "request.validation_mismatched_files = {};",
      tests=["runs: text classification: both sets of mnli are evaluated and predicted"],
      says=r"FAILED: each key twice")
