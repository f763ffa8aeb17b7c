include(${PROJECT_SOURCE_DIR}/tests/support/jobs.cmake)

foreach(name jobs_life jobs_waits jobs_durable)
    ergon_test(${name}_test.c DEPS ergon_jobs_test_support)
endforeach()
