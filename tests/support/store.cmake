include_guard(GLOBAL)
ergon_library(ergon_store_test_support SOURCES ${CMAKE_CURRENT_LIST_DIR}/store_client.c
    ${CMAKE_CURRENT_LIST_DIR}/store_world.c ${CMAKE_CURRENT_LIST_DIR}/store_model.c
    ${CMAKE_CURRENT_LIST_DIR}/store_expect.c ${CMAKE_CURRENT_LIST_DIR}/store_files.c
    DEPS ergon_test_support ergon_fault_disk ergon_store)
