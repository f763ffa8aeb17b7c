include(${PROJECT_SOURCE_DIR}/tests/support/ledger.cmake)

foreach(name ledger_life ledger_waits ledger_durable)
    ergon_test(${name}_test.c DEPS ergon_ledger_test_support)
endforeach()
