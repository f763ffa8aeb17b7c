pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)

ergon_library(ergon_config
    SOURCES
        config.c
        config_check.c
        config_env.c
        config_file.c
        config_flags.c
        config_keys.c
        config_list.c
        config_print.c
        config_report.c
        config_take.c
        config_text.c
        config_value.c
        cpus.c
        fdlimit.c
        notify.c
    DEPS ergon_proto ergon_runtime PkgConfig::YAML PkgConfig::SYSTEMD)

ergon_library(ergon_server
    SOURCES builder.c builder_jobs.c plan.c reload.c runners.c serve.c watchdog.c
    DEPS ergon_config ergon_rpc ergon_poller_libevent ergon_modules)

ergon_program(ergond SOURCES main.c DEPS ergon_server)
install(TARGETS ergond RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/ergond.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
