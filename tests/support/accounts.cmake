include_guard(GLOBAL)
ergon_library(ergon_accounts_test_support SOURCES ${CMAKE_CURRENT_LIST_DIR}/accounts_stage.c
    DEPS ergon_accounts PkgConfig::CMOCKA)
