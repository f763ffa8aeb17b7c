include_guard(GLOBAL)
# A disk that fails, and SQLite's side of it; for whoever needs no more of the tests' support, too.
ergon_library(ergon_fault_disk SOURCES ${CMAKE_CURRENT_LIST_DIR}/fault_vfs.c ${CMAKE_CURRENT_LIST_DIR}/fault_disk.c
    ${CMAKE_CURRENT_LIST_DIR}/fault_orders.c
    DEPS PkgConfig::SQLITE Threads::Threads)
