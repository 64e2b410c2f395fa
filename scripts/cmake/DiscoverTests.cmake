# Lists the cases of one Catch2 test program for ctest; run as a script after the program is linked.
#   -D PROGRAM=path -D MODULE=name -D LABELS=a,b -D OUTPUT=file.cmake
# Every tag of a case ([process], [gpu], …) becomes a label; a case that ends with 77 counts as skipped (tests/support/skip.h).
# Threads of LibTorch that wait for each other sleep: where other tests have the cores, tests of two threads that spin take fifty
# times as long. A case tagged [alone], whose deadlines a busy machine could break, takes 64 of ctest's slots, so it runs beside no
# other unless -j has twice as many (scripts/test). A case that holds no assertion, and a name that finds no case, fail.
function(run_program RESULT)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status MATCHES "^[0-9]+$")  # Catch2 2 returns the number of cases from a listing
    message(FATAL_ERROR "${PROGRAM} ${ARGN}: ${status}\n${output}${errors}")
  endif()
  string(REGEX REPLACE "[[]" "<" output "${output}")  # brackets would join list elements
  string(REGEX REPLACE "[]]" ">" output "${output}")
  string(REPLACE ";" "\\;" output "${output}")
  string(REPLACE "\n" ";" output "${output}")
  set(${RESULT} "${output}" PARENT_SCOPE)
endfunction()

run_program(names --list-test-names-only)
run_program(listing --list-tests)

# In the listing a case starts at column 2 (a long name goes on at column 4) and its tags stand at column 6.
set(case -1)
foreach(line IN LISTS listing)
  if(line MATCHES "^  [^ ]")
    math(EXPR case "${case} + 1")
  elseif(line MATCHES "^      <")
    string(REGEX MATCHALL "<[^>]+>" tags "${line}")
    list(APPEND tags_${case} ${tags})
  endif()
endforeach()

set(script "")
set(case -1)
string(REPLACE "," ";" common_labels "${LABELS}")
foreach(name IN LISTS names)
  if(name STREQUAL "")
    continue()
  endif()
  math(EXPR case "${case} + 1")
  set(labels ${common_labels} ${tags_${case}})
  string(REGEX REPLACE "[<>]" "" labels "${labels}")
  set(alone "")
  if(";${labels};" MATCHES ";alone;")
    set(alone "PROCESSORS 64 ")
  endif()
  if(name MATCHES "[<>]")
    message(FATAL_ERROR "${PROGRAM}: the name of a test must not contain brackets: ${name}")
  endif()
  string(REGEX REPLACE "([\\\\,])" "\\\\\\1" spec "${name}")  # what Catch2 reads as a list or an escape
  string(APPEND script
    "add_test([==[${MODULE}: ${name}]==] [==[${PROGRAM}]==] [==[${spec}]==])\n"
    "set_tests_properties([==[${MODULE}: ${name}]==] PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 ${alone}"
    "LABELS \"${labels}\" ENVIRONMENT OMP_WAIT_POLICY=passive)\n")
endforeach()
file(WRITE "${OUTPUT}" "${script}")
