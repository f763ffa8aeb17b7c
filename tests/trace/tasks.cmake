foreach(name worker_life task_life task_deadline task_cancel task_failure task_nested shutdown_with_work)
    ergon_test(${name}_test.c DEPS ergon_tasks_test_support)
endforeach()
