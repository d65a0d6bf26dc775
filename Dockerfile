# syntax=docker/dockerfile:1
# docs/operate.md shows how to run it, read-only and without capabilities, and how to pin the base by its digest.

ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
COPY requirements/runtime.txt /src/requirements/
RUN python -m venv /usr/local/lib/parley \
    && /usr/local/lib/parley/bin/pip install --no-cache-dir --require-hashes -r /src/requirements/runtime.txt
COPY pyproject.toml README.md LICENSE /src/
COPY teams /src/teams
COPY gateway /src/gateway
COPY adapters /src/adapters
RUN /usr/local/lib/parley/bin/pip install --no-cache-dir --no-deps --no-build-isolation /src

FROM ${PYTHON_IMAGE}
COPY --from=build /usr/local/lib/parley /usr/local/lib/parley
# Threads live in /var/lib/parley; the config is mounted, its secrets come from the environment or from files.
RUN useradd --uid 10001 --home-dir /var/lib/parley --create-home --skel /dev/null --shell /usr/sbin/nologin parley
ENV PATH=/usr/local/lib/parley/bin:$PATH \
    PARLEY_CONFIG=/etc/parley/config.toml \
    PYTHONUNBUFFERED=1 \
    XDG_DATA_HOME=/var/lib
USER 10001
WORKDIR /var/lib/parley
VOLUME ["/var/lib/parley"]
EXPOSE 8642
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8642/healthz', timeout=4)"]
ENTRYPOINT ["parley"]
CMD ["serve"]
