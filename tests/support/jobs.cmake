include_guard(GLOBAL)
ergon_library(ergon_jobs_test_support SOURCES ${CMAKE_CURRENT_LIST_DIR}/jobs_world.c
    ${CMAKE_CURRENT_LIST_DIR}/jobs_stage.c ${CMAKE_CURRENT_LIST_DIR}/played_manager.c
    ${CMAKE_CURRENT_LIST_DIR}/memory_rows.c ${CMAKE_CURRENT_LIST_DIR}/memory_store.c
    ${CMAKE_CURRENT_LIST_DIR}/notation.c
    DEPS ergon_test_support ergon_jobs ergon_rpc)
# The same world over SQLite on a disk that fails, with the writer played.
ergon_library(ergon_jobs_disk_test_support SOURCES ${CMAKE_CURRENT_LIST_DIR}/cut_lives.c ${CMAKE_CURRENT_LIST_DIR}/disk_store.c
    ${CMAKE_CURRENT_LIST_DIR}/jobs_world.c ${CMAKE_CURRENT_LIST_DIR}/played_manager.c
    DEPS ergon_test_support ergon_fault_disk ergon_jobs ergon_rpc ergon_store)
foreach(function clock_wall store_raise_attempts)
    target_link_options(ergon_jobs_disk_test_support INTERFACE -Wl,--wrap=${function})
endforeach()
ergon_library(ergon_jobs_life SOURCES ${CMAKE_CURRENT_LIST_DIR}/jobs_life.c DEPS ergon_jobs ergon_rpc)
