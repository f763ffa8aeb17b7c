# What the wiring stands on, and needs no thread.
ergon_library(ergon_platform
    SOURCES backtrace.c cgroup.c cpus.c fdlimit.c journald.c memory.c notify.c
    DEPS ergon_base PkgConfig::SYSTEMD ${CMAKE_DL_LIBS})

ergon_library(ergon_server
    SOURCES builder.c crash.c crl.c file_rights.c lifecycle.c offline.c plan.c probe.c recorder_files.c reload.c sandbox.c setup.c start_record.c threads.c topology.c unguarded.c watchdog.c
    DEPS ergon_admin ergon_exporter ergon_config ergon_platform ergon_rpc ergon_store_offline ergon_poller_libevent ergon_modules PkgConfig::SECCOMP)

ergon_program(ergond SOURCES main.c DEPS ergon_server)
add_dependencies(ergond module_demo)
install(TARGETS ergond RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/ergond.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
