# PYTHON3: what runs the scripts of tests. The interpreter itself, for the python3 of PATH may be a shell script before it (pyenv's
# takes 0.1 s of processor time, and some 550 tests begin so).
find_program(PYTHON3 python3 REQUIRED)
execute_process(COMMAND "${PYTHON3}" -c "import sys; print(sys.executable)" OUTPUT_VARIABLE interpreter
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(PYTHON3 "${interpreter}")
