# docker build -t ergon .          docs/install.md says how the image is run.
#   --label org.opencontainers.image.revision=$(git rev-parse HEAD)          says of what it is made

FROM debian:bookworm-slim AS build
WORKDIR /ergon
COPY scripts/setup.sh scripts/apt.sh scripts/
RUN scripts/setup.sh build
COPY . .
RUN cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DERGON_HARDEN=ON -DBUILD_TESTING=OFF -DERGON_SIM=OFF \
        -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib \
    && ninja -C build \
    && DESTDIR=/installed cmake --install build --strip \
    && dpkg-shlibdeps -O -e/installed/usr/bin/ergond -e/installed/usr/bin/ergon \
        $(find /installed/usr/lib/ergon -path '*/store/*.so' -printf '-e%p ') 2>/dev/null \
    | sed 's/^[^=]*=//; s/([^)]*)//g; s/,/ /g' >/installed/libraries && [ -s /installed/libraries ]

FROM debian:bookworm-slim
# The packages of the libraries that the two programs and the drivers of stores link, as the build found them.
COPY --from=build /installed/libraries /tmp/
RUN apt-get update \
    && apt-get install -y --no-install-recommends $(cat /tmp/libraries) ca-certificates openssl tzdata \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /tmp/libraries
COPY --from=build /installed/usr/bin/ /usr/bin/
COPY --from=build /installed/usr/lib/ergon/ /usr/lib/ergon/
COPY docker/ergond.yaml /etc/ergon/ergond.yaml
COPY scripts/sbom.sh /tmp/
COPY --chmod=755 docker/ergon-start scripts/certificate.sh scripts/cluster_certificates.sh /usr/lib/ergon/

# What the image is made of, for who has to know: SPDX, from dpkg's own list.
ARG VERSION=0.1.0
RUN install -d /usr/share/sbom && /tmp/sbom.sh ergon "${VERSION}" >/usr/share/sbom/ergon.spdx.json && rm /tmp/sbom.sh
LABEL org.opencontainers.image.title="ergon" \
      org.opencontainers.image.description="A networked active-object server that runs tasks" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-slim"

# /data holds certificate, key, tokens, submitted tasks and the Unix socket: the server writes nowhere else. It loads modules
# from /modules.
RUN install -d -o 10001 -g 10001 -m 700 /data && install -d /modules
VOLUME /data
USER 10001:10001
ENV ERGON_URL=unix:///data/ergond.sock

EXPOSE 7467
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=2s --start-period=2s --retries=3 CMD ["ergon", "ping", "-q"]
ENTRYPOINT ["/usr/lib/ergon/ergon-start"]
