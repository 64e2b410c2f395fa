# HFTRAIN_TEST_PYTHON becomes a command that is that Python with torch and transformers loaded (warm_python.py), for all tests.
if(HFTRAIN_TEST_PYTHON)
  set(warm_python "${PROJECT_BINARY_DIR}/warm-python")
  file(CONFIGURE OUTPUT "${warm_python}" @ONLY CONTENT
    "#!/bin/sh\nexec '@HFTRAIN_TEST_PYTHON@' -I -S '@PROJECT_SOURCE_DIR@/tests/support/warm_python.py' '@HFTRAIN_TEST_PYTHON@' '@PROJECT_BINARY_DIR@' \"$@\"\n")
  file(CHMOD "${warm_python}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(HFTRAIN_TEST_PYTHON "${warm_python}")
endif()
