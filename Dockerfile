# tollgate as an image: one process, without root, on a read-only root file system.
#
#   docker build -t tollgate .
#   docker run --rm --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#     --ulimit nofile=65536 -v tollgate:/data -p 8080:8080 -p 8081:8081 tollgate
#
# It was not built where it was written, which has no Docker; docs/deployment.md says which steps of it were tried, and how.

# Any Node that can run npm: the Node of the product is one of its dependencies. It needs libatomic, which the full image has.
FROM node:24-bookworm AS build
WORKDIR /app
COPY . .
# Installs, builds the console, and compiles the modules that a start needs; then removes the tools.
RUN npm ci --no-audit --no-fund && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends libatomic1 libstdc++6 \
  && rm -rf /var/lib/apt/lists/* \
  && install --directory --owner 10001 --group 10001 --mode 700 /data
# Owned by root: the service cannot change its own code.
COPY --from=build /app /app
WORKDIR /app
# A folder of its own in the volume, because the root of a new disk may have `lost+found`, which only root can read. The user has no
# home, which the command line tool asks for: `docker exec … node /app/bin/tollgate.js backup /data/backups/monday`.
ENV HOST=0.0.0.0 \
  DATA_DIR=/data/tollgate \
  HOME=/tmp \
  NODE_COMPILE_CACHE=/app/node_modules/.cache/tollgate \
  PATH=/app/node_modules/.bin:/usr/local/bin:/usr/bin:/bin
USER 10001:10001
VOLUME /data
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
# Alive, not ready: a full spool is not cured by another container. A load balancer watches /readyz.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "/app/deploy/health.mjs", "/healthz"]
ENTRYPOINT ["node", "/app/src/main.ts"]
