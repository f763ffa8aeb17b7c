# What the wiring stands on, and needs no thread.
ergon_library(ergon_platform
    SOURCES cpus.c fdlimit.c notify.c
    DEPS ergon_base PkgConfig::SYSTEMD)

ergon_library(ergon_server
    SOURCES builder.c lifecycle.c plan.c reload.c threads.c topology.c watchdog.c
    DEPS ergon_config ergon_platform ergon_rpc ergon_poller_libevent ergon_modules)

ergon_program(ergond SOURCES main.c DEPS ergon_server)
install(TARGETS ergond RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/ergond.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
