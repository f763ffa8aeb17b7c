ergon_library(ergon_rpc_test_support SOURCES ${CMAKE_CURRENT_LIST_DIR}/rpc_stage.c
    ${CMAKE_CURRENT_LIST_DIR}/notation.c
    DEPS ergon_net_test_support ergon_tasks_test_support ergon_rpc)
