include_guard(GLOBAL)
ergon_library(ergon_config_test_support SOURCES ${CMAKE_CURRENT_LIST_DIR}/scratch.c
    DEPS ergon_config PkgConfig::CMOCKA)
