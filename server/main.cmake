# What the wiring stands on, and needs no thread.
ergon_library(ergon_platform
    SOURCES system/backtrace.c system/machine.c system/systemd.c
    DEPS ergon_base PkgConfig::SYSTEMD ${CMAKE_DL_LIBS})

ergon_library(ergon_server
    SOURCES administer.c lifecycle.c membership.c module_main.c plan.c reload.c setup.c topology.c
        system/crash.c system/sandbox.c system/security_warnings.c system/threads.c system/watchdog.c
    DEPS ergon_front ergon_admin ergon_intake ergon_processes ergon_exporter ergon_config ergon_platform ergon_rpc ergon_store_offline ergon_poller_libevent ergon_modules PkgConfig::SECCOMP)

ergon_program(ergond SOURCES main.c DEPS ergon_server)
add_dependencies(ergond module_demo)
install(TARGETS ergond RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/ergond.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
