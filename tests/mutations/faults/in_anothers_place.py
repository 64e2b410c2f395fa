# Files and flags that stood where others are read.

fault("a tokenizer learns how records are written",
      "apps/hftrain/commands/tokenizer.cpp", "if (!format || format == data::RowFormat::kText", "if (format != data::RowFormat::kParquet || format == data::RowFormat::kText",
      tests=["apps: a tokenizer learns the column text of records, and nothing of how they are written"],
      says=r"learnt\(name\) == learnt\(\"plain\"\)")
