ergon_library(ergon_tasks_test_support SOURCES ${CMAKE_CURRENT_LIST_DIR}/tasks_world.c
    ${CMAKE_CURRENT_LIST_DIR}/tasks_handlers.c ${CMAKE_CURRENT_LIST_DIR}/played_worker.c
    DEPS ergon_test_support ergon_workers)
